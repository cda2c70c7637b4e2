package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// ListPolicies prints a line or two for each policy.
func ListPolicies(out io.Writer, policies catalog.Catalog) error {
	w := bufio.NewWriter(out)
	width := 0
	for _, name := range policies.Names() {
		width = max(width, len(name))
	}
	for _, e := range policies {
		options := ""
		if n := len(e.Options()); n > 0 {
			options = "; " + format.Count(n, "option")
		}
		fmt.Fprint(w, format.Hang(fmt.Sprintf("%-*s  ", width, e.Name), e.Summary+options))
	}
	return w.Flush()
}

// DescribePolicies prints what can be chosen about policies.
func DescribePolicies(out io.Writer, policies catalog.Catalog) error {
	w := bufio.NewWriter(out)
	docs := catalog.OptionDocs()
	for i, e := range policies {
		if i > 0 {
			fmt.Fprintln(w)
		}
		format.WriteWrapped(w, "", "  ", e.Name+": "+e.Summary+".")
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
				format.WriteWrapped(w, "    ", "    ", d.Text)
			}
			for _, o := range d.Options {
				for i, v := range o.Values {
					text := v.Text
					if i == 0 {
						text = strings.TrimPrefix(strings.TrimSuffix(text, ".")+" (the default)", " ")
					}
					if text != "" {
						format.WriteWrapped(w, "      ", "        ", v.Name+": "+text)
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

// A PolicySummary is a policy as policies prints it in JSON. Options that are explained together have the same text.
type PolicySummary struct {
	Name    string              `json:"name"`
	Summary string              `json:"summary"`
	Options []catalog.Described `json:"options"`
}

func PolicySummaries(policies catalog.Catalog) []PolicySummary {
	docs := catalog.OptionDocs()
	all := []PolicySummary{}
	for _, e := range policies {
		all = append(all, PolicySummary{e.Name, e.Summary, e.Explained(docs)})
	}
	return all
}
