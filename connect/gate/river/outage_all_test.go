//go:build all

package river_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// The database is gone for a minute, while rows are held, let go and run: no row is lost, and none runs
// twice. As in TestDatabaseGone, the test rescues the row whose fetch the database took along.
func TestDatabaseGoneForAMinute(t *testing.T) {
	h := newHost(t, 1, 5*time.Millisecond, nil)
	h.gate(newFair(), gate.Options{Compare: 300 * time.Millisecond})
	h.insert("a", 40, 20*time.Millisecond)
	h.wait(8)
	h.outage(61 * time.Second)
	h.wait(40)
	h.ran(40, nil)
}
