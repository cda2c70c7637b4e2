package plan

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A dispatcher runs a list of tasks event by event: whenever a machine is free, it
// starts the first task of the list that may start (Graham's list scheduling, with
// releases and delays). It never waits for a task while another could run.
type dispatcher struct {
	placer
	queue  []int32 // the tasks of each unit in the order of the list, at the places of the unit's tasks
	rank   []int32 // of each task in the list
	next   []int32 // the place in queue of the first task of each unit that is not started
	future keys    // units, or tasks (as ^task) where they differ, by when they may start
	class  []dispatchClass

	notBefore []int64 // an instant before which each task does not start; nil if there is none

	// left, unless nil, is the load of each job that has not been started, and takes the
	// place of ranks: the job with the least load over weight goes first.
	left []float64
}

// dispatchClass is the state of the machines of one class.
type dispatchClass struct {
	free  keys // machines, by number
	busy  keys // machines, by when they are free
	start keys // tasks that may start, by rank: the first of each unit, or all where they may start at different times
}

func newDispatcher(f *flat) *dispatcher {
	return &dispatcher{
		placer: *newPlacer(f),
		queue:  make([]int32, len(f.p)), rank: make([]int32, len(f.p)), next: make([]int32, len(f.units)),
		class: make([]dispatchClass, len(f.machines)),
	}
}

// run makes the plan of a list.
func (d *dispatcher) run(order []int32, out layout) {
	d.reset()
	for i := range d.units {
		d.next[i] = d.units[i].first
	}
	for r, t := range order {
		i := d.unit[t]
		d.rank[t] = int32(r)
		d.queue[d.next[i]] = t
		d.next[i]++
	}
	for k := range d.class {
		c := &d.class[k]
		c.busy, c.start, c.free = c.busy[:0], c.start[:0], c.free[:0]
		for m := range d.machines[k] {
			c.free = append(c.free, key{0, int32(d.base[k] + m)})
		}
	}
	d.future = d.future[:0]
	for i := range d.units {
		d.next[i] = d.units[i].first
		if !d.units[i].waits {
			d.arrives(int32(i))
		}
	}
	for {
		now, any := int64(0), false
		if len(d.future) > 0 {
			now, any = d.future[0].at, true
		}
		for k := range d.class {
			if b := d.class[k].busy; len(b) > 0 && (!any || b[0].at < now) {
				now, any = b[0].at, true
			}
		}
		if !any {
			return
		}
		for k := range d.class {
			c := &d.class[k]
			for len(c.busy) > 0 && c.busy[0].at <= now {
				c.free.push(key{0, c.busy.pop().id})
			}
		}
		for len(d.future) > 0 && d.future[0].at <= now {
			d.mayStart(d.future.pop().id)
		}
		for k := range d.class {
			d.offer(int32(k), now, out)
		}
	}
}

// arrives says that unit i is open.
func (d *dispatcher) arrives(i int32) {
	if d.notBefore != nil {
		for t := d.units[i].first; t < d.units[i].end; t++ {
			d.future.push(key{max(d.earliest(t), d.notBefore[t]), ^t})
		}
		return
	}
	d.future.push(key{d.ready[i], i})
}

// dynamic makes the plan in which the job with the least load left over its weight goes
// first: shortest remaining processing time, weighted. A phase is filed when it may
// start and after each of its tasks; list decides within phases.
func (d *dispatcher) dynamic(order []int32, out layout) {
	d.left = make([]float64, len(d.in.Jobs))
	for t, i := range d.unit {
		d.left[d.units[i].job] += d.load(int32(t))
	}
	d.run(order, out)
	d.left = nil
}

// load returns the time that all machines of its class take for a task.
func (d *dispatcher) load(t int32) float64 {
	return lp.Seconds(d.p[t]) / float64(d.machines[d.units[d.unit[t]].class])
}

// key returns the key of a task that may start.
func (d *dispatcher) key(t int32) key {
	if d.left == nil {
		return key{int64(d.rank[t]), t}
	}
	j := d.units[d.unit[t]].job
	// The bits of numbers that are not negative are in their order.
	return key{int64(math.Float64bits(max(d.left[j], 0) / d.in.Jobs[j].weight())), t}
}

// mayStart makes a unit, or a task, available.
func (d *dispatcher) mayStart(id int32) {
	t := ^id
	if id >= 0 {
		t = d.queue[d.next[id]]
	}
	c := &d.class[d.units[d.unit[t]].class]
	c.start.push(d.key(t))
}

// offer starts tasks of a class while machines are free.
func (d *dispatcher) offer(k int32, now int64, out layout) {
	c := &d.class[k]
	for len(c.free) > 0 && len(c.start) > 0 {
		t := c.start[0].id
		i := d.unit[t]
		if d.left != nil {
			d.left[d.units[i].job] -= d.load(t)
		}
		if d.next[i]++; d.notBefore == nil && d.next[i] < d.units[i].end {
			n := d.queue[d.next[i]]
			c.start.replace(d.key(n))
		} else {
			c.start.pop()
		}
		m := c.free.pop().id
		end := now + d.p[t]
		out.start[t], out.machine[t] = now, m
		c.busy.push(key{end, m})
		if d.deliver(t, end) {
			d.arrives(i + 1)
		}
	}
}
