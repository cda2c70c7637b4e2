package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// Two workers; the pool "paid" has three times the share of "free", so that job 2
// gets one of them at once. Job 2 is given up after the third failure. Job 4 comes when both
// workers run long tasks, and after 60 ms below its share it gets one. Job 3 is cancelled.
func TestDemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		if err := demo(&got); err != nil {
			t.Fatal(err)
		}
		want := ` 25ms  task 2/0/0  attempt 1  <nil>
 50ms  task 1/0/0  attempt 1  <nil>
 55ms  task 2/0/1  attempt 1  file does not exist
 85ms  task 2/0/1  attempt 2  file does not exist
115ms  task 2/0/1  attempt 3  file does not exist
        job 2 is dropped
151ms  task 3/0/0  attempt 1  <nil>
167ms  task 1/0/1  attempt 1  <nil>
221ms  task 1/0/2  attempt 1  <nil>
300ms  task 1/0/3  attempt 1  context canceled
310ms  task 4/0/0  attempt 1  <nil>
        job 3 is dropped
566ms  task 1/0/3  attempt 2  <nil>
653ms  task 3/0/1  attempt 1  <nil>
`
		if got.String() != want {
			t.Errorf("demo printed\n%swant\n%s", got.String(), want)
		}
	})
}

// A worker that has nothing to do stays, and serves what comes later. A job that has run a task next to its
// input and waits for another such slot gets one elsewhere when its wait is over, though nothing happens
// then.
func TestIdleWorkerAndTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := fair.New(fair.Options{Delay: 30 * time.Millisecond, RackDelay: new(time.Duration)})
		if err != nil {
			t.Fatal(err)
		}
		q, err := newQueue(p)
		if err != nil {
			t.Fatal(err)
		}
		workerEnded, jobEnded := make(chan error), make(chan bool)
		go func() { workerEnded <- q.work(sojourn.Slot{ID: 0, Node: 1}) }()
		time.Sleep(time.Second)
		start := time.Now()
		var waited time.Duration
		local := func(context.Context) error { time.Sleep(time.Second); start = time.Now(); return nil }
		remote := func(context.Context) error { waited = time.Since(start); return nil }
		j := &job{tasks: []func(context.Context) error{local, remote}, left: 2, log: io.Discard, start: start, ended: func() { close(jobEnded) }}
		phase := sojourn.Phase{Tasks: 2, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}, {2}})}
		if err := q.submit(sojourn.Job{ID: 1, Phases: []sojourn.Phase{phase}}, j); err != nil {
			t.Fatal(err)
		}
		<-jobEnded
		if want := 30 * time.Millisecond; waited != want {
			t.Errorf("the task started after %v, want %v", waited, want)
		}
		if err := q.report(func() error { return j.giveUp(q, 1) }); err == nil {
			t.Error("a job that has ended was cancelled")
		}
		close(q.inbox[0])
		if err := <-workerEnded; err != nil {
			t.Error(err)
		}
	})
}
