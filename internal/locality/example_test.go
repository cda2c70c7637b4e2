package locality_test

import (
	"fmt"
	"log"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// The slot gets the task whose input is on its node.
func ExampleIndex_Find() {
	var l ledger.Ledger[struct{}]
	index := locality.New(&l)
	observe := func(ev sojourn.Event) ledger.Change[struct{}] {
		if err := l.Check(&ev); err != nil {
			log.Fatal(err)
		}
		c := l.Apply(&ev)
		index.Update(&ev, &c)
		return c
	}
	slot := sojourn.Slot{ID: 0, Node: 4}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
	inputs := sojourn.MakeInputs([][]sojourn.NodeID{{3}, {4}}) // of task 0 and task 1
	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Inputs: inputs}}}
	j := observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}).Job

	if pick, ok := index.Find(j, 0, slot, sojourn.Remote); ok {
		a := index.Take(j, 0, pick, slot.ID)
		fmt.Println(a.Task, a.Locality)
	}
	// Output:
	// 1/0/1 node
}
