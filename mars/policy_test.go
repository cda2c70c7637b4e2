package mars_test

import (
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshot/snapshottest"
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
			// Plans take time: a fifth of rapid.checks, and a tenth of others than the default.
			n := checks(t) / 5
			if name != "plans again" {
				n /= 2
			}
			withChecks(t, max(n, 1), func() {
				sojourntest.Run(t, policy(opts), sojourntest.Options{IdlesOnPurpose: true, Others: others})
			})
		})
	}
}

// checks returns the flag -rapid.checks, and withChecks runs a test with another one.
func checks(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func withChecks(t *testing.T, n int, test func()) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	was := f.Value.String()
	f.Value.Set(strconv.Itoa(n))
	defer f.Value.Set(was)
	test()
}

func TestForgedPolicySnapshots(t *testing.T) {
	snapshottest.Forge(t, policy(mars.PolicyOptions{Interval: 1}), 3000)
	snapshottest.Forge(t, policy(mars.PolicyOptions{Batch: time.Second, Commit: true}), 3000)
}
