package cli

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/spf13/cobra"
)

func newReplay(policies catalog.Catalog) *cobra.Command {
	var (
		how    trial.Replaying
		until  instant
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Replay a recorded history or a journal through a policy",
		Long: `replay repeats the calls of a history, such as the history.txt of 'sojourn run -o',
on a policy, and compares the answers with the recorded answers. At a difference it
prints the first one, and the exit status is 1. Without -p it takes the policy that
the history names, and all answers should be equal. FILE may be the folder of a
journal: see 'sojourn journal --help'.

At a difference, the policy and the one that the history names explain the jobs that
the two answers are about. With --diff OTHER it is OTHER that is asked, and the policy
of -p explains beside it.

A history that cannot be true, such as a decision for a slot that is unknown or
time that goes back, is bad input: it prints FILE:LINE:COLUMN and the reason, and
the exit status is 3. - is stdin. docs/history.md describes the format.

` + policyHelp(policies),
		Example: `  sojourn run --sample -p fsp -o out && sojourn replay out/history.txt
  sojourn replay out/history.txt -p fair:order=running`,
		Args: oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			src, err := trial.OpenSource(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			how.Until = until.pointer()
			result, err := trial.Replay(policies, src, how)
			if err != nil {
				return err
			}
			err = printForm(cmd, asJSON, result, result.Write)
			if d := result.Difference; err == nil && d != nil {
				err = fmt.Errorf("%s:%d: %s differs from what is recorded", d.File(), d.Line, result.Policy)
			}
			return err
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&how.Policy, "policy", "p", "", "`POLICY` to ask, if not the one that the history names")
	cmd.Flags().StringVar(&how.Other, "diff", "", "`OTHER` policy to ask, explained beside that of -p")
	cmd.Flags().Var(&until, "until", "replay only the calls up to this `TIME` of the history, as it is printed, such as 90 (seconds), 90s or 23d")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return cmd
}
