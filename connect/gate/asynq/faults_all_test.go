//go:build all

package asynq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournasynq "github.com/sojourn-sched/sojourn/connect/gate/asynq"
)

// Redis fails in the ways in which it fails, while tasks are put in, let go and run under two gates: no task is lost that Redis has not lost, and no attempt runs twice unless
// Redis has forgotten that it ran. asynq itself makes another attempt of a task whose end it could not file, a minute or two later. Tasks that are put in afterwards run, and the gate then knows
// of no task any more.
func TestRedisFails(t *testing.T) {
	for _, fault := range []struct {
		name  string
		loses bool // what Redis knew
		hit   func(*testing.T, *host, *server) (heal func())
	}{
		{"scripts are forgotten", false, func(t *testing.T, h *host, s *server) func() {
			for range 100 {
				h.do("SCRIPT", "FLUSH")
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}},
		{"connections are closed", false, func(t *testing.T, h *host, s *server) func() {
			for range 100 {
				h.do("CLIENT", "KILL", "TYPE", "normal")
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		}},
		{"read only", false, func(t *testing.T, h *host, s *server) func() {
			h.do("REPLICAOF", "127.0.0.1", "1")
			time.Sleep(4 * time.Second)
			return func() { h.do("REPLICAOF", "NO", "ONE") }
		}},
		{"stale replica", false, func(t *testing.T, h *host, s *server) func() {
			h.do("CONFIG", "SET", "replica-serve-stale-data", "no")
			h.do("REPLICAOF", "127.0.0.1", "1")
			time.Sleep(4 * time.Second)
			return func() { h.do("REPLICAOF", "NO", "ONE") }
		}},
		{"out of memory", false, func(t *testing.T, h *host, s *server) func() {
			h.do("CONFIG", "SET", "maxmemory", "1")
			time.Sleep(4 * time.Second)
			return func() { h.do("CONFIG", "SET", "maxmemory", "0") }
		}},
		{"too few replicas", false, func(t *testing.T, h *host, s *server) func() {
			h.do("CONFIG", "SET", "min-replicas-to-write", "1")
			time.Sleep(4 * time.Second)
			return func() { h.do("CONFIG", "SET", "min-replicas-to-write", "0") }
		}},
		{"pause", false, func(t *testing.T, h *host, s *server) func() {
			h.do("CLIENT", "PAUSE", "4000", "ALL")
			return nil
		}},
		{"busy", false, func(t *testing.T, h *host, s *server) func() {
			h.do("CONFIG", "SET", "busy-reply-threshold", "100")
			_ = h.redis.Eval(t.Context(), `local t = redis.call("TIME")[1] while redis.call("TIME")[1] - t < 4 do end`, nil).Err()
			return nil
		}},
		{"restart", false, func(t *testing.T, h *host, s *server) func() {
			s.kill()
			time.Sleep(time.Second)
			return func() { s.start(t) }
		}},
		{"flushed", true, func(t *testing.T, h *host, s *server) func() { h.do("FLUSHALL"); return nil }},
		{"restart of nothing", true, func(t *testing.T, h *host, s *server) func() {
			s.kill()
			_ = os.RemoveAll(s.dir + "/appendonlydir")
			time.Sleep(time.Second)
			return func() { s.start(t) }
		}},
		{"restart of before", true, func(t *testing.T, h *host, s *server) func() {
			old := t.TempDir() + "/old"
			if err := os.CopyFS(old, os.DirFS(s.dir+"/appendonlydir")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(400 * time.Millisecond)
			s.kill()
			_ = os.RemoveAll(s.dir + "/appendonlydir")
			if err := os.CopyFS(s.dir+"/appendonlydir", os.DirFS(old)); err != nil {
				t.Fatal(err)
			}
			return func() { s.start(t) }
		}},
		{"locks and notes are deleted", false, func(t *testing.T, h *host, s *server) func() {
			for range 100 {
				h.do("DEL", "asynq:{default}:sojourn:gate", "asynq:{default}:sojourn")
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}},
		{"another type", false, func(t *testing.T, h *host, s *server) func() {
			for h.redis.Eval(t.Context(), `redis.call("DEL", KEYS[1]) return redis.call("SET", KEYS[1], "x")`, []string{"asynq:{default}:sojourn"}).Err() != nil {
			}
			time.Sleep(2 * time.Second)
			return func() { h.do("DEL", "asynq:{default}:sojourn") }
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			s, err := startRedis(t)
			if err != nil {
				t.Skip(err)
			}
			h := newHost(t, 0, s.opt())
			var mu sync.Mutex
			runs, ends := map[string]int{}, map[string]int{}
			h.process(4, func(ctx context.Context, id string, p payload) error {
				retried, _ := asynq.GetRetryCount(ctx)
				mu.Lock()
				runs[fmt.Sprint(id, "/", retried)]++
				mu.Unlock()
				time.Sleep(p.Length)
				mu.Lock()
				defer mu.Unlock()
				ends[id]++
				return nil
			})
			var gates []*gate.Gate
			for range 2 {
				queue, err := sojournasynq.New(h.opt, "default")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { queue.Close() })
				g, err := gate.New(newFair(), queue, gate.Options{Compare: 300 * time.Millisecond, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
				if err != nil {
					t.Fatal(err)
				}
				gates = append(gates, g)
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan struct{})
				go func() { defer close(done); _ = g.Run(ctx) }()
				t.Cleanup(func() { cancel(); <-done })
			}
			put := func(job string, n int) (ids []string) {
				for i := range n {
					id := fmt.Sprint(job, "-", i)
					text, _ := json.Marshal(payload{job, 50 * time.Millisecond})
					for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
						err := h.queue.Enqueue(context.Background(), gate.Job{ID: job}, sojournasynq.Task{Type: "task", Payload: text, Options: []asynq.Option{asynq.TaskID(id)}})
						if err == nil || errors.Is(err, asynq.ErrTaskIDConflict) {
							break
						}
					}
					ids = append(ids, id)
				}
				return ids
			}
			ended := func(ids []string) func() bool {
				return func() bool {
					mu.Lock()
					defer mu.Unlock()
					for _, id := range ids {
						if ends[id] == 0 {
							return false
						}
					}
					return true
				}
			}
			a := put("a", 60)
			until(t, "tasks end", func() bool { mu.Lock(); defer mu.Unlock(); return len(ends) > 8 })
			var b []string
			var producer sync.WaitGroup
			producer.Go(func() { b = put("b", 30) })
			heal := fault.hit(t, h, s)
			latest := time.Now().Add(30 * time.Second).Unix()
			mu.Lock()
			before := len(ends)
			begun := map[string]int{}
			for key, n := range runs {
				id, _, _ := strings.Cut(key, "/")
				begun[id] += n
			}
			mu.Unlock()
			if heal != nil {
				heal()
			}
			if strings.HasPrefix(fault.name, "restart") {
				h.rescue(begun, latest)
			}
			healed := time.Now()
			producer.Wait()
			until(t, "tasks end again", func() bool { mu.Lock(); defer mu.Unlock(); return len(ends) > before || len(ends) == 90 })
			first := time.Since(healed)
			c := put("c", 20)
			if !fault.loses {
				patient(ended(append(a, b...)))
				until(t, "old tasks have ended", ended(append(a, b...)))
			}
			until(t, "new tasks have ended", ended(c))
			known := func() bool {
				for _, g := range gates {
					if s := g.Status(); s.Decides && s.Held+s.Released == 0 {
						return true
					}
				}
				return false
			}
			patient(known)
			until(t, "the gate knows that", known)
			t.Logf("tasks end again after %v; all after %v", first, time.Since(healed))
			mu.Lock()
			defer mu.Unlock()
			for key, n := range runs {
				if n > 1 && !fault.loses {
					t.Errorf("attempt %s has run %d times", key, n)
				}
			}
			again := 0
			for _, n := range ends {
				again += n - 1
			}
			if again > 4 && !fault.loses {
				t.Errorf("tasks have ended %d times too often, want at most 4: each worker has one whose end asynq may not have filed", again)
			}
		})
	}
}

// patient waits for as long as asynq takes to recover a task: its lease, and the time between two looks.
func patient(done func() bool) {
	for end := time.Now().Add(2 * time.Minute); !done() && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
	}
}

func (h *host) do(args ...any) {
	if err := h.redis.Do(context.Background(), args...).Err(); err != nil && !strings.Contains(fmt.Sprint(args...), "KILL") {
		h.t.Errorf("%v: %v", args, err)
	}
}
