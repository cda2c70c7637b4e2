package fair_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// newFuzzed returns pools inside pools, one of which has a policy of its own. The pools
// of sojourntest are "", "a" and "b".
func newFuzzed() sojourn.Policy {
	return newWith(fair.Options{
		Pools: map[string]fair.Pool{
			"":  {Weight: 2, Min: fair.Slots{0: 1, 7: 1}},
			"a": {Weight: 0.5, Min: fair.Slots{0: 2}, Policy: newFSP},
		},
		Preemption: fair.Preemption{MinTimeout: 2 * time.Second, FairTimeout: 3 * time.Second, Interval: time.Second},
	})
}

func FuzzEvents(f *testing.F) { sojourntest.FuzzEvents(f, newFuzzed, sojourntest.Options{}) }

func FuzzUnmarshal(f *testing.F) { sojourntest.FuzzUnmarshal(f, newFuzzed, sojourntest.Options{}) }
