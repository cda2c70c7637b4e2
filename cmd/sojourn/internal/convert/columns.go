package convert

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
)

// The fields of a job that a column can hold.
const (
	fieldJob      = "job"      // rows with the same text are tasks of one job
	fieldName     = "name"     // the same for all runs of one program
	fieldPool     = "pool"     //
	fieldArrival  = "arrival"  // an instant
	fieldDuration = "duration" // of each task
	fieldStart    = "start"    // an instant; with end in place of a duration
	fieldEnd      = "end"      //
	fieldTasks    = "tasks"    // how many equal tasks the row stands for; 1 if there is no such column
	fieldPhase    = "phase"    // from 0; 0 if there is no such column
	fieldEstimate = "estimate" // what is told of each task
	fieldWeight   = "weight"   //
	fieldDeadline = "deadline" // an instant

	fieldParallelism = "parallelism" // how many tasks of the job may run at a time; 0 or nothing is any number
)

// ColumnFields are the fields that --columns names.
var ColumnFields = []string{
	fieldJob, fieldName, fieldPool, fieldArrival, fieldDuration, fieldStart, fieldEnd, fieldTasks, fieldPhase, fieldEstimate, fieldWeight, fieldDeadline, fieldParallelism,
}

// The fields that are times.
var (
	instants = []string{fieldArrival, fieldStart, fieldEnd, fieldDeadline}
	lengths  = []string{fieldDuration, fieldEstimate}
)

// units are the units of columns with numbers, in nanoseconds.
var units = map[string]int64{
	"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9,
}

// The units of columns with text: dates, and lengths of time such as 1m30s.
const (
	unitDate = "date"
	unitText = "text"
)

var unitNames = []string{"ns", "us", "ms", "s", "min", "h"}

// A Column says where a field is, and in which unit.
type Column struct {
	Field string
	Title string // in the first row
	Unit  string // "" unless the field is a time
}

// Columns say where the fields of jobs are in the rows of a CSV file: FIELD=TITLE:UNIT,...
// A field that is not given has the column of its own name, in seconds.
type Columns []Column

// String returns the columns in the form that Set reads.
func (c *Columns) String() string {
	var parts []string
	for _, col := range *c {
		part := col.Field + "=" + col.Title
		if col.Unit != "" {
			part += ":" + col.Unit
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Set reads columns.
func (c *Columns) Set(text string) error {
	*c = nil
	for _, part := range strings.Split(text, ",") {
		field, title, given := strings.Cut(part, "=")
		if !slices.Contains(ColumnFields, field) {
			return fmt.Errorf("%q is not a field: want %s", field, format.Listed(ColumnFields))
		}
		if !given || title == "" {
			return fmt.Errorf("%s has no column: want %s=TITLE", field, field)
		}
		if slices.ContainsFunc(*c, func(col Column) bool { return col.Field == field }) {
			return fmt.Errorf("%s is given twice", field)
		}
		col := Column{Field: field, Title: title}
		if timed(field) {
			col.Unit = "s"
			if i := strings.LastIndexByte(title, ':'); i >= 0 {
				col.Title, col.Unit = title[:i], title[i+1:]
			}
			if known := unitsOf(field); !slices.Contains(known, col.Unit) {
				return fmt.Errorf("%s=%s has no unit that is known: want %s", field, title, format.Listed(known))
			}
		}
		*c = append(*c, col)
	}
	return nil
}

func timed(field string) bool {
	return slices.Contains(instants, field) || slices.Contains(lengths, field)
}

func unitsOf(field string) []string {
	if slices.Contains(instants, field) {
		return append(slices.Clone(unitNames), unitDate)
	}
	return append(slices.Clone(unitNames), unitText)
}

// in returns the columns of a file with the given first row: at[field] is the place of
// the field's column. missing says what is not there.
func (c Columns) in(header []string) (at map[string]int, unit map[string]string, missing error) {
	at, unit = map[string]int{}, map[string]string{}
	for _, field := range ColumnFields {
		col := Column{Field: field, Title: field, Unit: "s"}
		i := slices.IndexFunc(c, func(col Column) bool { return col.Field == field })
		if i >= 0 {
			col = c[i]
		}
		k := slices.Index(header, col.Title)
		if k < 0 {
			if i >= 0 && missing == nil {
				missing = fmt.Errorf("there is no column %q, which --columns names; there are %s", col.Title, strings.Join(quoted(header), ", "))
			}
			continue
		}
		if slices.Contains(header[k+1:], col.Title) && missing == nil {
			missing = fmt.Errorf("there are two columns %q", col.Title)
		}
		at[field], unit[field] = k, col.Unit
	}
	has := func(field string) bool { _, ok := at[field]; return ok }
	switch {
	case missing != nil:
	case !has(fieldArrival):
		missing = fmt.Errorf("there is no column %q; say which one it is, such as --columns arrival=submitted:ms; there are %s", fieldArrival, strings.Join(quoted(header), ", "))
	case !has(fieldDuration) && !(has(fieldStart) && has(fieldEnd)):
		missing = fmt.Errorf("there is no column %q, nor both of start and end; say which one it is, such as --columns duration=runtime:ms; there are %s", fieldDuration, strings.Join(quoted(header), ", "))
	case has(fieldDuration) && (has(fieldStart) && has(fieldEnd)) && slices.ContainsFunc(c, func(col Column) bool { return col.Field == fieldStart || col.Field == fieldEnd }):
		missing = usage.Errorf("--columns names start or end, but there is a duration, too")
	}
	return at, unit, missing
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

// number reads a decimal number exactly; its length and exponent are bounded, so that it
// takes no memory to speak of.
func number(text string) (*big.Rat, bool) {
	if len(text) > 60 {
		return nil, false
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	for i, r := range mantissa {
		if (r < '0' || r > '9') && r != '.' && (i > 0 || r != '-' && r != '+') {
			return nil, false
		}
	}
	if len(strings.Trim(exponent, "+-0123456789")) > 0 || len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// nanoseconds reads a number of a unit, to the nearest nanosecond, and halves away from 0.
func nanoseconds(text, unit string) (*big.Int, error) {
	v, ok := number(text)
	if !ok {
		return nil, fmt.Errorf("want a number of %s, found %q", unit, short(text))
	}
	v.Mul(v, new(big.Rat).SetInt64(units[unit]))
	twice := new(big.Int).Mul(v.Num(), big.NewInt(2))
	twice.Add(twice, new(big.Int).Mul(v.Denom(), big.NewInt(int64(v.Sign()))))
	return twice.Quo(twice, new(big.Int).Mul(v.Denom(), big.NewInt(2))), nil
}

// dateForms are the forms of dates; those without a zone are in UTC.
var dateForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02"}

// instant reads an instant, in nanoseconds since some zero of the file.
func instant(text, unit string) (*big.Int, error) {
	if unit != unitDate {
		return nanoseconds(text, unit)
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, text); err == nil {
			ns := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
			return ns.Add(ns, big.NewInt(int64(t.Nanosecond()))), nil
		}
	}
	return nil, fmt.Errorf("want a date such as 2025-01-31T15:04:05Z or 2025-01-31 15:04:05, found %q", short(text))
}

// length reads a length of time from 0 on.
func length(text, unit string) (time.Duration, error) {
	ns := new(big.Int)
	if unit == unitText {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("want a length of time such as 90s or 1h30m, found %q", short(text))
		}
		ns.SetInt64(int64(d))
	} else {
		var err error
		if ns, err = nanoseconds(text, unit); err != nil {
			return 0, err
		}
	}
	switch {
	case ns.Sign() < 0:
		return 0, fmt.Errorf("%q is negative", short(text))
	case !ns.IsInt64():
		return 0, fmt.Errorf("%q is out of range: a time is at most 292 years", short(text))
	}
	return time.Duration(ns.Int64()), nil
}
