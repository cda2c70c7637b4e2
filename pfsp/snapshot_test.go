package pfsp_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/pfsp"
)

func with(t *testing.T, opts pfsp.Options) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := pfsp.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func TestForgedSnapshots(t *testing.T) {
	for _, opts := range []pfsp.Options{{}, {Late: vqueue.LateFirst, Order: pfsp.FSP}, {Late: vqueue.LateShare, NoGate: true, Alpha: 0.5}} {
		snapshottest.Attack(t, with(t, opts), 600)
	}
}

// A job takes memory for what is started, not for what is announced.
func TestLargeJob(t *testing.T) {
	snapshottest.Large(t, with(t, pfsp.Options{}))
	snapshottest.Large(t, with(t, pfsp.Options{Late: vqueue.LateShare, Order: pfsp.FSP}))
}
