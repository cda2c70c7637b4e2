//go:build all

package nats_test

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestMillionHeld(t *testing.T) { testManyHeld(t, 1_000_000) }

// Two servers of 4 workers and two gates, each in a process of its own, beside NATS alone with two such servers and an engine of its own. A server is
// killed, or stopped for 20 s, and replaced at once; or the gate that decides is killed, stopped for 20 s, or replaced. The test prints the tasks that end a second,
// 5 s by 5 s, alone and under a gate. From 15 s after a fault of a server and 5 s after one of a gate, at least 0.9 as many end under a gate: in each
// of them on a quiet machine, in half of them on any. No task runs twice but those of the server that was stopped or killed.
func TestFaults(t *testing.T) {
	t.Setenv("SOJOURN_COMPARE", "default")
	for _, fault := range []struct {
		of     string
		signal syscall.Signal
		from   int // interval
	}{
		{"server", syscall.SIGKILL, 3},
		{"server", syscall.SIGSTOP, 3},
		{"gate", syscall.SIGKILL, 1},
		{"gate", syscall.SIGSTOP, 1},
		{"gate", syscall.SIGTERM, 0},
	} {
		t.Run(fmt.Sprint(fault.of, " ", fault.signal), func(t *testing.T) {
			const tasks, length = 4400, 100 * time.Millisecond
			var hosts [2]*host
			var servers [2]*exec.Cmd
			var first *exec.Cmd // the gate that decides
			for gated := range hosts {
				h := newHost(t, newEngine(t, 1), options)
				server := "SOJOURN_WORKERS=" + h.e.url() + " 4"
				spawn(t, server)
				servers[gated], _ = spawn(t, server)
				hosts[gated] = h
				if gated == 0 {
					h.plain("a", tasks, length)
					continue
				}
				h.enqueue("a", tasks, length)
				first, _ = spawn(t, "SOJOURN_GATE="+h.e.url())
				h.wait(1)
				spawn(t, "SOJOURN_GATE="+h.e.url())
			}
			rates := func() (plain, gated float64) {
				was, start := [2]int{hosts[0].ended(), hosts[1].ended()}, time.Now()
				time.Sleep(5 * time.Second)
				took := time.Since(start).Seconds()
				return float64(hosts[0].ended()-was[0]) / took, float64(hosts[1].ended()-was[1]) / took
			}
			hosts[1].wait(200)
			plain, gated := rates()
			t.Logf("before: %.1f, %.1f, %.3f", plain, gated, gated/plain)
			hit := []*exec.Cmd{first}
			if fault.of == "server" {
				hit = servers[:]
			}
			for i, cmd := range hit {
				if err := cmd.Process.Signal(fault.signal); err != nil {
					t.Fatal(err)
				}
				if fault.of == "server" {
					spawn(t, "SOJOURN_WORKERS="+hosts[i].e.url()+" 4")
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
			hosts[1].mu.Lock()
			defer hosts[1].mu.Unlock()
			twice := 0
			for _, n := range hosts[1].runs {
				if n > 1 {
					twice++
				}
			}
			if most := map[string]int{"server": 4}[fault.of]; twice > most {
				t.Errorf("%d tasks have run more than once, want at most %d", twice, most)
			}
		})
	}
}
