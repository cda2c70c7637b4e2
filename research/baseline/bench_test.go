package baseline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

// must turns a constructor and its options into a function without an error, as
// sojourntest and the benchmarks need it.
func must[P sojourn.Policy, O any](construct func(O) (P, error), opts O) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := construct(opts)
		if err != nil {
			panic(err)
		}
		return p
	}
}

func BenchmarkSteady(b *testing.B) {
	b.Run("floor", func(b *testing.B) { steady.Floor(b, steady.Sizes...) })
	b.Run("srpt", func(b *testing.B) {
		steady.Run(b, must(baseline.NewSRPT, baseline.SRPTOptions{}), steady.Sizes...)
	})
	b.Run("fsp", func(b *testing.B) {
		steady.Run(b, must(baseline.NewFSP, baseline.FSPOptions{}), steady.Sizes...)
	})
	b.Run("srpt reserve", func(b *testing.B) {
		steady.Run(b, must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.01}), steady.Sizes...)
	})
	b.Run("fsp reserve", func(b *testing.B) {
		steady.Run(b, must(baseline.NewFSP, baseline.FSPOptions{Reserve: 0.01}), steady.Sizes...)
	})
	b.Run("las", func(b *testing.B) {
		steady.Run(b, must(baseline.NewLAS, baseline.LASOptions{}), steady.Sizes...)
	})
	b.Run("huwf", func(b *testing.B) {
		steady.Run(b, must(baseline.NewHUWF, baseline.ListOptions{}), steady.Sizes...)
	})
	b.Run("stf", func(b *testing.B) {
		steady.Run(b, must(baseline.NewSTF, baseline.ListOptions{}), steady.Sizes...)
	})
}

func BenchmarkLife(b *testing.B) {
	b.Run("srpt", func(b *testing.B) {
		steady.Life(b, must(baseline.NewSRPT, baseline.SRPTOptions{}), steady.Sizes...)
	})
	b.Run("fsp", func(b *testing.B) {
		steady.Life(b, must(baseline.NewFSP, baseline.FSPOptions{}), steady.Sizes...)
	})
}

func BenchmarkSnapshot(b *testing.B) {
	b.Run("srpt", func(b *testing.B) { steady.Snapshot(b, must(baseline.NewSRPT, baseline.SRPTOptions{}), 100_000) })
	b.Run("fsp", func(b *testing.B) { steady.Snapshot(b, must(baseline.NewFSP, baseline.FSPOptions{}), 100_000) })
	b.Run("las", func(b *testing.B) { steady.Snapshot(b, must(baseline.NewLAS, baseline.LASOptions{}), 100_000) })
}

// BenchmarkLASRunning measures one finish and one decision while so many jobs run a task each. The attained
// service of all of them grows.
func BenchmarkLASRunning(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			p := must(baseline.NewLAS, baseline.LASOptions{})()
			now := sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				ev.At = now
				if err := p.Observe(ev); err != nil {
					b.Fatal(err)
				}
			}
			running := make([]sojourn.Assignment, n)
			for i := range n {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 1 << 20}}}})
				running[i], _ = p.Assign(sojourn.SlotID(i))
			}
			rng := rand.New(rand.NewPCG(1, 2))
			step := func() {
				now += 1000
				i := rng.IntN(n)
				a := running[i]
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
				running[i], _ = p.Assign(a.Slot)
			}
			for range 4 * n {
				step()
			}
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}
