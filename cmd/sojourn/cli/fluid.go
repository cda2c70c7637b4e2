package cli

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
)

const fluidLong = `fluid prints when each job completes in the fluid model: all slots are one fast
processor, and work can be divided and moved at no cost. The size of a job is the
sum of the service times of its tasks; phases and classes do not matter.

Policies are:
  ps    all jobs at once, in proportion to their weights (processor sharing)
  fsp   one job at a time, the one that completes first under ps (fair sojourn
        protocol)
  srpt  one job at a time, the one with the shortest remaining processing time
  pfsp  one job at a time, the one with the shortest remaining processing time of
        those that can be served to their end without making any job later than it
        is under ps (pessimistic fair sojourn protocol)

Times are in seconds. With --json they are exact, as "7" or "20/3", in the order
of ids. Exact times are slow: the denominators grow with the number of different
weights, and a few thousand jobs can take minutes. --rounded computes in the
integers of the library's policies instead. A hundred thousand jobs then take
seconds. Times under ps are rounded to nanoseconds. The other schedules are the
same, unless two compared numbers are equal or differ by far less than that.`

func newFluid() *cobra.Command {
	var (
		from   input.Source
		slots  int
		names  []string
		asJSON bool
		round  bool
		quiet  bool
	)
	cmd := &cobra.Command{
		Use:   "fluid",
		Short: "Print exact fluid schedules",
		Long:  fluidLong,
		Example: `  sojourn fluid -w trace.jsonl --slots 40
  sojourn fluid -w trace.jsonl --slots 40 --policies ps,fsp --json`,
		Args: onlyFlags,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			if slots < 1 {
				if !cmd.Flags().Changed("slots") {
					return usage.Errorf("no slots: give --slots, such as --slots 40")
				}
				return usage.Errorf("--slots %d is not a number of slots; give at least 1", slots)
			}
			if err := checkFluid(names); err != nil {
				return err
			}
			if err := from.Check(); err != nil {
				return err
			}
			w, err := from.OpenWorkload(cmd.InOrStdin(), nil)
			if err != nil {
				return err
			}
			if err := w.Refuse(^sojourn.FeatureNeeds, "the fluid model does not know", ""); err != nil {
				return err
			}
			jobs := trial.FluidJobs(w)
			ends, err := trial.Fluid(terminal(cmd, quiet), slots, jobs, names, round)
			if err != nil {
				return err
			}
			s := report.NewFluid(slots, w, jobs, ends)
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(s)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), s.Table(names).String())
			return err
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	registerWorkload(flags, &from)
	flags.IntVar(&slots, "slots", 0, "`NUMBER` of slots")
	flags.StringSliceVarP(&names, "policies", "p", []string{"ps", "fsp", "srpt", "pfsp"}, "`POLICIES` to print")
	flags.BoolVar(&asJSON, "json", false, "print exact times as JSON")
	flags.BoolVar(&round, "rounded", false, "compute in integers, much faster")
	flags.BoolVarP(&quiet, "quiet", "q", false, "no progress bar on stderr")
	must(cmd.RegisterFlagCompletionFunc("policies", completeSpecs(func() []catalog.Named {
		var kinds []catalog.Named
		for _, name := range slices.Sorted(maps.Keys(trial.FluidKinds())) {
			kinds = append(kinds, catalog.Named{Name: name})
		}
		return kinds
	}, false)))
	return cmd
}

// checkFluid returns an error unless the names are of fluid policies, each named once.
func checkFluid(names []string) error {
	if len(names) == 0 {
		return usage.Errorf("no policy: give -p, such as -p ps,fsp")
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return usage.Errorf("fluid policy %q is named twice", name)
		}
		if _, ok := trial.FluidKinds()[name]; !ok {
			return usage.Errorf("unknown fluid policy %q; known: ps, fsp, srpt, pfsp", name)
		}
	}
	return nil
}
