// Command customscheduler shows a queue whose workers ask what to do next, and which lets a policy
// answer. A task that fails is tried at most three times, and jobs can be cancelled.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// A queue is an existing queue with two additions: the policy and its timer.
type queue struct {
	sync.Mutex
	changed sync.Cond
	policy  *fair.Policy
	timer   *time.Timer // goes off when the policy wants a Tick
	start   time.Time
	jobs    map[sojourn.JobID]*job
	closed  bool // when no job is left, workers leave
	log     io.Writer
}

type job struct {
	tasks []func() error
	left  int
}

func newQueue(o fair.Options, log io.Writer) (*queue, error) {
	p, err := fair.New(o)
	q := &queue{policy: p, start: time.Now(), jobs: map[sojourn.JobID]*job{}, log: log}
	q.changed.L = q
	q.timer = time.AfterFunc(time.Hour, func() { q.Lock(); defer q.Unlock(); q.observe(sojourn.Event{Kind: sojourn.Tick}) })
	return q, err
}

// observe reports an event. If the event does not fit, such as the cancellation of a job that has
// ended, observe returns an error and nothing has changed.
func (q *queue) observe(ev sojourn.Event) error {
	ev.At = sojourn.Time(time.Since(q.start))
	q.changed.Broadcast() // any event may give any worker something to do
	defer q.setTimer()
	return q.policy.Observe(ev)
}

func (q *queue) setTimer() {
	if at, ok := q.policy.NextWake(); ok {
		q.timer.Reset(time.Until(q.start.Add(time.Duration(at))))
	}
}

func (q *queue) submit(id sojourn.JobID, pool string, inputs sojourn.Inputs, tasks ...func() error) error {
	q.Lock()
	defer q.Unlock()
	phase := sojourn.Phase{Tasks: len(tasks), Inputs: inputs}
	err := q.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{phase}}})
	if err == nil {
		q.jobs[id] = &job{tasks, len(tasks)}
	}
	return err
}

func (q *queue) cancel(id sojourn.JobID) error {
	q.Lock()
	defer q.Unlock()
	return q.end(id)
}

func (q *queue) end(id sojourn.JobID) error {
	fmt.Fprintf(q.log, "        job %d is dropped\n", id)
	delete(q.jobs, id)
	return q.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
}

// work is a worker: it asks, runs, and reports.
func (q *queue) work(slot sojourn.Slot) error {
	q.Lock()
	defer q.Unlock()
	err := q.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
	for err == nil && !(q.closed && len(q.jobs) == 0) {
		a, ok := q.policy.Assign(slot.ID)
		q.setTimer()
		if !ok {
			q.changed.Wait()
			continue
		}
		q.changed.Broadcast() // so may an assignment
		j, id := q.jobs[a.Task.Job], a.Task.Job
		q.Unlock()
		failure := j.tasks[a.Task.Index]()
		q.Lock()
		fmt.Fprintf(q.log, "%5v  task %v  attempt %d  %v\n", time.Since(q.start).Round(time.Millisecond), a.Task, a.Attempt, failure)
		ev := sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slot}
		if failure != nil {
			ev.Kind, ev.Cause = sojourn.TaskFailed, sojourn.CauseTask
		} else if j.left--; j.left == 0 {
			delete(q.jobs, id)
		}
		err = q.observe(ev)
		if err == nil && failure != nil && a.Attempt == 3 && q.jobs[id] == j {
			err = q.end(id)
		}
	}
	return errors.Join(err, q.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: slot}))
}

func (q *queue) close() {
	q.Lock()
	defer q.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func main() {
	if err := demo(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customscheduler:", err)
		os.Exit(1)
	}
}

func demo(log io.Writer) error {
	q, err := newQueue(fair.Options{Pools: map[string]fair.Pool{"paid": {Weight: 3}}}, log)
	if err != nil {
		return err
	}
	takes := func(ms time.Duration, err error) func() error {
		return func() error { time.Sleep(ms * time.Millisecond); return err }
	}
	none := sojourn.Inputs{}
	err = errors.Join(
		q.submit(1, "free", none, takes(50, nil), takes(52, nil), takes(54, nil), takes(56, nil)),
		q.submit(2, "paid", none, takes(25, nil), takes(30, os.ErrNotExist)),
		q.submit(3, "free", none, takes(101, nil), takes(102, nil)))
	var ends [2]error
	var workers sync.WaitGroup
	for i := range ends {
		workers.Go(func() { ends[i] = q.work(sojourn.Slot{ID: sojourn.SlotID(i)}) })
	}
	time.Sleep(170 * time.Millisecond)
	err = errors.Join(err, q.cancel(3))
	q.close()
	workers.Wait()
	return errors.Join(err, ends[0], ends[1])
}
