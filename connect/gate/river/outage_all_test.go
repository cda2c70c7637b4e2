//go:build all

package river_test

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

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

// The database is gone for some seconds, and for half a minute: rows end again under a gate at most 2 s after they do under River alone, on
// the same server.
func TestBack(t *testing.T) {
	var hosts [2]*host
	for gated := range hosts {
		h := newHost(t, 0, 0, nil)
		var err error
		if h.client, err = river.NewClient(riverpgxv5.New(h.pool), &river.Config{}); err != nil {
			t.Fatal(err)
		}
		spawn(t, "SOJOURN_CLIENT=4 "+h.dsn)
		if hosts[gated] = h; gated == 1 {
			spawn(t, "SOJOURN_GATE="+h.dsn+" application_name=gate1")
		}
		h.put(gated == 1, "a", 4000, 100*time.Millisecond)
	}
	ends := func(i int) (n int) {
		_ = hosts[i].pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'completed'`).Scan(&n)
		return n
	}
	for _, gone := range []time.Duration{3 * time.Second, 3 * time.Second, 30 * time.Second} {
		was := [2]int{ends(0), ends(1)}
		hosts[1].until("rows end", func() bool { return ends(0) > was[0]+20 && ends(1) > was[1]+20 })
		shared.stop()
		time.Sleep(gone)
		if err := shared.start(); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		hosts[1].until("the database answers", func() bool { was = [2]int{ends(0), ends(1)}; return was[0] > 0 && was[1] > 0 })
		var took [2]time.Duration
		hosts[1].until("rows end again", func() bool {
			for i := range took {
				if took[i] == 0 && ends(i) >= was[i]+8 {
					took[i] = time.Since(back)
				}
			}
			return took[0] > 0 && took[1] > 0
		})
		t.Logf("gone for %v: eight rows have ended after %v, under a gate after %v", gone, took[0], took[1])
		if took[1] > took[0]+2*time.Second {
			t.Errorf("gone for %v: rows end again under a gate %v later", gone, took[1]-took[0])
		}
	}
}
