package baseline_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/internal/snapshot/snapshottest"
)

func TestForgedSnapshots(t *testing.T) {
	snapshottest.Attack(t, must(baseline.NewSRPT, baseline.SRPTOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewFSP, baseline.FSPOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewFSP, baseline.FSPOptions{Late: baseline.LateShare}), 600)
	snapshottest.Attack(t, must(baseline.NewLAS, baseline.LASOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewHUWF, baseline.ListOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewSTF, baseline.ListOptions{}), 600)
}
