package pfsp_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// limit returns options with a fair limit.
func limit(k int) pfsp.Options { return pfsp.Options{FairLimit: &k} }

// maker turns options into what sojourntest and the benchmarks take.
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
	histories.Share(t, 6)
	none := 0
	sojourntest.Run(t, maker(pfsp.Options{}), sojourntest.Options{
		IgnoresWeights: true, ChargesLostWork: true, ChargesFailures: true, // see TestLostWorkIsNotCharged
		Others: []func() sojourn.Policy{
			maker(pfsp.Options{Order: pfsp.FSP}), maker(pfsp.Options{Late: vqueue.LateShare}),
			maker(pfsp.Options{DefaultTaskTime: 1}), maker(pfsp.Options{Alpha: 0.5}),
		},
		Changed: []func() sojourn.Policy{
			maker(pfsp.Options{FairLimit: &none, NoGate: true, MinProgress: 0.5, UpdateInterval: time.Second}),
		},
	})
}

// With a reserve.
func TestConformanceWithReserve(t *testing.T) {
	for name, counted := range map[string]bool{"plain": false, "counted": true} {
		t.Run(name, func(t *testing.T) {
			histories.Share(t, 6)
			sojourntest.Run(t, maker(pfsp.Options{Reserve: 0.5, Counted: counted}), sojourntest.Options{
				IdlesOnPurpose: true,
				IgnoresWeights: true, ChargesLostWork: true, ChargesFailures: true, // see TestLostWorkIsNotCharged
				Others:  []func() sojourn.Policy{maker(pfsp.Options{}), maker(pfsp.Options{Reserve: 0.5, Counted: !counted})},
				Changed: []func() sojourn.Policy{maker(pfsp.Options{Reserve: 0.1, Counted: counted}), maker(pfsp.Options{Reserve: 1, Counted: counted})},
			})
		})
	}
}

// Under any options, drawn anew for each history.
func TestConformanceOfAllOptions(t *testing.T) {
	histories.Options(t, 8, func(t *rapid.T) pfsp.Options {
		o := pfsp.Options{
			NoGate:          rapid.Bool().Draw(t, "no gate"),
			Order:           rapid.SampledFrom([]pfsp.Order{pfsp.Protective, pfsp.FSP}).Draw(t, "order"),
			Late:            rapid.SampledFrom([]vqueue.Late{vqueue.LateDefault, vqueue.LateFirst, vqueue.LateShare}).Draw(t, "late"),
			DefaultTaskTime: rapid.SampledFrom([]time.Duration{0, 10, time.Second}).Draw(t, "task time"),
			Alpha:           rapid.SampledFrom([]float64{0, 0.5, 0.99}).Draw(t, "alpha"),
			UpdateInterval:  rapid.SampledFrom([]time.Duration{0, 1, time.Second}).Draw(t, "update interval"),
			Reserve:         rapid.SampledFrom([]float64{0, 0, 0, 0.1, 0.5, 1}).Draw(t, "reserve"),
			Counted:         rapid.Bool().Draw(t, "counted"),
		}
		if k := rapid.IntRange(-1, 5).Draw(t, "fair limit"); k >= 0 {
			o.FairLimit = &k
		}
		return o
	}, func(t *testing.T, opts pfsp.Options) {
		sojourntest.Run(t, maker(opts), sojourntest.Options{IdlesOnPurpose: opts.Reserve > 0, IgnoresWeights: true, ChargesLostWork: true, ChargesFailures: true})
	})
}
