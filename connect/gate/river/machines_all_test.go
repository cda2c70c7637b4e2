//go:build all

package river_test

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// Two clients of 4 workers and two gates, each in a process of its own, beside River alone with two such clients on a database of its own. A client is
// killed, or stopped for 20 s, and replaced at once; or the gate that decides is killed, stopped for 20 s, or replaced. The test prints the rows that end a second,
// 5 s by 5 s, alone and under a gate. From 15 s after a fault of a client and 5 s after one of a gate, at least 0.9 as many end under a gate: in each
// of them on a quiet machine, in half of them on any. No row is begun twice.
func TestFaults(t *testing.T) {
	t.Setenv("SOJOURN_COMPARE", "default")
	for _, fault := range []struct {
		of     string
		signal syscall.Signal
		from   int // interval
	}{
		{"client", syscall.SIGKILL, 3},
		{"client", syscall.SIGSTOP, 3},
		{"gate", syscall.SIGKILL, 1},
		{"gate", syscall.SIGSTOP, 1},
		{"gate", syscall.SIGTERM, 0},
	} {
		t.Run(fmt.Sprint(fault.of, " ", fault.signal), func(t *testing.T) {
			var hosts [2]*host
			var clients [2]*exec.Cmd
			var first *exec.Cmd // the gate that decides
			for gated := range hosts {
				h := newHost(t, 0, 0, nil)
				var err error
				if h.client, err = river.NewClient(riverpgxv5.New(h.pool), &river.Config{}); err != nil {
					t.Fatal(err)
				}
				spawn(t, "SOJOURN_CLIENT=4 "+h.dsn)
				clients[gated], _ = spawn(t, "SOJOURN_CLIENT=4 "+h.dsn)
				hosts[gated] = h
				if gated == 1 {
					first, _ = spawn(t, "SOJOURN_GATE="+h.dsn+" application_name=gate1")
					h.until("the gate decides", func() bool {
						var n int
						err := h.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
							WHERE locktype = 'advisory' AND granted AND datname = current_database() AND application_name = 'gate1'`).Scan(&n)
						return err == nil && n == 1
					})
					spawn(t, "SOJOURN_GATE="+h.dsn+" application_name=gate2")
				}
				h.put(gated == 1, "a", 4400, 100*time.Millisecond)
			}
			count := func(i int, what string) (n int) {
				if err := hosts[i].pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE `+what).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			ends := func(i int) int { return count(i, `state = 'completed'`) }
			rates := func() (plain, gated float64) {
				was, start := [2]int{ends(0), ends(1)}, time.Now()
				time.Sleep(5 * time.Second)
				took := time.Since(start).Seconds()
				return float64(ends(0)-was[0]) / took, float64(ends(1)-was[1]) / took
			}
			hosts[1].until("both have begun", func() bool { return ends(0) > 20 && ends(1) > 200 })
			plain, gated := rates()
			t.Logf("before: %.1f, %.1f, %.3f", plain, gated, gated/plain)
			hit := []*exec.Cmd{first}
			if fault.of == "client" {
				hit = clients[:]
			}
			for i, cmd := range hit {
				if err := cmd.Process.Signal(fault.signal); err != nil {
					t.Fatal(err)
				}
				if fault.of == "client" {
					spawn(t, "SOJOURN_CLIENT=4 "+hosts[i].dsn)
				}
			}
			var parts []float64
			for i := range 8 {
				plain, gated := rates()
				t.Logf("%d to %d s: %.1f, %.1f, %.3f", 5*i, 5*i+5, plain, gated, gated/plain)
				if i >= fault.from {
					parts = append(parts, gated/plain)
				}
				if i == 3 {
					for _, cmd := range hit {
						_ = cmd.Process.Signal(syscall.SIGCONT)
					}
				}
			}
			slices.Sort(parts)
			if median := parts[len(parts)/2]; median < 0.9 || parts[0] < 0.6 {
				t.Errorf("under a gate such parts as many end: %.3f; want 0.9, and 0.6 in each 5 s on a busy machine", parts)
			}
			if n := count(1, `attempt > 1`); n > 0 {
				t.Errorf("%d rows were begun twice", n)
			}
		})
	}
}
