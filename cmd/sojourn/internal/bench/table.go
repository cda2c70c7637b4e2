package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// Figures are the numbers that policies are compared by.
var Figures = [...]string{"mean sojourn", "median sojourn", "p90 sojourn", "mean slowdown", "p99 slowdown"}

const figures = len(Figures)

// A Table is what came of all cells.
type Table struct {
	Schema   int     `json:"schema"`
	Version  string  `json:"version"`
	Baseline string  `json:"baseline"` // the policy that the others are compared with
	Seed     uint64  `json:"seed"`
	Traces   []Trace `json:"traces"`
	Cells    int     `json:"cells"` // to be run in all
	Done     int     `json:"done"`

	Summary []Line `json:"summary"` // by estimates, then by policy
	Rows    []Row  `json:"rows"`
}

// A Row is a cell that is done.
type Row struct {
	Cell
	Refused string                `json:"refused,omitempty"`
	Result  json.RawMessage       `json:"result,omitempty"` // as 'sojourn compare --json' has it
	Ratios  *[figures]format.Real `json:"ratios,omitempty"` // the figures over those of the baseline in the same cell; null if that is 0 or unknown

	values [figures]float64
	trace  bool // no policy can run the trace
}

// A Line sums up a policy over all its cells with the same estimates.
type Line struct {
	Estimates string               `json:"estimates"`
	Policy    string               `json:"policy"`
	Cells     int                  `json:"cells"` // that it has run, and the baseline as well
	Refused   int                  `json:"refused"`
	Means     [figures]format.Real `json:"geometric_means"` // of the ratios
	Worst     [figures]format.Real `json:"worst"`
	Worse     [figures]int         `json:"worse"` // cells in which the ratio is above 1.02
}

// Table returns what the book has of the cells.
func (b *Bench) Table(book *Book) (*Table, error) {
	t := &Table{Schema: format.Schema, Version: b.Version, Baseline: b.Specs[0].String(), Seed: b.Seed, Traces: b.Traces}
	traces := b.byName()
	base := map[Cell]*Row{} // of the baseline, by cell without a policy
	cells := b.Cells()
	t.Cells = len(cells)
	t.Rows = make([]Row, 0, len(cells))
	for _, c := range cells {
		r, ok := book.find(c, b.inputs(c, traces[c.Trace]))
		unread := traces[c.Trace].refused(c.Estimates)
		if unread != nil {
			r, ok = stored{Refused: unread.Error()}, true
		}
		if !ok {
			continue
		}
		row := Row{Cell: c, Refused: r.Refused, Result: r.Result, trace: unread != nil}
		if r.Refused == "" {
			var err error
			if row.values, err = values(r.Result); err != nil {
				return nil, fmt.Errorf("%s: %w", Records, err)
			}
		}
		t.Rows = append(t.Rows, row)
		if c.Policy == t.Baseline && r.Refused == "" {
			c.Policy = ""
			base[c] = &t.Rows[len(t.Rows)-1]
		}
	}
	t.Done = len(t.Rows)
	for i := range t.Rows {
		r := &t.Rows[i]
		c := r.Cell
		c.Policy = ""
		if of := base[c]; of != nil && r.Refused == "" {
			r.Ratios = new([figures]format.Real)
			for k := range figures {
				r.Ratios[k] = format.Real(math.NaN())
				if of.values[k] > 0 {
					r.Ratios[k] = format.Real(r.values[k] / of.values[k])
				}
			}
		}
	}
	for _, told := range b.Estimates {
		for _, spec := range b.Specs {
			if l := t.line(told, spec.String()); l.Cells+l.Refused > 0 {
				t.Summary = append(t.Summary, l)
			}
		}
	}
	return t, nil
}

func values(result json.RawMessage) (v [figures]float64, err error) {
	type dist struct{ Mean, Median, P90, P99 *float64 }
	var r struct{ Sojourn, Slowdown dist }
	err = json.Unmarshal(result, &r)
	for k, x := range []*float64{r.Sojourn.Mean, r.Sojourn.Median, r.Sojourn.P90, r.Slowdown.Mean, r.Slowdown.P99} {
		if v[k] = math.NaN(); x != nil {
			v[k] = *x
		}
	}
	return v, err
}

func (t *Table) line(told, policy string) Line {
	l := Line{Estimates: told, Policy: policy}
	var logs [figures]float64
	var n [figures]int
	for i := range t.Rows {
		r := &t.Rows[i]
		switch {
		case r.Estimates != told || r.Policy != policy:
			continue
		case r.Refused != "":
			l.Refused++
			continue
		case r.Ratios == nil:
			continue
		}
		l.Cells++
		for k, x := range r.Ratios {
			if x := float64(x); x > 0 {
				logs[k] += math.Log(x)
				n[k]++
				l.Worst[k] = format.Real(max(float64(l.Worst[k]), x))
				if x > 1.02 {
					l.Worse[k]++
				}
			}
		}
	}
	for k := range figures {
		l.Means[k] = format.Real(math.Exp(logs[k] / float64(n[k])))
		if n[k] == 0 {
			l.Worst[k] = format.Real(math.NaN())
		}
	}
	return l
}

// ranked returns the lines with the same estimates, the least mean of mean sojourn times first.
func (t *Table) ranked(told string) []Line {
	var list []Line
	for _, l := range t.Summary {
		if l.Estimates == told {
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(a, b Line) int {
		x, y := float64(a.Means[0]), float64(b.Means[0])
		if math.IsNaN(x) || math.IsNaN(y) { // last
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	return list
}

func (t *Table) estimates() (all []string) {
	for _, l := range t.Summary {
		if !slices.Contains(all, l.Estimates) {
			all = append(all, l.Estimates)
		}
	}
	return all
}

// Write writes the summary as text.
func (t *Table) Write(w io.Writer) error {
	var text strings.Builder
	refused := ""
	if n := t.count(func(r *Row) bool { return r.Refused != "" && !r.trace }); n > 0 {
		refused = fmt.Sprintf(", of which %d refused", n)
	}
	if n := t.unread(); n > 0 {
		refused += fmt.Sprintf(", without %d of traces that cannot be read", n)
	}
	text.WriteString(format.Hang("", fmt.Sprintf("%d of %d runs on %s%s; ratios to %s, geometric means over traces and loads", t.Done-t.unread(), t.Cells, format.Count(len(t.Traces), "trace"), refused, t.Baseline)))
	for _, told := range t.estimates() {
		fmt.Fprintf(&text, "\nestimates %s\n", told)
		lines := t.ranked(told)
		table := &format.Table{Corner: "policy"}
		for _, c := range [...][2]string{{"", "cells"}, {"sojourn", "mean"}, {"sojourn", "median"}, {"sojourn", "p90"}, {"slowdown", "mean"}, {"slowdown", "p99"}, {"worst", "mean"}} {
			table.Add(c[0], c[1], nil)
		}
		for i := range lines {
			l := &lines[i]
			cells := []string{fmt.Sprint(l.Cells)}
			for k := range figures {
				cells = append(cells, ratio(l.Means[k]))
			}
			table.Row(l.Policy, append(cells, ratio(l.Worst[0]))...)
		}
		text.WriteString(table.String())
	}
	if why := t.refusals(); why != "" {
		fmt.Fprintf(&text, "\n%s", why)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// count counts rows.
func (t *Table) count(is func(*Row) bool) (n int) {
	for i := range t.Rows {
		if is(&t.Rows[i]) {
			n++
		}
	}
	return n
}

// unread counts the rows of traces that cannot be read.
func (t *Table) unread() int { return t.count(func(r *Row) bool { return r.trace }) }

// Left returns an error that says how many runs there are and are missing, nil if none is.
func (t *Table) Left() error {
	if t.Done == t.Cells {
		return nil
	}
	return fmt.Errorf("interrupted after %d of %d runs; the same command goes on", t.Done-t.unread(), t.Cells)
}

// refusals says what is refused: a line for each policy, and one for each trace that no policy can run, or several cannot for the same reason.
func (t *Table) refusals() string {
	var text strings.Builder
	policy, shared := map[string]string{}, map[string]bool{} // by reason: one that gave it, and whether another one did
	for i := range t.Rows {
		r := &t.Rows[i]
		was, ok := policy[r.Refused]
		policy[r.Refused], shared[r.Refused] = r.Policy, shared[r.Refused] || ok && was != r.Policy
	}
	who := func(r *Row) string {
		if r.trace || shared[r.Refused] {
			return "trace " + r.Trace
		}
		return r.Policy
	}
	runs, seen := map[string]int{}, map[string]bool{}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Refused != "" {
			runs[who(r)]++
		}
	}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Refused != "" && !seen[who(r)] {
			seen[who(r)] = true
			if r.trace {
				format.WriteWrapped(&text, "", "  ", fmt.Sprintf("trace %s cannot be read, for %s: %s\n", r.Trace, format.Count(runs[who(r)], "run"), r.Refused))
				continue
			}
			format.WriteWrapped(&text, "", "  ", fmt.Sprintf("%s refuses %s, such as %s at load %s: %s\n", who(r), format.Count(runs[who(r)], "run"), r.Trace, r.Load, r.Refused))
		}
	}
	return text.String()
}

func ratio(x format.Real) string {
	if math.IsNaN(float64(x)) {
		return "-"
	}
	return format.Number(float64(x), 3)
}
