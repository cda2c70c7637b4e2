package mars_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars"
)

// One slot and three jobs. The job that is worth most for the time it takes goes first.
func Example() {
	p, err := mars.New(mars.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	events := []sojourn.Event{{Kind: sojourn.SlotAdded}}
	for id, job := range []struct {
		weight float64
		takes  time.Duration
	}{{1, 10 * time.Second}, {1, 4 * time.Second}, {5, 10 * time.Second}} {
		events = append(events, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(id + 1), Weight: job.weight, Phases: []sojourn.Phase{{Tasks: 1, Estimate: job.takes}},
		}})
	}
	events = append(events, sojourn.Event{Kind: sojourn.Tick}) // the plan is due at once
	for _, ev := range events {
		if err := p.Observe(ev); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("order:", p.AppendRanking(nil))
	a, _ := p.Assign(0)
	fmt.Println("starts job", a.Task.Job)
	// Output:
	// order: [3 2 1]
	// starts job 3
}
