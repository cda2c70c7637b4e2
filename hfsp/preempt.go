package hfsp

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A victim is a running task that may be killed.
type victim struct {
	sojourn.Preemption
	slot  sojourn.Slot
	phase *phase
	place int // of the phase in the order of service
	start sojourn.Time
}

// AppendPreemptions implements [sojourn.Preemptor]. For each class it goes through
// what Assign would start next if there were slots, and names a victim for each such
// task: first for training tasks, as long as there are training slots, any task that
// is not in training itself and not of the same phase; then for the phases in the
// order of their virtual sizes a task of a phase of a larger one. For early tasks,
// which would only wait in their slots, nothing is killed. Victims are taken
// from the phase that would be served last, its youngest task first [HFSP, section
// III-E].
//
// With Wait nothing is killed, but for one case: after slots or outputs were lost,
// early tasks may hold every slot of a class while tasks that can work want one, the
// very tasks perhaps that the early ones wait for. Then, with Kill too, the youngest
// early task is named, in training or not and whatever the guards say: it has done no
// work that could be lost.
//
// It takes time in proportion to the slots and to the phases of the class, where
// there is something to start and no slot for it.
func (p *Policy) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	for i := range p.classes {
		class := sojourn.Class(i)
		first, _, ok := p.first(class)
		if !ok {
			continue
		}
		before := len(dst)
		if p.kill {
			dst = p.appendVictims(dst, class)
		}
		if len(dst) == before {
			dst = p.appendBlocker(dst, class, first)
		}
	}
	return dst
}

// appendBlocker names the youngest early task, if early tasks hold all slots of a
// class: more than they are allowed to, so that they will not get the slot back before
// the phase that goes first.
func (p *Policy) appendBlocker(dst []sojourn.Preemption, class sojourn.Class, first *phase) []sojourn.Preemption {
	c := &p.classes[class]
	if c.early <= p.earlyLimit(class) || c.early < p.ledger.Capacity(class) {
		return dst
	}
	var last sojourn.Preemption
	var start sojourn.Time
	for s, a := range p.ledger.Attempts() {
		ph := a.Job.Data.phases[a.Task.Phase]
		if s.Class == class && ph != nil && ph.early && !p.ledger.Retiring(s.ID) && (last.For == 0 || a.Start >= start) {
			last, start = sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: s.ID, For: first.job.Spec.ID}, a.Start
		}
	}
	if last.For == 0 {
		return dst // they are all on slots that leave
	}
	return append(dst, last)
}

func (p *Policy) appendVictims(dst []sojourn.Preemption, class sojourn.Class) []sojourn.Preemption {
	c := &p.classes[class]
	free := 0
	if _, ok := p.ledger.FreeSlot(class); ok {
		free = len(p.ledger.AppendFree(nil, class))
	}
	victims := p.victims(class)

	// claim takes a victim that suits, on a slot that the phase would take, and reports
	// whether there may be more: were a slot to be freed that the phase then declines,
	// for want of a task with its input close enough, the victim would get it back.
	claim := func(ph *phase, suits func(victim) bool) bool {
		if free > 0 {
			free--
			return true
		}
		i := slices.IndexFunc(victims, func(v victim) bool { return suits(v) && p.takes(ph, v.slot) })
		if i < 0 {
			return false
		}
		v := victims[i].Preemption
		v.For = ph.job.Spec.ID
		dst = append(dst, v)
		victims = slices.Delete(victims, i, i+1)
		return true
	}

	claimed := make(map[*phase]int)
	left := p.limit(class) - c.used
	for _, ph := range p.inTraining(class) {
		for range min(p.tasks-len(ph.samples), ph.account().Pending(), left) {
			if !claim(ph, func(v victim) bool { return v.phase != ph }) {
				break
			}
			claimed[ph]++
			left--
		}
	}
	place := -1
	for ph := range c.virtual.All() {
		place++
		if ph.early || !p.startable(ph) {
			continue
		}
		for range ph.account().Pending() - claimed[ph] {
			// Sizes are rounded: who is smaller by that alone would not get the slot.
			if claim(ph, func(v victim) bool { return place < v.place && p.smaller(ph, v.phase) }) {
				continue
			}
			if !p.delays() {
				return dst // those that follow are not smaller
			}
			break
		}
	}
	return dst
}

// takes reports whether a phase has a task to start that is close enough to a slot.
func (p *Policy) takes(ph *phase, s sojourn.Slot) bool {
	if !p.delays() {
		return true
	}
	_, ok := p.index.Find(ph.job, ph.index, s, p.reach(ph))
	return ok
}

// smaller reports whether a is of a smaller virtual size than b, in relation to
// their weights.
func (p *Policy) smaller(a, b *phase) bool {
	return wide.Mul64(p.v(a), b.job.Weight).Less(wide.Mul64(p.v(b), a.job.Weight))
}

// victims returns the tasks that may be killed, those to be killed first at the
// front.
func (p *Policy) victims(class sojourn.Class) (list []victim) {
	place := make(map[*phase]int)
	for ph := range p.classes[class].virtual.All() {
		place[ph] = len(place)
	}
	for s, a := range p.ledger.Attempts() {
		if s.Class != class || p.ledger.Retiring(s.ID) {
			continue
		}
		ph := a.Job.Data.phases[a.Task.Phase]
		if ph == nil || ph.stage == training && ph.find(a.Task.Index) >= 0 || p.spares(ph, a.Task.Index, a.Start) {
			continue
		}
		list = append(list, victim{
			sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: s.ID}, s, ph, place[ph], a.Start})
	}
	slices.SortFunc(list, func(a, b victim) int {
		return cmp.Or(cmp.Compare(b.place, a.place), cmp.Compare(b.start, a.start), cmp.Compare(b.Task.Index, a.Task.Index))
	})
	return list
}

// spares reports whether the guards protect a task.
func (p *Policy) spares(ph *phase, task uint32, start sojourn.Time) bool {
	if p.once && ph.killed.Has(int(task)) {
		return true
	}
	// start + spared * mean < now
	return p.spared > 0 && wide.Mul64(ph.mean(), p.spared).Less(wide.Mul64(uint64(p.ledger.Now().Sub(start)), 1<<16))
}
