package cli

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
	workloads "github.com/sojourn-sched/sojourn/workload"
	"github.com/spf13/cobra"
)

func newGen() *cobra.Command {
	var (
		seed     uint64
		given    []string
		describe bool
		asJSON   bool
		quiet    bool
	)
	cmd := &cobra.Command{
		Use:   "gen [NAME]",
		Short: "Make a workload of a paper, or a general one, from a seed",
		Long: `gen makes a workload by name and seed and writes it to stdout. Equal seeds and
options make the same bytes. Without a name it lists the names. --options shows what
can be chosen about a workload: the value that counts otherwise, which values there
are, and where in the paper the default stands, or that it is assumed.

Nothing is written if a time comes out too long to be told.`,
		Example: `  sojourn gen
  sojourn gen hfsp-test --options
  sojourn gen hfsp-test --options --json
  sojourn gen hfsp-test --seed 1 --option load=0.9 > test.jsonl
  sojourn gen bursty --option sizes=pareto --option jobs=5000 | sojourn compare -w - -c 100x1`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFirst(namedAlone),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if describe || asJSON || len(given) > 0 {
					return usagef("no workload: give a name, one of %s", strings.Join(workloads.Names(), ", "))
				}
				return listGenerators(cmd.OutOrStdout())
			}
			g, err := workloads.Lookup(args[0])
			if err != nil {
				return usageError{err}
			}
			switch {
			case asJSON && !describe:
				return usagef("--json is for --options: a workload is always written as lines of JSON")
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), newGeneratorSummary(g))
			case describe:
				return describeGenerator(cmd.OutOrStdout(), g)
			}
			options, err := parseOptions(given)
			if err != nil {
				return err
			}
			jobs, err := g.Jobs(seed, options)
			if err != nil {
				return usageError{err}
			}
			return generate(cmd, jobs, quiet)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Uint64Var(&seed, "seed", 0, "where all randomness comes from")
	flags.StringArrayVar(&given, "option", nil, "`NAME=VALUE` of an option of the workload; may be repeated")
	flags.BoolVar(&describe, "options", false, "print the options of the workload instead of making it")
	flags.BoolVar(&asJSON, "json", false, "with --options, print JSON")
	flags.BoolVarP(&quiet, "quiet", "q", false, "no progress bar on stderr")
	must(cmd.RegisterFlagCompletionFunc("option", completeOption))
	return cmd
}

// parseOptions reads the values of --option.
func parseOptions(given []string) (map[string]string, error) {
	options := map[string]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--option %q is not of the form name=value", text)
		}
		if _, twice := options[name]; twice {
			return nil, usagef("option %s is given twice", name)
		}
		options[name] = value
	}
	return options, nil
}

// generate writes jobs to stdout. They are made twice: nothing is written if one
// of them cannot be.
func generate(cmd *cobra.Command, jobs iter.Seq2[*sim.Job, error], quiet bool) error {
	bar := newBar(cmd.ErrOrStderr(), "drawing", -1, quiet)
	n := 0
	for _, err := range jobs {
		if err != nil {
			bar.Clear()
			return err
		}
		n++
		bar.Add(1)
	}
	bar.Clear()

	bar = newBar(cmd.ErrOrStderr(), "writing", n, quiet)
	defer bar.Clear()
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	w := trace.NewWriter(out, trace.WriteOptions{})
	for j, err := range jobs {
		if err != nil {
			return err
		}
		if err := w.Write(j); err != nil {
			return err
		}
		bar.Add(1)
	}
	return out.Flush()
}

// listGenerators prints the names of the workloads, the clusters of their sources
// and what they are.
func listGenerators(out io.Writer) error {
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
		w.WriteString(hang(fmt.Sprintf("%-*s  %-*s  ", names, g.Name, clusters, g.Cluster), g.Doc))
	}
	return w.Flush()
}

// describeGenerator prints the options of a workload.
func describeGenerator(out io.Writer, g *workloads.Generator) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s: %s\nSource: %s.\nCluster: %s\n\nOptions and their defaults:\n", g.Name, g.Doc, g.Source, g.Cluster)
	for _, o := range g.Options {
		fmt.Fprintf(w, "\n%s=%s\n", o.Name, o.Default)
		for _, line := range []struct{ title, text string }{{"", o.Doc}, {"values: ", o.Values}, {"source: ", o.Source}} {
			writeWrapped(w, "    ", "      ", line.title+line.text)
		}
	}
	return w.Flush()
}

// A generatorSummary is a workload as gen --options prints it in JSON.
type generatorSummary struct {
	Name    string                   `json:"name"`
	Summary string                   `json:"summary"`
	Source  string                   `json:"source"`
	Cluster string                   `json:"cluster"`
	Options []generatorOptionSummary `json:"options"`
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

func newGeneratorSummary(g *workloads.Generator) generatorSummary {
	s := generatorSummary{Name: g.Name, Summary: g.Doc, Source: g.Source, Cluster: g.Cluster, Options: []generatorOptionSummary{}}
	for _, o := range g.Options {
		s.Options = append(s.Options, generatorOptionSummary{Name: o.Name, Default: o.Default, Values: o.Values, Text: o.Doc, Source: o.Source})
	}
	return s
}
