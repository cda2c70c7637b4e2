package sim_test

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A result keeps nothing of its run in memory but what it says: not the policy, and not the job.
func TestResultKeepsNothing(t *testing.T) {
	for _, audit := range []bool{true, false} {
		var (
			policy weak.Pointer[fifo.Policy]
			jobs   weak.Pointer[sim.Job]
		)
		result := func() *sim.Result {
			p, err := fifo.New(fifo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			j := job(1, 0, []float64{1, 2})
			policy, jobs = weak.Make(p), weak.Make(j)
			res, err := sim.Run(context.Background(), sim.Config{
				Cluster: uniform(1), Policy: p, Records: true, NoAudit: !audit,
				Jobs: func(yield func(*sim.Job, error) bool) { yield(j, nil) },
				Hooks: sim.Hooks{Assigned: func(_ sojourn.SlotID, _ sojourn.Assignment, _ bool) {
					runtime.GC()
					if policy.Value() == nil || jobs.Value() == nil {
						t.Error("a collection during the run took its policy or its job")
					}
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}()
		runtime.GC()
		if policy.Value() != nil || jobs.Value() != nil {
			t.Errorf("audit %t: the policy is still in memory: %t, the job: %t; want neither", audit, policy.Value() != nil, jobs.Value() != nil)
		}
		if result.Finished != 1 {
			t.Errorf("%d jobs finished, want 1", result.Finished)
		}
	}
}
