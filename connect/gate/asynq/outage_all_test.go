//go:build all

package asynq_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"
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

// Redis is gone for some seconds, and for half a minute: tasks end again under a gate at most 2 s after they do under asynq alone, on
// a Redis that comes back first.
func TestBack(t *testing.T) {
	var hosts [2]*host
	var engines [2]*server
	for gated := range hosts {
		s, err := startRedis(t)
		if err != nil {
			t.Skip(err)
		}
		h := newHost(t, 0, s.opt())
		hosts[gated], engines[gated] = h, s
		spawn(t, fmt.Sprintf("SOJOURN_SERVER=%s/socket 4", s.dir))
		if gated == 1 {
			spawn(t, "SOJOURN_GATE="+s.dir+"/socket")
			h.enqueue("a", 4000, 100*time.Millisecond)
			continue
		}
		h.plain(4000, 100*time.Millisecond)
	}
	ends := func(i int) int { n, _ := hosts[i].redis.Get(t.Context(), "ends").Int(); return n }
	for _, gone := range []time.Duration{3 * time.Second, 3 * time.Second, 30 * time.Second} {
		was := [2]int{ends(0), ends(1)}
		until(t, "tasks end", func() bool { return ends(0) > was[0]+20 && ends(1) > was[1]+20 })
		for _, s := range engines {
			s.kill()
		}
		time.Sleep(gone)
		var back [2]time.Time
		for i, s := range engines {
			s.start(t)
			back[i] = time.Now()
			until(t, "Redis answers", func() bool { was[i] = ends(i); return was[i] > 0 })
		}
		var took [2]time.Duration
		until(t, "tasks end again", func() bool {
			for i := range took {
				if took[i] == 0 && ends(i) >= was[i]+8 {
					took[i] = time.Since(back[i])
				}
			}
			return took[0] > 0 && took[1] > 0
		})
		t.Logf("gone for %v: eight tasks have ended after %v, under a gate after %v", gone, took[0], took[1])
		if took[1] > took[0]+2*time.Second {
			t.Errorf("gone for %v: tasks end again under a gate %v later", gone, took[1]-took[0])
		}
	}
}

// plain puts tasks in as asynq's own client does.
func (h *host) plain(tasks int, length time.Duration) {
	h.t.Helper()
	client := asynq.NewClientFromRedisClient(h.redis)
	for i := range tasks {
		text, err := json.Marshal(payload{fmt.Sprint(i), length})
		if err == nil {
			_, err = client.Enqueue(asynq.NewTask("task", text))
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
}
