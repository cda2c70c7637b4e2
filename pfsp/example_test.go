package pfsp_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// A job of 40 s has run for 10 s when jobs of 20 s and of 5 s come. Fair sharing would
// end it last, so they go first; it has no slack left then, and still ends no later
// than it would have.
func Example() {
	p, err := pfsp.New(pfsp.Options{FairLimit: new(int)}) // no probes
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	arrive := func(at sojourn.Time, id sojourn.JobID, tasks int) {
		p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: &sojourn.Job{
			ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: 5 * time.Second}}}})
	}
	arrive(0, 1, 8)
	now, order := sojourn.Time(0), []sojourn.JobID(nil)
	for range 8 + 4 + 1 {
		if now == sojourn.Time(10*time.Second) {
			arrive(now, 2, 4)
			arrive(now, 3, 1)
		}
		a, _ := p.Assign(1)
		order = append(order, a.Task.Job)
		now = now.Add(5 * time.Second)
		p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
		if now == sojourn.Time(20*time.Second) {
			attrs, _ := p.Explain(1)
			for _, attr := range attrs {
				fmt.Println(attr)
			}
		}
	}
	fmt.Println(order)
	// Output:
	// why=waits for a slot
	// done=2
	// running=0
	// startable=6
	// blocked=0
	// held=0
	// phase0=[v=26.666666667 w=30 s=0 H=45 late=false completable=false probes_left=0 task_time_ratio=1 guards=2 bound_holds=true void=[]]
	// rank=1
	// [1 1 3 2 2 2 2 1 1 1 1 1 1]
}
