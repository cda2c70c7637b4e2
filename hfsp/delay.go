package hfsp

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/locality"
)

// Delay scheduling: a phase whose turn it is, but that has no task close enough to
// the slot, is passed over, and the next one is asked. What counts as its wait is
// time in which there is a free slot of its class, and all time from when a slot was
// given to another phase in its stead until it starts a task. A slot that all
// decline starts no wait.

// A patience is what phases wait for: a slot close to the input of a task.
type patience struct {
	delay  locality.Delay
	any    bool // phases wait for slots close to their inputs
	ledger *ledger.Ledger[data]
	index  *locality.Index[data]
}

// reach returns how far from its input a task of a phase may start now.
func (w *patience) reach(ph *phase) sojourn.Locality {
	if !w.any {
		return sojourn.Remote
	}
	return ph.wait.Limit(w.delay, w.ledger.Now())
}

// takes reports whether a phase has a task to start that is close enough to a slot.
func (w *patience) takes(ph *phase, s sojourn.Slot) bool {
	if !w.any {
		return true
	}
	_, ok := w.index.Find(ph.job, ph.index, s, w.reach(ph))
	return ok
}

// waits reports whether a phase waits for a slot close to its inputs: it could use a
// free slot if there were one at the right place.
func (w *patience) waits(ph *phase) bool {
	if ph == nil || !ph.startable() || !ph.class.lets(ph) || !w.index.HasInputs(ph.job, ph.index) {
		return false
	}
	_, free := w.ledger.FreeSlot(ph.class.id)
	return free
}

// count lets the time until at count for the phases that wait.
func (w *patience) count(phases []*phase, at sojourn.Time) {
	now := w.ledger.Now()
	if at == now {
		return
	}
	for _, ph := range phases {
		if w.waits(ph) && !ph.wait.Runs() {
			ph.wait.Start(now)
			ph.wait.Stop(at)
		}
	}
}

// next returns when the first wait ends.
func (w *patience) next(phases []*phase) (next sojourn.Time, any bool) {
	now := w.ledger.Now()
	for _, ph := range phases {
		if !w.waits(ph) {
			continue
		}
		wait := ph.wait
		wait.Start(now)
		if at, ok := wait.Next(w.delay, now); ok && (!any || at < next) {
			next, any = at, true
		}
	}
	return next, any
}

// assignNear assigns a slot to the first phase that has a task close enough.
func (p *Policy) assignNear(s sojourn.Slot) (a sojourn.Assignment, ok bool) {
	c := p.classes[s.Class]
	passed := p.passed[:0]
	for {
		ph, prior, any := c.next()
		if !any {
			break
		}
		if pick, near := p.index.Find(ph.job, ph.index, s, p.patience.reach(ph)); near {
			a, ok = p.start(ph, pick, s.ID, prior), true
			break
		}
		passed = append(passed, ph)
		c.training.queue.Remove(ph.handle)
		c.aging.SetReady(ph.item, false)
	}
	if !ok {
		if ph, late := c.overdue(len(passed) > 0); late {
			pick, _ := p.index.Find(ph.job, ph.index, s, sojourn.Remote)
			a, ok = p.start(ph, pick, s.ID, false), true
		}
	}
	for _, ph := range passed {
		c.file(ph, p.ledger.Now())
		if ok && ph.startable() { // it may be held back since then
			ph.wait.Start(p.ledger.Now())
		}
	}
	clear(passed)
	p.passed = passed
	return a, ok
}

// seekNear returns the slot that assignNear would give away.
func (p *Policy) seekNear(c *class) (sojourn.SlotID, bool) {
	least, free := p.ledger.FreeSlot(c.id)
	if !free {
		return 0, false
	}
	wait := false
	for ph := range c.inOrder() {
		if id, ok := p.index.FreeSlot(ph.job, ph.index, p.patience.reach(ph)); ok {
			return id, true
		}
		wait = true
	}
	if _, ok := c.overdue(wait); ok {
		return least, true
	}
	return 0, false
}

// matters reports whether any phase may wait for a closer slot: while any is free.
func (w *patience) matters(classes []*class) bool {
	return w.any && slices.ContainsFunc(classes, func(c *class) bool { return w.ledger.FreeSlots(c.id) > 0 })
}
