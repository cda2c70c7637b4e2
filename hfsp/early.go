package hfsp

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// Slow start lets tasks of a phase start before the phase before has finished. Such
// an early task holds its slot without working. Without preemption, the early tasks
// of a large job may so keep all slots of a class from jobs that could use them, for
// as long as the rest of its own phase before is put back behind smaller jobs; with
// wrong sizes that takes very long. Early tasks therefore hold no more than some of
// the slots of a class. What may not start for that reason is held back, but not for
// ever: from EarlyDelay after it became ready, a phase is given slots that nothing else
// can use now.
//
// That nothing else goes before it is what keeps a cluster alive in which phases of a
// job share a class. A slot is then never given to a task that waits for the phase
// before while that phase, or any other that can work, has a task for it; were early
// tasks to take all slots first, what they wait for could never run.

// hasInput reports whether an attempt at a phase works, by what the policy knows,
// and does not wait for the phase before.
func (p *Policy) hasInput(ph *phase) bool {
	return ph.index == 0 || ph.spec().After == sojourn.NoBarrier ||
		ph.job.Phases[ph.index-1].Done == ph.job.Spec.Phases[ph.index-1].Tasks
}

// earlyLimit returns how many slots of a class early tasks may hold: never the last one
// if a phase waits there that comes after one of the same class or a higher one.
//
// Where none does, phases that wait on a class wait for work on lower ones. Were early
// tasks to hold all slots of such a class for good, the first unfinished phase before one
// of theirs would lack a slot of a lower class, all of which they hold as well, and so
// on without end. So nobody waits in a circle, be it of several jobs.
func (p *Policy) earlyLimit(class sojourn.Class) int {
	slots := p.ledger.Capacity(class)
	switch {
	case p.earlySlots == nil:
		return slots / 2
	case p.class(class).shared > 0:
		return min(*p.earlySlots, max(slots-1, 0))
	}
	return *p.earlySlots
}

// descends reports whether a phase comes after one of the same class of slots or a
// higher one.
func (ph *phase) descends() bool {
	return slices.ContainsFunc(ph.job.Spec.Phases[:ph.index], func(before sojourn.Phase) bool {
		return before.Class >= ph.spec().Class
	})
}

// heldBack reports whether a phase may not start anything in its turn because it has
// not all its input.
func (p *Policy) heldBack(ph *phase) bool {
	class := ph.spec().Class
	return ph.early && p.class(class).early >= p.earlyLimit(class)
}

// overdue returns the phase that is given a slot of a class for which there is no other
// use: of those that have been held back for EarlyDelay the one of the oldest job.
// While others wait for a slot closer to their inputs, the last slot that is not held
// by an early task is not given away: they wait only while a slot is free.
func (p *Policy) overdue(class sojourn.Class, othersWait bool) (first *phase, ok bool) {
	if othersWait && p.class(class).early+1 >= p.ledger.Capacity(class) {
		return nil, false
	}
	for _, ph := range p.class(class).waiting {
		if ph.overdue && ph.account().Ready && ph.account().Pending() > 0 && (first == nil ||
			cmp.Or(cmp.Compare(ph.job.Seq, first.job.Seq), cmp.Compare(ph.index, first.index)) < 0) {
			first = ph
		}
	}
	return first, first != nil
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
	limit := p.earlyLimit(class)
	if ph.early != early {
		by := 1
		if early {
			c.waiting = append(c.waiting, ph)
		} else {
			c.waiting = slices.DeleteFunc(c.waiting, func(o *phase) bool { return o == ph })
			by = -1
		}
		if ph.descends() {
			c.shared += by
		}
		ph.early = early
		p.setTimer(ph)
	}
	if tasks != ph.earlyTasks || limit != p.earlyLimit(class) {
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
