package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// Two workers; the pool "paid" has three times the share of "free", so that job 2
// gets one of them at once. Job 2 is given up after the third failure; job 3 is
// cancelled at 170 ms, while its second task runs to its end.
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
        job 3 is dropped
221ms  task 1/0/2  attempt 1  <nil>
253ms  task 3/0/1  attempt 1  <nil>
277ms  task 1/0/3  attempt 1  <nil>
`
		if got.String() != want {
			t.Errorf("demo printed\n%swant\n%s", got.String(), want)
		}
	})
}

// A worker that has nothing to do stays, and serves what comes later. A job that
// waits for a node gets the slot elsewhere when its wait is over, though nothing
// happens then.
func TestIdleWorkerAndTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := newQueue(fair.Options{Delay: 30 * time.Millisecond, RackDelay: new(time.Duration)}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var end error
		done := make(chan bool)
		go func() { end = q.work(sojourn.Slot{ID: 0, Node: 1}); close(done) }()
		time.Sleep(time.Second)
		start := time.Now()
		var waited time.Duration
		task := func() error { waited = time.Since(start); return nil }
		if err := q.submit(1, "", sojourn.MakeInputs([][]sojourn.NodeID{{2}}), task); err != nil {
			t.Fatal(err)
		}
		q.close()
		<-done
		if want := 30 * time.Millisecond; end != nil || waited != want {
			t.Errorf("the task started after %v, %v; want %v, nil", waited, end, want)
		}
		if err := q.cancel(1); err == nil {
			t.Error("a job that has ended was cancelled")
		}
	})
}
