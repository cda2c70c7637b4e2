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
		"adhoc":    {Max: fair.Slots{sojourn.Map: 1}},
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
