package paper

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

// A File is a file of a page: its text, or a picture on it.
type File struct {
	Name string
	Data []byte
}

// Paper returns the name of the paper in the names of its experiments: "hfsp" for hfsp-fig6.
func (e *Experiment) Paper() string {
	paper, _, _ := strings.Cut(e.Name, "-")
	return paper
}

// Page returns the page of a paper as Markdown, and a picture of each of its experiments.
func Page(results []*Result) []File {
	first := results[0].Experiment
	authors, _, _ := strings.Cut(first.Source, ", ")
	files := []File{{Name: first.Paper() + ".md"}}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", plainText(authors))
	var all tally
	for _, p := range results {
		all.add(p)
	}
	command := first.Paper()
	if len(results) == 1 {
		command = first.Name
	}
	var short, rest string
	if whole(results) {
		short, rest = findingsOf(first.Paper())
	}
	fmt.Fprintf(&b, "%s `sojourn paper %s -o DIR` writes this page.\n\n", strings.TrimSpace(short+" "+all.sentence()), command)
	b.WriteString("A number of ours is a mean over seeds, or the ratio of two such means, ± half of its " +
		fmt.Sprintf("%.0f %% confidence interval (Student's t). ", 100*stats.Confidence) +
		"In a picture, a dot is ours, its line is the interval, and a diamond is the paper's number. Where the paper says only more or less, " +
		"a triangle stands at the limit and points to the side that the paper names. `sojourn paper --help` says what the verdicts mean.\n\n")
	b.WriteString("| experiment | what | reproduced | shape only | not reproduced | too few seeds |\n|---|---|---|---|---|---|\n")
	for _, p := range results {
		var t tally
		t.add(p)
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", p.Name, p.Name, plainText(p.Title), t.cells())
	}
	if rest != "" {
		b.WriteString("\n## What follows\n\n" + rest)
	}
	for _, p := range results {
		b.WriteString("\n" + p.section())
		if picture := p.picture(); picture != nil {
			files = append(files, File{p.Name + ".svg", picture})
		}
	}
	files[0].Data = []byte(b.String())
	return files
}

// Contents returns the page that leads to those of the papers.
func Contents(papers [][]*Result) File {
	var b bytes.Buffer
	b.WriteString("# The papers, and what came out\n\nEach page repeats the experiments of one paper: the set-up as we read it, the paper's numbers, ours, " +
		"and a verdict on each. `sojourn paper --all -o DIR` writes these pages.\n\n" +
		"| paper | experiments | reproduced | shape only | not reproduced | too few seeds |\n|---|---|---|---|---|---|\n")
	for _, results := range papers {
		var t tally
		for _, p := range results {
			t.add(p)
		}
		authors, _, _ := strings.Cut(results[0].Source, ", ")
		fmt.Fprintf(&b, "| [%s](%s.md) | %d | %s |\n", plainText(authors), results[0].Paper(), len(results), t.cells())
	}
	b.WriteString("\nIn short:\n\n")
	for _, results := range papers {
		if short, _ := findingsOf(results[0].Paper()); short != "" {
			authors, _, _ := strings.Cut(results[0].Source, ", ")
			fmt.Fprintf(&b, "- %s: %s\n", plainText(authors), strings.ReplaceAll(short, "\n", " "))
		}
	}
	return File{"README.md", b.Bytes()}
}

// A tally counts the verdicts of numbers and statements.
type tally struct{ reproduced, shape, not, few int }

func (t *tally) add(p *Result) {
	for _, r := range p.rows {
		switch r.is {
		case reproduced:
			t.reproduced++
		case shapeOnly:
			t.shape++
		case notReproduced:
			t.not++
		case tooFewSeeds:
			t.few++
		}
	}
}

func (t *tally) cells() string {
	return fmt.Sprintf("%d | %d | %d | %d", t.reproduced, t.shape, t.not, t.few)
}

// sentence says how many of the paper's statements came out.
func (t *tally) sentence() string {
	n := t.reproduced + t.shape + t.not + t.few
	if n == 0 {
		return "The text of the paper has no number to compare with."
	}
	text := fmt.Sprintf("Of %s of the paper, %d came out, %d in shape only, and %d did not", format.Count(n, "statement"), t.reproduced, t.shape, t.not)
	if t.few > 0 {
		text += fmt.Sprintf("; for %d there are too few seeds", t.few)
	}
	return text + "."
}

// section returns the part of the page about one experiment.
func (p *Result) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s: %s.\n\n`%s`\n\n", p.Name, plainText(p.Source), plainText(p.Title), p.command())
	b.WriteString(p.setUp())
	if p.picture() != nil {
		fmt.Fprintf(&b, "\n![%s: the paper's numbers beside ours](%s.svg)\n", p.Name, p.Name)
	}
	fmt.Fprintf(&b, "\n| workload | %s | paper | ours | verdict |\n|---|---|--:|--:|---|\n", plainText(p.measure.Title))
	for i, r := range p.rows {
		name := plainText(r.workload)
		if i > 0 && r.workload == p.rows[i-1].workload {
			name = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, r.marked(), plainText(r.paper()), r.text(), cmp.Or(r.is, "-"))
	}
	if p.extra != nil {
		text, _ := p.extra(p)
		b.WriteString("\n```text\n" + strings.TrimRight(text, "\n") + "\n```\n")
	}
	if text := report.LeftOver(p.order); text != "" {
		b.WriteString("\n```text\n" + strings.TrimRight(text, "\n") + "\n```\n")
	}
	list := ""
	for _, r := range p.rows {
		if r.why != "" {
			list += fmt.Sprintf("- %s, %s: %s. %s\n", plainText(r.workload), r.marked(), r.is, plainText(r.why))
		}
	}
	if list != "" {
		b.WriteString("\nWhat did not come out, or is not certain:\n\n" + list)
	}
	if len(p.notes) > 0 {
		b.WriteString("\nNotes:\n\n")
	}
	for _, note := range p.notes {
		b.WriteString("- " + plainText(note) + "\n")
	}
	return b.String()
}

// command returns what prints the numbers.
func (p *Result) command() string {
	text := fmt.Sprintf("sojourn paper %s --seeds %d", p.Name, len(p.order[0].Loads))
	if seed := p.order[0].Scenario.Seed; seed != 0 {
		text += fmt.Sprintf(" --seed %d", seed)
	}
	return text
}

// setUp returns the set-up as we read it.
func (p *Result) setUp() string {
	var b strings.Builder
	b.WriteString("The set-up as we read it:\n\n| workload | `--gen` | jobs | cluster | load |\n|---|---|--:|---|---|\n")
	for _, w := range p.workloads {
		s := p.sampleOf(w.name)
		load := cmp.Or(report.LoadText(s), "all jobs at once")
		if sigma, ok := p.sigmas[w.name]; ok {
			load += fmt.Sprintf("; sizes off by sigma %g", sigma)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", plainText(w.name), w.gen, format.Thousands(s.Scenario.Workload.Facts().Jobs), s.Scenario.Cluster.Name, load)
	}
	if p.estimates != (trial.Estimates{}) {
		fmt.Fprintf(&b, "\nEstimates that policies are told: %s.\n", &p.estimates)
	}
	if p.network.Bandwidth > 0 {
		fmt.Fprintf(&b, "\nInputs are %s.\n", &p.network)
	}
	return b.String()
}

// marked returns what names a row, with policies as code.
func (r *paperRow) marked() string {
	if r.policy == "" {
		return plainText(r.quantity())
	}
	named := *r
	named.policy = "`" + r.policy + "`"
	if r.over != "" {
		named.over = "`" + r.over + "`"
	}
	return strings.ReplaceAll(named.quantity(), "|", `\|`)
}

// plainText returns a text in which nothing is markup. Words with an = or an underscore, which are options, are code.
func plainText(text string) string {
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`)
	words := strings.Split(text, " ")
	for i, w := range words {
		if core := strings.TrimRight(w, ",.;:)"); strings.ContainsAny(core, "=") && len(core) > 2 && !strings.ContainsAny(core, "`|()'") {
			words[i] = "`" + core + "`" + w[len(core):]
		} else {
			words[i] = escape.Replace(w)
		}
	}
	return strings.Join(words, " ")
}
