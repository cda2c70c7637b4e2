package cli

import (
	"bufio"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/pools"
	workloads "github.com/sojourn-sched/sojourn/research/workload"
	"github.com/spf13/cobra"
)

// poolsTopic is the help topic that is not a command, policy or workload.
const poolsTopic = "pools"

func newHelp(policies catalog.Catalog) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND, POLICY or WORKLOAD]",
		Short: "Say more about a command, a policy, a workload, or pools files",
		Example: `  sojourn help compare
  sojourn help hfsp
  sojourn help pools`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return helpTopics(cmd.Root(), policies), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: action(func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			topic, rest, err := root.Find(args)
			switch {
			case err == nil && len(rest) == 0:
				topic.InitDefaultHelpFlag()
				return topic.Help()
			case len(args) == 1 && args[0] == poolsTopic:
				w := bufio.NewWriter(cmd.OutOrStdout())
				w.WriteString(pools.Format())
				return w.Flush()
			case len(args) == 1:
				if e, err := policies.Find(args[0]); err == nil {
					return report.DescribePolicies(cmd.OutOrStdout(), catalog.Catalog{*e})
				}
				if g, err := workloads.Lookup(args[0]); err == nil {
					return report.DescribeGenerator(cmd.OutOrStdout(), g)
				}
			}
			text := strings.Join(args, " ")
			if near := nearest(text, helpTopics(root, policies)); len(near) > 0 {
				return usage.Errorf("nothing is known of %q; did you mean %s?", text, strings.Join(near, " or "))
			}
			return usage.Errorf("nothing is known of %q, which is no command, policy or workload", text)
		}),
	}
}

// helpTopics returns the topics of help.
func helpTopics(root *cobra.Command, policies catalog.Catalog) []string {
	topics := []string{poolsTopic}
	for _, c := range root.Commands() {
		topics = append(topics, c.Name())
	}
	topics = slices.Concat(topics, policies.Names(), workloads.Names())
	slices.Sort(topics)
	return slices.Compact(topics)
}

// nearest returns the names that a text may mean. These are the names that begin with
// it, or that differ from it by the least number of characters, at most two and at
// most half of them.
func nearest(text string, names []string) []string {
	var near []string
	least := min(2, len([]rune(text))/2)
	for _, name := range names {
		switch d := distance([]rune(text), []rune(name)); {
		case text != "" && strings.HasPrefix(name, text):
			d = 0
			fallthrough
		case d <= least:
			if d < least {
				near, least = nil, d
			}
			near = append(near, name)
		}
	}
	return near
}

// distance returns how many characters must be inserted, removed or changed to turn one
// text into the other (Levenshtein).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		last := row[0]
		row[0] = i + 1
		for j, y := range b {
			changed := last
			if x != y {
				changed++
			}
			last = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// defaultPolicies are the policies that compare compares by default.
const defaultPolicies = "default,fifo,fair,las,srpt,fsp,pfsp,hfsp"

// policyHelp names the policies for the help text.
func policyHelp(policies catalog.Catalog) string {
	return strings.Join(format.Wrap("Policies are written as name or name:option=value,... They are "+
		strings.Join(policies.Names(), ", ")+". 'sojourn policies' describes them, and 'sojourn policies NAME' lists the options of one.",
		format.Width(), ""), "\n")
}
