package baseline_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A saver is a policy that can be saved.
type saver interface {
	sojourn.Policy
	sojourn.Snapshotter
}

// Jobs have weights and estimates at the ends of their ranges, and are revised to the
// other ends: every state that Observe accepts can be saved and restored.
func TestExtremesCanBeSaved(t *testing.T) {
	weights := []float64{1.0 / (1 << 16), 1, 3, 1<<32 - 1}
	estimates := []time.Duration{1, 7, time.Second, math.MaxInt64}
	for _, late := range []vqueue.Late{vqueue.LateFirst, vqueue.LateShare} {
		newPolicy := must(baseline.NewFSP, baseline.FSPOptions{Late: late})
		for _, from := range weights {
			for _, to := range weights {
				for i := range estimates {
					p := newPolicy().(saver)
					observe := func(ev sojourn.Event) {
						t.Helper()
						if err := p.Observe(ev); err != nil {
							t.Fatal(err)
						}
						data, err := p.AppendBinary(nil)
						if err != nil {
							t.Fatal(err)
						}
						if err := newPolicy().(saver).UnmarshalBinary(data); err != nil {
							t.Fatalf("weight %v to %v, estimate %v: after %v: %v", from, to, estimates[i], ev, err)
						}
					}
					job := func(id sojourn.JobID, w float64, e time.Duration) *sojourn.Job {
						return &sojourn.Job{ID: id, Weight: w, Phases: []sojourn.Phase{{Tasks: 1, Estimate: e}}}
					}
					observe(sojourn.Event{Kind: sojourn.SlotAdded})
					observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(1, 3, 3)})
					observe(sojourn.Event{Kind: sojourn.Tick, At: 1})
					observe(sojourn.Event{Kind: sojourn.JobArrived, At: 1, Job: job(2, from, estimates[i])})
					for k := range estimates {
						observe(sojourn.Event{Kind: sojourn.JobRevised, At: 1, Job: job(2, to, estimates[k])})
						observe(sojourn.Event{Kind: sojourn.JobRevised, At: 1, Job: job(2, from, estimates[i])})
					}
					observe(sojourn.Event{Kind: sojourn.Tick, At: math.MaxInt64})
				}
			}
		}
	}
}

// Jobs of one task of 10 us arrive together with one of 2 us, all of one weight, on
// one slot. In fluid sharing the last one ends at 2(n+1) us, and the bound is 10 us
// later. If virtual time is too coarse for large weights, all of them tie.
func TestTheBoundHoldsForAllWeights(t *testing.T) {
	const us, n = sojourn.Time(time.Microsecond), 1000
	for _, w := range []float64{1.0 / (1 << 16), 1, 1e6, 1e8, 1e9, 1<<32 - 1} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			var jobs []testJob
			for range n {
				jobs = append(jobs, testJob{weight: w, times: []sojourn.Time{10 * us}})
			}
			jobs = append(jobs, testJob{weight: w, times: []sojourn.Time{2 * us}})
			finish, _ := schedule(must(baseline.NewFSP, baseline.FSPOptions{})(), 1, jobs)
			if got, bound := finish[n], 2*(n+1)*us+10*us; got > bound {
				t.Errorf("the short job ends at %v, bound %v", got, bound)
			}
		})
	}
}
