package live_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/live"
)

var soak = flag.Duration("soak", 100*time.Millisecond, "how long TestSoak goes on under each policy")

// A ward watches over the tasks of a job.
type ward struct {
	t        *testing.T
	phases   [][]task
	calls    atomic.Int64
	returned atomic.Int64
}

type task struct{ running, succeeded atomic.Int32 }

// run fails in every way that a task can, and checks that it alone runs, in its turn.
func (w *ward) run(seed uint64) func(context.Context, live.Task) error {
	return func(ctx context.Context, t live.Task) error {
		rng := rand.New(rand.NewPCG(seed, uint64(t.Phase)<<48|uint64(t.Index)<<16|uint64(t.Attempt)))
		own := &w.phases[t.Phase][t.Index]
		w.calls.Add(1)
		if own.running.Add(1) != 1 || own.succeeded.Load() != 0 {
			w.t.Errorf("task %v runs twice", t.TaskID)
		}
		if t.Phase > 0 {
			for i := range w.phases[t.Phase-1] {
				if w.phases[t.Phase-1][i].succeeded.Load() != 1 {
					w.t.Errorf("task %v runs before task %d of the phase before", t.TaskID, i)
				}
			}
		}
		defer w.returned.Add(1)
		defer own.running.Add(-1)
		if rng.IntN(3) == 0 {
			select {
			case <-time.After(time.Duration(rng.IntN(2000)) * time.Microsecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		switch rng.IntN(25) {
		case 0:
			return errors.New("by chance")
		case 1:
			panic("by chance")
		case 2:
			runtime.Goexit()
		case 3:
			time.Sleep(3 * time.Millisecond) // over the time of some
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		own.succeeded.Add(1)
		return nil
	}
}

// Random jobs, faults, cancellations and slots that come and go. All jobs end; a job that is complete
// ran each of its tasks to success once; nothing is left at the end.
func TestSoak(t *testing.T) {
	policies := common()
	policies["fair"] = func() sojourn.Policy {
		return pooled.Fair.Must(fair.Options{Preemption: fair.Preemption{FairTimeout: 2 * ms, Interval: ms}, Delay: ms, RackDelay: new(time.Duration)})
	}
	policies["hfsp"] = constructors.HFSP.With(hfsp.Options{Preemption: hfsp.Kill})
	policies["locked"] = func() sojourn.Policy { return sojourn.NewLocked(newFIFO()) }
	for name, newPolicy := range policies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := must(live.New(newPolicy(), live.Options{Slots: 3, Preempt: ms, Grace: time.Hour,
				Retry: live.Retry{Attempts: 5, Backoff: 100 * time.Microsecond, Jitter: 1}}))
			var all sync.WaitGroup
			var complete, failed atomic.Int64
			stop := time.Now().Add(*soak)
			for g := range uint64(3) {
				all.Go(func() {
					for i := uint64(0); time.Now().Before(stop); i++ {
						submit(t, p, g<<32|i, &complete, &failed)
					}
				})
			}
			all.Go(func() { // slots
				rng := rand.New(rand.NewPCG(1, 1))
				var ids []sojourn.SlotID
				for time.Now().Before(stop) {
					if len(ids) < 5 {
						ids = append(ids, must(p.AddSlots(1, sojourn.Slot{Node: sojourn.NodeID(rng.IntN(3))}))...)
					} else {
						k := rng.IntN(len(ids))
						leave := p.Drain
						if rng.IntN(2) == 0 {
							leave = p.Remove
						}
						if err := leave(ids[k]); err != nil {
							t.Error(err)
						}
						ids = append(ids[:k], ids[k+1:]...)
					}
					p.Status()
					time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
				}
			})
			all.Wait()
			if err := p.Close(bg); err != nil {
				t.Error(err)
			}
			if st := p.Status(); len(st.Jobs)+len(st.Slots) != 0 || complete.Load() == 0 || failed.Load() == 0 {
				t.Errorf("%d jobs are complete, %d have failed, left are %+v", complete.Load(), failed.Load(), st)
			}
		})
	}
}

// submit submits some jobs and waits for them.
func submit(t *testing.T, p *live.Pool, seed uint64, complete, failed *atomic.Int64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	var handles []*live.Handle
	var wards []*ward
	for k := range 1 + rng.IntN(6) {
		w := &ward{t: t, phases: make([][]task, 1+rng.IntN(3))}
		j := live.Job{Pool: fmt.Sprint(rng.IntN(3))}
		if rng.IntN(10) == 0 {
			j.Timeout = time.Duration(1+rng.IntN(3)) * ms
		}
		for i := range w.phases {
			w.phases[i] = make([]task, 1+rng.IntN(8))
			ph := live.Phase{Tasks: len(w.phases[i]), Run: w.run(seed<<8 | uint64(k))}
			if rng.IntN(4) == 0 {
				ph.Timeout = 2 * ms
			}
			j.Phases = append(j.Phases, ph)
		}
		h, err := p.Submit(ctx, j)
		if err != nil {
			t.Error(err)
			return
		}
		handles, wards = append(handles, h), append(wards, w)
		if rng.IntN(10) == 0 {
			h.Cancel()
		}
	}
	if rng.IntN(10) == 0 {
		cancel()
	}
	for i, h := range handles {
		err, w := h.Wait(bg), wards[i]
		pr := h.Progress()
		if !pr.Ended || pr.Running != 0 || pr.Held != 0 || (err == nil) != (pr.Done == pr.Tasks) {
			t.Errorf("job %d has ended with %v and %+v", h.ID(), err, pr)
		}
		if w.calls.Load() != w.returned.Load() {
			t.Errorf("job %d has ended, and %d of its tasks run", h.ID(), w.calls.Load()-w.returned.Load())
		}
		if err != nil {
			failed.Add(1)
			continue
		}
		complete.Add(1)
		for ph := range w.phases {
			for i := range w.phases[ph] {
				if n := w.phases[ph][i].succeeded.Load(); n != 1 {
					t.Errorf("job %d is complete, and task %d/%d has succeeded %d times", h.ID(), ph, i, n)
				}
			}
		}
	}
}
