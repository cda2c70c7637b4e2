package fifo_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/snapshottest"
)

func TestForgedSnapshots(t *testing.T) {
	snapshottest.Attack(t, newPolicy, 1500)
	snapshottest.Attack(t, newByIndex, 1500)
}

// A job takes memory for what is started, not for what is announced.
func TestLargeJob(t *testing.T) {
	snapshottest.Large(t, newPolicy)
	snapshottest.Large(t, newByIndex)
}
