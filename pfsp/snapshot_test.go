package pfsp_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshot/snapshottest"
	"github.com/sojourn-sched/sojourn/pfsp"
)

func TestForgedSnapshots(t *testing.T) {
	for _, opts := range []pfsp.Options{{}, {Late: pfsp.LateFirst, Order: pfsp.FSP}, {Late: pfsp.LateShare, NoGate: true, Alpha: 0.5}} {
		snapshottest.Attack(t, func() sojourn.Policy {
			p, err := pfsp.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, 600)
	}
}
