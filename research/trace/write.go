package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Write writes a workload as a [Writer] does. It ends at the first error of jobs or of w.
func Write(w io.Writer, jobs iter.Seq2[*sim.Job, error]) error {
	tw := NewWriter(w, nil)
	for j, err := range jobs {
		if err != nil {
			return err
		}
		if err := tw.Write(j); err != nil {
			return err
		}
	}
	return nil
}

// A Writer writes a workload, one job a line, in a canonical form: equal jobs make equal
// bytes. Within its limits, [Read] reads back the same jobs, except that the two ways of
// Phase to state estimates become one, and that the class of a phase of AnyClass becomes 0.
type Writer struct {
	w        io.Writer
	nodes    func(sojourn.NodeID) string
	arrivals arrivals
	line     []byte
}

// NewWriter returns a Writer that writes each line to w at once, so w should be buffered. nodes returns the name of a node,
// which is not empty and not that of another node. Nil means "n" and the number.
func NewWriter(w io.Writer, nodes func(sojourn.NodeID) string) *Writer {
	if nodes == nil {
		nodes = func(id sojourn.NodeID) string { return "n" + strconv.FormatUint(uint64(id), 10) }
	}
	return &Writer{w: w, nodes: nodes, arrivals: newArrivals()}
}

// Write writes a job. It writes nothing and returns an error if the format
// cannot hold the job: if Job.Check finds fault with it, its Times or its AnyClass
// do not fit its Phases, its deadline is not after its arrival, a string is not
// UTF-8, a sum of times overflows, it arrives before the job written before it, or
// its ID is one written before.
func (w *Writer) Write(j *sim.Job) error {
	line, err := w.append(w.line[:0], j)
	if err == nil {
		late, used := w.arrivals.add(j)
		if late+used != "" {
			err = fmt.Errorf("%s", late+used)
		}
	}
	if err != nil {
		return fmt.Errorf("trace: write job %d: %w", j.ID, err)
	}
	w.line = line
	_, err = w.w.Write(line)
	return err
}

// append appends the line of a job.
func (w *Writer) append(dst []byte, j *sim.Job) ([]byte, error) {
	if err := j.Check(); err != nil {
		return nil, err
	}
	switch {
	case len(j.Times) != len(j.Phases):
		return nil, fmt.Errorf("times of %d phases for %d phases", len(j.Times), len(j.Phases))
	case j.AnyClass != nil && len(j.AnyClass) != len(j.Phases):
		return nil, fmt.Errorf("classes of %d phases for %d phases", len(j.AnyClass), len(j.Phases))
	case j.At < 0:
		return nil, fmt.Errorf("negative arrival %v", j.At)
	case j.Deadline != 0 && j.Deadline <= j.At:
		return nil, fmt.Errorf("deadline %v is not after the arrival %v", j.Deadline, j.At)
	case j.Release != 0 && j.Release <= j.At:
		return nil, fmt.Errorf("release time %v is not after the arrival %v", j.Release, j.At)
	case !utf8.ValidString(j.Name) || !utf8.ValidString(j.Pool) || !utf8.ValidString(j.Sequence):
		return nil, fmt.Errorf("name %q, pool %q or sequence %q is not UTF-8", j.Name, j.Pool, j.Sequence)
	}
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendUint(dst, uint64(j.ID), 10)
	if j.Name != "" {
		dst = appendString(append(dst, `,"name":`...), j.Name)
	}
	dst = appendSeconds(append(dst, `,"at":`...), time.Duration(j.At))
	if j.Pool != "" {
		dst = appendString(append(dst, `,"pool":`...), j.Pool)
	}
	if j.Weight != 0 {
		dst = strconv.AppendFloat(append(dst, `,"weight":`...), j.Weight, 'f', -1, 64)
	}
	if j.Deadline != 0 {
		dst = appendSeconds(append(dst, `,"deadline":`...), j.Deadline.Sub(j.At))
	}
	if j.Priority != 0 {
		dst = strconv.AppendInt(append(dst, `,"priority":`...), int64(j.Priority), 10)
	}
	if j.Parallelism != 0 {
		dst = strconv.AppendUint(append(dst, `,"parallelism":`...), uint64(j.Parallelism), 10)
	}
	if j.Release != 0 {
		dst = appendSeconds(append(dst, `,"release":`...), j.Release.Sub(j.At))
	}
	if j.Sequence != "" {
		dst = appendString(append(dst, `,"sequence":`...), j.Sequence)
	}
	dst = append(dst, `,"phases":[`...)
	var work time.Duration
	for i := range j.Phases {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		anyClass := j.AnyClass != nil && j.AnyClass[i]
		if dst, err = w.appendPhase(dst, &j.Phases[i], anyClass, j.Times[i], &work); err != nil {
			return nil, fmt.Errorf("phase %d: %w", i, err)
		}
	}
	return append(dst, "]}\n"...), nil
}

// appendPhase appends a phase that Job.Check has passed, and adds its times to
// work.
func (w *Writer) appendPhase(dst []byte, p *sojourn.Phase, anyClass bool, times sim.Times, work *time.Duration) ([]byte, error) {
	if p.Held {
		return nil, fmt.Errorf("its tasks are held, which the format cannot say")
	}
	if err := addTimes(work, times, p.Tasks); err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	if !anyClass {
		dst = append(appendClass(append(dst, `"class":`...), p.Class), ',')
	}
	dst = strconv.AppendInt(append(dst, `"tasks":`...), int64(p.Tasks), 10)
	dst = append(dst, `,"time":`...)
	if times.List == nil {
		dst = appendSeconds(dst, times.Each)
	} else {
		dst = appendList(dst, times.List, appendSeconds)
	}
	if p.Estimates != nil {
		dst = append(dst, `,"estimate":[`...)
		for i := range p.Estimates {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSeconds(dst, p.EstimateOf(i))
		}
		dst = append(dst, ']')
	} else if p.Estimate > 0 {
		dst = appendSeconds(append(dst, `,"estimate":`...), p.Estimate)
	}
	if p.Bytes != nil {
		dst = appendSeries(append(dst, `,"bytes":`...), p.Bytes, func(dst []byte, n int64) []byte {
			return strconv.AppendInt(dst, n, 10)
		})
	}
	if p.Inputs.Len() > 0 {
		dst = append(dst, `,"nodes":[`...)
		for i := range p.Tasks {
			if i > 0 {
				dst = append(dst, ',')
			}
			for _, id := range p.Inputs.Of(i) {
				if name := w.nodes(id); name == "" || !utf8.ValidString(name) {
					return nil, fmt.Errorf("name %q of node %d is empty or not UTF-8", name, id)
				}
			}
			dst = appendList(dst, p.Inputs.Of(i), func(dst []byte, id sojourn.NodeID) []byte {
				return appendString(dst, w.nodes(id))
			})
		}
		dst = append(dst, ']')
	}
	if p.Delays != nil {
		dst = appendSeries(append(dst, `,"delay":`...), p.Delays, appendSeconds)
	}
	if times.Costs != nil {
		dst = appendSeries(append(dst, `,"cost":`...), times.Costs, func(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) })
	}
	if times.Added != nil {
		dst = appendList(append(dst, `,"added":`...), times.Added, appendSeconds)
	}
	switch {
	case p.After == sojourn.NoBarrier:
		dst = append(dst, `,"after":"`+noBarrier+`"`...)
	case p.After > 0:
		dst = strconv.AppendInt(append(dst, `,"after":`...), int64(p.After), 10)
	case p.Needs != nil:
		dst = appendList(append(dst, `,"needs":`...), p.Needs, func(dst []byte, k int) []byte { return strconv.AppendInt(dst, int64(k), 10) })
	}
	return append(dst, '}'), nil
}

// addTimes adds the service times of the tasks of a phase to work, after checking them.
func addTimes(work *time.Duration, times sim.Times, tasks int) error {
	if times.List != nil && len(times.List) != tasks {
		return fmt.Errorf("%d times for %d tasks", len(times.List), tasks)
	}
	if times.Costs != nil && len(times.Costs) != tasks {
		return fmt.Errorf("%d costs for %d tasks", len(times.Costs), tasks)
	}
	for i, n := range times.Costs {
		if n > math.MaxInt64 {
			return fmt.Errorf("task %d: cost %d is above 2^63-1", i, n)
		}
	}
	for i, d := range times.List {
		if d < 0 {
			return fmt.Errorf("task %d: negative time %v", i, d)
		}
	}
	if sum, ok := total(times.Each, times.List, tasks); times.Each < 0 || !ok || sum > math.MaxInt64-*work {
		return fmt.Errorf("the times of the tasks are negative or their sum is out of range")
	} else {
		*work += sum
	}
	return nil
}

// appendSeries appends the values of a series, as one if they are equal.
func appendSeries[T comparable](dst []byte, values []T, one func([]byte, T) []byte) []byte {
	for _, v := range values {
		if v != values[0] {
			return appendList(dst, values, one)
		}
	}
	return one(dst, values[0])
}

// appendList appends a list.
func appendList[T any](dst []byte, values []T, one func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, v)
	}
	return append(dst, ']')
}

// appendString appends s, which is UTF-8, as a JSON string that a terminal may show.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b > '~' || b == '"' || b == '\\' {
			return appendEscaped(dst, s)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, s string) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings have no error
	}
	return append(dst, visible.Text(strings.TrimSuffix(buf.String(), "\n"))...)
}
