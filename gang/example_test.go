package gang_test

import (
	"fmt"
	"log"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/gang"
)

// Two gangs of 8 on 10 places run one after the other. Neither ever holds a part of its places.
func Example() {
	p, err := fair.New(fair.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := gang.New(gang.Options{Places: 10})
	if err != nil {
		log.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	class, err := c.Class(8)
	if err != nil {
		log.Fatal(err)
	}
	for id := sojourn.JobID(1); id <= 2; id++ {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1, Class: class}}}})
		if err := c.Wait(gang.Gang{Task: sojourn.TaskID{Job: id}, Width: 8}, 0); err != nil {
			log.Fatal(err)
		}
	}
	start := func(now sojourn.Time) (sojourn.Assignment, bool) {
		for _, ev := range c.AppendChanges(nil, now) {
			observe(ev)
		}
		slot, ok := p.Seek(class)
		if !ok {
			return sojourn.Assignment{}, false
		}
		a, _ := p.Assign(slot)
		c.Start(a, now)
		return a, true
	}
	a, _ := start(0)
	_, more := start(0)
	fmt.Printf("gang %d runs, %d places are free, another starts: %v\n", a.Task.Job, c.Free(), more)
	c.End(a.Slot)
	observe(sojourn.Event{Kind: sojourn.TaskFinished, At: 1, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	a, _ = start(1)
	fmt.Printf("gang %d runs, %d places are free\n", a.Task.Job, c.Free())
	// Output:
	// gang 1 runs, 2 places are free, another starts: false
	// gang 2 runs, 2 places are free
}
