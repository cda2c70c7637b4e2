//go:build all

package asynq_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// Redis is gone for longer than a lease of asynq, while tasks are held, let go and run. No task is lost.
// asynq gives tasks whose lease has run out to another server, and so may run those again that it had
// active. No other task runs twice.
func TestRedisGoneForAMinute(t *testing.T) {
	s, err := startRedis(t)
	if err != nil {
		t.Skip(err)
	}
	h := newHost(t, 1, s.opt())
	h.gate(newFair(), gate.Options{Compare: 200 * time.Millisecond})
	h.enqueue("a", 40, 20*time.Millisecond)
	h.wait(8)
	mayRunAgain := h.active()
	s.kill()
	time.Sleep(61 * time.Second)
	s.start(t)
	mayRunAgain = append(mayRunAgain, h.active()...)
	h.serve(1) // a server looks for leases that have run out when it starts, and then once a minute
	h.wait(40) // the second runs of tasks count, too
	for deadline := time.Now().Add(time.Minute); len(h.begun()) < 40 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
	}
	h.once(func(id string) int {
		for _, again := range mayRunAgain {
			if id == again {
				return h.runs[id] - 1
			}
		}
		return 0
	})
	if n := len(h.begun()); n != 40 {
		t.Errorf("%d tasks have run, want 40", n)
	}
}

// active returns the tasks that asynq believes to be running.
func (h *host) active() []string {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		// The client may still hold connections to the server that was killed.
		list, err := h.redis.LRange(context.Background(), "asynq:{default}:active", 0, -1).Result()
		if err == nil || err == redis.Nil {
			return list
		}
		if time.Now().After(deadline) {
			h.t.Fatal(err)
		}
	}
}
