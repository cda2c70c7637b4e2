package cli

import (
	"math/big"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/fluid"
)

func fluidKinds() map[string]fluid.Kind {
	return map[string]fluid.Kind{"ps": fluid.PS, "fsp": fluid.FSP, "srpt": fluid.SRPT, "pfsp": fluid.PFSP}
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
