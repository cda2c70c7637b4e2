package sojourntest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// shift is the distance by which the law "epoch" moves all times.
func (w *witness) shift() time.Duration {
	if w.plain {
		return time.Second + 1
	}
	return 1001*time.Hour + time.Minute + time.Second + 1
}

// A filter says at which places a history is rewritten; nil means at all. The numbers of places do not depend on it.
type filter func(place int) bool

func (f filter) at(place int) bool { return f == nil || f(place) }

// withTicks returns h without its refused events, and with superfluous Ticks:
// before each call one at once, and one half-way to the next event.
func (h history) withTicks(where filter) (out history) {
	h = h.where(func(c *call) bool { return c.err == nil })
	out = make(history, 0, 3*len(h))
	var now sojourn.Time
	for i := range h {
		if i == 0 {
			out = append(out, h[i])
			now = h[i].ev.At
			continue
		}
		ticks := []sojourn.Time{now} // places 2i and 2i+1
		if !h[i].assign {
			ticks = append(ticks, now+(h[i].ev.At-now)/2)
			now = h[i].ev.At
		}
		for k, at := range ticks {
			if where.at(2*i+k) && !h[i-1].after.due(at) {
				out = append(out, call{ev: sojourn.Event{Kind: sojourn.Tick, At: at}})
			}
		}
		out = append(out, h[i])
	}
	return out
}

// withFlicker returns h with slots that come and go between its calls, of classes
// in which no task could start at the time.
func (h history) withFlicker(where filter) (out history) {
	out = make(history, 0, 4*len(h))
	var now sojourn.Time
	for i := range h {
		out = append(out, h[i])
		if !h[i].assign && h[i].err == nil {
			now = h[i].ev.At
		}
		if h[i].after.due(now) {
			continue
		}
		for k, class := range h[i].idle { // places 256i and on
			if !where.at(i<<8 + k) {
				continue
			}
			s := sojourn.Slot{ID: flicker, Class: class}
			out = append(out,
				call{ev: sojourn.Event{Kind: sojourn.SlotAdded, At: now, Slot: s}},
				call{assign: true, slot: s.ID},
				call{ev: sojourn.Event{Kind: sojourn.SlotRemoved, At: now, Slot: s}})
		}
	}
	return out
}

// heldOneByOne returns h with phases that are not held, and each of their tasks held by an event
// of its own.
func (h history) heldOneByOne() (out history) {
	tasks := map[sojourn.JobID][]int{} // of live jobs, by phase; and of some that have ended
	for _, c := range h {
		j := c.ev.Job
		if c.assign || c.err != nil || j == nil || c.ev.Kind == sojourn.JobCancelled {
			out = append(out, c)
			continue
		}
		was := tasks[j.ID]
		if c.ev.Kind != sojourn.JobRevised {
			was = make([]int, len(j.Phases))
		}
		is := make([]int, len(j.Phases))
		c.ev.Job = clone(j)
		out = append(out, c)
		for i := range j.Phases {
			c.ev.Job.Phases[i].Held = false
			is[i] = j.Phases[i].Tasks
			for k := was[i]; j.Phases[i].Held && k < is[i]; k++ {
				id := sojourn.TaskID{Job: j.ID, Phase: uint16(i), Index: uint32(k)}
				out = append(out, call{ev: sojourn.Event{Kind: sojourn.TaskHeld, At: c.ev.At, Task: id}})
			}
		}
		tasks[j.ID] = is
	}
	return out
}

// renamed returns h with other job IDs and other names of jobs, in another order.
func (w *witness) renamed(h history) history {
	known, names := map[sojourn.JobID]bool{}, map[string]bool{}
	for i := range h {
		known[h[i].ev.Task.Job] = true
		if j := h[i].ev.Job; j != nil {
			known[j.ID], names[j.Name] = true, true
		}
	}
	delete(known, 0)
	delete(names, "")
	other := map[sojourn.JobID]sojourn.JobID{}
	for i, id := range sorted(known) {
		other[id] = math.MaxUint64 - sojourn.JobID(i*i)*1e9
		if w.plain {
			other[id] = sojourn.JobID(len(known) + 1 - i)
		}
	}
	otherName := map[string]string{"": ""}
	for i, name := range slices.Sorted(maps.Keys(names)) {
		otherName[name] = strings.Repeat("z", len(names)-i)
	}
	name := func(id sojourn.JobID) sojourn.JobID { return other[id] }
	return h.mapped(func(c *call) {
		if c.ev.Job != nil {
			j := *c.ev.Job // shares the lists, which nobody changes
			j.ID, j.Name = name(j.ID), otherName[j.Name]
			c.ev.Job = &j
		}
		c.ev.Task.Job = name(c.ev.Task.Job)
		c.rejection = nil // it is not compared
		c.a.Task.Job = name(c.a.Task.Job)
	})
}

// restated returns h with what is said in another way that means the same: a weight of 0 or 1, a speed of 0 or 100, one estimate
// for all tasks without inputs or a list of them.
func (w *witness) restated(h history) history {
	return h.mapped(func(c *call) {
		if c.ev.Kind == sojourn.SlotAdded && w.o.features&sojourn.FeatureSpeed != 0 {
			c.ev.Slot.Speed = swapped(c.ev.Slot.Speed, 100)
		}
		if c.ev.Job == nil || c.ev.Job.Check() != nil {
			return
		}
		j := *c.ev.Job
		j.Weight = swapped(j.Weight, 1)
		j.Phases = slices.Clone(j.Phases)
		for i := range j.Phases {
			p := &j.Phases[i]
			if p.Inputs.Len() > 0 {
				continue // the closest of tasks that are alike may go first, and those of a list are not alike
			}
			list := make([]time.Duration, p.Tasks)
			for k := range list {
				list[k] = p.EstimateOf(k)
			}
			switch first := list[0]; {
			case p.Estimates == nil:
				p.Estimate, p.Estimates = 0, list
			case !slices.ContainsFunc(list, func(d time.Duration) bool { return d != first }):
				p.Estimate, p.Estimates = first, nil
			default:
				p.Estimate, p.Estimates = 0, list
			}
		}
		c.ev.Job = &j
		c.rejection = nil // it is not compared
	})
}

// swapped returns 0 for what 0 means, and that for 0.
func swapped[T comparable](v, meant T) T {
	var zero T
	switch v {
	case zero:
		return meant
	case meant:
		return zero
	}
	return v
}

// postponed returns h with all times later by d.
func (h history) postponed(d time.Duration) history {
	return h.mapped(func(c *call) {
		if c.ev.At >= 0 {
			c.ev.At = c.ev.At.Add(d)
		}
		if c.ev.Job != nil {
			j := *c.ev.Job
			for _, t := range []*sojourn.Time{&j.Deadline, &j.Release} {
				if *t > 0 {
					*t = t.Add(d)
				}
			}
			c.ev.Job = &j
		}
		c.rejection = nil // it is not compared
	})
}

// A litterer puts nonsense into a field of an event, unless the kind of the event uses that field.
type litterer struct {
	field  string
	uses   func(sojourn.EventKind) bool
	litter func(*sojourn.Event)
}

// litterers are those of all fields but the kind and the time.
var litterers = []litterer{
	{"Cause", kinds(sojourn.TaskFailed), func(ev *sojourn.Event) { ev.Cause = 77 }},
	{"Cause, unknown in place of CauseSlotLost,", func(k sojourn.EventKind) bool { return k != sojourn.TaskFailed }, func(ev *sojourn.Event) {
		if ev.Cause == sojourn.CauseSlotLost {
			ev.Cause = 77
		}
	}},
	{"Progress", kinds(sojourn.TaskProgress), func(ev *sojourn.Event) { ev.Progress = 1<<16 - 1 }},
	{"Attempt", kinds(sojourn.TaskHeld, sojourn.TaskReady, sojourn.OutputLost, sojourn.TaskAdopted, sojourn.TaskProgress,
		sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned), func(ev *sojourn.Event) { ev.Attempt = 1<<32 - 1 }},
	{"Service", kinds(sojourn.JobAdopted, sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed),
		func(ev *sojourn.Event) { ev.Service = -5 }},
	{"Cost", kinds(sojourn.TaskFinished, sojourn.TaskFailed), func(ev *sojourn.Event) { ev.Cost = 5 }},
	{"Task", kinds(sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost, sojourn.TaskAdopted, sojourn.TaskProgress,
		sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned),
		func(ev *sojourn.Event) { ev.Task = sojourn.TaskID{Job: 1 << 50, Index: 1<<32 - 1, Phase: 1<<16 - 1} }},
	{"Slot.ID", namesSlot, func(ev *sojourn.Event) { ev.Slot.ID = 1<<32 - 1 }},
	{"Slot.Node", kinds(sojourn.SlotAdded, sojourn.NodeDown, sojourn.NodeUp), func(ev *sojourn.Event) { ev.Slot.Node = 1 << 30 }},
	{"Slot.Rack", kinds(sojourn.SlotAdded, sojourn.NodeDown, sojourn.NodeUp), func(ev *sojourn.Event) { ev.Slot.Rack = 1 << 30 }},
	{"Slot.Speed", kinds(sojourn.SlotAdded), func(ev *sojourn.Event) { ev.Slot.Speed = 33 }},
	{"Slot.Class", kinds(sojourn.SlotAdded), func(ev *sojourn.Event) { ev.Slot.Class = 200 }},
	{"Job", kinds(sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised, sojourn.JobCancelled),
		func(ev *sojourn.Event) { ev.Job = &sojourn.Job{Weight: -1} }},
	{"Pool", kinds(sojourn.PoolChanged), func(ev *sojourn.Event) { ev.Pool = &sojourn.Pool{Weight: -1} }},
	{"Job, apart from Job.ID", func(k sojourn.EventKind) bool { return k != sojourn.JobCancelled }, func(ev *sojourn.Event) {
		if ev.Job != nil {
			ev.Job = &sojourn.Job{ID: ev.Job.ID, Weight: -1}
		}
	}},
}

// kinds returns a function that reports whether a kind is in a list.
func kinds(list ...sojourn.EventKind) func(sojourn.EventKind) bool {
	return func(k sojourn.EventKind) bool { return slices.Contains(list, k) }
}

// littered returns h with nonsense in all fields that the kinds of its events do
// not use. Place i*len(litterers)+k is the field of litterer k in call i.
func (h history) littered(where filter) history {
	out := slices.Clone(h)
	for i := range out {
		c := &out[i]
		if c.assign || !c.ev.Kind.Valid() {
			continue
		}
		for k, l := range litterers {
			if !l.uses(c.ev.Kind) && where.at(i*len(litterers)+k) {
				l.litter(&c.ev)
			}
		}
	}
	return out
}
