package cli

import (
	_ "embed"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
)

func newPolicies(policies catalog.Catalog) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "policies [NAME...]",
		Short: "List the policies, or the options of one",
		Long: `policies lists the policies. With names it lists the options of these policies: what
they mean, what they take, and their defaults. A duration is written as 5s, 1m30s or
200ms.`,
		Example: `  sojourn policies
  sojourn policies hfsp
  sojourn policies fair td --json`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return summaries(policies), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: action(func(cmd *cobra.Command, args []string) error {
			chosen := policies
			if len(args) > 0 {
				chosen = nil
				for _, name := range args {
					e, err := policies.Find(name)
					if err != nil {
						return usage.Wrap(err)
					}
					chosen = append(chosen, *e)
				}
			}
			switch {
			case asJSON:
				return format.WriteJSON(cmd.OutOrStdout(), report.PolicySummaries(chosen))
			case len(args) == 0:
				return report.ListPolicies(cmd.OutOrStdout(), chosen)
			}
			return report.DescribePolicies(cmd.OutOrStdout(), chosen)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: all options of all policies, or of those named")
	return cmd
}

// summaries returns the policies for completion.
func summaries(policies catalog.Catalog) []string {
	var all []string
	for _, e := range policies {
		all = append(all, cobra.CompletionWithDesc(e.Name, e.Summary))
	}
	return all
}
