package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	workloads "github.com/sojourn-sched/sojourn/research/workload"
)

// ListGenerators prints the names of the workloads, the clusters of their sources
// and what they are.
func ListGenerators(out io.Writer) error {
	w := bufio.NewWriter(out)
	all := []*workloads.Generator{{Name: "workload", Cluster: "cluster", Doc: "jobs"}}
	names, clusters := 0, 0 // widths
	for _, name := range workloads.Names() {
		g, err := workloads.Lookup(name)
		if err != nil {
			return err
		}
		all = append(all, g)
		names, clusters = max(names, len(g.Name)), max(clusters, len(g.Cluster))
	}
	for _, g := range all {
		w.WriteString(format.Hang(fmt.Sprintf("%-*s  %-*s  ", names, g.Name, clusters, g.Cluster), g.Doc))
	}
	return w.Flush()
}

// DescribeGenerator prints the options of a workload.
func DescribeGenerator(out io.Writer, g *workloads.Generator) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s: %s\nSource: %s.\nCluster: %s\n\nOptions and their defaults:\n", g.Name, g.Doc, g.Source, g.Cluster)
	for _, o := range g.Options {
		fmt.Fprintf(w, "\n%s=%s\n", o.Name, o.Default)
		for _, line := range []struct{ title, text string }{{"", o.Doc}, {"values: ", o.Values}, {"source: ", o.Source}} {
			format.WriteWrapped(w, "    ", "      ", line.title+line.text)
		}
	}
	return w.Flush()
}

// A GeneratorSummary is a workload as gen --options prints it in JSON.
type GeneratorSummary struct {
	Name    string                   `json:"name"`
	Summary string                   `json:"summary"`
	Source  string                   `json:"source"`
	Cluster string                   `json:"cluster"`
	Options []generatorOptionSummary `json:"options"`
	Schema  int                      `json:"schema"`
}

// A generatorOptionSummary is one of its options, of which Source tells where the default
// is from.
type generatorOptionSummary struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Values  string `json:"values"`
	Text    string `json:"text"`
	Source  string `json:"source"`
}

func NewGeneratorSummary(g *workloads.Generator) GeneratorSummary {
	s := GeneratorSummary{Name: g.Name, Summary: g.Doc, Source: g.Source, Cluster: g.Cluster, Options: []generatorOptionSummary{}, Schema: format.Schema}
	for _, o := range g.Options {
		s.Options = append(s.Options, generatorOptionSummary{Name: o.Name, Default: o.Default, Values: o.Values, Text: o.Doc, Source: o.Source})
	}
	return s
}
