package cli

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/spf13/cobra"
)

// optionsText holds what the sources say of the options of policies. A test compares it
// with them, and writes it with -update.
//
//go:embed options.txt
var optionsText string

// optionDocs returns the comments of the options of the built-in policies.
func optionDocs() catalog.Docs {
	docs := catalog.Docs{}
	for line := range strings.Lines(optionsText) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		docs[name] = text
	}
	return docs
}

func newPolicies(policies catalog.Catalog) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "policies [NAME...]",
		Short: "List the policies, or say what can be chosen about one",
		Long: `policies lists the policies. With names it says what the options of these mean, what
they take and what counts where they are not given. A duration is written as 5s, 1m30s
or 200ms.`,
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
						return usageError{err}
					}
					chosen = append(chosen, *e)
				}
			}
			switch {
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), policySummaries(chosen))
			case len(args) == 0:
				return listPolicies(cmd.OutOrStdout(), chosen)
			}
			return describePolicies(cmd.OutOrStdout(), chosen)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: all options of all policies, or of those named")
	return cmd
}

// listPolicies prints a line or two for each policy.
func listPolicies(out io.Writer, policies catalog.Catalog) error {
	w := bufio.NewWriter(out)
	width := 0
	for _, name := range policies.Names() {
		width = max(width, len(name))
	}
	for _, e := range policies {
		options := ""
		if n := len(e.Options()); n > 0 {
			options = "; " + count(n, "option")
		}
		fmt.Fprint(w, hang(fmt.Sprintf("%-*s  ", width, e.Name), e.Summary+options))
	}
	return w.Flush()
}

// describePolicies prints what can be chosen about policies.
func describePolicies(out io.Writer, policies catalog.Catalog) error {
	w := bufio.NewWriter(out)
	docs := optionDocs()
	for i, e := range policies {
		if i > 0 {
			fmt.Fprintln(w)
		}
		writeWrapped(w, "", "  ", e.Name+": "+e.Summary+".")
		if e.Package != "" {
			fmt.Fprintf(w, "More: go doc %s\n", e.Package)
		}
		all := e.Describe(docs)
		if len(all) == 0 {
			fmt.Fprintln(w, "It has no options.")
		} else {
			fmt.Fprintf(w, "Options, as in %s:%s=...\n", e.Name, all[0].Options[0].Name)
		}
		for _, d := range all {
			fmt.Fprintln(w)
			for _, o := range d.Options {
				fmt.Fprintf(w, "%s=%s\n", o.Name, valueText(o))
			}
			if d.Text != "" {
				writeWrapped(w, "    ", "    ", d.Text)
			}
			for _, o := range d.Options {
				for i, v := range o.Values {
					text := v.Text
					if i == 0 {
						text = strings.TrimPrefix(strings.TrimSuffix(text, ".")+" (the default)", " ")
					}
					if text != "" {
						writeWrapped(w, "      ", "        ", v.Name+": "+text)
					}
				}
			}
		}
	}
	return w.Flush()
}

// valueText says what an option takes.
func valueText(o catalog.Described) string {
	if len(o.Values) == 0 {
		return strings.ToUpper(strings.ReplaceAll(o.Kind, " or ", "|"))
	}
	var names []string
	for _, v := range o.Values {
		names = append(names, v.Name)
	}
	return strings.Join(names, "|")
}

// A policySummary is a policy as policies prints it in JSON.
type policySummary struct {
	Name    string          `json:"name"`
	Summary string          `json:"summary"`
	Options []optionSummary `json:"options"`
}

// An optionSummary is one of its options. Options that are explained together have the
// same text.
type optionSummary struct {
	Name   string          `json:"name"`
	Kind   string          `json:"kind"`
	Values []choiceSummary `json:"values,omitempty"` // the first is the default
	Text   string          `json:"text"`
}

type choiceSummary struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

func policySummaries(policies catalog.Catalog) []policySummary {
	docs := optionDocs()
	all := []policySummary{}
	for _, e := range policies {
		p := policySummary{Name: e.Name, Summary: e.Summary, Options: []optionSummary{}}
		for _, d := range e.Describe(docs) {
			for _, o := range d.Options {
				s := optionSummary{Name: o.Name, Kind: o.Kind, Text: d.Text}
				for _, v := range o.Values {
					s.Values = append(s.Values, choiceSummary(v))
				}
				p.Options = append(p.Options, s)
			}
		}
		all = append(all, p)
	}
	return all
}

// summaries returns the policies for completion.
func summaries(policies catalog.Catalog) []string {
	var all []string
	for _, e := range policies {
		all = append(all, cobra.CompletionWithDesc(e.Name, e.Summary))
	}
	return all
}
