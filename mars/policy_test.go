package mars_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshot/snapshottest"
	"github.com/sojourn-sched/sojourn/internal/steady"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func policy(opts mars.PolicyOptions) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := mars.New(opts)
		if err != nil {
			panic(err)
		}
		return p
	}
}

// A free slot is declined at the instant at which a plan is due, until the Tick that
// the driver owes at that instant.
func TestPolicyConformance(t *testing.T) {
	list := map[string]mars.PolicyOptions{
		"plans again": {},
		"each time":   {Interval: 1},
		"commits":     {Batch: 7 * time.Second, Commit: true},
	}
	for name, opts := range list {
		var others []func() sojourn.Policy
		for n, o := range list {
			if n != name {
				others = append(others, policy(o))
			}
		}
		t.Run(name, func(t *testing.T) {
			sojourntest.Run(t, policy(opts), sojourntest.Options{IdlesOnPurpose: true, Others: others})
		})
	}
}

func TestForgedPolicySnapshots(t *testing.T) {
	snapshottest.Forge(t, policy(mars.PolicyOptions{Interval: 1}), 3000)
	snapshottest.Forge(t, policy(mars.PolicyOptions{Batch: time.Second, Commit: true}), 3000)
}

func BenchmarkSteady(b *testing.B) {
	steady.Run(b, policy(mars.PolicyOptions{}), steady.Sizes...)
}
