package trace

import (
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// phases reads the phases of j.
func (r *workloadReader) phases(c *cursor, j *sim.Job) {
	var (
		off   = c.pos
		tasks int
		work  time.Duration // service time of all tasks
	)
	c.list(func() {
		if len(j.Phases) == sojourn.MaxPhases {
			c.fail(c.pos, "more than %d phases", sojourn.MaxPhases)
			return
		}
		r.phase(c, j, &tasks, &work)
	})
	if len(j.Phases) == 0 {
		c.fail(off, "no phases")
	}
	if n := len(j.Phases) - len(j.AnyClass); j.AnyClass != nil {
		j.AnyClass = append(j.AnyClass, make([]bool, n)...)
	}
}

// A phaseLine is a phase as it is written.
type phaseLine struct {
	start, tasksOff, afterOff, needsOff int // of the object and of values

	phase                    sojourn.Phase
	anyClass                 bool
	times, estimates, delays series[time.Duration]
	added                    series[time.Duration]
	sizes                    series[int64]
	costs                    series[uint64]
	nodes                    series[[]sojourn.NodeID]
}

// phase reads a phase at the cursor and adds it to j. tasks and work are sums
// over the phases so far.
func (r *workloadReader) phase(c *cursor, j *sim.Job, tasks *int, work *time.Duration) {
	p := phaseLine{start: c.pos, tasksOff: c.pos, anyClass: true}
	r.values(c, j, &p)
	if c.fault != nil || !p.count(c) {
		return
	}
	n := p.phase.Tasks
	if most := r.o.limits.tasks; n > most-*tasks {
		c.fail(p.tasksOff, "more than %d tasks in a job", most)
		return
	}
	*tasks += n
	p.check(c, j, work)
	r.spreading(c, p.sizes.off, p.sizes.list == nil, n)
	r.spreading(c, p.delays.off, p.delays.list == nil, n)
	r.spreading(c, p.costs.off, p.costs.list == nil, n)
	if c.fault != nil {
		return
	}
	p.phase.Estimate, p.phase.Estimates = p.estimates.each, p.estimates.list
	p.phase.Bytes = p.sizes.spread(n)
	p.phase.Delays = p.delays.spread(n)
	p.phase.Inputs = sojourn.MakeInputs(p.nodes.list)
	j.Phases = append(j.Phases, p.phase)
	if p.anyClass { // of few jobs in a cluster with classes: nil as long as there is none
		j.AnyClass = append(j.AnyClass, make([]bool, len(j.Phases)-len(j.AnyClass))...)
		j.AnyClass[len(j.AnyClass)-1] = true
	}
	j.Times = append(j.Times, sim.Times{Each: p.times.each, List: p.times.list, Costs: p.costs.spread(n), Added: p.added.list})
	j.Open = j.Open || p.added.list != nil
}

// values reads the values of a phase, the next one of j.
func (r *workloadReader) values(c *cursor, j *sim.Job, p *phaseLine) {
	most := r.o.limits.tasks
	c.object(phaseKeys, 1, func(key string) {
		off := c.pos
		switch key {
		case "class":
			p.phase.Class, p.anyClass = readClass(c), false
		case "tasks":
			p.tasksOff = off
			p.phase.Tasks = int(c.integer(1, sojourn.MaxTasks))
		case "time":
			p.times = readSeries(c, most, c.seconds)
		case "estimate":
			p.estimates = readSeries(c, most, c.seconds)
			if p.estimates.list == nil && p.estimates.each == 0 {
				c.fail(off, "estimate is not above 0; leave it out if there is none")
			}
		case "bytes":
			p.sizes = readSeries(c, most, func() int64 { return int64(c.integer(0, math.MaxInt64)) })
		case "cost":
			p.costs = readSeries(c, most, func() uint64 { return c.integer(0, math.MaxInt64) })
		case "delay":
			p.delays = readSeries(c, most, c.seconds)
		case "added":
			if c.want(kindList) {
				p.added = readSeries(c, most, c.seconds)
			}
		case "nodes":
			if c.want(kindList) {
				p.nodes = readSeries(c, most, func() []sojourn.NodeID { return r.nodes(c) })
			}
		case "after":
			p.afterOff = off
			p.phase.After = readAfter(c)
		case "needs":
			p.needsOff = off
			p.phase.Needs = readNeeds(c, len(j.Phases))
		}
	})
	if p.needsOff > 0 && p.afterOff > 0 {
		c.fail(p.needsOff, `"needs" beside "after": want one of the two`)
	}
}

// count determines the number of tasks, and reports whether there is any.
func (p *phaseLine) count(c *cursor) bool {
	if p.phase.Tasks > 0 {
		return true
	}
	if p.times.list == nil {
		c.fail(p.start, `missing key "tasks": "time" is not a list`)
		return false
	}
	p.phase.Tasks, p.tasksOff = len(p.times.list), p.times.off
	if p.phase.Tasks == 0 {
		c.fail(p.tasksOff, "0 tasks")
		return false
	}
	return true
}

// check fails if a list has another length than there are tasks, a sum is out of range, or
// the phase waits for more than the phase before it in j has. It adds the service times to
// work.
func (p *phaseLine) check(c *cursor, j *sim.Job, work *time.Duration) {
	n := p.phase.Tasks
	p.times.check(c, "time", n)
	p.estimates.check(c, "estimate", n)
	p.sizes.check(c, "bytes", n)
	p.nodes.check(c, "nodes", n)
	p.delays.check(c, "delay", n)
	p.costs.check(c, "cost", n)
	p.added.check(c, "added", n)
	if added := p.added.list; len(added) == n && (added[0] != 0 || !slices.IsSorted(added)) {
		c.fail(p.added.off, `"added" does not begin with 0 and go on with no less each`)
	}
	if sum, ok := total(p.times.each, p.times.list, n); !ok || sum > math.MaxInt64-*work {
		c.fail(p.times.off, "the sum of the times of the job's tasks %s", outOfRange)
	} else {
		*work += sum
	}
	if _, ok := total(p.estimates.each, p.estimates.list, n); !ok {
		c.fail(p.estimates.off, "the sum of the estimates of the phase's tasks %s", outOfRange)
	}
	if after := p.phase.After; after > 0 {
		if len(j.Phases) == 0 {
			c.fail(p.afterOff, "after %d, but no phase comes before the first", after)
		} else if before := j.Phases[len(j.Phases)-1].Tasks; after > before {
			c.fail(p.afterOff, "after %d of %d tasks", after, before)
		}
	}
}

// spreading counts the values that a single number at off, if there is one, will stand
// for.
func (r *workloadReader) spreading(c *cursor, off int, single bool, tasks int) {
	if off == 0 || !single {
		return
	}
	if r.spread += tasks; r.spread > r.o.limits.spread {
		c.fail(off, "single numbers for bytes, delay and cost stand for more than %d values in the file so far", r.o.limits.spread)
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

// readNeeds reads the phases that phase number phase waits for. The list is never nil.
func readNeeds(c *cursor, phase int) []int {
	needs := []int{}
	if !c.want(kindList) {
		return needs
	}
	c.list(func() {
		off := c.pos
		k := int(c.integer(0, sojourn.MaxPhases))
		switch n := len(needs); {
		case k >= phase:
			c.fail(off, "phase %d does not come before this one, which is phase %d, counted from 0", k, phase)
		case n > 0 && k <= needs[n-1]:
			c.fail(off, "phase %d after phase %d: want increasing numbers", k, needs[n-1])
		}
		needs = append(needs, k)
	})
	return needs
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

// A series is one value for all tasks of a phase, or a list with one value for each.
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

// spread returns s as a list with one value for each task, or nil if s is absent.
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

// newJob returns a job without phases that has room for two of them: one object for most jobs.
func newJob() *sim.Job {
	j := new(struct {
		sim.Job
		phases [2]sojourn.Phase
		times  [2]sim.Times
	})
	j.Phases, j.Times = j.phases[:0], j.times[:0]
	return &j.Job
}
