package advice

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
)

// A Table has a line for each workload: the mean sojourn time and the mean slowdown under
// each policy, divided by those under fair.
type Table struct{ rows [][]*Advice }

// Objectives returns what the table is about.
func (*Table) Objectives() []Objective {
	return slices.DeleteFunc(slices.Clone(objectives), func(o Objective) bool { return o.Name != "mean" && o.Name != "slowdown" })
}

// SplitTrace reads TRACE@CLUSTER.
func SplitTrace(text string) (file, cluster string, err error) {
	i := strings.LastIndexByte(text, '@')
	if i <= 0 || i == len(text)-1 {
		return "", "", usage.Errorf("%q is not a trace and its cluster, such as fb.jsonl@30x2+1", text)
	}
	return text[:i], text[i+1:], nil
}

// Add adds a line.
func (t *Table) Add(ctx context.Context, st *Study) error {
	var row []*Advice
	for _, o := range t.Objectives() {
		a, err := st.Evaluate(ctx, o)
		if err != nil {
			return err
		}
		row = append(row, a)
	}
	t.rows = append(t.rows, row)
	return nil
}

// Write prints the table in Markdown.
func (t *Table) Write(w io.Writer) error {
	names := t.policies()
	var b strings.Builder
	b.WriteString("| workload, cluster | load | `" + strings.Join(names, "` | `") + "` |\n|" + strings.Repeat("---|", 2+len(names)) + "\n")
	for _, row := range t.rows {
		var loads []string
		for l := range row[0].Loads {
			loads = append(loads, row[0].loadName(l))
		}
		fmt.Fprintf(&b, "| %s, %s | %s |", row[0].Workload.Name, row[0].Cluster.Name, strings.Join(loads, ", "))
		for _, name := range names {
			var cells []string
			for _, a := range row {
				cells = append(cells, a.mark(name))
			}
			b.WriteString(" " + strings.Join(cells, " / ") + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n" + strings.Join(format.Wrap("Mean sojourn time / mean slowdown, each over that under `fair`; of several loads, the geometric mean. "+
		"**Bold**: the least of the line, or tied with it. †: above `fair` by more than chance. -: left out. `sojourn advise --help` says how that is told.", format.Width(), ""), "\n") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// policies returns the policies of all lines, in the order of the candidates.
func (t *Table) policies() (names []string) {
	for _, row := range t.rows {
		for _, spec := range row[0].specs {
			if name := spec.String(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// mark returns the result of a policy for an objective, marked if it is the best or a loss.
func (a *Advice) mark(policy string) string {
	i := slices.IndexFunc(a.Lines, func(l Line) bool { return l.Policy == policy })
	if i < 0 {
		return "-"
	}
	line := &a.Lines[i]
	text := ratio(1 + a.Objective.amount(line.Fair.Mean)/100)
	if line.Best.Mean == 0 || a.Length > 0 && line.Tied() {
		text = "**" + text + "**"
	}
	if line.Fair.Low() > 0 {
		text += "†"
	}
	return text
}
