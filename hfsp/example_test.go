package hfsp_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
)

// Job 1 is large, and nobody said so. Its first tasks are trained; then a tiny job
// comes, and goes first.
func Example() {
	p, err := hfsp.New(hfsp.Options{TrainingTasks: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 100}}}})
	at := sojourn.Time(0)
	for range 2 {
		a, _ := p.Assign(1)
		fmt.Println(at, "task", a.Task)
		at += 7e9
		p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: at, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
	}
	p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1}}}})
	a, _ := p.Assign(1)
	fmt.Println(at, "task", a.Task)

	attrs, _ := p.Explain(1)
	for _, attr := range attrs {
		fmt.Println(attr)
	}
	// Output:
	// 0s task 1/0/0
	// 7s task 1/0/1
	// 14s task 2/0/0
	// why=waits for a slot
	// done=2
	// running=0
	// startable=98
	// blocked=0
	// held=0
	// rank=1
	// phase0=[stage=trained S_i=6000 S_f=686 s=7 v=686 late=false rank=0]
}
