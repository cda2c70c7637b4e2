package fair_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// A job that may run one task has nothing to start on slots of any class once one of its tasks runs, in pools of every kind.
func TestParallelismOverClasses(t *testing.T) {
	for name, o := range map[string]fair.Options{
		"no pools": {},
		"limits":   {Pools: map[string]fair.Pool{"a": {MaxJobs: 1}}},
		"fifo":     {Pools: map[string]fair.Pool{"a": {FIFO: true}}},
		"deficit":  {Order: fair.Service},
	} {
		p := newWith(o)
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		for class := range sojourn.Class(2) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(class), Class: class}})
		}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Pool: "a", Parallelism: 1, Phases: []sojourn.Phase{
			{Tasks: 2}, {Tasks: 2, Class: 1, After: sojourn.NoBarrier}}}})
		a, ok := p.Assign(0)
		if !ok {
			t.Fatalf("%s: the first task does not start", name)
		}
		if id, ok := p.(sojourn.Seeker).Seek(1); ok {
			t.Errorf("%s: Seek = %d, though the job runs as many tasks as it may", name, id)
		}
		if b, ok := p.Assign(1); ok {
			t.Errorf("%s: %v starts, though the job runs as many tasks as it may", name, b.Task)
		}
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
		if _, ok := p.Assign(1); !ok {
			t.Errorf("%s: nothing starts on the other class, though there is room", name)
		}
	}
}
