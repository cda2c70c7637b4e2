package baseline_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
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

func BenchmarkSnapshot(b *testing.B) {
	b.Run("srpt", func(b *testing.B) { steady.Snapshot(b, must(baseline.NewSRPT, baseline.SRPTOptions{}), 100_000) })
	b.Run("fsp", func(b *testing.B) { steady.Snapshot(b, must(baseline.NewFSP, baseline.FSPOptions{}), 100_000) })
	b.Run("las", func(b *testing.B) { steady.Snapshot(b, must(baseline.NewLAS, baseline.LASOptions{}), 100_000) })
}
