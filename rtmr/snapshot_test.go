package rtmr_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// A forged snapshot is refused, or leaves a policy that continues.
func TestForgedSnapshots(t *testing.T) {
	for _, opts := range []rtmr.Options{{}, {Booking: rtmr.Chain, Feedback: true}} {
		snapshottest.Attack(t, with(opts), 600)
	}
}

// A job takes memory for tasks that are started, not for tasks that are announced.
func TestLargeJob(t *testing.T) {
	snapshottest.Large(t, with(rtmr.Options{}))
	snapshottest.Large(t, with(rtmr.Options{Booking: rtmr.Chain, Feedback: true}))
}
