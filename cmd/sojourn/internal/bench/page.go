package bench

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

//go:embed page.html
var page string

var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"ratio": ratio,
	"shade": func(x format.Real) string { // of a cell: better, worse or neither
		switch {
		case float64(x) > 1.02:
			return "worse"
		case float64(x) < 0.98:
			return "better"
		}
		return ""
	},
	"count": format.Thousands,
}).Parse(page))

// A block is the part of the page about one kind of estimates.
type block struct {
	Estimates string
	Lines     []Line
	Rows      []Row // that have ratios, or were refused
}

// WritePage writes the page: a summary for each kind of estimates, and each cell below.
func (t *Table) WritePage(w io.Writer) error {
	var blocks []block
	for _, told := range t.estimates() {
		b := block{Estimates: told, Lines: t.ranked(told)}
		for _, r := range t.Rows {
			if r.Estimates == told && (r.Ratios != nil || r.Refused != "") {
				b.Rows = append(b.Rows, r)
			}
		}
		blocks = append(blocks, b)
	}
	return parsed.Execute(w, struct {
		*Table
		Figures []string
		Blocks  []block
	}{t, Figures[:], blocks})
}
