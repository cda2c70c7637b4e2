package pfsp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func BenchmarkSteady(b *testing.B) {
	for _, tc := range []struct {
		name string
		opts pfsp.Options
	}{
		{"default", pfsp.Options{}},
		{"k=0", limit(0)},
	} {
		b.Run(tc.name, func(b *testing.B) { steady.Run(b, maker(tc.opts), steady.Sizes...) })
	}
}

func BenchmarkLife(b *testing.B) { steady.Life(b, maker(pfsp.Options{}), steady.Sizes...) }

func BenchmarkIdle(b *testing.B) { steady.Idle(b, maker(pfsp.Options{})) }

// BenchmarkWave is Assign for the tasks of one job, a wave after the other, while
// other jobs wait: between events the choice is kept.
func BenchmarkWave(b *testing.B) {
	const slots = 10_000
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			p := maker(limit(0))()
			observe := func(ev sojourn.Event) {
				if err := p.Observe(ev); err != nil {
					b.Fatal(err)
				}
			}
			for i := range slots {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
			}
			for i := range n {
				tasks := 1
				if i == 0 {
					tasks = 2 * slots // w is 20 s
				}
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
					ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Duration(1+i*1000) * time.Millisecond}},
				}})
			}
			wave := make([]sojourn.Assignment, slots)
			now := sojourn.Time(0)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				if i%slots == 0 && i > 0 {
					b.StopTimer()
					now += 1000
					for _, a := range wave {
						observe(sojourn.Event{Kind: sojourn.TaskRefused, At: now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
					}
					b.StartTimer()
				}
				wave[i%slots], _ = p.Assign(sojourn.SlotID(i % slots))
			}
		})
	}
}
