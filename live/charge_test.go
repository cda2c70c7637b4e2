package live_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
)

// costsOf is a policy that lists what ends have cost.
type costsOf struct {
	sojourn.Policy
	list *[]uint64
}

func (c costsOf) Unwrap() sojourn.Policy { return c.Policy }

func (c costsOf) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed {
		*c.list = append(*c.list, ev.Cost)
	}
	return c.Policy.Observe(ev)
}

// The last cost that a task tells before it returns is that of its attempt, also if it fails and is tried again; a call afterwards
// changes nothing.
func TestCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []uint64
		p := must(live.New(costsOf{must(fair.New(fair.Options{})), &got}, live.Options{Slots: 1}))
		var kept context.Context
		run := func(ctx context.Context, task live.Task) error {
			if kept != nil {
				live.Charge(kept, 99)
			}
			switch {
			case task.Index == 1:
				return nil
			case task.Attempt == 1:
				live.Charge(ctx, 5)
				return errors.New("again")
			}
			live.Charge(ctx, 1)
			_ = ctx.Err()
			live.Charge(ctx, 7)
			kept = ctx
			return nil
		}
		h := must(p.Submit(bg, live.Job{Retry: &live.Retry{Attempts: 2}, Phases: []live.Phase{{Tasks: 2, Run: run}}}))
		wantError(t, "the job", h.Wait(bg), nil)
		wantError(t, "Close", p.Close(bg), nil)
		if len(got) != 3 || got[0]+got[1]+got[2] != 12 || got[2] != 7 && got[1] != 7 {
			t.Errorf("ends cost %v, want 5, 7 and 0", got)
		}
	})
}

// Tenants whose calls cost tokens share tokens.
func TestChargeIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(must(fair.New(fair.Options{Pools: map[string]fair.Pool{"a": {Weight: 2}}})), live.Options{Slots: 4}))
		ctx, cancel := context.WithCancel(bg)
		var mu sync.Mutex
		tokens := map[string]uint64{}
		submit := func(pool string, cost uint64) {
			must(p.Submit(ctx, live.Job{Pool: pool, Phases: []live.Phase{{Tasks: 1 << 20, Run: func(ctx context.Context, _ live.Task) error {
				if err := sleep(time.Second)(ctx, live.Task{}); err != nil {
					return err
				}
				live.Charge(ctx, cost)
				mu.Lock()
				defer mu.Unlock()
				tokens[pool] += cost
				return nil
			}}}}))
		}
		submit("a", 1000)
		submit("b", 20)
		time.Sleep(2000 * time.Second)
		mu.Lock()
		a, b := tokens["a"], tokens["b"]
		mu.Unlock()
		cancel()
		wantError(t, "Close", p.Close(bg), nil)
		if ratio := float64(a) / float64(b); ratio < 1.9 || ratio > 2.1 {
			t.Errorf("weights 2 and 1 got %d and %d tokens: a ratio of %.2f", a, b, ratio)
		}
	})
}
