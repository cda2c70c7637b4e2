package trace

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
)

// ReadOptions say how to read a workload. The zero value is the plain case.
type ReadOptions struct {
	// File is what errors call the input. Empty means "-".
	File string

	// Nodes returns the number of the node of a name, or 0 if there is no such
	// node, which is a fault of the input. Nil numbers the names from 1, in the
	// order in which they first appear.
	Nodes func(name string) sojourn.NodeID

	Limits Limits
}

// Read returns the jobs of a workload in the format that the package comment
// describes, in their order. It reads r as the sequence is consumed, which can
// be done once, and keeps one line in memory. As long as IDs count up one by one,
// nothing is kept of them; of others, one bit each (a 64-bit word for each 64
// consecutive IDs of which one is in use).
//
// The first error ends the sequence: an [*Error] if the input is bad, else what
// r returned, wrapped.
func Read(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	o.Limits = o.Limits.withDefaults()
	return func(yield func(*sim.Job, error) bool) {
		wr := workloadReader{o: o, names: map[string]sojourn.NodeID{}, arrivals: newArrivals()}
		l := newLines(open(r, o.File, o.Limits))
		for {
			line, err := l.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if isBlank(line) {
				continue
			}
			job, fault := wr.job(line)
			if fault != nil {
				yield(nil, l.fault(fault))
				return
			}
			if !yield(job, nil) {
				return
			}
		}
	}
}

// isBlank reports whether a line is all white space.
func isBlank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}

// The keys of the format, those that are required first.
var (
	jobKeys   = []string{"id", "at", "phases", "name", "pool", "weight", "deadline", "demand"}
	phaseKeys = []string{"time", "tasks", "class", "estimate", "bytes", "nodes", "delay", "after"}
)

// A workloadReader turns lines into jobs.
type workloadReader struct {
	o        ReadOptions
	names    map[string]sojourn.NodeID // numbers given out if o.Nodes is nil
	arrivals arrivals
	spread   int // see Limits.Spread
}

// job parses a line.
func (r *workloadReader) job(line []byte) (*sim.Job, *fault) {
	var (
		j                                   sim.Job
		deadline                            time.Duration
		idOff, atOff, deadlineOff, jobStart int
		tasks                               int
		work                                time.Duration // service time of all tasks
	)
	c := newCursor(line)
	jobStart = c.pos
	c.object(jobKeys, 3, func(key string) {
		off := c.pos
		switch key {
		case "id":
			idOff = off
			j.ID = sojourn.JobID(c.integer(1, math.MaxUint64))
		case "name":
			j.Name = string(c.text())
		case "at":
			atOff = off
			j.At = sojourn.Time(c.seconds())
		case "pool":
			j.Pool = string(c.text())
		case "weight":
			j.Weight = c.float()
			if reason := checkWeight(j.Weight); reason != "" {
				c.fail(off, "%s", reason)
			}
		case "deadline":
			deadlineOff = off
			if deadline = c.seconds(); deadline == 0 {
				c.fail(off, "deadline is not above 0")
			}
		case "demand":
			j.Demand = uint32(c.integer(0, math.MaxUint32))
		case "phases":
			c.list(func() {
				if len(j.Phases) == sojourn.MaxPhases {
					c.fail(c.pos, "more than %d phases", sojourn.MaxPhases)
					return
				}
				r.phase(c, &j, &tasks, &work)
			})
			if len(j.Phases) == 0 {
				c.fail(off, "no phases")
			}
		}
	})
	if c.fault != nil {
		return nil, c.fault
	}
	if deadline > math.MaxInt64-time.Duration(j.At) {
		return nil, faultf(deadlineOff, "at + deadline %s", outOfRange)
	}
	if deadline > 0 {
		j.Deadline = j.At.Add(deadline)
	}
	if !slices.Contains(j.AnyClass, true) {
		j.AnyClass = nil
	}
	if err := j.Check(); err != nil {
		return nil, &fault{jobStart, reasonOf(err)}
	}
	switch late, used := r.arrivals.add(&j); {
	case late != "":
		return nil, &fault{atOff, late}
	case used != "":
		return nil, &fault{idOff, used}
	}
	return &j, nil
}

// phase reads a phase at the cursor and adds it to j. tasks and work are sums
// over the phases so far.
func (r *workloadReader) phase(c *cursor, j *sim.Job, tasks *int, work *time.Duration) {
	var (
		p                        sojourn.Phase
		anyClass                 = true
		times, estimates, delays series[time.Duration]
		sizes                    series[int64]
		nodes                    series[[]sojourn.NodeID]
		start, countOff          = c.pos, c.pos
		afterOff                 int
	)
	most := r.o.Limits.Tasks
	c.object(phaseKeys, 1, func(key string) {
		off := c.pos
		switch key {
		case "class":
			p.Class, anyClass = readClass(c), false
		case "tasks":
			countOff = off
			p.Tasks = int(c.integer(1, sojourn.MaxTasks))
		case "time":
			times = readSeries(c, most, c.seconds)
		case "estimate":
			estimates = readSeries(c, most, c.seconds)
			if estimates.list == nil && estimates.each == 0 {
				c.fail(off, "estimate is not above 0; leave it out if there is none")
			}
		case "bytes":
			sizes = readSeries(c, most, func() int64 { return int64(c.integer(0, math.MaxInt64)) })
		case "delay":
			delays = readSeries(c, most, c.seconds)
		case "nodes":
			if c.want(kindList) {
				nodes = readSeries(c, most, func() []sojourn.NodeID { return r.nodes(c) })
			}
		case "after":
			afterOff = off
			p.After = readAfter(c)
		}
	})
	if c.fault != nil {
		return
	}

	if p.Tasks == 0 {
		if times.list == nil {
			c.fail(start, `missing key "tasks": "time" is not a list`)
			return
		}
		p.Tasks, countOff = len(times.list), times.off
		if p.Tasks == 0 {
			c.fail(countOff, "0 tasks")
			return
		}
	}
	if p.Tasks > most-*tasks {
		c.fail(countOff, "more than %d tasks in a job", most)
		return
	}
	*tasks += p.Tasks

	times.check(c, "time", p.Tasks)
	estimates.check(c, "estimate", p.Tasks)
	sizes.check(c, "bytes", p.Tasks)
	nodes.check(c, "nodes", p.Tasks)
	delays.check(c, "delay", p.Tasks)
	if sum, ok := total(times.each, times.list, p.Tasks); !ok || sum > math.MaxInt64-*work {
		c.fail(times.off, "the sum of the times of the job's tasks %s", outOfRange)
	} else {
		*work += sum
	}
	if _, ok := total(estimates.each, estimates.list, p.Tasks); !ok {
		c.fail(estimates.off, "the sum of the estimates of the phase's tasks %s", outOfRange)
	}
	if p.After > 0 {
		if len(j.Phases) == 0 {
			c.fail(afterOff, "after %d, but no phase comes before the first", p.After)
		} else if before := j.Phases[len(j.Phases)-1].Tasks; p.After > before {
			c.fail(afterOff, "after %d of %d tasks", p.After, before)
		}
	}
	r.spreading(c, sizes.off, sizes.list == nil, p.Tasks)
	r.spreading(c, delays.off, delays.list == nil, p.Tasks)
	if c.fault != nil {
		return
	}

	p.Estimate, p.Estimates = estimates.each, estimates.list
	p.Bytes = sizes.spread(p.Tasks)
	p.Delays = delays.spread(p.Tasks)
	p.Inputs = sojourn.MakeInputs(nodes.list)
	j.Phases = append(j.Phases, p)
	j.AnyClass = append(j.AnyClass, anyClass)
	j.Times = append(j.Times, sim.Times{Each: times.each, List: times.list})
}

// spreading counts the values that a single number at off, if there is one, is
// going to stand for.
func (r *workloadReader) spreading(c *cursor, off int, single bool, tasks int) {
	if off == 0 || !single {
		return
	}
	if r.spread += tasks; r.spread > r.o.Limits.Spread {
		c.fail(off, "single numbers for bytes and delay stand for more than %d values in the file so far", r.o.Limits.Spread)
	}
}

// noBarrier is the value of "after" for sojourn.NoBarrier.
const noBarrier = "none"

// readAfter reads the threshold of a phase. There is no 0: in this format it
// would mean no task, in Phase.After it means all.
func readAfter(c *cursor) int {
	off := c.pos
	if kindOf(c.data[c.pos]) == kindString {
		if text := c.text(); string(text) != noBarrier {
			c.fail(off, `want a number of tasks or "none", found %q`, brief(text))
		}
		return sojourn.NoBarrier
	}
	n := int(c.integer(0, sojourn.MaxTasks))
	if n == 0 {
		c.fail(off, `after 0 tasks is written "none"; leave "after" out to wait for all tasks of the phase before`)
	}
	return n
}

// nodes reads the list of the nodes of one task.
func (r *workloadReader) nodes(c *cursor) []sojourn.NodeID {
	var ids []sojourn.NodeID
	c.list(func() {
		off := c.pos
		name := string(c.text())
		if name == "" {
			c.fail(off, "empty name of a node")
			return
		}
		id := r.node(name)
		if id == 0 {
			c.fail(off, "unknown node %q", brief(name))
		}
		ids = append(ids, id)
	})
	return ids
}

// node returns the number of the node of a name.
func (r *workloadReader) node(name string) sojourn.NodeID {
	if r.o.Nodes != nil {
		return r.o.Nodes(name)
	}
	id := r.names[name]
	if id == 0 {
		id = sojourn.NodeID(len(r.names) + 1)
		r.names[name] = id
	}
	return id
}

// A series is one value for every task of a phase, or a list of one a task.
type series[T any] struct {
	off  int // of its value, 0 if the key is absent
	each T
	list []T
}

// readSeries reads a list, or one value, with one reading each value. A list
// longer than most is a fault.
func readSeries[T any](c *cursor, most int, one func() T) series[T] {
	s := series[T]{off: c.pos}
	if kindOf(c.data[c.pos]) != kindList {
		s.each = one()
		return s
	}
	s.list = []T{}
	c.list(func() {
		if len(s.list) == most {
			c.fail(c.pos, "more than %d tasks in a job", most)
			return
		}
		s.list = append(s.list, one())
	})
	return s
}

// check fails if s is a list whose length is not the number of tasks.
func (s *series[T]) check(c *cursor, key string, tasks int) {
	if s.list != nil && len(s.list) != tasks {
		c.fail(s.off, "%q lists %d values for %d tasks", key, len(s.list), tasks)
	}
}

// spread returns s as a list of one value a task, or nil if s is absent.
func (s *series[T]) spread(tasks int) []T {
	if s.off == 0 || s.list != nil {
		return s.list
	}
	list := make([]T, tasks)
	for i := range list {
		list[i] = s.each
	}
	return list
}

// total returns the sum of the times of n tasks, each or those of a list, and
// whether it fits.
func total(each time.Duration, list []time.Duration, n int) (time.Duration, bool) {
	if list == nil {
		return each * time.Duration(n), each <= math.MaxInt64/time.Duration(n)
	}
	var sum time.Duration
	for _, d := range list {
		if sum += d; sum < 0 {
			return 0, false
		}
	}
	return sum, true
}

// checkWeight returns what is wrong with a weight that is given, or "".
func checkWeight(weight float64) string {
	if weight == 0 {
		return "weight is not above 0"
	}
	j := sojourn.Job{ID: 1, Weight: weight, Phases: []sojourn.Phase{{Tasks: 1}}}
	if err := j.Check(); err != nil {
		return reasonOf(err)
	}
	return ""
}

// reasonOf returns the text of an error of Job.Check without that of the
// sentinel.
func reasonOf(err error) string {
	return strings.TrimPrefix(err.Error(), sojourn.ErrInvalidJob.Error()+": ")
}

// arrivals checks what must hold between the lines of a workload.
type arrivals struct {
	last       sojourn.Time
	first, run uint64            // the IDs first to first+run-1 are taken: they came one after the other
	used       map[uint64]uint64 // bit id%64 of used[id/64]: another ID is taken
}

func newArrivals() arrivals { return arrivals{used: map[uint64]uint64{}} }

// add records a job that comes next. It returns what is wrong with its
// arrival, or else with its ID.
func (a *arrivals) add(j *sim.Job) (late, used string) {
	if late := lateness(j.At, a.last); late != "" {
		return late, ""
	}
	id := uint64(j.ID)
	if a.run == 0 {
		a.first = id
	}
	word, bit := id/64, uint64(1)<<(id%64)
	switch {
	case id-a.first < a.run, a.used[word]&bit != 0: // also where id < a.first: the difference wraps
		return "", fmt.Sprintf("duplicate id %d", j.ID)
	case id-a.first == a.run:
		a.run++
	default:
		a.used[word] |= bit
	}
	a.last = j.At
	return "", ""
}

// lateness returns what is wrong with the arrival of a job, given that of the
// job before it, or "".
func lateness(at, last sojourn.Time) string {
	if at >= last {
		return ""
	}
	return fmt.Sprintf("arrival at %s is before that of the job before, %s",
		appendSeconds(nil, time.Duration(at)), appendSeconds(nil, time.Duration(last)))
}
