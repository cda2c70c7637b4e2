package advice

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paired"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// Write prints the sentences and the table.
func (a *Advice) Write(w io.Writer) error {
	blocks := []string{a.prose(), report.Header(a.Scenario), a.table().String() + a.first(), a.byWork().String() + a.quarters()}
	if notes := a.notes(); notes != "" {
		blocks = append(blocks, notes)
	}
	_, err := io.WriteString(w, strings.Join(append(blocks, a.legend()), "\n"))
	return err
}

// prose is the sentences, in lines.
func (a *Advice) prose() string {
	return strings.Join(format.Wrap(strings.Join(a.Sentences(), " "), format.Width(), ""), "\n") + "\n"
}

func (a *Advice) lines() *format.Table {
	t := &format.Table{Corner: "policy"}
	for i := range a.Lines {
		t.Names = append(t.Names, a.Lines[i].Policy)
	}
	return t
}

// column returns a cell of each line.
func (a *Advice) column(cell func(*Line) string) (cells []string) {
	for i := range a.Lines {
		cells = append(cells, cell(&a.Lines[i]))
	}
	return cells
}

// table is that of the objective.
func (a *Advice) table() *format.Table {
	t := a.lines()
	group := a.Objective.What
	if a.Objective.measure == sojournTime {
		group += " (s)"
	}
	for l := range a.Loads {
		if a.Objective.Deadlines() {
			t.Add(group, a.loadName(l), a.column(func(line *Line) string { return format.Percent(line.Values[l]) }))
			t.Add(group, "refused", a.column(func(line *Line) string { return format.Percent(line.Refused[l]) }))
			continue
		}
		var values []float64
		for i := range a.Lines {
			values = append(values, a.Lines[i].Values[l])
		}
		t.Add(group, a.loadName(l), format.Column(values))
	}
	best := a.column(func(line *Line) string {
		switch {
		case line == &a.Lines[0]:
			return "*"
		case a.Length > 0 && line.Tied():
			return a.cell(line.Best) + " ~"
		}
		return a.cell(line.Best)
	})
	t.Add("against", "the best", best)
	t.Add("against", fair, a.column(func(line *Line) string { return a.cell(line.Fair) }))
	if !a.Objective.Deadlines() && a.Objective.percent != tail {
		t.AddMinor("p90 against", fair, a.column(func(line *Line) string { return a.cell(line.Tail) }))
	}
	return t
}

// byWork is the table of the quarters of the jobs.
func (a *Advice) byWork() *format.Table {
	t := a.lines()
	group := "mean sojourn time over that under fair, by the work of a job (s)"
	if a.Objective.Deadlines() {
		group = a.Objective.What + " less that under fair, in points, by the work of a job (s)"
	}
	for q := range quarters {
		t.Add(group, a.quarterTitle(q), a.column(func(line *Line) string { return a.cell(line.Quarterly[q]) }))
	}
	return t
}

// first says which policies are the best.
func (a *Advice) first() string {
	var tied, perhaps []string
	for i := range a.Lines[1:] {
		switch line := &a.Lines[i+1]; {
		case a.Length == 0 || !line.Tied():
		case a.Objective.amount(line.Best.Mean) <= paired.Alike:
			tied = append(tied, line.Policy)
		default:
			perhaps = append(perhaps, line.Policy)
		}
	}
	text := a.Lines[0].Policy + " is the best"
	if len(tied) > 0 {
		text += ", tied with " + format.Joined(tied, "and")
	}
	if len(perhaps) > 0 {
		text += ", by chance perhaps not better than " + format.Joined(perhaps, "and")
	}
	return format.Verdict(text)
}

// quarters says for which jobs the policy that is advised is furthest below fair, and for which the least; "" if that is not known.
func (a *Advice) quarters() string {
	best := &a.Lines[a.Use]
	least, most := -1, -1
	for q := range best.Quarterly {
		if mean := best.Quarterly[q].Mean; !math.IsNaN(mean) {
			if least < 0 || mean < best.Quarterly[least].Mean {
				least = q
			}
			if most < 0 || mean > best.Quarterly[most].Mean {
				most = q
			}
		}
	}
	if least == most || best.Policy == fair {
		return ""
	}
	return format.Verdict(fmt.Sprintf("against %s, %s is best for the jobs %s s of work, and worst for those %s s",
		fair, best.Policy, a.quarterTitle(least), a.quarterTitle(most)))
}

// quarterTitle returns the bound of a quarter of the jobs by their work.
func (a *Advice) quarterTitle(q int) string {
	titles := format.Column(a.bounds[:])
	if q == quarters-1 {
		return "above " + titles[quarters-2]
	}
	return "up to " + titles[q]
}

// cell formats an effect with its interval: a ratio, or points of a share.
func (a *Advice) cell(i stats.Interval) string {
	number := func(effect float64) string {
		if a.Objective.Deadlines() {
			return format.Number(100*effect, 1)
		}
		return ratio(1 + a.Objective.amount(effect)/100)
	}
	switch {
	case math.IsNaN(i.Mean):
		return "-"
	case math.IsNaN(i.Half) || i.Half == 0:
		return number(i.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", number(i.Mean), number(i.Low()), number(i.High()))
}

// ratio formats a ratio to three digits or so.
func ratio(r float64) string {
	switch {
	case r < 0.0995:
		return format.Number(r, 3)
	case r < 9.95:
		return format.Number(r, 2)
	case r < 99.5:
		return format.Number(r, 1)
	case r < 1e9:
		return format.Thousands(int(math.Round(r)))
	}
	return fmt.Sprintf("%.3g", r)
}

// notes says what was left out.
func (a *Advice) notes() string {
	var b strings.Builder
	for i := 0; i < len(a.left); {
		first, names := a.left[i], []string(nil)
		for ; i < len(a.left) && a.left[i].Reason == first.Reason; i++ {
			names = append(names, a.left[i].Policy)
		}
		b.WriteString(format.Hang("left out   ", format.Joined(names, "and")+": "+first.Reason))
	}
	return b.String()
}

// legend tells how to read the tables.
func (a *Advice) legend() string {
	same, over := 1, "quotients of two policies; over several loads, geometric means"
	if a.Objective.Deadlines() {
		same, over = 0, "differences of two policies in percentage points; over several loads, their means"
	}
	text := format.Hang("against    ", over)
	if a.Length == 0 {
		return text
	}
	return text + format.Hang("[a, b]     ", fmt.Sprintf("%.0f %% confidence interval: moving block bootstrap, %s in a block, %s, the same for all policies",
		100*stats.Confidence, format.Count(a.Length, "job"), format.Count(a.Resamples, "resample"))) +
		format.Hang("*, ~       ", fmt.Sprintf("the best policy; tied with it: the interval contains %d (each policy by itself, without correction for many)", same))
}
