package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/whatif"
	"github.com/spf13/cobra"
)

func newExplain(policies catalog.Catalog) *cobra.Command {
	var (
		policy, file string
		asJSON       bool
	)
	cmd := &cobra.Command{
		Use:   "explain DIR JOB",
		Short: "Say why a job waited, and what would have let it start sooner",
		Long: `explain says why job JOB waited, before its start and after it: which jobs had the slots
that it could have used, by which quantities the policy preferred them, and what would have
let it start and finish sooner. It finds the last by running all recorded jobs again, each
time with one thing changed: twice the weight of the job, half its size, a deadline that it
could just meet alone, one slot more. Faults are not repeated.

DIR is the folder of 'sojourn run -o', a history, or the folder of a journal. Without -p,
the policy is the one that the history names.`,
		Example: `  sojourn run --sample -p fifo -o out
  sojourn explain out 12
  sojourn explain out/history.txt 12 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage.Errorf("explain takes a folder or history, and a job: explain DIR JOB")
			}
			return nil
		},
		RunE: action(func(cmd *cobra.Command, args []string) error {
			job, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return usage.Errorf("job %q is not the number of a job", args[1])
			}
			src, err := openRun(cmd, args[0])
			if err != nil {
				return err
			}
			named, made, err := trial.PolicyOf(policies, src, policy)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			wait, err := whatif.Explain(ctx, whatif.Case{Entries: src.Entries, Policy: made, Name: named}, sojourn.JobID(job))
			if err != nil {
				return err
			}
			return printPage(cmd, args, file, wait.Page, func() error { return printForm(cmd, asJSON, wait, wait.Write) })
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&policy, "policy", "p", "", "`POLICY` that decided, if not the one that the history names")
	registerPage(cmd.Flags(), &file)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of sentences")
	return cmd
}

// openRun opens the history of a run: the one in the folder that run made, or else what
// replay takes.
func openRun(cmd *cobra.Command, name string) (*trial.Source, error) {
	inside := filepath.Join(name, files.History)
	if _, err := os.Stat(inside); name != "-" && err == nil {
		return trial.OpenSource(cmd.InOrStdin(), inside)
	} else if name != "-" && !errors.Is(err, fs.ErrNotExist) && !isFile(name) {
		return nil, err
	}
	return trial.OpenSource(cmd.InOrStdin(), name)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}
