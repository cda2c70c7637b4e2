package hfsp

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// Delay scheduling: a phase whose turn it is, but that has no task close enough to
// the slot, is passed over, and the next one is asked. What counts as its wait is
// time in which there is a free slot of its class, and all time from when a slot was
// given to another phase in its stead until it starts a task. A slot that all
// decline starts no wait. It goes to the first phase that may not leave it unused any
// longer, if there is one.

// A patience is what phases wait for: a slot close to the input of a task.
type patience struct {
	delay  locality.Delay
	any    bool // phases wait for slots close to their inputs
	ledger *ledger.Ledger[data]
	index  *locality.Index[data]
	free   func(sojourn.Class) int // free slots, in the whole cluster
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
	return ph.choosy > 0 && ph.class.lets(ph) && w.ledger.FreeSlots(ph.class.id) > 0
}

// waiting iterates over the phases that wait, in no useful order. Phases without inputs cost nothing, and neither
// does a class without a free slot.
func (w *patience) waiting(classes []*class) iter.Seq[*phase] {
	return func(yield func(*phase) bool) {
		for _, c := range classes {
			if w.ledger.FreeSlots(c.id) == 0 {
				continue
			}
			for _, ph := range c.choosy {
				if w.waits(ph) && !yield(ph) {
					return
				}
			}
		}
	}
}

// choose notes whether a phase has something to start and prefers one slot to another.
func (c *class) choose(ph *phase, choosy bool) {
	switch {
	case choosy && ph.choosy == 0:
		c.choosy = append(c.choosy, ph)
		ph.choosy = len(c.choosy)
	case !choosy && ph.choosy > 0:
		last := len(c.choosy) - 1
		c.choosy[last].choosy = ph.choosy
		c.choosy[ph.choosy-1], c.choosy[last] = c.choosy[last], nil
		c.choosy, ph.choosy = c.choosy[:last], 0
	}
}

// unused returns how many free slots a phase lets go by that waits.
func (w *patience) unused(ph *phase) int { return min(w.free(ph.class.id), ph.waiting()) }

// count lets the time until at count for the phases that wait.
func (w *patience) count(classes []*class, at sojourn.Time) {
	now := w.ledger.Now()
	if at == now {
		return
	}
	for ph := range w.waiting(classes) {
		ph.wait.Unused(w.unused(ph), now, at)
	}
}

// next returns when the first wait ends, or a phase may not leave slots unused any longer.
func (w *patience) next(classes []*class) (next sojourn.Time, any bool) {
	now := w.ledger.Now()
	for ph := range w.waiting(classes) {
		if at, ok := ph.wait.Next(w.delay, w.unused(ph), now); ok && (!any || at < next) {
			next, any = at, true
		}
	}
	return next, any
}

// assignNear assigns a slot to the first phase that has a task close enough, or else to the first
// that may not leave it unused any longer.
func (p *Policy) assignNear(s sojourn.Slot) (a sojourn.Assignment, ok bool) {
	c := p.classes[s.Class]
	passed := p.passed[:0]
	var pressed, forced *phase // the first of those passed over that is; the same, if it gets the slot
	pressedPrior := false
	for {
		ph, prior, any := c.next()
		if !any {
			break
		}
		if pick, near := p.index.Find(ph.job, ph.index, s, p.patience.reach(ph)); near {
			a, ok = p.start(ph, pick, s.ID, prior, true), true
			break
		}
		if pressed == nil && !ph.wait.Allows(p.patience.unused(ph)) {
			pressed, pressedPrior = ph, prior
		}
		passed = append(passed, ph)
		c.training.queue.Remove(ph.handle)
		c.aging.SetReady(ph.item, false)
	}
	if !ok && pressed != nil {
		pick, _ := p.index.Find(pressed.job, pressed.index, s, sojourn.Remote)
		a, ok, forced = p.start(pressed, pick, s.ID, pressedPrior, false), true, pressed
	}
	if !ok {
		if ph, late := c.overdue(len(passed) > 0); late {
			pick, _ := p.index.Find(ph.job, ph.index, s, sojourn.Remote)
			a, ok = p.start(ph, pick, s.ID, false, true), true
		}
	}
	for _, ph := range passed {
		ph.withdraw()
		c.file(ph, p.ledger.Now())
		if ok && ph.startable() && ph != forced { // it may be held back since then
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
	wait, pressed := false, false
	for ph := range c.inOrder() {
		if id, ok := p.index.FreeSlot(ph.job, ph.index, p.patience.reach(ph)); ok {
			return id, true
		}
		wait, pressed = true, pressed || !ph.wait.Allows(p.patience.unused(ph))
	}
	if pressed {
		return least, true
	}
	if _, ok := c.overdue(wait); ok {
		return least, true
	}
	return 0, false
}
