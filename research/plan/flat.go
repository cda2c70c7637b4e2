package plan

import (
	"slices"
	"time"
)

// A flat is an instance as arrays, on which schedules are made. Times are in
// nanoseconds.
type flat struct {
	in       *Instance
	machines []int // of each class
	base     []int // the first machine of each class: machines are numbered through
	p        []int64
	unit     []int32 // of each task
	units    []unit  // phases, in the order of their tasks
	first    []int32 // the first unit of each job, and then the number of units
	assigned []int32 // the machine of each task if it is given in advance; otherwise nil
}

// classes are the classes of machines of a linear program: those of the instance,
// or single machines if tasks are assigned in advance.
type classes struct {
	machines []float64 // of each class
	of       func(task int32) int32
}

func (f *flat) classes() classes {
	var c classes
	if f.assigned != nil {
		for range f.base[len(f.base)-1] {
			c.machines = append(c.machines, 1)
		}
		c.of = func(t int32) int32 { return f.assigned[t] }
		return c
	}
	for _, m := range f.machines {
		c.machines = append(c.machines, float64(m))
	}
	c.of = func(t int32) int32 { return f.units[f.unit[t]].class }
	return c
}

// A unit is a phase of a job.
type unit struct {
	job, phase int32
	class      int32
	first, end int32           // its tasks
	waits      bool            // for the unit before it
	feeds      bool            // the unit after it waits for it
	delays     []time.Duration // d_u of each task; nil if there are none
	release    int64           // r_j
}

// newFlat returns the flat form of a valid instance.
func newFlat(in *Instance) *flat {
	n := in.TaskCount()
	f := &flat{in: in, machines: in.Machines, p: make([]int64, 0, n), unit: make([]int32, 0, n)}
	f.base = make([]int, len(in.Machines)+1)
	for k, m := range in.Machines {
		f.base[k+1] = f.base[k] + m
	}
	for i := range in.Jobs {
		j := &in.Jobs[i]
		f.first = append(f.first, int32(len(f.units)))
		for k := range j.Phases {
			ph := &j.Phases[k]
			u := unit{
				job: int32(i), phase: int32(k), class: int32(ph.Class), release: int64(j.Release),
				first: int32(len(f.p)), end: int32(len(f.p) + ph.Tasks),
				waits: k > 0 && !ph.NoBarrier,
				feeds: k+1 < len(j.Phases) && !j.Phases[k+1].NoBarrier,
			}
			if u.feeds {
				u.delays = unlessZero(ph.Delays)
			}
			for t := range ph.Tasks {
				f.p = append(f.p, int64(ph.TimeOf(t)))
				f.unit = append(f.unit, int32(len(f.units)))
			}
			f.units = append(f.units, u)
		}
	}
	f.first = append(f.first, int32(len(f.units)))
	return f
}

// unlessZero returns the list itself; nil if all delays are zero.
func unlessZero(list []time.Duration) []time.Duration {
	if !slices.ContainsFunc(list, func(d time.Duration) bool { return d != 0 }) {
		return nil
	}
	return list
}

// delay returns d_u of a task of u.
func (u *unit) delay(task int32) int64 {
	if u.delays == nil {
		return 0
	}
	return int64(u.delays[task-u.first])
}

// tails calls visit for each task with q_u, the least time from its start to the
// end of the tasks that wait for it, itself included:
//
//	q_u = p_u + d_u + max over v of the next phase of q_v
//
// Phases of a job come in reverse order.
func (f *flat) tails(visit func(task int32, q int64)) {
	after := int64(0) // the longest q of the unit after
	for i := len(f.units) - 1; i >= 0; i-- {
		u := &f.units[i]
		if !u.feeds {
			after = 0
		}
		longest := int64(0)
		for t := u.first; t < u.end; t++ {
			q := f.p[t] + u.delay(t) + after
			longest = max(longest, q)
			visit(t, q)
		}
		after = longest
	}
}

// heads returns for each unit the earliest start of its tasks in any schedule: the
// release and the longest chain of tasks and delays before them.
func (f *flat) heads() []int64 {
	heads := make([]int64, len(f.units))
	for i := range f.units {
		u := &f.units[i]
		heads[i] = u.release
		if !u.waits {
			continue
		}
		b := &f.units[i-1]
		for t := b.first; t < b.end; t++ {
			heads[i] = max(heads[i], heads[i-1]+f.p[t]+b.delay(t))
		}
	}
	return heads
}
