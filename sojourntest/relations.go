package sojourntest

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// alike returns h as a driver makes it that offers slots in another order: now and then, free
// slots of one class on one node change their places in all later calls. In a thorough trial they
// do so at once.
func (w *witness) alike(h history) history {
	other := map[sojourn.SlotID]sojourn.SlotID{} // the slot in whose place it is
	name := func(id sojourn.SlotID) sojourn.SlotID {
		if to, ok := other[id]; ok {
			return to
		}
		return id
	}
	if w.o.TellsSlotsApart {
		return h
	}
	var places yard
	return h.mapped(func(c *call) {
		was := *c
		c.slot, c.a.Slot = name(c.slot), name(c.a.Slot)
		if namesSlot(c.ev.Kind) {
			c.ev.Slot.ID = name(c.ev.Slot.ID)
		}
		if !c.ok {
			c.a.Slot = was.a.Slot // of no assignment
		}
		places.apply(&was)
		for i, a := range places {
			for _, b := range places[:i] {
				x, y := name(a.ID), name(b.ID)
				if a.alike(b) && (w.thorough && x == a.ID && y == b.ID || !w.thorough && w.oneIn(2)) {
					other[a.ID], other[b.ID] = y, x
				}
			}
		}
	})
}

// A yard is the slots that are present.
type yard []*place

// A place is a slot and what is known of it without the jobs.
type place struct {
	sojourn.Slot
	busy, retiring bool
}

// alike reports whether nothing but the number tells two free slots apart.
func (a *place) alike(b *place) bool {
	return !a.busy && !b.busy && a.Class == b.Class && a.Node == b.Node && a.Rack == b.Rack && a.Speed == b.Speed
}

// apply applies a call that was made.
func (y *yard) apply(c *call) {
	id, kind := c.ev.Slot.ID, c.ev.Kind
	switch {
	case c.assign && !c.ok || c.err != nil || !c.assign && !namesSlot(kind):
		return
	case c.assign:
		id = c.slot
	}
	at := 0
	for at < len(*y) && (*y)[at].ID != id {
		at++
	}
	if at == len(*y) {
		*y = append(*y, &place{Slot: c.ev.Slot}) // no other kind of event names a slot that is not there
		return
	}
	s := (*y)[at]
	switch {
	case c.assign || kind == sojourn.TaskAdopted:
		s.busy = true
	case kind == sojourn.SlotAdded:
		s.retiring = false
	case kind == sojourn.SlotRemoved:
		s.retiring = true
	case kind != sojourn.TaskProgress && kind != sojourn.TaskPinned:
		s.busy = false
	}
	if s.retiring && !s.busy {
		*y = append((*y)[:at], (*y)[at+1:]...)
	}
}

// namesSlot reports whether events of a kind use the number of a slot.
func namesSlot(k sojourn.EventKind) bool {
	switch k {
	case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.TaskAdopted, sojourn.TaskProgress,
		sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		return true
	}
	return false
}

// slotsReversed returns h, which has no refused call, with the slots that come or go at one
// instant in the reverse order.
func (h history) slotsReversed() history {
	out := make(history, 0, len(h))
	for i := 0; i < len(h); {
		n := i + 1
		if k := h[i].ev.Kind; !h[i].assign && (k == sojourn.SlotAdded || k == sojourn.SlotRemoved) {
			for n < len(h) && !h[n].assign && h[n].ev.Kind == k && h[n].ev.At == h[i].ev.At {
				n++
			}
		}
		for k := n - 1; k >= i; k-- {
			out = append(out, h[k])
		}
		i = n
	}
	return out
}

// scale draws by how much the law "scaled times" stretches a history, 1 if it cannot.
func (tr *trial) scale() int {
	if tr.o.Scaled == nil || tr.extreme || len(tr.options) > 1 || tr.h.timeBefore(len(tr.h)) > lastTime/4096 || tr.h.lastDeadline() > lastTime/4096 {
		return 1
	}
	return pick(&tr.draws, 2, 3, 1000)
}

// scaled returns h with all times so many times longer.
func (h history) scaled(by int) history {
	if by == 1 {
		return h
	}
	times := func(d time.Duration) time.Duration { return d * time.Duration(by) }
	return h.mapped(func(c *call) {
		c.ev.At *= sojourn.Time(by)
		c.ev.Service = times(c.ev.Service)
		c.ev.Cost *= uint64(by)
		if c.ev.Job != nil {
			c.ev.Job = clone(c.ev.Job)
			c.ev.Job.Deadline *= sojourn.Time(by)
			c.ev.Job.Release *= sojourn.Time(by)
			for i := range c.ev.Job.Phases {
				p := &c.ev.Job.Phases[i]
				p.Estimate = times(p.Estimate)
				for _, list := range [][]time.Duration{p.Estimates, p.Delays} {
					for k := range list {
						list[k] = times(list[k])
					}
				}
			}
		}
		c.rejection = nil // it is not compared
	})
}

// heavier checks the law of weights at one assignment of the trial, in a thorough trial at each.
func (tr *trial) heavier() {
	if tr.o.IgnoresWeights {
		return
	}
	var starts []int
	for i := range tr.h {
		if tr.h[i].assign && tr.h[i].ok {
			starts = append(starts, i)
		}
	}
	if len(starts) > 0 && !tr.thorough {
		starts = []int{pick(&tr.draws, starts...)}
	}
	for _, i := range starts {
		times := pick(&tr.draws, 1+1.0/(1<<10), 2, 3600, 1<<40)
		if tr.plain {
			times = 2
		}
		tr.heavierAt(i, times)
	}
}

// heavierAt looks whether the job that was served at a call is also served if it gets so many
// times the weight just before. What a revision alone changes is not held against a policy.
func (tr *trial) heavierAt(i int, times float64) {
	want := &tr.h[i]
	spec, now := tr.h[:i].latest(want.a.Task.Job)
	revised := func(weight float64) (call, history) {
		ev := sojourn.Event{Kind: sojourn.JobRevised, At: now, Job: clone(spec)}
		ev.Job.Weight = weight
		s := tr.fresh()
		tr.replay(lawDeterminism, s, tr.h[:i], false)
		shown := append(tr.h[:i:i], call{ev: ev, err: sentinel(s.Observe(ev))})
		c := call{assign: true, slot: want.slot}
		c.a, c.ok = s.Assign(c.slot)
		return c, append(shown, c)
	}
	most := math.Nextafter(1<<32, 0)
	was := spec.Weight
	if was == 0 {
		was = 1
	}
	got, shown := revised(min(was*times, most))
	if shown[i].err != nil || got.ok && got.a.Task.Job == spec.ID {
		return
	}
	if plain, _ := revised(was); plain.ok && plain.a.Task.Job == spec.ID {
		tr.fail(lawWeights, shown, "%v = %s, want a task of job %d, which is served if its weight stays as it was", &got, got.outcome(), spec.ID)
	}
}

// latest returns the latest description of a live job, and the time.
func (h history) latest(id sojourn.JobID) (spec *sojourn.Job, now sojourn.Time) {
	for i := range h {
		if h[i].assign || h[i].err != nil {
			continue
		}
		now = h[i].ev.At
		if j := h[i].ev.Job; j != nil && j.ID == id && h[i].ev.Kind != sojourn.JobCancelled {
			spec = j
		}
	}
	return spec, now
}

// bypass judges the choice of t for a slot of class c by the bound on how often a job may be
// passed over.
func (w *witness) bypass(t *modelTask, c sojourn.Class) {
	if w.o.Bypass == nil {
		return
	}
	for _, j := range w.m.jobs { // in the order of arrival
		if j.spec.ID == t.id.Job {
			j.bypassed = 0
			return
		}
		if !w.m.starving(j, c) {
			continue
		}
		if j.bypassed++; j.bypassed > w.o.Bypass(j.spec) {
			w.fail(lawBypass, w.h, "job %d arrived earlier, none of its tasks runs, and one could start on a slot of class %d; it is passed over for the %d. time, want at most %d",
				j.spec.ID, c, j.bypassed, w.o.Bypass(j.spec))
		}
	}
}

// starving reports whether nothing of j runs, but a task could start on a slot of class c.
func (m *model) starving(j *modelJob, c sojourn.Class) (waits bool) {
	for i := range j.tasks {
		for _, t := range j.tasks[i] {
			if t.state == running {
				j.bypassed = 0
				return false
			}
			waits = waits || m.why(t, c) == ""
		}
	}
	return waits
}
