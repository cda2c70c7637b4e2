package main

import (
	"fmt"
	"log"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// The policies of this library. An operation is TaskFinished on one of 256 busy slots, and Assign of
// that slot. Jobs, or pools with a job each, have tasks without end.
//
// Compared: a whole decision, with the checks of the event, the states of task, slot and job, and
// what the policy learns from the end. Not compared: nothing is started in fact, and there is no
// lock.

func policyRows(group string, n int) (list []row) {
	for _, p := range []struct {
		name string
		make func() (sojourn.Policy, error)
	}{
		{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }},
		{"fair", newFair},
		{"hfsp", func() (sojourn.Policy, error) { return hfsp.New(hfsp.Options{}) }},
		{"leastwork", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }},
	} {
		list = append(list, policyRow(group, p.name, n, p.make, false))
	}
	return list
}

func policyRow(group, name string, n int, make func() (sojourn.Policy, error), pools bool) row {
	return row{group, fmt.Sprintf("sojourn %s, %s", name, group), 200_000, func(ops int) (time.Duration, error) {
		p, err := make()
		if err != nil {
			return 0, err
		}
		return decisions(p, n, pools, ops), nil
	}}
}

func newFair() (sojourn.Policy, error) { return fair.New(fair.Options{}) }

// decisions measures a policy with n jobs, each in a pool of its own if pools is set.
func decisions(p sojourn.Policy, n int, pools bool, ops int) time.Duration {
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	const slots = 256
	running := make([]sojourn.Assignment, 0, slots)
	for id := range sojourn.SlotID(slots) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	for i := range n {
		job := &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 1 << 20, Estimate: time.Second}}}
		if pools {
			job.Pool = fmt.Sprint("pool", i)
		}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	}
	for id := range sojourn.SlotID(slots) {
		if a, ok := p.Assign(id); ok {
			running = append(running, a)
		}
	}
	step := func(i int) {
		now += sojourn.Time(time.Second / slots)
		a := &running[i%len(running)]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
		next, ok := p.Assign(a.Slot)
		if !ok {
			log.Fatalf("slot %d stays free", a.Slot)
		}
		*a = next
	}
	for i := range 5000 { // the first ends teach sizes
		step(i)
	}
	before := cpu()
	for i := range ops {
		step(i)
	}
	return cpu() - before
}
