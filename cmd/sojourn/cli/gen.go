package cli

import (
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	workloads "github.com/sojourn-sched/sojourn/research/workload"
	"github.com/spf13/cobra"
)

func newGen() *cobra.Command {
	var (
		seed     uint64
		given    []string
		describe bool
		asJSON   bool
		quiet    bool
	)
	cmd := &cobra.Command{
		Use:   "gen [NAME[:option=value,...]]",
		Short: "Make a workload of a paper, or a general one, from a seed",
		Long: `gen makes a workload by name and seed and writes it to stdout, in the format that
-w of the other commands reads. Equal seeds and options make the same bytes. Without
a name it lists the names. --options lists the options of a workload: the default,
the possible values, and where in the paper the default stands, or that it is
assumed. Options stand behind the name, as in --gen of other commands, or in --option.

If a time is out of range, it writes nothing.`,
		Example: `  sojourn gen
  sojourn gen hfsp-test --options
  sojourn gen hfsp-test --options --json
  sojourn gen hfsp-test:load=0.9 --seed 1 > test.jsonl
  sojourn gen bursty --option sizes=pareto --option jobs=5000 | sojourn compare -w - -c 100x1`,
		Args:              atMostOne,
		ValidArgsFunction: completeFirst(namedAlone),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if describe || asJSON || len(given) > 0 {
					return usage.Errorf("no workload: give a name, one of %s", strings.Join(workloads.Names(), ", "))
				}
				return report.ListGenerators(cmd.OutOrStdout())
			}
			var from input.Generator
			if err := from.Set(args[0]); err != nil {
				return usage.Wrap(err)
			}
			g := from.From
			switch {
			case asJSON && !describe:
				return usage.Errorf("--json is for --options: a workload is always written as lines of JSON")
			case asJSON:
				return format.WriteJSON(cmd.OutOrStdout(), report.NewGeneratorSummary(g))
			case describe:
				return report.DescribeGenerator(cmd.OutOrStdout(), g)
			}
			if err := addOptions(from.Options, given); err != nil {
				return err
			}
			jobs, err := g.Jobs(seed, from.Options)
			if err != nil {
				return usage.Wrap(err)
			}
			return input.WriteTwice(format.Exact(cmd.OutOrStdout()), terminal(cmd, quiet), jobs)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Uint64Var(&seed, "seed", 0, "seed `N` of all random numbers")
	flags.StringArrayVar(&given, "option", nil, "`NAME=VALUE` of an option of the workload; may be repeated")
	flags.BoolVar(&describe, "options", false, "print the options of the workload instead of making it")
	flags.BoolVar(&asJSON, "json", false, "with --options, print JSON")
	flags.BoolVarP(&quiet, "quiet", "q", false, "no progress bar on stderr")
	must(cmd.RegisterFlagCompletionFunc("option", completeOption))
	return cmd
}

// addOptions adds the values of --option to the options that stand behind the name.
func addOptions(options map[string]string, given []string) error {
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return usage.Errorf("--option %q is not of the form name=value", text)
		}
		if _, twice := options[name]; twice {
			return usage.Errorf("option %s is given twice", name)
		}
		options[name] = value
	}
	return nil
}
