package baseline_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/internal/snapshot/snapshottest"
)

func TestForgedSnapshots(t *testing.T) {
	snapshottest.Forge(t, must(baseline.NewSRPT, baseline.SRPTOptions{}), 5000)
	snapshottest.Forge(t, must(baseline.NewFSP, baseline.FSPOptions{}), 6000)
	snapshottest.Forge(t, must(baseline.NewFSP, baseline.FSPOptions{Late: baseline.LateShare}), 6000)
	snapshottest.Forge(t, must(baseline.NewLAS, baseline.LASOptions{}), 5000)
	snapshottest.Forge(t, must(baseline.NewHUWF, baseline.ListOptions{}), 3000)
	snapshottest.Forge(t, must(baseline.NewSTF, baseline.ListOptions{}), 3000)
}
