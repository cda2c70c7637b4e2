package pfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// Jobs of one task of 10 us come together, and then one of 2 us, all of one weight, on
// one slot. In fluid sharing the last one ends at 2(n+1) us, and the bound is 10 us later.
// Virtual time that is too coarse for large weights has them all tie.
func TestTheBoundHoldsForAllWeights(t *testing.T) {
	const us, n = time.Microsecond, 1000
	for _, w := range []float64{1.0 / (1 << 16), 1, 1e6, 1e8, 1e9, 1<<32 - 1} {
		for _, order := range []pfsp.Order{pfsp.Protective, pfsp.FSP} {
			p, err := pfsp.New(pfsp.Options{Order: order})
			if err != nil {
				t.Fatal(err)
			}
			now := sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				if ev.At = now; p.Observe(ev) != nil {
					t.Fatalf("%v is refused", ev)
				}
			}
			for i := range n + 1 {
				e := 10 * us
				if i == n {
					e = 2 * us
				}
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Weight: w, Phases: []sojourn.Phase{{Tasks: 1, Estimate: e}}}})
			}
			observe(sojourn.Event{Kind: sojourn.SlotAdded})
			for last := false; !last; {
				a, ok := p.Assign(0)
				if !ok {
					t.Fatal("the slot is idle")
				}
				if last = a.Task.Job == n+1; last {
					now = now.Add(2 * us)
				} else {
					now = now.Add(10 * us)
				}
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt})
			}
			if bound := sojourn.Time(2*(n+1)*us + 10*us); now > bound {
				t.Errorf("%v, weight %v: the short job ends at %v, bound %v", order, w, now, bound)
			}
		}
	}
}
