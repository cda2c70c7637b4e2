package paper

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
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
	said := judgements(results)
	command := first.Paper()
	if len(results) == 1 {
		command = first.Name
	}
	var short, rest string
	if whole(results) {
		short, rest = findingsOf(first.Paper())
	}
	fmt.Fprintf(&b, "%s `sojourn paper %s -o DIR` writes this page.\n\n", strings.TrimSpace(short+" "+tallyOf(said).sentence()), command)
	b.WriteString("A number of ours is a mean over seeds, or the ratio of two such means, ± half of its " +
		fmt.Sprintf("%.0f %% confidence interval (Student's t). ", 100*stats.Confidence) +
		"A picture has the axes of the paper's figure; curves are ours, and diamonds the numbers that the paper states. `sojourn paper --help` says what the verdicts mean.\n\n")
	fmt.Fprintf(&b, "| experiment | what | %s |\n|---|---|%s\n", tallyHead, strings.Repeat("--:|", strings.Count(tallyHead, "|")+1))
	for _, p := range results {
		own := slices.DeleteFunc(slices.Clone(said), func(j judgement) bool { return j.in != p })
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", p.Name, p.Name, plainText(p.Title), tallyOf(own).cells())
	}
	b.WriteString("\n## What the paper says\n\nEach statement of the paper about its experiments has one line, with our number that is furthest from it in the set-up " +
		"of the paper as we read it. A number is judged as a number, within the tolerance that stands beside it. A bound is a number that ours has to be above or below. " +
		"A sign says what is more, less or the same, without a number.\n\n| statement | kind | paper | ours | verdict |\n|---|---|--:|--:|---|\n")
	for i := range said {
		b.WriteString(said[i].line(i > 0 && said[i].quote == said[i-1].quote))
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
	b.WriteString("# The papers, and what came out\n\nEach page repeats the experiments of one paper: the set-up as we read it, the paper's statements, our numbers, " +
		"and a verdict on each. `sojourn paper --all -o DIR` writes these pages.\n\nA statement is counted once, in the set-up of the paper as we read it. A bound is a number that ours " +
		"has to be above or below; a sign is said without a number.\n\n")
	fmt.Fprintf(&b, "| paper | %s |\n|---|%s\n", tallyHead, strings.Repeat("--:|", strings.Count(tallyHead, "|")+1))
	named := func(results []*Result) string {
		authors, _, _ := strings.Cut(results[0].Source, ", ")
		return fmt.Sprintf("[%s](%s.md)", plainText(authors), results[0].Paper())
	}
	for _, results := range papers {
		fmt.Fprintf(&b, "| %s | %s |\n", named(results), tallyOf(judgements(results)).cells())
	}
	b.WriteString("\nIn short:\n\n")
	for _, results := range papers {
		if short, _ := findingsOf(results[0].Paper()); short != "" {
			authors, _, _ := strings.Cut(results[0].Source, ", ")
			fmt.Fprintf(&b, "- %s: %s\n", plainText(authors), strings.ReplaceAll(short, "\n", " "))
		}
	}
	b.WriteString("\n## What did not come out, and why\n")
	for _, results := range papers {
		fmt.Fprintf(&b, "\n%s:\n\n", named(results))
		for _, j := range judgements(results) {
			switch {
			case j.row == nil:
				fmt.Fprintf(&b, "- not judged: “%s” (%s): %s.\n", plainText(j.quote), j.place, plainText(j.text))
			case j.row.is != reproduced:
				b.WriteString(j.failure())
			}
		}
	}
	return File{"README.md", b.Bytes()}
}

// section returns the part of the page about one experiment.
func (p *Result) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s: %s.\n\n`%s`\n\n", p.Name, plainText(p.Source), plainText(p.Title), p.command())
	b.WriteString(p.setUp())
	if p.picture() != nil {
		fmt.Fprintf(&b, "\n![%s: our numbers on the axes of the paper](%s.svg)\n", p.Name, p.Name)
	}
	fmt.Fprintf(&b, "\n| workload | %s | paper | tolerance | ours | verdict |\n|---|---|--:|--:|--:|---|\n", plainText(p.measure.Title))
	for i, r := range p.rows {
		name := plainText(r.workload)
		if i > 0 && r.workload == p.rows[i-1].workload {
			name = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, r.marked(), plainText(r.paper()), cmp.Or(r.margin(), "-"), r.text(), cmp.Or(marked(r.is), "-"))
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
			list += fmt.Sprintf("- %s, %s: %s. %s\n", plainText(r.workload), r.marked(), marked(r.is), plainText(r.why))
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
