package live_test

import (
	"context"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// common are the policies that most pools will have.
func common() map[string]func() sojourn.Policy {
	return map[string]func() sojourn.Policy{
		"fifo":      newFIFO,
		"fair":      pooled.Fair.With(fair.Options{}),
		"hfsp":      constructors.HFSP.With(hfsp.Options{}),
		"pfsp":      constructors.PFSP.With(pfsp.Options{}),
		"leastwork": constructors.LeastWork.With(leastwork.Options{}),
	}
}

func nothing(context.Context, live.Task) error { return nil }

// BenchmarkTasks runs the tasks of one job, which do nothing.
func BenchmarkTasks(b *testing.B) {
	for name, newPolicy := range common() {
		b.Run(name, func(b *testing.B) {
			p := must(live.New(newPolicy(), live.Options{Slots: 1}))
			defer p.Close(bg)
			b.ReportAllocs()
			b.ResetTimer()
			if err := must(p.Submit(bg, bag(b.N, nothing))).Wait(bg); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkJobs runs jobs of one task, which are all submitted before the first one starts.
func BenchmarkJobs(b *testing.B) {
	for name, newPolicy := range common() {
		b.Run(name, func(b *testing.B) {
			p := must(live.New(newPolicy(), live.Options{Slots: 1}))
			defer p.Close(bg)
			gate := make(chan struct{})
			must(p.Submit(bg, bag(1, func(context.Context, live.Task) error { <-gate; return nil })))
			handles := make([]*live.Handle, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range handles {
				handles[i] = must(p.Submit(bg, bag(1, nothing)))
			}
			close(gate)
			for _, h := range handles {
				if err := h.Wait(bg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
