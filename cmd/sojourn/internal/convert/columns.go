package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// A field is what a column can hold.
type field int

const (
	fieldJob         field = iota // rows with the same text are tasks of one job
	fieldArray                    // with --join-arrays the same for rows with the same text
	fieldID                       // of the row: the same row a second time is dropped
	fieldName                     // the same for all runs of one program
	fieldPool                     //
	fieldUser                     // becomes the pool with --pool user
	fieldGroup                    // becomes the pool with --pool group
	fieldArrival                  // an instant
	fieldWait                     // from the arrival to the start; with start in place of the arrival
	fieldStart                    // an instant
	fieldEnd                      // an instant; with start in place of the duration
	fieldDuration                 // of each task
	fieldTasks                    // how many equal tasks the row stands for; 1 if there is no such column
	fieldSlots                    // that each of them takes; 1 if there is no such column
	fieldPhase                    // from 0; 0 if there is no such column
	fieldEstimate                 // what is told of each task
	fieldRequested                // the same, with --requested-time
	fieldWeight                   //
	fieldDeadline                 // an instant
	fieldParallelism              // how many tasks of the job may run at a time; 0 or nothing is any number
	fieldState                    // says which rows never ran, or are running
	numFields
)

// ColumnFields are the names of the fields, as --columns has them.
var ColumnFields = []string{
	"job", "array", "id", "name", "pool", "user", "group", "arrival", "wait", "start", "end", "duration", "tasks", "slots", "phase",
	"estimate", "requested", "weight", "deadline", "parallelism", "state",
}

func (f field) String() string { return ColumnFields[f] }

// A kind of field has its own units.
func (f field) instant() bool {
	return f == fieldArrival || f == fieldStart || f == fieldEnd || f == fieldDeadline
}

func (f field) length() bool {
	return f == fieldDuration || f == fieldWait || f == fieldEstimate || f == fieldRequested
}

func (f field) amount() bool { return f == fieldTasks || f == fieldSlots }

// The units of columns with text: dates that say which part is what, those between slashes that do not, and lengths of time such as
// 1m30s or 1-02:03:04.
const (
	unitDate       = "date"
	unitMonthFirst = "m/d/y"
	unitDayFirst   = "d/m/y"
	unitText       = "text"
)

// units are the units of columns with numbers, in nanoseconds.
var units = map[string]int64{
	"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9,
}

var unitNames = []string{"ns", "us", "ms", "s", "min", "h"}

// A Column says where a field is, and in which unit.
type Column struct {
	Field field
	Title string // in the first row; several with + in between make one text
	Unit  string // "": that of the values; of amounts also the key in a list such as cpu=8,gres/gpu=2
}

// String returns the column in the form that Columns.Set reads.
func (c Column) String() string {
	text := c.Field.String() + "=" + c.Title
	if c.Unit != "" {
		text += ":" + c.Unit
	}
	return text
}

// Columns say where the fields of jobs are in the rows of a log: FIELD=TITLE:UNIT,...
type Columns []Column

// String returns the columns in the form that Set reads.
func (c *Columns) String() string {
	var parts []string
	for _, col := range *c {
		parts = append(parts, col.String())
	}
	return strings.Join(parts, ",")
}

// Set reads columns.
func (c *Columns) Set(text string) error {
	*c = nil
	for _, part := range strings.Split(text, ",") {
		name, title, given := strings.Cut(part, "=")
		i := slices.Index(ColumnFields, name)
		if i < 0 {
			return fmt.Errorf("%q is not a field: want %s", name, format.Listed(ColumnFields))
		}
		if !given || title == "" {
			return fmt.Errorf("%s has no column: want %s=TITLE", name, name)
		}
		if slices.ContainsFunc(*c, func(col Column) bool { return col.Field == field(i) }) {
			return fmt.Errorf("%s is given twice", name)
		}
		col := candidate(field(i), title)
		if known := unitsOf(col.Field); known != nil && col.Unit != "" && !slices.Contains(known, col.Unit) {
			return fmt.Errorf("%s=%s has no unit that is known: want %s", name, title, format.Listed(known))
		}
		*c = append(*c, col)
	}
	return nil
}

// candidate returns the column that a text such as "took:ms" describes.
func candidate(f field, text string) Column {
	col := Column{Field: f, Title: text}
	i := -1
	switch {
	case f.instant(), f.length():
		i = strings.LastIndexByte(text, ':')
	case f.amount(): // keys such as gres/gpu:a100 have colons
		i = strings.IndexByte(text, ':')
	}
	if i > 0 {
		col.Title, col.Unit = text[:i], text[i+1:]
	}
	return col
}

// unitsOf returns the units of a field; nil if it has none, or if they cannot be listed.
func unitsOf(f field) []string {
	switch {
	case f.instant():
		return append(slices.Clone(unitNames), unitDate, unitMonthFirst, unitDayFirst)
	case f.length():
		return append(slices.Clone(unitNames), unitText)
	}
	return nil
}

// plainTitle returns what titles that differ only in case and in the signs between words have in common.
func plainTitle(title string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '_', '-', '\t', '\u00a0', '\r', '\n':
			return -1
		}
		return r
	}, strings.ToLower(title))
}

// titleUnits are the ends of titles that name a unit.
var titleUnits = []struct{ end, unit string }{
	{"milliseconds", "ms"}, {"microseconds", "us"}, {"nanoseconds", "ns"}, {"millis", "ms"}, {"micros", "us"}, {"nanos", "ns"}, {"msec", "ms"},
	{"ms", "ms"}, {"us", "us"}, {"ns", "ns"}, {"seconds", "s"}, {"secs", "s"}, {"sec", "s"}, {"s", "s"}, {"minutes", "min"}, {"mins", "min"},
	{"min", "min"}, {"hours", "h"}, {"hrs", "h"}, {"h", "h"},
}

// cutUnit returns a title such as took_ms or Run time (s) without its unit, and the unit.
func cutUnit(title string) (base, unit string) {
	plain := strings.TrimRight(strings.ToLower(title), ")]")
	for _, u := range titleUnits {
		if base, ok := strings.CutSuffix(plain, u.end); ok && base != "" && strings.ContainsAny(base[len(base)-1:], "_ -.([") {
			return strings.TrimRight(base, "_ -.(["), u.unit
		}
	}
	return title, ""
}

// place returns the columns of a title: an exact one, or else one that differs only in case and in the
// signs between words. Several titles with + in between have several columns, those that are there.
func place(title string, titles []string) []int {
	if i := slices.Index(titles, title); i >= 0 {
		return []int{i}
	}
	plain := plainTitle(title)
	if i := slices.IndexFunc(titles, func(t string) bool { return plainTitle(t) == plain }); i >= 0 {
		return []int{i}
	}
	if i := slices.IndexFunc(titles, func(t string) bool { base, unit := cutUnit(t); return unit != "" && plainTitle(base) == plain }); i >= 0 {
		return []int{i}
	}
	var list []int
	if parts := strings.Split(title, "+"); len(parts) > 1 {
		for _, part := range parts {
			list = append(list, place(part, titles)...)
		}
	}
	return list
}

func quoted(texts []string) []string {
	var list []string
	for i, text := range texts {
		if i == 20 {
			return append(list, "...")
		}
		list = append(list, fmt.Sprintf("%q", short(text)))
	}
	return list
}

// short returns the beginning of a text, for a message.
func short(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
