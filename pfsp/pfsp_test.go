package pfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
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
	five := 5
	for _, tc := range []struct {
		name string
		opts pfsp.Options
	}{
		{"default", pfsp.Options{}},
		{"no probes, late first", pfsp.Options{FairLimit: new(int), Late: pfsp.LateFirst}},
		{"ungated, late share", pfsp.Options{FairLimit: &five, NoGate: true, Late: pfsp.LateShare, Alpha: 0.5}},
		{"fsp", pfsp.Options{Order: pfsp.FSP, UpdateInterval: time.Second, DefaultTaskTime: 10}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := (count(t, 1) + 2) / 3
			if tc.name != "default" {
				n = (n + 3) / 4 // a twelfth of rapid.checks
			}
			withChecks(t, n, func() { sojourntest.Run(t, maker(tc.opts), sojourntest.Options{}) })
		})
	}
}
