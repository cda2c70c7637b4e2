package mars_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func BenchmarkSteady(b *testing.B) {
	steady.Run(b, policy(mars.Options{}), steady.Sizes...)
}

// BenchmarkQuestions measures what a driver asks at every event.
func BenchmarkQuestions(b *testing.B) {
	steady.Questions(b, policy(mars.Options{}), 1000, 100_000)
}

// BenchmarkReplan measures an arrival and the plan for all live jobs that follows it, and
// reports how many Ticks it takes, and how long the longest Tick is, in the median of the plans and
// in the worst of them. The plan before is one second old, as Options.Interval requires.
func BenchmarkReplan(b *testing.B) {
	for _, jobs := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			p := policy(mars.Options{})()
			now := sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				ev.At = now
				if err := p.Observe(ev); err != nil {
					b.Fatal(err)
				}
			}
			for id := range 1000 {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
			}
			next := sojourn.JobID(0)
			arrive := func() {
				next++
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: next, Weight: float64(1 + next%8), Phases: []sojourn.Phase{
					{Tasks: int(10 + next%40), Estimate: time.Duration(1+next%100) * time.Second},
					{Tasks: int(1 + next%20), Estimate: time.Duration(1+next%130) * time.Second},
				}}})
			}
			for range jobs {
				arrive()
			}
			var longest []time.Duration // Tick of each plan
			ticks := 0
			plan := func() {
				most := time.Duration(0)
				for at, ok := p.(sojourn.Waker).NextWake(); ok; at, ok = p.(sojourn.Waker).NextWake() {
					now = max(now, at)
					start := time.Now()
					observe(sojourn.Event{Kind: sojourn.Tick})
					most = max(most, time.Since(start))
					ticks++
				}
				longest = append(longest, most)
			}
			plan()
			longest, ticks = nil, 0
			for b.Loop() {
				arrive()
				now = now.Add(time.Second)
				plan()
			}
			slices.Sort(longest)
			b.ReportMetric(longest[len(longest)/2].Seconds()*1e3, "ms/longest-tick")
			b.ReportMetric(longest[len(longest)-1].Seconds()*1e3, "ms/worst-tick")
			b.ReportMetric(float64(ticks)/float64(b.N), "ticks/op")
		})
	}
}
