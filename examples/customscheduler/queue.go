package main

import (
	"context"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// A queue is the glue between jobs, workers and a policy.
type queue struct {
	sync.Mutex
	*driver.Driver
	timer *time.Timer // goes off when the driver wants to settle
	jobs  map[sojourn.JobID]*job
	inbox map[sojourn.SlotID]chan func() // of each worker, with room for one
	stop  map[sojourn.SlotID]context.CancelFunc
}

func newQueue(p sojourn.Policy) (*queue, error) {
	start := time.Now()
	now := func() sojourn.Time { return sojourn.Time(time.Since(start)) }
	d, err := driver.New(p, driver.Options{Now: now, Preempt: 10 * time.Millisecond})
	q := &queue{Driver: d, jobs: map[sojourn.JobID]*job{}, inbox: map[sojourn.SlotID]chan func(){}, stop: map[sojourn.SlotID]context.CancelFunc{}}
	q.timer = time.AfterFunc(driver.Never, func() { _ = q.report(func() error { return nil }) })
	return q, err
}

// report calls a function that reports something, and then does what the policy wants.
func (q *queue) report(something func() error) error {
	q.Lock()
	defer q.Unlock()
	err := something()
	r := q.Settle()
	for _, a := range r.Starts {
		ctx, stop := context.WithCancel(context.Background())
		j := q.jobs[a.Task.Job]
		q.stop[a.Slot] = stop
		q.inbox[a.Slot] <- func() { j.run(ctx, q, a) }
	}
	for _, v := range r.Kills {
		q.stop[v.Slot]()
	}
	q.timer.Reset(r.Sleep)
	return err
}

// submit hands in a job. If the policy refuses it, nothing has changed.
func (q *queue) submit(spec sojourn.Job, j *job) error {
	return q.report(func() error {
		err := q.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &spec})
		if err == nil {
			q.jobs[spec.ID] = j
		}
		return err
	})
}

// drop cancels a job, under the lock. Its attempts run to their end.
func (q *queue) drop(id sojourn.JobID) error {
	delete(q.jobs, id)
	return q.Observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
}

// work is a worker: it waits until it is given something, and runs it, until its inbox is closed.
func (q *queue) work(slot sojourn.Slot) error {
	in := make(chan func(), 1)
	err := q.report(func() error {
		q.inbox[slot.ID] = in
		return q.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
	})
	for f := range in {
		f()
	}
	return err
}
