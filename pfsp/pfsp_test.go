package pfsp_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// limit returns options with a fair limit.
func limit(k int) pfsp.Options { return pfsp.Options{FairLimit: &k} }

// maker turns options into what the kit and the benchmarks take.
func maker(opts pfsp.Options) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := pfsp.New(opts)
		if err != nil {
			panic(err)
		}
		return p
	}
}

func TestConformance(t *testing.T) {
	histories.Share(t, 3)
	sojourntest.Run(t, maker(pfsp.Options{}), sojourntest.Options{})
}

// Under any options, drawn anew for each history.
func TestConformanceOfAllOptions(t *testing.T) {
	histories.Options(t, 4, func(t *rapid.T) pfsp.Options {
		o := pfsp.Options{
			NoGate:          rapid.Bool().Draw(t, "no gate"),
			Order:           rapid.SampledFrom([]pfsp.Order{pfsp.Protective, pfsp.FSP}).Draw(t, "order"),
			Late:            rapid.SampledFrom([]pfsp.Late{pfsp.LateDefault, pfsp.LateFirst, pfsp.LateShare}).Draw(t, "late"),
			DefaultTaskTime: rapid.SampledFrom([]time.Duration{0, 10, time.Second}).Draw(t, "task time"),
			Alpha:           rapid.SampledFrom([]float64{0, 0.5, 0.99}).Draw(t, "alpha"),
			UpdateInterval:  rapid.SampledFrom([]time.Duration{0, 1, time.Second}).Draw(t, "update interval"),
		}
		if k := rapid.IntRange(-1, 5).Draw(t, "fair limit"); k >= 0 {
			o.FairLimit = &k
		}
		return o
	}, func(t *testing.T, opts pfsp.Options) { sojourntest.Run(t, maker(opts), sojourntest.Options{}) })
}
