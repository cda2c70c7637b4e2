package cli

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paper"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
)

const paperLong = `paper runs an experiment of a paper with many seeds, and prints what the paper
says beside what came out, with a confidence interval and a verdict:
  reproduced      ours is within the tolerance of the row (10 % unless it says
                  otherwise); if the paper only says more or less, all of our
                  interval is on that side
  shape only      not reproduced, but the ratio is on the same side of 1 in the
                  paper and in all of our interval
  not reproduced  neither of these
  too few seeds   no verdict: our interval is wider than the tolerance, or the paper
                  only says more or less and our interval is on both sides; a note
                  says how many seeds would be enough
The default is 20 seeds, or as many as most verdicts of the experiment need.
Without a name it lists the experiments:
`

func newPaper(policies catalog.Catalog, known []paper.Experiment) *cobra.Command {
	var (
		f     trial.Setup
		seeds seedsFlag
		json  bool
		quiet bool
	)
	f.Policies = policies
	var (
		list  strings.Builder
		named []catalog.Named
	)
	for _, e := range known {
		named = append(named, catalog.Named{Name: e.Name, Text: e.Title})
		list.WriteString(format.Hang("  "+e.Name+"  ", e.Source+": "+e.Title))
	}
	cmd := &cobra.Command{
		Use:   "paper [NAME]",
		Short: "Repeat an experiment of a paper and print its numbers beside ours",
		Long:  paperLong + strings.TrimSuffix(list.String(), "\n"),
		Example: `  sojourn paper
  sojourn paper hfsp-fig6 --seeds 50`,
		Args:              atMostOne,
		ValidArgsFunction: completeFirst(func() []catalog.Named { return named }),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := io.WriteString(cmd.OutOrStdout(), list.String())
				return err
			}
			i := slices.IndexFunc(known, func(e paper.Experiment) bool { return e.Name == args[0] })
			if i < 0 {
				var all []string
				for _, e := range known {
					all = append(all, e.Name)
				}
				return usage.Errorf("unknown experiment %q; known experiments: %s", args[0], strings.Join(all, ", "))
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			p, err := known[i].Run(ctx, terminal(cmd, quiet), f, cmp.Or(int(seeds), known[i].Seeds, 20))
			if err != nil {
				return err
			}
			if json {
				return format.WriteJSON(cmd.OutOrStdout(), p.Summary())
			}
			return p.Write(cmd.OutOrStdout())
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	seeds.register(flags)
	flags.Uint64Var(&f.Seed, "seed", 0, "the first seed `N`")
	flags.BoolVar(&json, "json", false, "print JSON instead of a table")
	flags.BoolVarP(&quiet, "quiet", "q", false, "no progress bar on stderr")
	return cmd
}
