// Command customscheduler shows a queue that workers ask what to do next, and which lets a policy answer.
// Tasks that fail are tried again, at most three times, and jobs can be cancelled.
package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// A queue is what was there before, but for the policy.
type queue struct {
	mu     sync.Mutex
	wake   sync.Cond
	policy sojourn.Policy
	start  time.Time
	jobs   map[sojourn.JobID]*job
}

type job struct {
	tasks []func() error
	left  int
}

// observe reports an event. One that does not fit, such as the cancellation of a
// job that has ended, comes back as an error and has changed nothing.
func (q *queue) observe(ev sojourn.Event) error {
	ev.At = sojourn.Time(time.Since(q.start))
	q.wake.Broadcast() // any event may give any worker something to do
	return q.policy.Observe(ev)
}

func (q *queue) submit(id sojourn.JobID, pool string, tasks ...func() error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: len(tasks)}}}})
	if err == nil {
		q.jobs[id] = &job{tasks, len(tasks)}
	}
	return err
}

func (q *queue) cancel(id sojourn.JobID) error {
	delete(q.jobs, id)
	return q.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
}

// work is a worker: it asks, runs, and reports, until no job is left.
func (q *queue) work(slot sojourn.Slot, log io.Writer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
	for len(q.jobs) > 0 {
		a, ok := q.policy.Assign(slot.ID)
		if !ok {
			q.wake.Wait()
			continue
		}
		j := q.jobs[a.Task.Job]
		q.mu.Unlock()
		err := j.tasks[a.Task.Index]()
		q.mu.Lock()
		fmt.Fprintf(log, "%5v  task %v  attempt %d  %v\n", time.Since(q.start).Round(time.Millisecond), a.Task, a.Attempt, err)
		ev := sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slot}
		if err != nil {
			ev.Kind, ev.Cause = sojourn.TaskFailed, sojourn.CauseTask
		} else if j.left--; j.left == 0 {
			delete(q.jobs, a.Task.Job)
		}
		q.observe(ev)
		if err != nil && a.Attempt == 3 {
			fmt.Fprintf(log, "        job %d is given up: %v\n", a.Task.Job, q.cancel(a.Task.Job))
		}
	}
}

func main() { demo(os.Stdout) }

func demo(log io.Writer) {
	p, _ := fair.New(fair.Options{Pools: map[string]fair.Pool{"paid": {Weight: 3}}})
	q := &queue{policy: p, start: time.Now(), jobs: map[sojourn.JobID]*job{}}
	q.wake.L = &q.mu
	takes := func(ms time.Duration, err error) func() error {
		return func() error { time.Sleep(ms * time.Millisecond); return err }
	}
	q.submit(1, "free", takes(50, nil), takes(52, nil), takes(54, nil), takes(56, nil))
	q.submit(2, "paid", takes(25, nil), takes(30, os.ErrNotExist))
	q.submit(3, "free", takes(101, nil), takes(102, nil))
	var workers sync.WaitGroup
	workers.Go(func() { q.work(sojourn.Slot{ID: 0}, log) })
	workers.Go(func() { q.work(sojourn.Slot{ID: 1}, log) })
	time.Sleep(170 * time.Millisecond)
	q.mu.Lock()
	fmt.Fprintf(log, "        job 3 is cancelled: %v\n", q.cancel(3))
	q.mu.Unlock()
	workers.Wait()
}
