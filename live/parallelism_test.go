package live_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// No more tasks of a job run at a time than it says, whatever waits, fails or retries; a change counts at once,
// and what is below the number that runs stops nothing.
func TestParallelism(t *testing.T) {
	inPool(t, live.Options{Slots: 8, Retry: live.Retry{Attempts: 3, Backoff: 15 * ms}}, func(t *testing.T, p *live.Pool) {
		var mu sync.Mutex
		running, most := 0, 0
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			running += by
			most = max(most, running)
		}
		// ran returns how many ran at a time since it was called last.
		ran := func() int {
			mu.Lock()
			defer mu.Unlock()
			n := most
			most = 0
			return n
		}
		run := func(_ context.Context, task live.Task) error {
			count(1)
			defer count(-1)
			time.Sleep(time.Second)
			if task.Index%3 == 0 && task.Attempt == 1 {
				return errors.New("once")
			}
			return nil
		}
		h, err := p.Submit(bg, live.Job{Parallelism: 2, Phases: []live.Phase{{Tasks: 120, Run: run}, {Tasks: 3, Run: run}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ bound, want int }{{2, 2}, {5, 5}, {1, 1}, {0, 8}, {math.MaxInt32, 8}} {
			if err := h.SetParallelism(step.bound); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1500 * ms) // what ran before has ended
			ran()
			time.Sleep(1200 * ms)
			if n := ran(); n != step.want {
				t.Errorf("parallelism %d: at most %d tasks ran, want %d", step.bound, n, step.want)
			}
		}
		wrong := []int{-1, math.MinInt}
		if over := int64(math.MaxUint32) + 1; int64(int(over)) == over { // an int has 64 bits
			wrong = append(wrong, int(over))
		}
		for _, n := range wrong {
			if h.SetParallelism(n) == nil {
				t.Errorf("SetParallelism(%d) is accepted", n)
			}
			if _, err := p.Submit(bg, live.Job{Parallelism: n, Phases: []live.Phase{{Tasks: 1, Run: run}}}); err == nil {
				t.Errorf("Submit with parallelism %d is accepted", n)
			}
		}
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
		wantError(t, "SetParallelism of a job that has ended", h.SetParallelism(1), sojourn.ErrUnknownJob)
	})
}

// A job that may run two tasks has its share with two: what is left goes to the other one.
func TestShareErrorUnderParallelism(t *testing.T) {
	var tally live.Tally
	inPool(t, live.Options{Slots: 8, Observer: &tally}, func(t *testing.T, p *live.Pool) {
		bounded := must(p.Submit(bg, live.Job{Parallelism: 1, Phases: []live.Phase{{Tasks: 20, Run: sleep(time.Second)}}}))
		must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 60, Run: sleep(time.Second)}}}))
		for _, n := range []int{1, 2} {
			if err := bounded.SetParallelism(n); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1250 * ms) // no task ends at that instant
			if got := tally.Read(); got.Running != 8 || got.JobShareError != 0 {
				t.Errorf("parallelism %d: %+v, want 8 that run and no error", n, got)
			}
		}
	})
}

// A greater bound counts at once, and not when the next task ends.
func TestParallelismCountsAtOnce(t *testing.T) {
	inPool(t, live.Options{Slots: 8}, func(t *testing.T, p *live.Pool) {
		h := must(p.Submit(bg, live.Job{Parallelism: 1, Phases: []live.Phase{{Tasks: 5, Run: sleep(time.Hour)}}}))
		for _, step := range []struct{ bound, want int }{{1, 1}, {3, 3}, {2, 3}, {4, 4}, {0, 5}} {
			if err := h.SetParallelism(step.bound); err != nil {
				t.Fatal(err)
			}
			if got := h.Progress().Running; got != step.want {
				t.Errorf("parallelism %d: %d tasks run, want %d", step.bound, got, step.want)
			}
		}
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
	})
}
