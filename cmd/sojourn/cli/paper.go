package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paper"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/spf13/cobra"
)

const paperLong = `paper runs an experiment of a paper with many seeds, and prints what the paper
says beside what came out, with a confidence interval and a verdict:
  reproduced      ours is within the tolerance of the number, which stands beside it;
                  if the paper only says more or less, or names a bound, all of our
                  interval is on that side
  not reproduced  all of our interval is further off than the tolerance, however wide
                  it is, or on the other side; or it is narrow, and still not as said
  shape only      not reproduced, but the ratio is on the same side of 1 in the
                  paper and in all of our interval
  too few seeds   none of these: our interval is wider than the tolerance, or the paper
                  only says more or less and our interval is on both sides; a note
                  says how many seeds would be enough
A row without a verdict is a number of ours that the paper says nothing of.
The default is 20 seeds, or as many as most verdicts of the experiment need.
A name is that of an experiment, or of a paper, which stands for all its experiments.
With -o it writes a page for each paper as Markdown: the paper's statements in its own
words with a verdict on each, the set-up as we read it, all numbers, and the paper's
figures with our curves, as SVG. sojourn-plot makes PNG of them.
Without a name it lists the experiments:
`

// A paperCommand is what the flags of paper say.
type paperCommand struct {
	setup trial.Setup
	known []paper.Experiment
	seeds seedsFlag
	all   bool
	dir   string
	json  bool
	quiet bool
}

func newPaper(policies catalog.Catalog, known []paper.Experiment) *cobra.Command {
	f := paperCommand{known: known}
	f.setup.Policies = policies
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
  sojourn paper hfsp-fig6 --seeds 50
  sojourn paper --all -o pages`,
		Args:              atMostOne,
		ValidArgsFunction: completeFirst(func() []catalog.Named { return named }),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !f.all {
				if f.dir != "" {
					return usage.Errorf("-o %s: of which experiment? Give its name, or --all", f.dir)
				}
				_, err := io.WriteString(cmd.OutOrStdout(), list.String())
				return err
			}
			return f.run(cmd, args)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.seeds.register(flags)
	flags.Uint64Var(&f.setup.Seed, "seed", 0, "the first seed `N`")
	flags.BoolVar(&f.all, "all", false, "all experiments of all papers; takes 14 minutes of processor time")
	flags.StringVarP(&f.dir, "output", "o", "", "write a page for each paper to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of a table")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar on stderr")
	return cmd
}

// run runs the experiments and shows what came out.
func (f *paperCommand) run(cmd *cobra.Command, args []string) error {
	chosen, err := f.choose(args)
	if err != nil {
		return err
	}
	if f.dir != "" {
		os.Unsetenv("COLUMNS") // pages are the same whichever terminal they are made in
	}
	if f.dir != "" && f.json {
		return usage.Errorf("--json prints, and -o writes pages: give one of them")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var papers [][]*paper.Result
	for i := range chosen {
		e := &chosen[i]
		p, err := e.Run(ctx, terminal(cmd, f.quiet), f.setup, cmp.Or(int(f.seeds), e.Seeds, 20))
		if err != nil {
			return err
		}
		if len(papers) == 0 || papers[len(papers)-1][0].Paper() != e.Paper() {
			papers = append(papers, nil)
		}
		last := &papers[len(papers)-1]
		*last = append(*last, p)
		if f.dir == "" && !f.json {
			if i > 0 {
				io.WriteString(cmd.OutOrStdout(), "\n")
			}
			if err := p.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
		}
	}
	switch {
	case f.dir != "":
		return f.write(cmd, papers)
	case f.json && len(chosen) == 1:
		return format.WriteJSON(cmd.OutOrStdout(), papers[0][0].Summary())
	case f.json:
		var all []paper.Summary
		for _, p := range slices.Concat(papers...) {
			all = append(all, p.Summary())
		}
		return format.WriteJSON(cmd.OutOrStdout(), all)
	}
	return nil
}

// choose returns the experiments that are meant: one, those of a paper, or all.
func (f *paperCommand) choose(args []string) ([]paper.Experiment, error) {
	if f.all {
		if len(args) > 0 {
			return nil, usage.Errorf("--all is all experiments: leave out %s", args[0])
		}
		return f.known, nil
	}
	var chosen []paper.Experiment
	var all []string
	for _, e := range f.known {
		if e.Name == args[0] || e.Paper() == args[0] {
			chosen = append(chosen, e)
		}
		all = append(all, e.Name)
	}
	if len(chosen) == 0 {
		return nil, usage.Errorf("unknown experiment %q; known experiments: %s%s", args[0], strings.Join(all, ", "), visible.Meant(args[0], all))
	}
	return chosen, nil
}

// write writes the pages, and with --all one that leads to them.
func (f *paperCommand) write(cmd *cobra.Command, papers [][]*paper.Result) error {
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return err
	}
	var all []paper.File
	for _, results := range papers {
		all = append(all, paper.Page(results)...)
	}
	if f.all {
		all = append(all, paper.Contents(papers))
	}
	for _, file := range all {
		to := filepath.Join(f.dir, file.Name)
		if err := files.Replace(to, func(w io.Writer) error {
			_, err := w.Write(file.Data)
			return err
		}); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), format.Visible(to))
	}
	return nil
}
