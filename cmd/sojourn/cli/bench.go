package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/bench"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
)

const benchLong = `bench runs policies on all traces of a folder, at several loads, with several kinds of
estimates, and compares each with the first policy, cell by cell. Runs go on side by
side, as many as there are processors. With -o DIR it keeps each run that is done in
DIR/records.jsonl: the same command goes on after an interrupt, and with more policies,
loads or traces it runs what is missing. A program that was built anew from other code runs
everything anew. At the end, and when it is interrupted, it writes
DIR/bench.json and DIR/index.html.

FOLDER/traces.json lists the traces:
  [{"name": "kth", "file": "KTH-SP2-1996-2.1-cln.swf.gz", "cluster": "100x1",
    "convert": ["--from", "swf"], "requested": true}]
  convert    options of 'sojourn convert' for the file; none if it is a workload
  requested  users said how long their jobs may run; --estimates requested tells that, and
             nothing of jobs whose users did not
A file that cluster, --cluster or --topology names may lie beside the list.
Without the file, these are the logs in the Standard Workload Format (*.swf, *.swf.gz), on as
many slots as MaxProcs in their header says, or as their widest job has.

A policy that refuses a workload, such as one with priorities, is counted as refused, and so
is a load that a trace cannot have. If a trace cannot be read, the others are run.
Numbers over those of the first policy are null where that has 0.

`

func newBench(policies catalog.Catalog) *cobra.Command {
	var (
		form         formFlags
		list         []string
		only         []string
		b            = bench.Bench{Policies: policies}
		quiet        bool
		defaultBench = "fair,default,fifo,las,srpt,fsp,pfsp,hfsp,td,mars"
	)
	cmd := &cobra.Command{
		Use:   "bench FOLDER",
		Short: "Run policies on all traces of a folder and write one table",
		Long:  benchLong + policyHelp(policies),
		Example: `  sojourn bench traces/ -o out
  sojourn bench traces/ -o out -p fair,default,mine --loads 0.7,0.9 --estimates exact,none
  sojourn bench traces/ -o out --traces kth,ricc --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("no folder: bench takes one, of traces")
			}
			return atMostOne(cmd, args)
		},
		RunE: action(func(cmd *cobra.Command, args []string) (err error) {
			if b.Dir == "" {
				return usage.Errorf("nowhere to keep what is done: give -o DIR")
			}
			if b.Specs, err = trial.ParsePolicies(policies, list); err != nil {
				return err
			}
			if err := b.Check(); err != nil {
				return err
			}
			b.Folder = args[0]
			if b.Traces, err = bench.Find(b.Folder, only, cmd.ErrOrStderr()); err != nil {
				return err
			}
			if len(b.Cells()) == 0 {
				return usage.Errorf("--estimates %s: no trace here has times that users requested", bench.Requested)
			}
			b.Convert = func(ctx context.Context, args []string, to, notes io.Writer) error {
				c := newConvert()
				c.SilenceErrors, c.SilenceUsage = true, true
				c.SetArgs(args)
				c.SetOut(format.Exact(to))
				c.SetErr(notes)
				var err error
				c.SetHelpFunc(func(*cobra.Command, []string) { err = usage.Errorf("convert: --help converts nothing") })
				return errors.Join(c.ExecuteContext(ctx), err)
			}
			if b.Version, err = bench.Build(version()); err != nil {
				return err
			}
			book, err := bench.Open(b.Dir, b.Version)
			if err != nil {
				return err
			}
			defer book.Close()
			ctx, stop := interruptible(cmd)
			defer stop()
			failed := b.Prepare(ctx, terminal(cmd, quiet), cmd.ErrOrStderr(), cmd.InOrStdin())
			failed = errors.Join(failed, b.Run(ctx, terminal(cmd, quiet), book))
			t, err := b.Table(book)
			if err != nil {
				return err
			}
			// Where a file cannot be written, the table is printed all the same.
			written := files.Replace(filepath.Join(b.Dir, "bench.json"), func(w io.Writer) error { return format.WriteJSON(w, t) })
			if written == nil {
				written = files.Replace(filepath.Join(b.Dir, "index.html"), t.WritePage)
			}
			if written != nil {
				failed = errors.Join(failed, fmt.Errorf("%w; once that is mended, the same command writes it and goes on", written))
			}
			if err := printForm(cmd, form.json, t, t.Write); err != nil {
				return errors.Join(failed, err)
			}
			if ctx.Err() != nil || failed == nil {
				return errors.Join(failed, t.Left())
			}
			return failed
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&list, "policies", "p", []string{defaultBench}, "`POLICIES` to compare, the first one with all others")
	flags.StringVarP(&b.Dir, "output", "o", "", "keep what is done, and write the table, in the folder `DIR`")
	flags.StringSliceVar(&only, "traces", nil, "only the traces with these `NAMES`")
	flags.StringSliceVar(&b.Loads, "loads", []string{bench.Recorded, "0.7", "0.9"}, "`LOADS`: "+bench.Recorded+", or numbers as --load of 'sojourn compare' takes them")
	flags.StringSliceVar(&b.Estimates, "estimates", []string{"exact", "none", bench.Requested}, "what policies are told of service times, several `MODES`: "+strings.Join(append(trial.EstimatesModes, bench.Requested), ", "))
	flags.Uint64Var(&b.Seed, "seed", 0, "seed `N` of all random numbers")
	flags.BoolVar(&form.json, "json", false, "print JSON instead of tables")
	flags.BoolVarP(&quiet, "quiet", "q", false, "no progress bar on stderr")
	return cmd
}
