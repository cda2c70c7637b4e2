package fifo_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/snapshot/snapshottest"
)

func TestForgedSnapshots(t *testing.T) {
	snapshottest.Forge(t, newPolicy, 6000)
	snapshottest.Forge(t, newLocal, 6000)
}
