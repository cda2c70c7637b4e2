package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
)

// A Report is what a page shows, from the top.
type Report struct {
	Title   string
	Verdict []string // sentences; the first one is all that some read
	Facts   []Fact   // what was run
	Notes   []string // what the page leaves out
	Scores  *Scores
	Plots   []Plot
	Gantt   *Gantt
	Tables  []Table
}

// A Fact is a name and its value.
type Fact struct{ Name, Text string }

// Scores are bars for a few numbers of each policy. Less is better.
type Scores struct {
	Title, Help string
	Columns     []string
	Rows        []Score // the best first
}

// A Score has a number for each column, NaN where there is none, and how people read it.
type Score struct {
	Name   string
	Values []float64
	Texts  []string
}

// A Plot has lines over an axis. It becomes a canvas in a page.
type Plot struct {
	ID    string `json:"id"` // names its files, too
	Title string `json:"title"`
	Help  string `json:"help"` // one or two sentences on how to read it
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`
	// Steps draws lines as steps: a value holds until the next one.
	Steps  bool     `json:"steps,omitempty"`
	Series []Series `json:"series"`
}

// A Scale says how an axis maps numbers to places.
type Scale string

const (
	Linear    Scale = ""
	Log       Scale = "log"
	SymLog    Scale = "symlog" // logarithmic on both sides of 0
	Categoric Scale = "names"  // X counts Axis.Names from 0
)

// An Axis has a label and a unit: "s" for seconds, which are shown as minutes and hours, too,
// "%" for shares of 1, or "".
type Axis struct {
	Label string   `json:"label"`
	Unit  string   `json:"unit,omitempty"`
	Scale Scale    `json:"scale,omitempty"`
	Names []string `json:"names,omitempty"`
}

// A Series is a line. Low and High, if there are any, are the ends of its band.
type Series struct {
	Name string  `json:"name"`
	X    Numbers `json:"x"`
	Y    Numbers `json:"y"`
	Low  Numbers `json:"low,omitempty"`
	High Numbers `json:"high,omitempty"`
}

// Numbers are written in JSON with five digits, and as null where they are none.
type Numbers []float64

// MarshalJSON implements [json.Marshaler].
func (n Numbers) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, v := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
		} else {
			out = strconv.AppendFloat(out, v, 'g', 5, 64)
		}
	}
	return append(out, ']'), nil
}

// A Table is shown as it is, and sorted where a reader clicks.
type Table struct {
	ID, Title, Help string
	Columns         []Column
	Rows            [][]Cell
}

// A Column is the head of a column. Numbers stand at its right.
type Column struct {
	Name, Unit string
	Number     bool
}

// A Cell is a text, and the number by which it is sorted in a column of numbers.
type Cell struct {
	Text string
	Sort float64
}

// SortKey returns the number as an attribute, "" if there is none.
func (c Cell) SortKey() string {
	if math.IsNaN(c.Sort) {
		return ""
	}
	return strconv.FormatFloat(c.Sort, 'g', -1, 64)
}

// Width returns the length of a bar in percent of the longest in its column.
func (s *Scores) Width(row, column int) float64 {
	longest := 0.0
	for _, r := range s.Rows {
		if v := r.Values[column]; v > longest {
			longest = v
		}
	}
	if v := s.Rows[row].Values[column]; v > 0 && longest > 0 {
		return 100 * v / longest
	}
	return 0
}

// Rank returns "best" or "worst" if a number is that in its column, else "".
func (s *Scores) Rank(row, column int) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, r := range s.Rows {
		if v := r.Values[column]; !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	switch v := s.Rows[row].Values[column]; {
	case least >= most:
		return ""
	case v == least:
		return "best"
	case v == most:
		return "worst"
	}
	return ""
}

//go:embed page.html page.css page.js gantt.js
var assets embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{"tight": tight}).ParseFS(assets, "page.html"))

// tight keeps percent and plus-minus signs on the line of their numbers.
func tight(text string) string {
	return strings.NewReplacer(" %", "\u00a0%", "± ", "±\u00a0").Replace(text)
}

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	data, err := json.Marshal(struct {
		Plots []Plot `json:"plots"`
		Gantt *Gantt `json:"gantt,omitempty"`
	}{r.Plots, r.Gantt})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	err = page.Execute(&out, struct {
		*Report
		Style        template.CSS
		Data, Script template.JS
	}{r, template.CSS(asset("page.css")), template.JS(data), template.JS(asset("page.js") + asset("gantt.js"))})
	if err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
