package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newRun(policies catalog.Catalog) *cobra.Command {
	var (
		f    runFlags
		spec string
	)
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run one policy and print a summary",
		Long: `run runs one policy and prints a summary. With -o, it writes jobs.csv, tasks.csv,
history.txt, run.json and report.html to DIR.

Memory grows only by 58 bytes for each job of the workload. The command reads the
workload two or three times, from a temporary file if it comes from stdin.

` + csvCells + policyHelp(policies),
		Example: `  sojourn run --sample -p fsp -o out
  sojourn run -w trace.jsonl -c 20x4+2 -p fair:order=running --json`,
		Args: onlyFlags,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			if spec == "" {
				return usage.Errorf("no policy: give -p, such as -p fsp")
			}
			specs, err := trial.ParsePolicies(policies, []string{spec})
			if err != nil {
				return err
			}
			if len(specs) > 1 {
				return usage.Errorf("run takes one policy, -p %s names %d; see compare", spec, len(specs))
			}
			s, results, err := f.run(cmd, specs, func(int) string { return "" })
			if err != nil {
				return f.stopped(cmd, s, specs, results, err)
			}
			r := report.Comparison{Scenario: s, Specs: specs, Results: results}
			rows := r.Summary().Policies
			return printResult(cmd, &f.formFlags, report.RunSummary{Summary: rows[0], Schema: format.Schema}, rows, r.Write)
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&spec, "policy", "p", "", "`POLICY` to run")
	f.register(policies, cmd.Flags())
	return cmd
}

// run runs the policies and writes the files that -o asks for, those of the i-th
// policy into the folder dir(i). Each run reads the workload again.
func (f *runFlags) run(cmd *cobra.Command, specs []catalog.Spec, dir func(i int) string) (*trial.Scenario, []*sim.Result, error) {
	f.Source.Stream = true
	s, err := f.open(cmd)
	if err != nil {
		return nil, nil, err
	}
	defer s.Workload.Release()
	if err := f.notePools(cmd, s, specs); err != nil {
		return nil, nil, err
	}
	// From here on an interrupt ends the runs and removes their files. Before, it
	// ends the program, which may be waiting for stdin.
	ctx, stop := interruptible(cmd)
	defer stop()
	if f.output.Dir == "" {
		results, err := s.Run(ctx, terminal(cmd, f.quiet), specs, nil)
		return s, results, err
	}
	by := report.Invocation{Version: version(), Command: cmd.Name(), Flags: givenFlags(cmd), Batsim: f.csv == csvBatsim}
	results, err := report.WriteRuns(ctx, terminal(cmd, f.quiet), s, specs, &f.output.Folder, dir, by)
	return s, results, err
}

// stopped prints what runs have done that an interrupt stopped, and returns the error. Of a run that has failed it prints nothing.
func (f *runFlags) stopped(cmd *cobra.Command, s *trial.Scenario, specs []catalog.Spec, results []*sim.Result, err error) error {
	var stopped *trial.Interrupted
	if !errors.As(err, &stopped) {
		return err
	}
	r := report.Interrupted{Scenario: s, Specs: specs, Results: results}
	sum := r.Summary()
	err = f.kept(err, stopped)
	return cmp.Or(printResult(cmd, &f.formFlags, sum, sum.Policies, r.Write), err)
}

// kept adds to the error of an interrupt what the folder of -o has.
func (f *runFlags) kept(err error, stopped *trial.Interrupted) error {
	switch dir := format.Visible(f.output.Dir); {
	case dir == "":
		return err
	case stopped.Done == 0:
		return fmt.Errorf("%w; %s is as it was", err, dir)
	default:
		return fmt.Errorf("%w; %s has what has ended, and 'sojourn report %s' makes its page", err, dir, dir)
	}
}

// givenFlags returns the given flags and their values. It leaves out flags that only
// say where results go, so that the record of a run does not depend on them.
func givenFlags(cmd *cobra.Command) map[string]string {
	given := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "output", "force", "json", "csv", "color", "quiet":
		default:
			given[f.Name] = f.Value.String()
		}
	})
	return given
}
