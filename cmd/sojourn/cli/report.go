package cli

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
)

func newReport() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Make a page of the folders that -o wrote, for a browser",
		Long: `report reads folders that run, compare, sweep or plan wrote with -o, and writes a page
that shows them: the verdict, how long jobs take under each policy and whom each one
hurts, which job ran where and why it waited, and tables. The page is one file that
needs nothing else, and no network. Runs of one workload on one cluster can stand in
one page. Of a run of more than 100,000 tasks, the page draws a sample, and says so.

The page goes to DIR/report.html. For several folders, -o says where it goes.`,
		Example: `  sojourn compare --sample -o out            writes out/report.html, too
  sojourn report out/1-fifo other/2-fsp -o page.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("no folder: give one that run, compare, sweep or plan wrote with -o")
			}
			return nil
		},
		RunE: action(func(cmd *cobra.Command, dirs []string) error {
			if file == "" && len(dirs) > 1 {
				return usage.Errorf("%d folders: -o says where the page goes", len(dirs))
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			r, err := recorded.Page(ctx, dirs)
			if err != nil {
				return err
			}
			to := cmp.Or(file, filepath.Join(dirs[0], files.Report))
			if err := files.Replace(to, func(w io.Writer) error { return r.Write(w) }); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), format.Visible(to))
			return err
		}),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the page to `FILE`")
	return cmd
}
