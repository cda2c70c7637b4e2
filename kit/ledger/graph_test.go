package ledger

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A job of n phases each of which needs all before is played to its end, with an attempt that fails before each that
// finishes. The appended phases are as many as pairs of phases, and one for each event at most.
func TestAppendFedIsSparing(t *testing.T) {
	for _, n := range []int{1, 50, 400} {
		const tasks = 3
		l := &testLedger{t: t}
		l.Supports = sojourn.FeatureNeeds
		l.slots(1)
		phases := make([]sojourn.Phase, n)
		for i := range phases {
			phases[i] = sojourn.Phase{Tasks: tasks, Needs: []int{}}
			for k := range i {
				phases[i].Needs = append(phases[i].Needs, k)
			}
		}
		j := l.arrive(1, phases...)
		events, fed := 0, []int(nil)
		for i := range n {
			for range tasks {
				for _, kind := range []sojourn.EventKind{sojourn.TaskFailed, sojourn.TaskFinished} {
					a := l.Take(j, j.Side(0), 0)
					if int(a.Task.Phase) != i {
						t.Fatalf("took %v, want phase %d", a.Task, i)
					}
					fed = j.AppendFed(fed, i)
					l.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
					fed = j.AppendFed(fed, i)
					events += 2
				}
			}
		}
		if most := n*(n-1)/2 + events; len(fed) > most || len(fed) < n*(n-1)/2 {
			t.Errorf("%d phases: %d appended in %d events, want %d at most", n, len(fed), events, most)
		}
	}
}

// The first startable phase of a side is found without looking at those that have been passed, in whatever order phases
// become ready, and tasks fail: in a chain, while as many phases of higher numbers wait for none, the search passes each
// phase once.
func TestNextPhaseIsSparing(t *testing.T) {
	const n, slots = 1000, 3
	l := &testLedger{t: t}
	l.Supports = sojourn.FeatureNeeds
	l.slots(slots)
	phases := make([]sojourn.Phase, 2*n)
	for i := range phases {
		phases[i] = sojourn.Phase{Tasks: 1, Needs: []int{}}
		if 0 < i && i < n {
			phases[i].Needs = []int{i - 1}
		}
	}
	j := l.arrive(1, phases...)
	s, passed := j.Side(0), 0
	take := func(id sojourn.SlotID) sojourn.Assignment {
		want := 0
		for ; !j.phases[want].startable(s); want++ {
		}
		before := s.first
		a := l.Take(j, s, id)
		if passed += int(s.first - before); int(a.Task.Phase) != want || s.first < before {
			t.Fatalf("took a task of phase %d, want %d; the search began at %d, and then at %d", a.Task.Phase, want, before, s.first)
		}
		return a
	}
	l.observe(sojourn.Event{Kind: sojourn.TaskFailed, Task: take(0).Task, Attempt: 1, Slot: sojourn.Slot{ID: 0}})
	attempts := [slots]sojourn.Assignment{take(0), take(1), take(2)} // the one of the chain, and two others
	for i := 1; i < n; i++ {
		for id, kind := range [slots]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed} {
			if s.Startable() == 0 {
				break
			}
			a := attempts[id]
			l.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
			attempts[id] = take(sojourn.SlotID(id))
		}
	}
	if passed < n || passed >= 2*n {
		t.Errorf("%d phases passed, want at least %d and less than %d", passed, n, 2*n)
	}
}
