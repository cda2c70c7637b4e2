package cli

import (
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/advice"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/spf13/cobra"
)

const adviseLong = `advise runs policies on your own workload, at its recorded load and at others, and
says in five sentences which to use, what it gains, for whom it is worse, whether
the loads agree, and how sure that is. Tables follow.

Objectives, of all jobs, the less the better:
  mean       mean sojourn time, from arrival to finish
  median     median sojourn time
  slowdown   mean of the sojourn time over the time alone on the idle cluster
  p90        90th percentile of the sojourn time
  p99        99th percentile of the sojourn time
  deadlines  share of the jobs with a deadline that miss it; refused ones do

Policies know of sizes only the estimates that the workload gives (key "estimate"),
unless --estimates says otherwise. Policies that need sizes are left out if there are
none. Without -p, advise runs fifo, fair, default, las, hfsp, srpt, fsp, pfsp and,
for deadlines, rtmr. It always runs fifo and fair, to compare with them.

All loads weigh the same. Intervals are those of a moving block bootstrap: jobs in
the order of arrival, in blocks, are drawn again, the same for all policies and loads.
A block is twice as long as the longest that the rule of Politis and White gives for
any policy and load, but there are always 10 to 1,000 blocks. Policies that may be as
good as the best have a ~. Those within 5 % of it, or five points of a share, are tied with it,
and the simplest of them is advised, in the order above; one with options comes last.

The workload is read again for each run, and not kept in memory. Where the first
run takes long, stderr says how long all may take.

With TRACE@CLUSTER instead of -w and -c, such as fb.jsonl@30x2+1, any number of
them, a table in Markdown has a line for each: the mean sojourn time and the mean
slowdown of each policy, over those under fair.

`

func newAdvise(policies catalog.Catalog) *cobra.Command {
	var (
		f runFlags
		q advice.Question
		o advice.Objective
		l []string

		file string
	)
	must(o.Set(advice.ObjectiveNames()[0]))
	f.Estimates.Mode = sim.None
	loads := advice.DefaultLoads
	cmd := &cobra.Command{
		Use:   "advise [TRACE@CLUSTER...]",
		Short: "Say which policy to use on your own workload, and how sure that is",
		Long:  adviseLong + csvCells + policyHelp(policies),
		Example: `  sojourn advise -w trace.jsonl -c 20x4+2
  sojourn advise -w trace.jsonl -c 20x4+2 --objective slowdown --estimates exact
  sojourn advise --sample --objective median -p las,hfsp --loads recorded,0.5,1.1
  sojourn advise kth.jsonl@100x1 fb.jsonl@30x2+1 --estimates exact`,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if q.Resamples < 100 || q.Resamples > 100_000 {
				return usage.Errorf("--resamples %d is not from 100 to 100000", q.Resamples)
			}
			if len(l) > 0 {
				var err error
				if q.Policies, err = trial.ParsePolicies(policies, l); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("loads") {
				q.Loads = loads
			}
			f.Source.Stream = true
			if len(args) > 0 {
				if file != "" {
					return usage.Errorf("-o writes the page of one workload: give -w and -c")
				}
				return adviseTable(cmd, &f, q, args)
			}
			q.Objectives = []advice.Objective{o}
			st, err := f.study(cmd, q)
			if err != nil {
				return err
			}
			a, err := st.Evaluate(cmd.Context(), o)
			if err != nil {
				return err
			}
			return printPage(cmd, nil, file, a.Page, func() error { return printForm(cmd, f.json, a.Summary(), a.Write) })
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(typed(&o, "OBJECTIVE"), "objective", "what should be small: "+format.Listed(advice.ObjectiveNames()))
	flags.StringArrayVarP(&l, "policies", "p", nil, "`POLICIES` to choose among")
	flags.Var(typed(&loads, "LOADS"), "loads", "run at these `LOADS` of the busier class of slots: "+advice.Recorded+", or numbers")
	flags.IntVar(&q.Resamples, "resamples", 500, "intervals are made of `N` resamples")
	registerPage(flags, &file)
	f.Policies = policies
	registerSource(flags, &f.Source)
	flags.Var(typed(&f.Load.Scale, "WHAT"), "scale", "how loads are reached: `WHAT` is arrivals or durations (default arrivals)")
	f.registerWorld(flags)
	return cmd
}

// study runs policies on the workload that the flags name.
func (f *runFlags) study(cmd *cobra.Command, q advice.Question) (*advice.Study, error) {
	f.Load.Varied = true
	s, err := f.open(cmd)
	if err != nil {
		return nil, err
	}
	defer s.Workload.Release()
	if err := f.notePools(cmd, s, q.Policies); err != nil {
		return nil, err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	return advice.Run(ctx, terminal(cmd, f.quiet), s, q)
}

// adviseTable is advise for traces with their clusters.
func adviseTable(cmd *cobra.Command, f *runFlags, q advice.Question, args []string) error {
	for _, name := range []string{"objective", "workload", "sample", "gen", "cluster", "json"} {
		if cmd.Flags().Changed(name) {
			return usage.Errorf("--%s and %s exclude each other", name, args[0])
		}
	}
	var t advice.Table
	q.Objectives = t.Objectives()
	for _, arg := range args {
		file, cluster, err := advice.SplitTrace(arg)
		if err != nil {
			return err
		}
		f.Source.File, f.Source.Cluster = file, cluster
		st, err := f.study(cmd, q)
		if err != nil {
			return err
		}
		if err := t.Add(cmd.Context(), st); err != nil {
			return err
		}
	}
	return t.Write(cmd.OutOrStdout())
}
