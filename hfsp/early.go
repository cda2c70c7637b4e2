package hfsp

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A gate says how many early tasks may start on the slots of one class.
//
// Slow start lets tasks of a phase start before the phase before has finished. Such
// an early task holds its slot without working. Without preemption, the early tasks
// of a large job may so keep all slots of a class from jobs that could use them, for
// as long as the rest of its own phase before is put back behind smaller jobs; with
// wrong sizes that takes very long. Early tasks therefore hold no more than some of
// the slots of a class. What may not start for that reason is held back, but not for
// ever: from EarlyDelay after it became ready, a phase is given slots that nothing else
// can use now.
//
// Nothing else goes before it then, which keeps a cluster alive in which phases of a
// job share a class. A slot is never given to a task that waits for the phase before
// while that phase, or any other that can work, has a task for it. If early tasks took
// all slots first, what they wait for could never run.
type gate struct {
	most  *int // Options.EarlySlots
	slots int  // of the class

	// waiting are the early phases, in no useful but a determined order. held is the sum of
	// their earlyTasks, and descending says how many of them descend.
	waiting    []*phase
	held       int
	descending int
}

// limit returns how many slots early tasks may hold: never the last one if a phase
// waits there that comes after one of the same class or a higher one.
//
// Where none does, phases that wait on a class wait for work on lower ones. Suppose that
// early tasks held all slots of such a class for good. Then the first unfinished phase
// before one of theirs would lack a slot of a lower class. Early tasks would hold all
// slots of that class as well, and so on without end. So nobody waits in a circle, not
// even several jobs for each other.
func (g *gate) limit() int {
	switch {
	case g.most == nil:
		return g.slots / 2
	case g.descending > 0:
		return min(*g.most, max(g.slots-1, 0))
	}
	return *g.most
}

// shut reports whether no early task may start in its turn.
func (g *gate) shut() bool { return g.held >= g.limit() }

// count brings up to date whether a phase is early, and how many of its tasks hold
// slots for that reason. It reports whether that opened or shut the gate.
func (g *gate) count(ph *phase, early bool, tasks int) (turned bool) {
	if !early {
		tasks = 0
	}
	if ph.early == early && ph.earlyTasks == tasks {
		return false
	}
	shut := g.shut()
	if ph.early != early {
		by := 1
		if early {
			g.waiting = append(g.waiting, ph)
		} else {
			g.waiting = slices.DeleteFunc(g.waiting, func(o *phase) bool { return o == ph })
			by = -1
		}
		if ph.descends() {
			g.descending += by
		}
		ph.early = early
	}
	g.held += tasks - ph.earlyTasks
	ph.earlyTasks = tasks
	return shut != g.shut()
}

// overdue returns the phase that is given a slot for which there is no other use: of those
// that have been held back for EarlyDelay the one of the oldest job. While others wait for
// a slot closer to their inputs, the last slot that is not held by an early task is not
// given away: they wait only while a slot is free.
func (g *gate) overdue(othersWait bool) (first *phase, ok bool) {
	if othersWait && g.held+1 >= g.slots {
		return nil, false
	}
	for _, ph := range g.waiting {
		if ph.overdue && ph.waiting() > 0 && (first == nil ||
			cmp.Or(cmp.Compare(ph.job.Seq(), first.job.Seq()), cmp.Compare(ph.index, first.index)) < 0) {
			first = ph
		}
	}
	return first, first != nil
}

// descends reports whether a phase comes after one of the same class of slots or a
// higher one.
func (ph *phase) descends() bool {
	return slices.ContainsFunc(ph.job.Spec().Phases[:ph.index], func(before sojourn.Phase) bool {
		return before.Class >= ph.spec().Class
	})
}

// hasInput reports whether an attempt at a phase works, by what the policy knows,
// and does not wait for the phase before, or for those that it needs.
func (ph *phase) hasInput() bool {
	if ph.index == 0 {
		return true
	}
	if needs := ph.spec().Needs; needs != nil {
		return !slices.ContainsFunc(needs, func(k int) bool { return ph.job.Phase(k).Done() < ph.job.Spec().Phases[k].Tasks })
	}
	return ph.spec().After == sojourn.NoBarrier ||
		ph.job.Phase(ph.index-1).Done() == ph.job.Spec().Phases[ph.index-1].Tasks
}
