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
	Command string   // that runs it again; "" if that is not known
	Notes   []string // what the page leaves out
	Ratios  *Ratios
	Plots   []Plot
	Gantt   *Gantt
	Tables  []Table
	Bold    []string // the policies whose lines matter most
}

// A Fact is a name and its value.
type Fact struct{ Name, Text string }

// Ratios compare policies with one of them, which the reader chooses.
type Ratios struct {
	Policies []string    `json:"policies"`
	Baseline int         `json:"baseline"` // at first
	Grids    []RatioGrid `json:"grids"`
}

// A RatioGrid is a picture of some ratios: a forest plot with a column for each row, or lines over the rows.
type RatioGrid struct {
	ID    string  `json:"id"`
	Title string  `json:"title"`
	Help  string  `json:"-"`
	Over  string  `json:"over,omitempty"` // what the rows are, for lines over them
	Rows  []Ratio `json:"rows"`
}

// A Ratio is a number of each policy. Half has the half of the 95 % interval of the logarithm of the ratio of policies i and k
// at i*n+k, NaN where it is not known.
type Ratio struct {
	Name   string  `json:"name"`
	Values Numbers `json:"values"`
	Half   Numbers `json:"half"`
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
	Tail   bool     `json:"tail,omitempty"` // shares of 1, of which the rest can be shown, too
	Time   bool     `json:"time,omitempty"` // shows the same time as the chart
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
	Of              string // of which rows these are some, "" if they are all
}

// Shown is how many rows a table shows until more are asked for.
const Shown = 15

// Part returns how many rows are shown, "" if all are.
func (t *Table) Part() string {
	if len(t.Rows) <= Shown {
		return ""
	}
	return strconv.Itoa(len(t.Rows))
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

//go:embed page.html page.css page.js files.js plot.js ratios.js gantt.js
var assets embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{"tight": tight}).ParseFS(assets, "page.html"))

// tight keeps percent and plus-minus signs on the line of their numbers.
func tight(text string) string {
	return strings.NewReplacer(" %", "\u00a0%", "± ", "±\u00a0").Replace(text)
}

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	data, err := json.Marshal(struct {
		Plots  []Plot   `json:"plots"`
		Ratios *Ratios  `json:"ratios,omitempty"`
		Gantt  *Gantt   `json:"gantt,omitempty"`
		Bold   []string `json:"bold"`
	}{r.Plots, r.Ratios, r.Gantt, r.Bold})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	err = page.Execute(&out, struct {
		*Report
		Style        template.CSS
		Data, Script template.JS
	}{r, template.CSS(asset("page.css")), template.JS(data), template.JS(asset("page.js") + asset("files.js") + asset("plot.js") + asset("ratios.js") + asset("gantt.js"))})
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
