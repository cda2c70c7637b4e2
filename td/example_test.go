package td_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/td"
)

// Two nodes of one slot each, and a job whose inputs are all on the first node: the slot
// of the second node reads from there. Then a job arrives that has an input on the second
// node.
func Example() {
	p, err := td.New(td.Options{SelfTune: true, Demand: 1})
	if err != nil {
		panic(err)
	}
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			panic(err)
		}
	}
	job := func(id sojourn.JobID, nodes ...[]sojourn.NodeID) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{
			{Tasks: len(nodes), Estimate: 10 * time.Second, Inputs: sojourn.MakeInputs(nodes)},
		}}})
	}
	offer := func(id sojourn.SlotID) sojourn.Assignment {
		a, _ := p.Assign(id)
		fmt.Printf("slot %d runs %v, reads from node %d (%v)\n", id, a.Task, a.Source, a.Locality)
		return a
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}})
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2, Node: 2}})
	job(1, []sojourn.NodeID{1}, []sojourn.NodeID{1}, []sojourn.NodeID{1})
	offer(1)
	a := offer(2)
	job(2, []sojourn.NodeID{2})
	observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 2}, At: sojourn.Time(15 * time.Second)})
	offer(2)
	// Output:
	// slot 1 runs 1/0/0, reads from node 1 (node)
	// slot 2 runs 1/0/1, reads from node 1 (remote)
	// slot 2 runs 2/0/0, reads from node 2 (node)
}
