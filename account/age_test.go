package account_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"pgregory.net/rapid"
)

// Jobs that wait are served in the same order by a new policy that is told the facts, if the order
// follows from what the jobs are and when they came. fsp, pfsp and hfsp are not here: an
// adopted job ages from its adoption on in their virtual clusters, as Explain says.
func TestRebuildKeepsTheOrder(t *testing.T) {
	for name, newPolicy := range map[string]func() sojourn.Policy{
		"fifo":         constructors.FIFO.With(fifo.Options{}),
		"fair":         pooled.Fair.With(fair.Options{}),
		"fair,arrival": pooled.Fair.With(fair.Options{Ties: fair.Arrival}),
		"leastwork":    constructors.LeastWork.With(leastwork.Options{}),
		"srpt":         constructors.SRPT.With(baseline.SRPTOptions{}),
		"las":          constructors.LAS.With(baseline.LASOptions{}),
		"fcfs":         constructors.FCFS.With(baseline.BackfillOptions{}),
		"easy":         constructors.EASY.With(baseline.BackfillOptions{}),
		"conservative": constructors.Conservative.With(baseline.BackfillOptions{}),
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var now sojourn.Time
				observe := func(p sojourn.Policy, ev sojourn.Event) {
					ev.At = now
					if err := p.Observe(ev); err != nil {
						t.Fatal(err)
					}
				}
				old, next := account.New(newPolicy()), newPolicy()
				observe(old, sojourn.Event{Kind: sojourn.SlotAdded})
				jobs := rapid.IntRange(2, 6).Draw(t, "jobs")
				for id := range jobs {
					observe(old, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
						ID:     sojourn.JobID(rapid.SampledFrom([]int{100, 0}).Draw(t, "high") + jobs - id),
						Weight: rapid.SampledFrom([]float64{0, 1, 2}).Draw(t, "weight"),
						Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Duration(rapid.SampledFrom([]int64{1, 10, 1000}).Draw(t, "size")) * time.Second}},
					}})
					now += sojourn.Time(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "later"))
				}
				observe(old, sojourn.Event{Kind: sojourn.Tick})
				if err := old.Rebuild(next); err != nil {
					t.Fatal(err)
				}
				for range jobs {
					was, one := old.Assign(0)
					is, other := next.Assign(0)
					if was != is || one != other || !one {
						t.Fatalf("%v would have been next, and %v is", was, is)
					}
					now += sojourn.Time(time.Second)
					for _, p := range []sojourn.Policy{old, next} {
						observe(p, sojourn.Event{Kind: sojourn.TaskFinished, Task: is.Task, Attempt: is.Attempt})
					}
				}
			})
		})
	}
}
