package fair_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// Research has three times the weight of everybody else, and adhoc jobs never hold
// more than one slot.
func Example() {
	p, err := fair.New(fair.Options{Pools: map[string]fair.Pool{
		"research": {Weight: 3},
		"adhoc":    {Max: fair.Slots{0: 1}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pools := []string{"research", "etl", "adhoc"}
	for i, pool := range pools {
		p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Pool: pool, Phases: []sojourn.Phase{{Tasks: 100}}}})
	}
	running := map[string]int{}
	for slot := range sojourn.SlotID(9) {
		p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
		a, _ := p.Assign(slot)
		running[pools[a.Task.Job-1]]++
	}
	fmt.Println(running)
	// Output: map[adhoc:1 etl:2 research:6]
}

// Pools stand in pools. Of four slots the two users of etl share three, since etl has
// three times the weight of the rest, and nobody there has more than two.
func ExampleOptions_pools() {
	p, err := fair.New(fair.Options{Pools: map[string]fair.Pool{
		"etl":   {Weight: 3},
		"etl/*": {Max: fair.Slots{0: 2}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pools := []string{"etl/ann", "etl/bob", "web"}
	for i, pool := range pools {
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Pool: pool, Phases: []sojourn.Phase{{Tasks: 100}}}}); err != nil {
			fmt.Println(err)
		}
	}
	running := map[string]int{}
	for slot := range sojourn.SlotID(4) {
		if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}}); err != nil {
			fmt.Println(err)
		}
		if a, ok := p.Assign(slot); ok {
			running[pools[a.Task.Job-1]]++
		}
	}
	fmt.Println(running)
	// Output: map[etl/ann:2 etl/bob:1 web:1]
}
