package hfsp

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// Slow start lets tasks of a phase start before the phase before has finished. Such
// an early task holds its slot without working. Without preemption, the early tasks
// of a large job may so keep all slots of a class from jobs that could use them, for
// as long as the rest of its own phase before is put back behind smaller jobs; with
// wrong sizes that takes very long. Early tasks therefore hold no more than some of
// the slots of a class. What may not start for that reason is held back, but not for
// ever: a phase has EarlyDelay from when it became ready.

// hasInput reports whether an attempt at a phase works, by what the policy knows,
// and does not wait for the phase before.
func (p *Policy) hasInput(ph *phase) bool {
	return ph.index == 0 || ph.spec().After == sojourn.NoBarrier ||
		ph.job.Phases[ph.index-1].Done == ph.job.Spec.Phases[ph.index-1].Tasks
}

// earlyLimit returns how many slots of a class early tasks may hold.
func (p *Policy) earlyLimit(class sojourn.Class) int {
	if p.earlySlots != nil {
		return *p.earlySlots
	}
	return p.ledger.Capacity(class) / 2
}

// heldBack reports whether a phase may not start anything because it has not all its
// input.
func (p *Policy) heldBack(ph *phase) bool {
	class := ph.spec().Class
	return ph.early && !ph.overdue && p.class(class).early >= p.earlyLimit(class)
}

// countEarly brings up to date whether a phase is early, and how many of its tasks
// hold slots for that reason.
func (p *Policy) countEarly(ph *phase, over bool) {
	class := ph.spec().Class
	c := p.class(class)
	tasks, early := 0, !over && !p.hasInput(ph)
	if early {
		tasks = ph.account().Running
	}
	if early && !ph.early {
		c.waiting = append(c.waiting, ph)
	}
	if !early && ph.early {
		c.waiting = slices.DeleteFunc(c.waiting, func(o *phase) bool { return o == ph })
	}
	if ph.early != early {
		ph.early = early
		p.setTimer(ph)
	}
	if tasks != ph.earlyTasks {
		c.early += tasks - ph.earlyTasks
		ph.earlyTasks = tasks
		p.refile(class)
	}
}

// refile files the early phases of a class anew, after what decides whether they are
// held back has changed.
func (p *Policy) refile(class sojourn.Class) {
	for _, ph := range p.class(class).waiting {
		p.file(ph)
	}
}
