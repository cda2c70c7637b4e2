package paper

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

func (p *Result) Write(w io.Writer) error {
	blocks := []string{p.header(), p.table().String()}
	if p.extra != nil {
		text, _ := p.extra(p)
		blocks = append(blocks, text)
	}
	if text := report.LeftOver(p.order); text != "" {
		blocks = append(blocks, text)
	}
	var notes strings.Builder
	for _, r := range p.rows {
		if r.why != "" {
			notes.WriteString(filled(fmt.Sprintf("- %s, %s: %s. %s", r.workload, r.quantity(), r.is, r.why)))
		}
	}
	for _, note := range p.notes {
		notes.WriteString(filled("- " + note))
	}
	blocks = append(blocks, notes.String())
	if n := len(p.order[0].Loads); n > 1 {
		blocks = append(blocks, format.Hang("a ± h  ", fmt.Sprintf("mean over %d seeds, or ratio of two such means, and its %.0f %% confidence interval (Student's t)",
			n, 100*stats.Confidence)))
	}
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// filled breaks a text into lines, all but the first of which are indented.
func filled(text string) string {
	return strings.Join(format.Wrap(text, format.Width(), "  "), "\n") + "\n"
}

// header names the experiment and its workloads.
func (p *Result) header() string {
	var b strings.Builder
	b.WriteString(filled(p.Name+": "+p.Title) + filled(p.Source) + "\n")
	line := func(title, text string) { b.WriteString(format.Hang(fmt.Sprintf("%-9s  ", title), text)) }
	for _, w := range p.workloads {
		s := p.sampleOf(w.name)
		load := "; all jobs at once"
		if text := report.LoadText(s); text != "" {
			load = "; load " + text
		}
		if sigma, ok := p.sigmas[w.name]; ok {
			load += fmt.Sprintf("; sizes off by sigma %g", sigma)
		}
		line(w.name, fmt.Sprintf("%s: %s; cluster %s%s", w.gen, format.Count(s.Scenario.Workload.Facts().Jobs, "job"), s.Scenario.Cluster.Name, load))
	}
	if p.estimates != (trial.Estimates{}) {
		line("estimates", p.estimates.String())
	}
	if p.network.Bandwidth > 0 {
		line("network", "inputs are "+p.network.String())
	}
	s := p.order[0]
	line("seeds", fmt.Sprintf("%s from %d on", format.Thousands(len(s.Loads)), s.Scenario.Seed))
	return b.String()
}

// table returns a table with a line for each row of the experiment.
func (p *Result) table() *format.Table {
	t := &format.Table{Corner: fmt.Sprintf("%-9s  %s", "workload", p.measure.Title)}
	for _, title := range []string{"paper", "ours", "verdict"} {
		t.Add("", title, nil)
	}
	for _, r := range p.rows {
		t.Row(t.Under(9, r.workload, r.quantity()), strings.TrimSpace(r.paper()+" "+r.margin()), r.text(), cmp.Or(r.is, "-"))
	}
	return t
}

// text formats what came out.
func (o *paperOutcome) text() string {
	if o.over != "" {
		return report.PlusMinus(o.ours, cmp.Or(o.decimals, 2))
	}
	return report.PlusMinus(o.ours, format.Decimals([]float64{o.ours.Mean}, o.digits))
}
