package cli

import (
	"encoding/json"
	"io"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/fluid"
	"github.com/spf13/cobra"
)

func newFluid() *cobra.Command {
	var (
		input  inputFlags
		slots  int
		names  []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "fluid",
		Short: "Print exact fluid schedules",
		Long: `fluid prints when each job completes in the fluid model: all slots are one fast
processor, and work can be divided and moved at no cost. The size of a job is the
sum of the service times of its tasks; phases and classes do not matter.

Policies are:
  ps    all jobs at once, in proportion to their weights (processor sharing)
  fsp   one job at a time, the one that completes first under ps (fair sojourn
        protocol)
  srpt  one job at a time, the one with the shortest remaining processing time

Times are in seconds. With --json they are exact, as "7" or "20/3", in the order
of ids. Exactness has its price: the denominators grow with the number of different
weights, and a few thousand jobs can take minutes.`,
		Example: `  sojourn fluid -w trace.jsonl --slots 40
  sojourn fluid -w trace.jsonl --slots 40 --policies ps,fsp --json`,
		Args: cobra.NoArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			if slots < 1 {
				return usagef("--slots %d is not a number of slots; give at least 1", slots)
			}
			kinds := fluidKinds()
			if len(names) == 0 {
				return usagef("no policy: give -p, such as -p ps,fsp")
			}
			for i, name := range names {
				if slices.Contains(names[:i], name) {
					return usagef("fluid policy %q is named twice", name)
				}
				if _, ok := kinds[name]; !ok {
					return usagef("unknown fluid policy %q; known: ps, fsp, srpt", name)
				}
			}
			if err := input.checkWorkload(); err != nil {
				return err
			}
			w, err := input.loadWorkload(cmd, nil)
			if err != nil {
				return err
			}
			s := newFluidSchedules(w, slots)
			for _, name := range names {
				s.add(name, fluid.Completions(kinds[name], slots, s.jobs))
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(s)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), s.table(names).String())
			return err
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	input.registerWorkload(flags)
	flags.IntVar(&slots, "slots", 0, "`NUMBER` of slots")
	flags.StringSliceVarP(&names, "policies", "p", []string{"ps", "fsp", "srpt"}, "`POLICIES` to print")
	flags.BoolVar(&asJSON, "json", false, "print exact times as JSON")
	return cmd
}

func fluidKinds() map[string]fluid.Kind {
	return map[string]fluid.Kind{"ps": fluid.PS, "fsp": fluid.FSP, "srpt": fluid.SRPT}
}

// fluidSchedules is what fluid prints as JSON.
type fluidSchedules struct {
	Slots       int                   `json:"slots"`
	IDs         []sojourn.JobID       `json:"ids"`
	Completions map[string][]rational `json:"completions"`

	jobs []fluid.Job // as IDs
}

// A rational is an exact number of seconds.
type rational struct{ *big.Rat }

// MarshalText returns "a" or "a/b", in lowest terms.
func (r rational) MarshalText() ([]byte, error) { return []byte(r.RatString()), nil }

func newFluidSchedules(w *workload, slots int) *fluidSchedules {
	s := &fluidSchedules{Slots: slots, Completions: map[string][]rational{}}
	for _, j := range w.jobs {
		var work time.Duration
		for i := range j.Phases {
			work += j.Times[i].Total(j.Phases[i].Tasks)
		}
		s.IDs = append(s.IDs, j.ID)
		s.jobs = append(s.jobs, fluid.Job{At: j.At, Work: work, Weight: j.WeightUnits()})
	}
	return s
}

// add adds the completions under a policy, which are in nanoseconds.
func (s *fluidSchedules) add(name string, completions []*big.Rat) {
	second := big.NewRat(int64(time.Second), 1)
	for _, c := range completions {
		s.Completions[name] = append(s.Completions[name], rational{new(big.Rat).Quo(c, second)})
	}
}

// table returns the completions, rounded to milliseconds, and below them the mean
// sojourn time.
func (s *fluidSchedules) table(names []string) *table {
	t := &table{corner: "job"}
	arrivals, works := []string{}, []string{}
	for i, id := range s.IDs {
		t.names = append(t.names, strconv.FormatUint(uint64(id), 10))
		arrivals = append(arrivals, formatTime(s.jobs[i].At))
		works = append(works, formatSeconds(s.jobs[i].Work))
	}
	t.names = append(t.names, "mean sojourn time")
	t.add("", "arrival", append(arrivals, ""))
	t.add("", "size", append(works, ""))
	for _, name := range names {
		var cells []string
		sum := new(big.Rat)
		for i, c := range s.Completions[name] {
			cells = append(cells, c.FloatString(3))
			sum.Add(sum, c.Rat)
			sum.Sub(sum, big.NewRat(int64(s.jobs[i].At), int64(time.Second)))
		}
		mean := sum.Quo(sum, big.NewRat(int64(len(s.IDs)), 1))
		t.add("completion (s)", name, append(cells, mean.FloatString(3)))
	}
	return t
}
