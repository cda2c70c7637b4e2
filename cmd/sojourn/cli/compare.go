package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/spf13/cobra"
)

const compareLong = `compare runs each policy on the same workload and cluster, and prints how they
did. Policies run side by side, and each reads the workload anew, from a temporary
file if it comes from stdin. Memory grows by 58 bytes for each job and policy.
With -o, it writes jobs.csv, tasks.csv, history.txt and run.json of each policy to
DIR/1-fifo, DIR/2-fair and so on, in the order of -p, and DIR/report.html, a page that
shows them all. With --seeds, -o writes seeds.json, which is what --json prints, and
report.html.

An interrupt ends the runs. Then compare prints how far each policy is and the tables of
those that have ended, and -o keeps these.

The verdict says whether others may be as good, as far as chance goes: see advise.

--seeds N repeats everything with N seeds and prints means with confidence intervals.
A "~" marks a number that does not differ significantly from the best. All policies
see the same draws for the same seed. A seed decides the workload of --gen, errors of
estimates, stragglers and faults. A workload from a file stays the same. With --seeds,
all jobs are kept in memory.

The first table begins with fairness. It compares each run with fluid fair sharing,
which shares each class of slots by weight among all jobs at all times, knows true
sizes, and splits tasks at will.
  beyond_bound  phases that ended later than D + P + (1-1/N) p, the bound proved for
                FSP and PFSP with exact sizes. D is the fluid end of the phase if it
                enters when it is really ready, p its longest task, P the longest task
                of all others, N the number of slots. The greatest excess is below the
                tables
  later         jobs that finished later than in fluid fair sharing from their first
                phase on; no policy can promise that there are none
  latest        by how many seconds at most
In JSON these are beyond_bound, beyond_bound_max and late_vs_ps; jobs.csv of -o has
ps_finish and late_vs_ps of each job.

In -p, an item with "=" and no ":" before it is one more option of the preceding
policy: fair:order=running,pools.etl=3,fifo names two policies.

`

func newCompare(policies catalog.Catalog) *cobra.Command {
	var (
		f     runFlags
		list  []string
		seeds seedsFlag
	)
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Run policies on the same workload and print a table",
		Long:  compareLong + csvCells + policyHelp(policies),
		Example: `  sojourn compare --sample
  sojourn compare -w trace.jsonl -c 20x4+2 -p fifo,fair:order=running,fsp
  sojourn compare -w trace.jsonl -c 20x4+2 --load 0.9 --estimates lognormal:0.5 --json
  sojourn compare --gen hfsp-dev:load=0.9 -p fifo,fair,fsp --seeds 20`,
		Args: onlyFlags,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			specs, err := trial.ParsePolicies(policies, list)
			if err != nil {
				return err
			}
			if seeds > 0 {
				return compareSeeds(cmd, &f, specs, int(seeds))
			}
			s, results, err := f.run(cmd, specs, func(i int) string {
				return fmt.Sprintf("%d-%s", i+1, specs[i].Name)
			})
			if err != nil {
				return f.stopped(cmd, s, specs, results, err)
			}
			r := report.Comparison{Scenario: s, Specs: specs, Results: results}
			sum := r.Summary()
			if err := printResult(cmd, &f.formFlags, sum, sum.Policies, r.Write); err != nil {
				return err
			}
			if f.Source.Sample && !f.quiet && !f.json && f.csv != csvTable {
				fmt.Fprint(cmd.ErrOrStderr(), sampleHints)
			}
			return nil
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringArrayVarP(&list, "policies", "p", []string{defaultPolicies}, "`POLICIES` to compare")
	f.register(policies, cmd.Flags())
	seeds.register(cmd.Flags())
	return cmd
}

// compareSeeds is compare with several seeds.
func compareSeeds(cmd *cobra.Command, f *runFlags, specs []catalog.Spec, seeds int) error {
	s, err := f.open(cmd)
	if err != nil {
		return err
	}
	if err := f.notePools(cmd, s, specs); err != nil {
		return err
	}
	trials := make([]trial.Trial, len(specs))
	for i, spec := range specs {
		trials[i] = trial.Trial{Scenario: s, Spec: spec}
	}
	return f.repeat(cmd, trials, seeds, files.Seeds, func(samples []*trial.Sample) repeated { return &report.Repetition{Samples: samples} })
}

// A repeated has what came of trials with several seeds.
type repeated interface {
	Summary() report.RepetitionSummary
	Write(io.Writer) error
}

// repeat runs trials with several seeds, and shows what came of them; with -o, it writes that into a file, too.
func (f *runFlags) repeat(cmd *cobra.Command, trials []trial.Trial, seeds int, file string, made func([]*trial.Sample) repeated) error {
	noteFixed(cmd.ErrOrStderr(), seeds, trials)
	ctx, stop := interruptible(cmd)
	defer stop()
	samples, interrupted := trial.Repeat(ctx, terminal(cmd, f.quiet), trials, seeds)
	if len(samples) == 0 {
		return interrupted
	}
	r := made(samples)
	sum := r.Summary()
	if interrupted != nil {
		sum.Interrupted = interrupted.Error()
		ctx = context.WithoutCancel(ctx) // what is written is short
	}
	if f.output.Dir != "" {
		if err := report.WriteSummary(ctx, &f.output.Folder, file, sum); err != nil {
			return err
		}
	}
	write := r.Write
	if interrupted != nil {
		write = func(w io.Writer) error {
			_, err := io.WriteString(w, format.Verdict(lacks(samples, len(trials), seeds, interrupted))+"\n")
			return cmp.Or(err, r.Write(w))
		}
	}
	return cmp.Or(printResult(cmd, &f.formFlags, sum, sum.Policies, write), interrupted)
}

// lacks says what is missing of trials that were interrupted.
func lacks(samples []*trial.Sample, trials, seeds int, interrupted error) string {
	if n := len(samples[0].Results); len(samples) == trials {
		return fmt.Sprintf("%v: below is what the first %s of %s gave", interrupted, format.Count(n, "seed"), format.Thousands(seeds))
	}
	return fmt.Sprintf("%v: below is what the first seed gave; %s missing", interrupted, format.Count(trials-len(samples), "row"))
}

// noteFixed notes that repetitions will all be the same, if nothing is random.
func noteFixed(stderr io.Writer, seeds int, trials []trial.Trial) {
	if seeds > 1 && !slices.ContainsFunc(trials, trial.Trial.Random) {
		fmt.Fprintf(stderr, "Nothing here is random, so that all %d seeds give the same; --gen, --estimates,\n"+
			"--straggler-probability and the --fault flags would change that.\n", seeds)
	}
}

// sampleHints say what to try next.
const sampleHints = `
The workload is made up. Other things to try:
  sojourn compare --sample --estimates lognormal:1
      what if the sizes of jobs are guesses?
  sojourn run --sample -p fsp -o out
      one row for each job and task, in out/
  sojourn compare -w FILE -c 20x4+2 -p fifo,fair,fsp
      your own workload; see 'sojourn convert --help'
`
