//go:build all

package asynq_test

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Two servers of 4 workers and two gates, each in a process of its own, beside asynq alone with two such servers on a Redis of its own. A server is
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
			var replace [2]func()
			for gated := range hosts {
				s, err := startRedis(t)
				if err != nil {
					t.Skip(err)
				}
				h := newHost(t, 0, s.opt())
				address := s.dir + "/socket"
				server := func() (cmd *exec.Cmd) {
					cmd, _ = spawn(t, fmt.Sprintf("SOJOURN_SERVER=%s 4", address))
					return cmd
				}
				server()
				servers[gated], replace[gated], hosts[gated] = server(), func() { server() }, h
				if gated == 1 {
					first, _ = spawn(t, "SOJOURN_GATE="+address)
					until(t, "the gate decides", func() bool { return h.redis.Exists(t.Context(), "asynq:{default}:sojourn:gate").Val() == 1 })
					spawn(t, "SOJOURN_GATE="+address)
					h.enqueue("a", tasks, length)
					continue
				}
				h.plain(tasks, length)
			}
			ends := func(i int) int { n, _ := hosts[i].redis.Get(t.Context(), "ends").Int(); return n }
			rates := func() (plain, gated float64) {
				was, start := [2]int{ends(0), ends(1)}, time.Now()
				time.Sleep(5 * time.Second)
				took := time.Since(start).Seconds()
				return float64(ends(0)-was[0]) / took, float64(ends(1)-was[1]) / took
			}
			until(t, "both have begun", func() bool { return ends(0) > 20 && ends(1) > 200 })
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
					replace[i]()
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
			runs, err := hosts[1].redis.HGetAll(t.Context(), "runs").Result()
			if err != nil {
				t.Fatal(err)
			}
			twice := 0
			for _, n := range runs {
				if n != "1" {
					twice++
				}
			}
			if most := map[string]int{"server": 4}[fault.of]; twice > most {
				t.Errorf("%d tasks have run more than once, want at most %d", twice, most)
			}
		})
	}
}
