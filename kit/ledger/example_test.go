package ledger_test

import (
	"fmt"
	"log"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A ledger knows what runs where. It refuses what does not fit, and changes nothing then.
func Example() {
	var l ledger.Ledger[struct{}] // nothing has to be kept of a job
	observe := func(ev sojourn.Event) ledger.Change[struct{}] {
		if err := l.Check(&ev); err != nil {
			log.Fatal(err)
		}
		return l.Apply(&ev)
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 7}})
	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}
	j := observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}).Job

	class := l.Free(7).Class
	a := l.Take(j, j.SideOf(class), 7)
	fmt.Println("slot", a.Slot, "runs", a.Task, "and", j.SideOf(class).Startable(), "task may start")

	done := sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 7}}
	observe(done)
	fmt.Println("tasks left:", j.Left())
	fmt.Println("again:", l.Check(&done))

	// Output:
	// slot 7 runs 1/0/0 and 1 task may start
	// tasks left: 1
	// again: sojourn: TaskFinished task 1/0/0 attempt 1 slot 7 at 0s: no such attempt
}
