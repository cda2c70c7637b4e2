package rtmr_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// newPolicy returns a policy with some map slots.
func newPolicy(slots int) *rtmr.Policy {
	p, err := rtmr.New(rtmr.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for id := range slots {
		observe(p, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
	}
	return p
}

func observe(p *rtmr.Policy, ev sojourn.Event) {
	if err := p.Observe(ev); err != nil {
		log.Fatal(err)
	}
}

// job describes a job of tasks that take at most 10 minutes each.
func job(id sojourn.JobID, tasks int, deadline sojourn.Time) *sojourn.Job {
	return &sojourn.Job{ID: id, Deadline: deadline, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: 10 * time.Minute}}}
}

// Admit tells before a job is submitted whether its deadline would be promised. A refusal
// says which job would be late, and which deadline would be accepted.
func ExamplePolicy_Admit() {
	p := newPolicy(2)
	observe(p, sojourn.Event{Kind: sojourn.JobArrived, Job: job(1, 4, sojourn.Time(20*time.Minute))})

	p.Assign(0) // free slots are offered at once: the promise counts on it
	p.Assign(1)

	// Five minutes have passed. Deadlines are instants, not distances.
	now := sojourn.Time(5 * time.Minute)
	observe(p, sojourn.Event{Kind: sojourn.Tick, At: now})
	next := job(2, 2, now.Add(15*time.Minute))

	var refusal *sojourn.RejectedError
	if err := p.Admit(next); errors.As(err, &refusal) {
		fmt.Printf("job %d would be late by %v\n", refusal.Misses, refusal.By)
		fmt.Printf("offered: %v, exact: %v\n", refusal.Offer, refusal.Exact)
		next.Deadline = refusal.Offer
	}
	observe(p, sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: next})
	fmt.Println("order:", p.AppendRanking(nil))
	// Output:
	// job 2 would be late by 10m0s
	// offered: 30m0s, exact: true
	// order: [1 2]
}

// A promise that has become void is listed with the reason.
func ExamplePolicy_AppendVoid() {
	p := newPolicy(2)
	observe(p, sojourn.Event{Kind: sojourn.JobArrived, Job: job(1, 4, sojourn.Time(20*time.Minute))})
	observe(p, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	for _, id := range p.AppendVoid(nil) {
		why, _ := p.Void(id)
		fmt.Printf("job %d: %s\n", id, why)
		attrs, _ := p.Explain(id)
		for _, a := range attrs {
			switch a.Key {
			case "deadline", "e":
				fmt.Println(a)
			}
		}
	}
	// Output:
	// job 1: slots were lost
	// deadline=20m0s
	// e=40m0s
}
