//go:build all

package asynq_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// 100,000 tasks are put in at once, and are held. Gate and Redis use less than 5 % of a core each while nothing happens, though a listing has all
// payloads: the more tasks there are, the fewer listings. The test prints how much faster Enqueue is than asynq's client, one by one.
func TestManyHeld(t *testing.T) {
	s, err := startRedis(t)
	if err != nil {
		t.Skip(err)
	}
	h := newHost(t, 0, s.opt())
	start := time.Now()
	h.plain(2000, 0)
	single := time.Since(start) / 2000
	const n = 100_000
	start = time.Now()
	h.enqueue("a", n, 0)
	batch := time.Since(start) / n
	t.Logf("asynq's client takes %v for a task, Enqueue %v: it is %.1f times as fast", single, batch, float64(single)/float64(batch))
	g := h.learning(gate.Options{})
	until(t, "the gate knows all tasks", func() bool { return g.Status().Held == n })
	used, redis, start := processor(), s.processor(), time.Now()
	time.Sleep(2 * time.Minute) // with the first listing for a comparison
	took := time.Since(start).Seconds()
	gated, engine := (processor()-used).Seconds()/took, (s.processor()-redis).Seconds()/took
	t.Logf("with %d held tasks the gate uses %.4f of a core, and Redis %.4f", n, gated, engine)
	if gated > 0.05 || engine > 0.05 {
		t.Errorf("the gate uses %.3f of a core, and Redis %.3f, want 0.05", gated, engine)
	}
}

// processor returns the time that this process has computed.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processor returns the time that the server has computed.
func (s *server) processor() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		panic(err)
	}
	var user, system int64
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		panic(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
