package hfsp

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
)

// Delay scheduling: a phase whose turn it is, but that has no task close enough to
// the slot, is passed over, and the next one is asked. What counts as its wait is
// time in which there is a free slot of its class, and all time from when a slot was
// given to another phase in its stead until it starts a task. A slot that all
// decline starts no wait.

// delays reports whether phases wait for slots close to their inputs.
func (p *Policy) delays() bool { return p.delay != locality.Delay{} }

// reach returns how far from its input a task of a phase may start now.
func (p *Policy) reach(ph *phase) sojourn.Locality {
	if !p.delays() {
		return sojourn.Remote
	}
	return ph.wait.Limit(p.delay, p.ledger.Now())
}

// assignNear assigns a slot to the first phase that has a task close enough.
func (p *Policy) assignNear(s sojourn.Slot) (a sojourn.Assignment, ok bool) {
	c := &p.classes[s.Class]
	passed := p.passed[:0]
	for {
		ph, prior, any := p.first(s.Class)
		if !any {
			break
		}
		if pick, near := p.index.Find(ph.job, ph.index, s, p.reach(ph)); near {
			a, ok = p.start(ph, pick, s.ID, prior), true
			break
		}
		passed = append(passed, ph)
		c.training.Remove(ph.handle)
		c.virtual.SetReady(ph, false)
	}
	if !ok {
		if ph, late := p.overdue(s.Class, len(passed) > 0); late {
			pick, _ := p.index.Find(ph.job, ph.index, s, sojourn.Remote)
			a, ok = p.start(ph, pick, s.ID, false), true
		}
	}
	for _, ph := range passed {
		p.enlist(ph)
		if ok && p.startable(ph) { // it may be held back since then
			ph.wait.Start(p.ledger.Now())
		}
	}
	clear(passed)
	p.passed = passed
	return a, ok
}

// seekNear returns the slot that assignNear would give away.
func (p *Policy) seekNear(class sojourn.Class) (sojourn.SlotID, bool) {
	least, free := p.ledger.FreeSlot(class)
	if !free {
		return 0, false
	}
	wait := false
	for ph := range p.inOrder(class) {
		if id, ok := p.index.FreeSlot(ph.job, ph.index, p.reach(ph)); ok {
			return id, true
		}
		wait = true
	}
	if _, ok := p.overdue(class, wait); ok {
		return least, true
	}
	return 0, false
}

// inOrder iterates over the phases of a class that have something to start, in the
// order in which they are served. Phases in training come twice.
func (p *Policy) inOrder(class sojourn.Class) iter.Seq[*phase] {
	return func(yield func(*phase) bool) {
		if p.classes[class].used < p.limit(class) {
			for _, ph := range p.inTraining(class) {
				if !yield(ph) {
					return
				}
			}
		}
		for ph := range p.classes[class].virtual.All() {
			if p.startable(ph) && !yield(ph) {
				return
			}
		}
	}
}

// waits reports whether a phase waits for a slot close to its inputs: it could use a
// free slot if there were one at the right place.
func (p *Policy) waits(ph *phase) bool {
	if ph == nil || !p.startable(ph) || !p.index.HasInputs(ph.job, ph.index) {
		return false
	}
	_, free := p.ledger.FreeSlot(ph.spec().Class)
	return free
}

// anyFree reports whether any slot is free: else no phase waits for a closer one.
func (p *Policy) anyFree() bool {
	for i := range p.classes {
		if p.ledger.FreeSlots(sojourn.Class(i)) > 0 {
			return true
		}
	}
	return false
}

// countWaits lets the time until at count for the phases that wait.
func (p *Policy) countWaits(at sojourn.Time) {
	now := p.ledger.Now()
	if at == now || !p.delays() || !p.anyFree() {
		return
	}
	for _, ph := range p.phases {
		if p.waits(ph) && !ph.wait.Runs() {
			ph.wait.Start(now)
			ph.wait.Stop(at)
		}
	}
}

// nextWait returns when the first wait ends.
func (p *Policy) nextWait() (next sojourn.Time, any bool) {
	if !p.delays() || !p.anyFree() {
		return 0, false
	}
	now := p.ledger.Now()
	for _, ph := range p.phases {
		if !p.waits(ph) {
			continue
		}
		w := ph.wait
		w.Start(now)
		if at, ok := w.Next(p.delay, now); ok && (!any || at < next) {
			next, any = at, true
		}
	}
	return next, any
}
