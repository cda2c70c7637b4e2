package leastwork_test

import (
	"fmt"
	"log"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// Two slots, and a job with tasks of an hour, and then a job with a task of ten seconds.
// The short job gets the slot that becomes free.
func Example() {
	p, err := leastwork.New(leastwork.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var running []sojourn.Assignment
	step := func(ev sojourn.Event) { // reports an event, and offers slots until none is wanted
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
		for slot, ok := p.Seek(0); ok; slot, ok = p.Seek(0) {
			if a, ok := p.Assign(slot); ok {
				fmt.Printf("%v: slot %d starts task %v\n", ev.At, a.Slot, a.Task)
				running = append(running, a)
			}
		}
	}
	arrive := func(at sojourn.Time, id sojourn.JobID, tasks int, each time.Duration) {
		job := &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: each}}}
		step(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: job})
	}

	step(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}})
	step(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	arrive(0, 1, 4, time.Hour)
	arrive(sojourn.Time(time.Minute), 2, 1, 10*time.Second)
	a := running[0]
	step(sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(time.Hour), Task: a.Task, Attempt: a.Attempt,
		Slot: sojourn.Slot{ID: a.Slot}, Service: time.Hour})

	// Output:
	// 0s: slot 0 starts task 1/0/0
	// 0s: slot 1 starts task 1/0/1
	// 1h0m0s: slot 0 starts task 2/0/0
}
