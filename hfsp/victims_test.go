package hfsp

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// A candidate is a running task that may be killed.
type candidate struct {
	sojourn.Preemption
	phase *phase
	place int
	start sojourn.Time
}

// NamedByDefinition returns what Kill asks for by the words of [Policy.AppendPreemptions]:
// all who claim, all who run and all orders are looked at anew. lastOnly says that a
// claimant looks at the victim that is last in order alone, not at all that come after
// it: where weights differ, rounding may make one larger that is not the last.
func (p *Policy) NamedByDefinition(lastOnly bool) (list []sojourn.Preemption) {
	for i := range p.classes {
		class := sojourn.Class(i)
		of := p.namedOf(class, lastOnly)
		if first, _, ok := p.classes[i].first(); ok && len(of) == 0 {
			of = p.appendBlocker(nil, p.classes[i], first)
		}
		list = append(list, of...)
	}
	return list
}

func (p *Policy) namedOf(class sojourn.Class, lastOnly bool) (named []sojourn.Preemption) {
	var order []*phase
	for it := range p.classes[class].aging.All() {
		order = append(order, it.Value)
	}
	var all []candidate
	for s, a := range p.ledger.Attempts() {
		ph := a.Job.Data.phases[a.Task.Phase]
		if s.Class != class || ph == nil || p.ledger.Retiring(s.ID) || p.ledger.Pinned(s.ID) || ph.stage == stageTraining && ph.samples.find(a.Task.Index) >= 0 ||
			p.targets.spares(ph, a.Task.Index, a.Start) {
			continue
		}
		all = append(all, candidate{sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: s.ID}, ph, slices.Index(order, ph), a.Start})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.place, a.place), cmp.Compare(b.start, a.start), cmp.Compare(b.Task.Index, a.Task.Index))
	})
	free := p.ledger.FreeSlots(class)
	claim := func(ph *phase, suits func(int, candidate) bool) bool {
		if free > 0 {
			free--
			return true
		}
		for i, v := range all {
			if suits(i, v) && p.patience.takes(ph, p.slotOf(v.Slot)) {
				v.For = ph.job.Spec().ID
				named = append(named, v.Preemption)
				all = slices.Delete(all, i, i+1)
				return true
			}
		}
		return false
	}
	var trainers []*phase
	for _, ph := range order {
		if ph.startable() && ph.stage == stageTraining && ph.class.trains(ph) {
			trainers = append(trainers, ph)
		}
	}
	slices.SortFunc(trainers, func(a, b *phase) int {
		return cmp.Or(cmp.Compare(a.initial, b.initial), cmp.Compare(a.job.Seq(), b.job.Seq()), cmp.Compare(a.index, b.index))
	})
	claimed := map[*phase]int{}
	left := p.classes[class].training.left()
	for _, ph := range trainers {
		for range min(p.tasks-len(ph.samples), ph.tasks.Pending(), left) {
			if claim(ph, func(_ int, v candidate) bool { return v.phase != ph }) {
				claimed[ph]++
				left--
			}
		}
	}
	for place, ph := range order {
		if ph.early || !ph.startable() {
			continue
		}
		for range ph.tasks.Pending() - claimed[ph] {
			if !claim(ph, func(i int, v candidate) bool {
				return place < v.place && ph.smaller(v.phase) && (i == 0 || !lastOnly)
			}) {
				if p.patience.any {
					break // others may have tasks closer to the victims
				}
				return named
			}
		}
	}
	return named
}

// slotOf returns a busy slot.
func (p *Policy) slotOf(id sojourn.SlotID) (slot sojourn.Slot) {
	for s := range p.ledger.Attempts() {
		if s.ID == id {
			slot = s
		}
	}
	return slot
}

// checkNamed compares what Kill asks for with the definition.
func (w *world) checkNamed(after any) {
	if !w.p.kill {
		return
	}
	got := w.p.AppendPreemptions(nil)
	w.named += len(got)
	for _, v := range got {
		if w.slot(v.Slot).pinned {
			w.t.Fatalf("after %v: AppendPreemptions = %v, but what runs on slot %d may not be killed", after, got, v.Slot)
		}
	}
	if want := w.p.NamedByDefinition(true); !slices.Equal(got, want) {
		w.t.Fatalf("after %v: AppendPreemptions = %v, want %v", after, got, want)
	}
	if want := w.p.NamedByDefinition(false); !slices.Equal(got, want) {
		w.ties++
	}
}

// Whatever happens, what is named is what the definition names.
func TestNamesByDefinition(t *testing.T) {
	history := func(t *rapid.T) int {
		opts := drawOptions(t)
		opts.Preemption = rapid.SampledFrom([]Preemption{Kill, KillAny}).Draw(t, "preemption")
		opts.KillFraction = rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "fraction")
		opts.Reserve = 0 // since it kills
		w := newWorld(t, opts)
		w.sameWeights = rapid.Bool().Draw(t, "same weights")
		w.history(t)
		for range 3 { // what is killed comes back
			w.offerAll()
			for _, v := range w.p.AppendPreemptions(nil) {
				w.end(w.slot(v.Slot), sojourn.TaskFailed, sojourn.CausePreempted, 0)
			}
			w.now += ms * sojourn.Time(rapid.SampledFrom([]int{0, 1, 700}).Draw(t, "dt"))
			w.observe(sojourn.Event{Kind: sojourn.Tick})
		}
		if w.sameWeights && w.ties > 0 {
			t.Fatalf("rounding decides %d times who is larger, although all weights are the same", w.ties)
		}
		return w.named
	}
	rapid.Check(t, func(t *rapid.T) { history(t) })
	Happens(t, "nothing was ever to be killed", history)
}

// Happens looks through the histories of fixed seeds until one has what a test is about.
func Happens(t *testing.T, what string, of func(*rapid.T) int) {
	t.Helper()
	for seed := range 1000 {
		if rapid.Custom(of).Example(seed) > 0 {
			return
		}
	}
	t.Errorf("in 1,000 histories, %s", what)
}
