package leastwork_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func BenchmarkFloor(b *testing.B)  { steady.Floor(b, steady.Sizes...) }
func BenchmarkIdle(b *testing.B)   { steady.Idle(b, newPolicy) }
func BenchmarkSteady(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
func BenchmarkLife(b *testing.B)   { steady.Life(b, newPolicy, steady.Sizes...) }

func BenchmarkSnapshot(b *testing.B) { steady.Snapshot(b, newPolicy, 1000, 100_000) }

// BenchmarkFirstTask measures the first task that finishes. It changes what is predicted
// of its class, and all jobs are filed anew.
func BenchmarkFirstTask(b *testing.B) {
	for _, jobs := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p := newPolicy()
				observe := func(ev sojourn.Event) {
					if err := p.Observe(ev); err != nil {
						b.Fatal(err)
					}
				}
				observe(sojourn.Event{Kind: sojourn.SlotAdded})
				for i := range jobs {
					observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
						ID: sojourn.JobID(i + 1), Weight: float64(1 + i%8),
						Phases: []sojourn.Phase{{Tasks: 50, Estimate: time.Duration(1+i%100) * time.Second}},
					}})
				}
				a, _ := p.Assign(0)
				b.StartTimer()
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Service: time.Second})
			}
		})
	}
}
