package live_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/live"
)

// A task that has called Pin is not preempted: the policy takes the slot of another one. A policy that does not know
// TaskPinned changes nothing about that. A task that is being stopped cannot pin itself any more.
func TestPin(t *testing.T) {
	for name, newPolicy := range map[string]func() sojourn.Policy{
		"hfsp": func() sojourn.Policy {
			return must(hfsp.New(hfsp.Options{Preemption: hfsp.KillAny, Estimator: func() hfsp.Estimator { return hfsp.NewOracle(hfsp.NewTrainer(0, 0)) }}))
		},
		"hfsp that does not know it": func() sojourn.Policy {
			return ignorant{must(hfsp.New(hfsp.Options{Preemption: hfsp.KillAny, Estimator: func() hfsp.Estimator { return hfsp.NewOracle(hfsp.NewTrainer(0, 0)) }}))}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := must(live.New(newPolicy(), live.Options{Slots: 2, Preempt: 1}))
			stopped := map[uint32]int{} // attempts that were preempted, by task
			late := error(nil)
			large := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 2, Estimate: time.Hour, Run: func(ctx context.Context, task live.Task) error {
				if task.Index == 1 { // the youngest of them, which would be the first to be killed
					if err := live.Pin(ctx); err != nil {
						t.Errorf("Pin: %v", err)
					}
					if err := live.Pin(ctx); err != nil {
						t.Errorf("Pin of what is pinned: %v", err)
					}
				}
				select {
				case <-ctx.Done():
					stopped[task.Index]++
					late = live.Pin(ctx)
					return ctx.Err()
				case <-time.After(time.Hour):
					return nil
				}
			}}}}))
			time.Sleep(time.Second)
			small := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 2, Estimate: time.Minute, Run: sleep(time.Minute)}}}))
			begun := time.Now()
			wantError(t, "the small job", small.Wait(bg), nil)
			took := time.Since(begun)
			wantError(t, "the large job", large.Wait(bg), nil)
			if stopped[1] != 0 {
				t.Errorf("%s: the task that was pinned was preempted %d times", name, stopped[1])
			}
			if name == "hfsp" && (stopped[0] != 1 || took != 2*time.Minute || !errors.Is(late, live.ErrPreempted)) {
				t.Errorf("the other task was preempted %d times, and then Pin returned %v; the small job took %v; want once, %v, 2m", stopped[0], late, took, live.ErrPreempted)
			}
			wantError(t, "Close", p.Close(bg), nil)
		})
	}
}

// An ignorant policy was written before TaskPinned.
type ignorant struct{ *hfsp.Policy }

func (p ignorant) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.TaskPinned {
		return &sojourn.EventError{Event: ev, Err: sojourn.ErrUnknownKind}
	}
	return p.Policy.Observe(ev)
}

// Pin of a context that comes from no task is a mistake in the program.
func TestPinOutside(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Pin of the background's context does not panic")
		}
	}()
	_ = live.Pin(bg)
}
