package convert

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// A csvJob is a job in the making: the tasks of its rows, by phase.
type csvJob struct {
	sim.Job
	arrival, deadline *big.Int // in nanoseconds since the zero of the file; deadline may be nil
	phases            map[int]*csvPhase
	file              string
	line              int // of its first row
}

type csvPhase struct {
	times, estimates []time.Duration // of each task
}

// A csvReader reads the rows of a log.
type csvReader struct {
	file  string
	csv   *csv.Reader
	at    map[string]int
	unit  map[string]string
	row   []string
	known map[string]*csvJob // by the text of the column job
	jobs  []*csvJob
	tasks int
	most  int // tasks
}

// maxCSVTasks is the most tasks of a file: they are held in memory.
const maxCSVTasks = 1 << 24

// readCSV returns the jobs of a CSV file, by arrival; the first arrives at 0. Their IDs
// are 1, 2, ... in that order. All are held in memory.
func readCSV(r io.Reader, file string, columns Columns, separator rune, stats *trace.Stats) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		in := &csvReader{file: file, known: map[string]*csvJob{}, most: maxCSVTasks}
		jobs, err := in.read(r, columns, separator)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, j := range jobs {
			stats.Jobs++
			stats.Tasks += int64(j.Tasks())
			if !yield(j, nil) {
				return
			}
		}
	}
}

func (r *csvReader) read(from io.Reader, columns Columns, separator rune) ([]*sim.Job, error) {
	plain, err := unzipped(from)
	if err != nil {
		return nil, &trace.Error{File: r.file, Line: 1, Column: 1, Reason: "gzip: " + err.Error()}
	}
	r.csv = csv.NewReader(plain)
	r.csv.Comma = separator
	r.csv.ReuseRecord = true
	r.csv.TrimLeadingSpace = true
	header, err := r.csv.Read()
	if err == io.EOF {
		return nil, &trace.Error{File: r.file, Line: 1, Column: 1, Reason: "the file is empty: the first row must name the columns"}
	}
	if err != nil {
		return nil, r.fault(err)
	}
	if r.at, r.unit, err = columns.in(slices.Clone(header)); err != nil {
		return nil, &trace.Error{File: r.file, Line: 1, Column: 1, Reason: err.Error()}
	}
	for {
		if r.row, err = r.csv.Read(); err == io.EOF {
			return r.finish()
		}
		if err == nil {
			err = r.take()
		}
		if err != nil {
			return nil, r.fault(err)
		}
	}
}

// unzipped returns the text of a file that may be compressed by gzip, without a byte
// order mark.
func unzipped(from io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(from, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		in.Discard(3)
	}
	return in, nil
}

// A cellError is a fault of a cell.
type cellError struct {
	column int // in the row, from 0
	err    error
}

func (e *cellError) Error() string { return e.err.Error() }

// fault returns an error with its place.
func (r *csvReader) fault(err error) error {
	var (
		cell  *cellError
		parse *csv.ParseError
	)
	switch {
	case errors.As(err, &cell):
		line, column := r.csv.FieldPos(cell.column)
		return &trace.Error{File: r.file, Line: line, Column: column, Reason: err.Error()}
	case errors.As(err, &parse):
		reason := parse.Err.Error()
		if errors.Is(parse.Err, csv.ErrFieldCount) {
			reason = fmt.Sprintf("%d cells, but the first row has another number", len(r.row))
		}
		return &trace.Error{File: r.file, Line: parse.Line, Column: max(parse.Column, 1), Reason: reason}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
		return &trace.Error{File: r.file, Line: 1, Column: 1, Reason: "gzip: " + err.Error()}
	}
	return fmt.Errorf("%s: %w", r.file, err)
}

// cell returns the text of a field, and "" if it has no column.
func (r *csvReader) cell(field string) string {
	if i, ok := r.at[field]; ok {
		return strings.TrimSpace(r.row[i])
	}
	return ""
}

// bad returns the error of a field, with its name; that of the row if the field has no column.
func (r *csvReader) bad(field string, err error) error {
	if _, ok := r.at[field]; !ok {
		return &cellError{0, err}
	}
	return &cellError{r.at[field], fmt.Errorf("%s: %w", field, err)}
}

func (r *csvReader) instant(field string) (*big.Int, error) {
	v, err := instant(r.cell(field), r.unit[field])
	if err != nil {
		return nil, r.bad(field, err)
	}
	return v, nil
}

func (r *csvReader) length(field string) (time.Duration, error) {
	v, err := length(r.cell(field), r.unit[field])
	if err != nil {
		return 0, r.bad(field, err)
	}
	return v, nil
}

// count reads a whole number from least on; it is missing if there is no cell.
func (r *csvReader) count(field string, least, most, missing int) (int, error) {
	text := r.cell(field)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, r.bad(field, fmt.Errorf("want a whole number from %d to %d, found %q", least, most, short(text)))
	}
	return n, nil
}

// duration returns how long each task of the row takes.
func (r *csvReader) duration() (time.Duration, error) {
	if _, ok := r.at[fieldDuration]; ok {
		return r.length(fieldDuration)
	}
	start, err := r.instant(fieldStart)
	if err != nil {
		return 0, err
	}
	end, err := r.instant(fieldEnd)
	if err != nil {
		return 0, err
	}
	took := end.Sub(end, start)
	switch {
	case took.Sign() < 0:
		return 0, r.bad(fieldEnd, fmt.Errorf("%q is before the start, %q", short(r.cell(fieldEnd)), short(r.cell(fieldStart))))
	case !took.IsInt64():
		return 0, r.bad(fieldEnd, errors.New("more than 292 years after the start"))
	}
	return time.Duration(took.Int64()), nil
}

// take takes a row.
func (r *csvReader) take() error {
	for i, text := range r.row {
		if !utf8.ValidString(text) {
			return &cellError{i, errors.New("invalid UTF-8")}
		}
	}
	arrival, err := r.instant(fieldArrival)
	if err != nil {
		return err
	}
	took, err := r.duration()
	if err != nil {
		return err
	}
	var estimate time.Duration
	if r.cell(fieldEstimate) != "" {
		if estimate, err = r.length(fieldEstimate); err != nil {
			return err
		}
	}
	n, err := r.count(fieldTasks, 1, maxCSVTasks, 1)
	if err != nil {
		return err
	}
	phase, err := r.count(fieldPhase, 0, 1<<16, 0)
	if err != nil {
		return err
	}
	if r.tasks += n; r.tasks > r.most {
		return r.bad(fieldTasks, fmt.Errorf("more than %d tasks in the file", r.most))
	}
	j, err := r.job(arrival)
	if err != nil {
		return err
	}
	p := j.phases[phase]
	if p == nil {
		p = &csvPhase{}
		j.phases[phase] = p
	}
	for range n {
		p.times = append(p.times, took)
		p.estimates = append(p.estimates, estimate)
	}
	return nil
}

// job returns the job of the row: that of earlier rows with the same text in the column
// job, or another one.
func (r *csvReader) job(arrival *big.Int) (*csvJob, error) {
	key := r.cell(fieldJob)
	if j := r.known[key]; j != nil && key != "" {
		if arrival.Cmp(j.arrival) < 0 {
			j.arrival = arrival
		}
		return j, nil
	}
	line, _ := r.csv.FieldPos(0)
	j := &csvJob{arrival: arrival, phases: map[int]*csvPhase{}, file: r.file, line: line}
	j.Name, j.Pool = strings.Clone(r.cell(fieldName)), strings.Clone(r.cell(fieldPool))
	if text := r.cell(fieldWeight); text != "" {
		w, err := strconv.ParseFloat(text, 64)
		if err != nil || !(w >= 1.0/(1<<16) && w < 1<<32) {
			return nil, r.bad(fieldWeight, fmt.Errorf("want a number from 2^-16 to below 2^32, found %q", short(text)))
		}
		j.Weight = w
	}
	if text := r.cell(fieldParallelism); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, r.bad(fieldParallelism, fmt.Errorf("want an integer from 0 to 4294967295, found %q", short(text)))
		}
		j.Parallelism = uint32(n)
	}
	if r.cell(fieldDeadline) != "" {
		var err error
		if j.deadline, err = r.instant(fieldDeadline); err != nil {
			return nil, err
		}
		if j.deadline.Cmp(arrival) <= 0 {
			return nil, r.bad(fieldDeadline, errors.New("it is not after the arrival"))
		}
	}
	if key != "" {
		r.known[strings.Clone(key)] = j
	}
	r.jobs = append(r.jobs, j)
	return j, nil
}

// finish makes jobs of the rows.
func (r *csvReader) finish() ([]*sim.Job, error) {
	slices.SortStableFunc(r.jobs, func(a, b *csvJob) int { return a.arrival.Cmp(b.arrival) })
	jobs := make([]*sim.Job, len(r.jobs))
	for i, j := range r.jobs {
		first := r.jobs[0].arrival
		at := new(big.Int).Sub(j.arrival, first)
		if !at.IsInt64() {
			return nil, j.fault("it arrives more than 292 years after the first job")
		}
		j.ID, j.At = sojourn.JobID(i+1), sojourn.Time(at.Int64())
		if j.deadline != nil {
			d := new(big.Int).Sub(j.deadline, first)
			if !d.IsInt64() {
				return nil, j.fault("its deadline is more than 292 years after the first job")
			}
			j.Deadline = sojourn.Time(d.Int64())
		}
		for k := range len(j.phases) {
			p := j.phases[k]
			if p == nil {
				return nil, j.fault(fmt.Sprintf("the job has %d phases, but no row of phase %d: phases count from 0", len(j.phases), k))
			}
			phase, times := sojourn.Phase{Tasks: len(p.times)}, sim.Times{List: p.times}
			if alike(p.times) {
				times = sim.Times{Each: p.times[0]}
			}
			if alike(p.estimates) {
				phase.Estimate = p.estimates[0]
			} else {
				phase.Estimates = p.estimates
			}
			j.Phases = append(j.Phases, phase)
			j.Times = append(j.Times, times)
			j.AnyClass = append(j.AnyClass, true)
		}
		jobs[i] = &j.Job
	}
	return jobs, nil
}

// alike reports whether all times are equal; there is at least one.
func alike(times []time.Duration) bool {
	return !slices.ContainsFunc(times, func(t time.Duration) bool { return t != times[0] })
}

// fault returns an error at the first row of the job.
func (j *csvJob) fault(reason string) error {
	return &trace.Error{File: j.file, Line: j.line, Column: 1, Reason: reason}
}

// ParseSeparator reads what separates cells: one character, or its name tab.
func ParseSeparator(text string) (rune, error) {
	if text == "tab" {
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(text)
	if size != len(text) || size == 0 || r == utf8.RuneError || strings.ContainsRune("\"\r\n", r) {
		return 0, fmt.Errorf("--separator %q is not one character, such as ; or tab", text)
	}
	return r, nil
}
