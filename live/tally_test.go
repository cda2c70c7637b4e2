package live_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
)

// A Tally counts what waits and runs, and compares shares: first with what one job of two takes from the other, then with a
// phase whose turn has not come, which claims nothing.
func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally live.Tally
		if got := tally.Read(); got != (live.Gauges{}) {
			t.Errorf("an empty tally has %+v", got)
		}
		p := must(live.New(newFIFO(), live.Options{Slots: 4, Observer: &tally, Retry: live.Retry{Attempts: 2, Backoff: 5 * time.Second}}))
		wide := bag(4, func(_ context.Context, task live.Task) error {
			time.Sleep(10 * time.Second)
			if task.Attempt == 1 {
				return errors.New("once")
			}
			return nil
		})
		wide.Pool = "a"
		must(p.Submit(bg, wide))
		heavy := live.Job{Pool: "b", Weight: 3, Phases: []live.Phase{{Tasks: 8, Run: sleep(time.Second)}, {Tasks: 5, Run: sleep(time.Second)}}}
		must(p.Submit(bg, heavy))
		time.Sleep(3 * time.Second)
		// Fair were 1 slot and 3 for the jobs, 2 and 2 for the pools.
		if got, want := tally.Read(), (live.Gauges{Jobs: 2, Queued: 13, Running: 4, Starvation: 3 * time.Second, JobShareError: 0.75, PoolShareError: 0.5}); got != want {
			t.Errorf("gauges %+v, want %+v", got, want)
		}
		time.Sleep(8500 * time.Millisecond)
		// The first 8 tasks of the second job run since 10 s, 4 at a time; the first job waits for its retries.
		if got, want := tally.Read(), (live.Gauges{Jobs: 2, Queued: 9, Running: 4, Starvation: 1500 * time.Millisecond, JobShareError: 0.25, PoolShareError: 0.5}); got != want {
			t.Errorf("gauges %+v, want %+v", got, want)
		}
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
		if got := tally.Read(); got != (live.Gauges{}) {
			t.Errorf("the tally of a pool that is closed has %+v", got)
		}
	})
}

// A job takes no more than it could use: the rest is divided among the others.
func TestShareErrorOfNarrowJobs(t *testing.T) {
	for _, tc := range []struct {
		running, waiting []int // by job
		want             float64
	}{
		{[]int{1, 4, 4}, []int{0, 9, 9}, 0},
		{[]int{1, 6, 2}, []int{0, 9, 9}, 2. / 9}, // shares 1, 4, 4
		{[]int{3, 3, 3}, []int{0, 0, 0}, 0},
		{[]int{9, 0, 0}, []int{0, 1, 2}, 1. / 3},   // shares 6, 1, 2
		{[]int{9, 0, 0}, []int{0, 2, 90}, 5.5 / 9}, // shares 3.5, 2, 3.5
		{[]int{0, 0}, []int{5, 5}, 0},
	} {
		var tally live.Tally
		for i := range tc.running {
			job := &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tc.running[i] + tc.waiting[i]}, {Tasks: 77}}}
			tally.Note(live.Note{Kind: live.JobSubmitted, Job: job})
			for k := range tc.running[i] {
				tally.Note(live.Note{Kind: live.TaskStarted, Job: job, Task: sojourn.TaskID{Job: job.ID, Index: uint32(k)}, Attempt: 1})
			}
		}
		if got := tally.Read().JobShareError; math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("running %v, waiting %v: share error of jobs %v, want %v", tc.running, tc.waiting, got, tc.want)
		}
		if got := tally.Read().PoolShareError; got != 0 { // all are in one
			t.Errorf("running %v: share error of pools %v, want 0", tc.running, got)
		}
	}
}

// The share error of pools is that of the policy's weights, also after a change, which observers are told of.
func TestPoolShareErrorIsWeighted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally live.Tally
		var told []sojourn.Pool
		o := live.Options{Slots: 4, Observer: fan{&tally, noteFunc(func(n live.Note) {
			if n.Kind == live.PoolChanged {
				told = append(told, *n.Pool)
			}
		})}}
		p := must(live.New(must(fair.New(fair.Options{Pools: map[string]fair.Pool{"a": {Weight: 3}}})), o))
		for _, pool := range []string{"a", "a", "b"} {
			job := bag(9, sleep(time.Hour))
			job.Pool = pool
			must(p.Submit(bg, job))
		}
		check := func(when string, want float64) {
			t.Helper()
			if got := tally.Read(); got.Running != 4 || got.PoolShareError != want {
				t.Errorf("%s: %d running, share error %v, want 4, %v", when, got.Running, got.PoolShareError, want)
			}
		}
		check("at first", 0.25) // the first pool has all 4 slots, and were to have 3
		heavier := func(n *sojourn.Pool) { n.Weight = 9 }
		if err := p.ChangePool("b", heavier); err != nil {
			t.Fatal(err)
		}
		check("after a change", 0.75) // were to have 1
		wantError(t, "a change that is none", p.ChangePool("b", func(n *sojourn.Pool) { n.Weight = -1 }), sojourn.ErrInvalidPool)
		if len(told) != 1 || told[0].Name != "b" || told[0].Weight != 9 {
			t.Errorf("told of %+v", told)
		}
		usual := func(n *sojourn.Pool) { n.Weight, n.MaxJobs = 0, 5 }
		if err := p.ChangePool("b", usual); err != nil {
			t.Fatal(err)
		}
		check("with the usual weight", 0.25)
		stop, cancel := context.WithCancel(bg)
		cancel()
		_ = p.Close(stop)
		if got := tally.Read(); got != (live.Gauges{}) {
			t.Errorf("the tally of a pool that is closed has %+v", got)
		}
	})
}
