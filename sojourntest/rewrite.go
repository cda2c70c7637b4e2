package sojourntest

import (
	"math"
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

// withTicks returns h without its refused events, and with superfluous Ticks:
// before each call one at once, and one half-way to the next event.
func (h history) withTicks() (out history) {
	h = h.where(func(c *call) bool { return c.err == nil })
	out = make(history, 0, 3*len(h))
	var now sojourn.Time
	for i := range h {
		if i == 0 {
			out = append(out, h[i])
			now = h[i].ev.At
			continue
		}
		ticks := []sojourn.Time{now}
		if !h[i].assign {
			ticks = append(ticks, now+(h[i].ev.At-now)/2)
			now = h[i].ev.At
		}
		for _, at := range ticks {
			if !h[i-1].after.due(at) {
				out = append(out, call{ev: sojourn.Event{Kind: sojourn.Tick, At: at}})
			}
		}
		out = append(out, h[i])
	}
	return out
}

// withFlicker returns h with slots that come and go between its calls, of classes
// in which no task could start at the time.
func (h history) withFlicker() (out history) {
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
		for _, class := range h[i].idle {
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

// renamed returns h with other job IDs, in another order.
func (w *witness) renamed(h history) history {
	known := map[sojourn.JobID]bool{}
	for i := range h {
		known[h[i].ev.Task.Job] = true
		if h[i].ev.Job != nil {
			known[h[i].ev.Job.ID] = true
		}
	}
	delete(known, 0)
	other := map[sojourn.JobID]sojourn.JobID{}
	for i, id := range sorted(known) {
		other[id] = math.MaxUint64 - sojourn.JobID(i*i)*1e9
		if w.plain {
			other[id] = sojourn.JobID(len(known) + 1 - i)
		}
	}
	name := func(id sojourn.JobID) sojourn.JobID { return other[id] }
	return h.mapped(func(c *call) {
		if c.ev.Job != nil {
			j := *c.ev.Job // shares the lists, which nobody changes
			j.ID = name(j.ID)
			c.ev.Job = &j
		}
		c.ev.Task.Job = name(c.ev.Task.Job)
		c.rejection = nil // it is not compared
		c.a.Task.Job = name(c.a.Task.Job)
	})
}

// postponed returns h with all times later by d.
func (h history) postponed(d time.Duration) history {
	return h.mapped(func(c *call) {
		if c.ev.At >= 0 {
			c.ev.At = c.ev.At.Add(d)
		}
		if c.ev.Job != nil && c.ev.Job.Deadline > 0 {
			j := *c.ev.Job
			j.Deadline = j.Deadline.Add(d)
			c.ev.Job = &j
		}
		c.rejection = nil // it is not compared
	})
}

// littered returns h with nonsense in all fields that the kinds of its events do
// not use.
func (h history) littered() history {
	return h.mapped(func(c *call) {
		if c.assign || !c.ev.Kind.Valid() {
			return
		}
		ev := sojourn.Event{
			Kind: c.ev.Kind, At: c.ev.At,
			Cause: 77, Progress: 1<<16 - 1, Attempt: 1<<32 - 1, Service: -5,
			Task: sojourn.TaskID{Job: 1 << 50, Index: 1<<32 - 1, Phase: 1<<16 - 1},
			Slot: sojourn.Slot{ID: 1<<32 - 1, Node: 1 << 30, Rack: 1 << 30, Class: 200},
			Job:  &sojourn.Job{Weight: -1},
		}
		switch c.ev.Kind {
		case sojourn.SlotAdded:
			ev.Slot = c.ev.Slot
		case sojourn.SlotRemoved:
			ev.Slot.ID = c.ev.Slot.ID
		case sojourn.NodeDown, sojourn.NodeUp:
			ev.Slot.Node, ev.Slot.Rack = c.ev.Slot.Node, c.ev.Slot.Rack
		case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
			if ev.Job = c.ev.Job; c.ev.Kind == sojourn.JobAdopted {
				ev.Service = c.ev.Service
			}
		case sojourn.JobCancelled:
			if ev.Job = c.ev.Job; ev.Job != nil {
				ev.Job = &sojourn.Job{ID: ev.Job.ID, Weight: -1}
			}
		case sojourn.TaskHeld, sojourn.TaskReady:
			ev.Task, ev.Attempt = c.ev.Task, c.ev.Attempt
		case sojourn.TaskDone:
			ev.Task = c.ev.Task
		case sojourn.OutputLost:
			ev.Task, ev.Attempt = c.ev.Task, c.ev.Attempt
		case sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
			ev.Task, ev.Attempt, ev.Slot.ID = c.ev.Task, c.ev.Attempt, c.ev.Slot.ID
		}
		switch c.ev.Kind {
		case sojourn.TaskProgress:
			ev.Progress, ev.Service = c.ev.Progress, c.ev.Service
		case sojourn.TaskFailed:
			ev.Cause, ev.Service = c.ev.Cause, c.ev.Service
		case sojourn.TaskAdopted, sojourn.TaskFinished:
			ev.Service = c.ev.Service
		}
		c.ev = ev
	})
}
