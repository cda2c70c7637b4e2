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
// It takes time in proportion to the slots and to the phases of the class, where
// there is something to start and no slot for it.
func (p *Policy) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	if !p.kill {
		return dst
	}
	for i := range p.classes {
		if _, _, ok := p.first(sojourn.Class(i)); ok {
			dst = p.appendVictims(dst, sojourn.Class(i))
		}
	}
	return dst
}

func (p *Policy) appendVictims(dst []sojourn.Preemption, class sojourn.Class) []sojourn.Preemption {
	c := &p.classes[class]
	free := 0
	if _, ok := p.ledger.FreeSlot(class); ok {
		free = len(p.ledger.AppendFree(nil, class))
	}
	victims := p.victims(class)

	// claim takes a victim that suits, and reports whether there may be more.
	claim := func(ph *phase, suits func(*phase) bool) bool {
		if free > 0 {
			free--
			return true
		}
		i := slices.IndexFunc(victims, func(v victim) bool { return suits(v.phase) })
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
		if ph.early {
			continue
		}
		for range min(p.tasks-len(ph.samples), ph.account().Pending(), left) {
			if !claim(ph, func(v *phase) bool { return v != ph }) {
				break
			}
			claimed[ph]++
			left--
		}
	}
	for ph := range c.virtual.All() {
		if ph.early || !p.startable(ph) {
			continue
		}
		for range ph.account().Pending() - claimed[ph] {
			if !claim(ph, func(v *phase) bool { return p.smaller(ph, v) }) {
				return dst // those that follow are not smaller
			}
		}
	}
	return dst
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
			sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: s.ID}, ph, place[ph], a.Start})
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
