package fifo_test

import (
	"fmt"
	"log"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
)

// The job that came first is served first, and the next one gets what it leaves.
func Example() {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	for id := sojourn.JobID(1); id <= 2; id++ {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 2}}}})
	}
	for slot := range sojourn.SlotID(3) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
		if a, ok := p.Assign(slot); ok {
			fmt.Println("slot", slot, "runs", a.Task)
		}
	}
	// Output:
	// slot 0 runs 1/0/0
	// slot 1 runs 1/0/1
	// slot 2 runs 2/0/0
}
