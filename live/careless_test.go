package live_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
)

// What a careless caller does to a pool of one slot. Each is an error or a failed task, and afterwards the slot runs the next
// job. The bubble of the test fails if a goroutine is left.
func TestCarelessCallers(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  error // of Close
		do   func(t *testing.T, p *live.Pool)
	}{
		{"nil function", nil, func(t *testing.T, p *live.Pool) {
			if h, err := p.Submit(bg, bag(1, nil)); err == nil || h != nil {
				t.Errorf("Submit = %v, %v, want an error", h, err)
			}
		}},
		{"no phases", nil, func(t *testing.T, p *live.Pool) {
			_, err := p.Submit(bg, live.Job{})
			wantError(t, "Submit", err, sojourn.ErrInvalidJob)
		}},
		{"context that is done", nil, func(t *testing.T, p *live.Pool) {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			_, err := p.Submit(ctx, bag(1, sleep(0)))
			wantError(t, "Submit", err, context.Canceled)
		}},
		{"Cancel twice", nil, func(t *testing.T, p *live.Pool) {
			h := must(p.Submit(bg, bag(2, sleep(time.Hour))))
			h.Cancel()
			h.Cancel()
			wantError(t, "Wait", h.Wait(bg), live.ErrCancelled)
			h.Cancel()
			wantError(t, "Wait again", h.Wait(bg), live.ErrCancelled)
		}},
		{"Goexit", nil, func(t *testing.T, p *live.Pool) {
			h := must(p.Submit(bg, bag(1, func(context.Context, live.Task) error { runtime.Goexit(); return nil })))
			wantError(t, "Wait", h.Wait(bg), live.ErrGoexit)
		}},
		{"a task that does not return in time", live.ErrAbandoned, func(t *testing.T, p *live.Pool) {
			j := bag(1, stubborn(time.Hour))
			j.Timeout = 10 * ms
			now := stopwatch()
			wantError(t, "Wait", must(p.Submit(bg, j)).Wait(bg), live.ErrJobTimeout)
			if got := now(); got != 15*ms { // and the grace
				t.Errorf("ended after %v, want 15ms", got)
			}
		}},
		{"results that nobody reads", nil, func(t *testing.T, p *live.Pool) {
			r := live.Collect(1000, func(_ context.Context, task live.Task) (int, error) { return int(task.Index), nil })
			wantError(t, "Wait", must(p.Submit(bg, live.Job{Phases: []live.Phase{r.Phase}})).Wait(bg), nil)
			for range r.All(bg) { // reads one and stops
				break
			}
		}},
		{"zero slots", nil, func(t *testing.T, p *live.Pool) {
			wantError(t, "Drain", p.Drain(0), nil)
			h := must(p.Submit(bg, bag(1, sleep(ms))))
			time.Sleep(time.Hour)
			if got, want := h.Progress(), (live.Progress{Tasks: 1}); got != want {
				t.Errorf("progress without a slot %+v, want %+v", got, want)
			}
			must(p.AddSlots(1, sojourn.Slot{}))
			wantError(t, "Wait", h.Wait(bg), nil)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := must(live.New(newFIFO(), live.Options{Slots: 1, Grace: 5 * ms}))
				tc.do(t, p)
				wantError(t, "the next job", must(p.Submit(bg, bag(3, sleep(ms)))).Wait(bg), nil)
				wantError(t, "Close", p.Close(bg), tc.end)
				_, err := p.Submit(bg, bag(1, sleep(0)))
				wantError(t, "Submit after Close", err, live.ErrClosed)
				wantError(t, "Close twice", p.Close(bg), tc.end)
				time.Sleep(time.Hour) // until the task that ignores its context ends
			})
		})
	}
	// The others are about policies and clocks.
	t.Run("one policy in two pools", TestOnePolicyTwoPools)
	t.Run("a clock that jumps", TestClockThatJumps)
	t.Run("negative slots", func(t *testing.T) {
		if _, err := live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: -1}); err == nil {
			t.Error("accepted")
		}
	})
}
