// Command customscheduler shows a queue with workers of its own that lets a policy decide what each
// of them runs. A task that fails is tried at most three times, jobs can be cancelled, and the policy
// may take slots back. queue.go is the glue; this file is what the owner has anyway.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fair"
)

// A job is a list of functions.
type job struct {
	tasks []func(context.Context) error
	left  int // tasks that have not succeeded
	log   io.Writer
	start time.Time
	ended func() // called when the job is complete or dropped
}

// run runs an attempt and reports its end.
func (j *job) run(ctx context.Context, q *queue, a sojourn.Assignment) {
	failure := j.tasks[a.Task.Index](ctx)
	_ = q.report(func() error {
		fmt.Fprintf(j.log, "%5v  task %v  attempt %d  %v\n", time.Since(j.start).Round(time.Millisecond), a.Task, a.Attempt, failure)
		switch id := a.Task.Job; {
		case failure == nil:
			if j.left--; j.left == 0 && q.jobs[id] == j {
				delete(q.jobs, id)
				j.ended()
			}
			return q.Observe(driver.Finished(a))
		case ctx.Err() != nil:
			return q.Observe(driver.Failed(a, sojourn.CausePreempted))
		case a.Attempt >= 3 && q.jobs[id] == j:
			return errors.Join(q.Observe(driver.Failed(a, sojourn.CauseTask)), j.giveUp(q, id))
		}
		return q.Observe(driver.Failed(a, sojourn.CauseTask))
	})
}

// giveUp drops the job, under the lock.
func (j *job) giveUp(q *queue, id sojourn.JobID) error {
	err := q.drop(id)
	if err == nil {
		fmt.Fprintf(j.log, "        job %d is dropped\n", id)
		j.ended()
	}
	return err
}

func main() {
	if err := demo(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customscheduler:", err)
		os.Exit(1)
	}
}

// takes returns a task that takes some time, unless it is stopped.
func takes(ms time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(ms * time.Millisecond):
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func demo(log io.Writer) error {
	p, err := fair.New(fair.Options{Pools: map[string]fair.Pool{"paid": {Weight: 3}},
		Preemption: fair.Preemption{FairTimeout: 60 * time.Millisecond, Interval: 10 * time.Millisecond}})
	if err != nil {
		return err
	}
	q, err := newQueue(p)
	if err != nil {
		return err
	}
	var live, workers sync.WaitGroup
	start := time.Now()
	submit := func(id sojourn.JobID, pool string, tasks ...func(context.Context) error) *job {
		live.Add(1)
		j := &job{tasks, len(tasks), log, start, live.Done}
		spec := sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: len(tasks)}}}
		err = errors.Join(err, q.submit(spec, j))
		return j
	}
	submit(1, "free", takes(50, nil), takes(52, nil), takes(54, nil), takes(256, nil))
	submit(2, "paid", takes(25, nil), takes(30, os.ErrNotExist))
	three := submit(3, "free", takes(101, nil), takes(502, nil))
	var ends [2]error
	for i := range ends {
		workers.Go(func() { ends[i] = q.work(sojourn.Slot{ID: sojourn.SlotID(i)}) })
	}
	time.Sleep(230 * time.Millisecond)
	submit(4, "paid", takes(10, nil))
	time.Sleep(100 * time.Millisecond)
	err = errors.Join(err, q.report(func() error { return three.giveUp(q, 3) }))
	live.Wait()
	for _, in := range q.inbox { //sojourn:unordered all are closed
		close(in)
	}
	workers.Wait()
	return errors.Join(err, ends[0], ends[1])
}
