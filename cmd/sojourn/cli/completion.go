package cli

import (
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/advice"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/convert"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	workloads "github.com/sojourn-sched/sojourn/research/workload"
	"github.com/spf13/cobra"
)

// registerCompletions registers the possible values of flags for the shell, in root
// and all commands below. A flag has the same values in every command, unless the
// command has its own completion.
func registerCompletions(root *cobra.Command, policies catalog.Catalog) {
	specs := completeSpecs(func() []catalog.Named { return policies.Named(catalog.OptionDocs()) }, false)
	flags := []struct {
		name     string
		complete cobra.CompletionFunc
	}{
		{"policies", specs},
		{"policy", specs},
		{"gen", completeSpecs(namedWorkloads, true)},
		{"estimates", completeWords(trial.EstimatesModes)},
		{"from", completeWords(convert.Formats)},
		{"to", completeWords(convert.Targets)},
		{"csv", completeWords([]string{csvTable, csvBatsim})},
		{"columns", completeColumns},
		{"planners", completeList(trial.PlannerNames())},
		{"vary", completeVary(policies)},
		{"scale", completeWords([]string{input.ScaleArrivals, input.ScaleDurations})},
		{"objective", completeWords(advice.ObjectiveNames())},
		{"pool", completeWords(convert.PoolKeys)},
	}
	must(root.RegisterFlagCompletionFunc("color", completeWords(colours)))
	for _, c := range root.Commands() {
		for _, f := range flags {
			if _, own := c.GetFlagCompletionFunc(f.name); c.Flags().Lookup(f.name) != nil && !own {
				must(c.RegisterFlagCompletionFunc(f.name, f.complete))
			}
		}
	}
}

// must panics if a flag does not exist.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// completeSpecs completes names with options. A value has one of them or a list.
func completeSpecs(known func() []catalog.Named, one bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completions(catalog.Complete(begun, known(), one)), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeFirst completes the first argument among names, and no other.
func completeFirst(known func() []catalog.Named) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completions(catalog.Complete(begun, known(), true)), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeWords completes one of the words. The user fills in the part in capital
// letters after a colon.
func completeWords(words []string) cobra.CompletionFunc {
	directive := cobra.ShellCompDirectiveNoFileComp
	var known []catalog.Named
	for _, word := range words {
		name, _, open := strings.Cut(word, ":")
		if open {
			name += ":"
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		known = append(known, catalog.Named{Name: name})
	}
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completions(catalog.Complete(begun, known, true)), directive
	}
}

// completeList completes a list of some words.
func completeList(words []string) cobra.CompletionFunc {
	var known []catalog.Named
	for _, word := range words {
		known = append(known, catalog.Named{Name: word})
	}
	return completeSpecs(func() []catalog.Named { return known }, false)
}

// completeColumns completes the fields of the last column, which the user gives a title.
func completeColumns(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before, last := "", begun
	if i := strings.LastIndexByte(begun, ','); i >= 0 {
		before, last = begun[:i+1], begun[i+1:]
	}
	var all []cobra.Completion
	for _, field := range convert.ColumnFields {
		if strings.HasPrefix(field, last) {
			all = append(all, before+field+"=")
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeVary completes the parameter of a sweep: load, error, estimates, or an option of a
// policy; then its values, one after the other.
func completeVary(policies catalog.Catalog) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		left, right, valued := strings.Cut(begun, "=")
		before, last := "", right
		if i := strings.LastIndexByte(right, ','); i >= 0 {
			before, last = right[:i+1], right[i+1:]
		}
		var choices []catalog.Choice
		switch policy, _, optional := strings.Cut(left, ":"); {
		case optional && valued:
			prefix := left + "="
			for _, c := range catalog.Complete(prefix+last, policies.Named(catalog.OptionDocs()), true) {
				c.Name = prefix + before + strings.TrimPrefix(c.Name, prefix)
				choices = append(choices, c)
			}
		case optional:
			choices = catalog.Complete(begun, policies.Named(catalog.OptionDocs()), true)
		case !valued:
			for _, name := range []string{trial.VaryLoad, trial.VaryError, trial.VaryEstimates} {
				if strings.HasPrefix(name, policy) {
					choices = append(choices, catalog.Choice{Name: name + "="})
				}
			}
			for _, n := range policies.Named(catalog.OptionDocs()) {
				if strings.HasPrefix(n.Name, policy) && len(n.Options) > 0 {
					choices = append(choices, catalog.Choice{Name: n.Name + ":", Text: n.Text})
				}
			}
		}
		return completions(choices), directive
	}
}

// completeOption completes the value of --option of gen, whose first argument names the
// workload.
func completeOption(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 || strings.Contains(begun, ",") {
		return nil, directive
	}
	name, _, _ := strings.Cut(args[0], ":")
	prefix := name + ":"
	choices := catalog.Complete(prefix+begun, namedWorkloads(), true)
	for i := range choices {
		choices[i].Name = strings.TrimPrefix(choices[i].Name, prefix)
	}
	return completions(choices), directive
}

// completions writes choices for the shell, each with the first sentence of its text.
func completions(choices []catalog.Choice) []cobra.Completion {
	var all []cobra.Completion
	for _, c := range choices {
		text, _, _ := strings.Cut(c.Text, ". ")
		all = append(all, cobra.CompletionWithDesc(c.Name, strings.TrimSuffix(text, ".")))
	}
	return all
}

// namedWorkloads returns the generators. The completion of an option's value is its
// default.
func namedWorkloads() []catalog.Named {
	var all []catalog.Named
	for _, name := range workloads.Names() {
		g, err := workloads.Lookup(name)
		must(err)
		n := catalog.Named{Name: g.Name, Text: g.Doc}
		for _, o := range g.Options {
			n.Options = append(n.Options, catalog.Described{Name: o.Name, Text: o.Doc, Values: []catalog.Choice{{Name: o.Default, Text: o.Values}}})
		}
		all = append(all, n)
	}
	return all
}

// namedAlone returns the generators without their options.
func namedAlone() []catalog.Named {
	all := namedWorkloads()
	for i := range all {
		all[i].Options = nil
	}
	return all
}
