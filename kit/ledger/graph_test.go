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
