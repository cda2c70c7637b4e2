package cli

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/spf13/cobra"
)

func newReplay(policies catalog.Catalog) *cobra.Command {
	var (
		spec   string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Replay a recorded history through a policy",
		Long: `replay repeats the calls of a history, such as the history.txt of 'sojourn run -o',
on a policy, and compares the answers with the recorded answers. At a difference it
prints the first one, and the exit status is 1. Without -p it takes the policy that
the history names, and all answers should be equal.

A history that cannot be true, such as a decision for a slot that is unknown or
time that goes back, is bad input: it prints FILE:LINE:COLUMN and the reason, and
the exit status is 3. - is stdin. docs/history.md describes the format.

` + policyHelp(policies),
		Example: `  sojourn run --sample -p fsp -o out && sojourn replay out/history.txt
  sojourn replay out/history.txt -p fair:order=deficit`,
		Args: oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			file, name, err := files.OpenOrStdin(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			result, err := trial.Replay(policies, file, name, spec)
			if err != nil {
				return err
			}
			if asJSON {
				err = format.WriteJSON(cmd.OutOrStdout(), result)
			} else {
				err = result.Write(cmd.OutOrStdout())
			}
			if d := result.Difference; err == nil && d != nil {
				err = fmt.Errorf("%s:%d: %s differs from what is recorded", name, d.Line, result.Policy)
			}
			return err
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&spec, "policy", "p", "", "`POLICY` to ask, if not the one that the history names")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return cmd
}
