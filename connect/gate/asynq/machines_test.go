package asynq_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournasynq "github.com/sojourn-sched/sojourn/connect/gate/asynq"
	"github.com/sojourn-sched/sojourn/fair"
)

// runServer runs a server until somebody kills the process. Redis counts runs and ends of tasks.
func runServer(socket, concurrency string) {
	opt := asynq.RedisClientOpt{Network: "unix", Addr: socket}
	queue, err := sojournasynq.New(opt, "default")
	if err != nil {
		panic(err)
	}
	client := opt.MakeRedisClient().(redis.UniversalClient)
	n, err := strconv.Atoi(concurrency)
	if err != nil {
		panic(err)
	}
	server := asynq.NewServer(opt, asynq.Config{Concurrency: n, LogLevel: asynq.FatalLevel, TaskCheckInterval: 5 * time.Millisecond,
		RetryDelayFunc: queue.RetryDelay, Queues: map[string]int{"default": 3, "other": 1}})
	mux := asynq.NewServeMux()
	mux.Use(queue.Middleware)
	mux.HandleFunc("task", func(ctx context.Context, task *asynq.Task) error {
		var p payload
		if err := json.Unmarshal(task.Payload(), &p); err != nil {
			return err
		}
		id, _ := asynq.GetTaskID(ctx)
		client.HIncrBy(ctx, "runs", id, 1)
		select {
		case <-time.After(p.Length):
		case <-ctx.Done():
			return ctx.Err()
		}
		return client.Incr(ctx, "ends").Err()
	})
	panic(server.Run(mux))
}

// spawn starts this program with a variable set, and returns it and what kills it.
func spawn(t *testing.T, variable string) (cmd *exec.Cmd, kill func()) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), variable)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	return cmd, kill
}

func (s *server) spawn(t *testing.T, concurrency int) (kill func()) {
	_, kill = spawn(t, fmt.Sprintf("SOJOURN_SERVER=%s/socket %d", s.dir, concurrency))
	return kill
}

// until waits for something that comes within seconds, on an idle machine.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}

// learning starts a gate that is not told of workers.
func (h *host) learning(o gate.Options) *gate.Gate {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g, err := gate.New(newFair(), h.queue, o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Run(ctx) }()
	h.stop = func() { cancel(); <-done }
	h.t.Cleanup(func() { h.stop() })
	return g
}

// Servers in two processes are learned. One is killed: its workers do not count, its tasks take none of the others, and tasks that are put
// in later run on the other one and on a larger one that comes, though other servers' clocks say that nobody lives.
func TestServersAreLearned(t *testing.T) {
	t.Parallel()
	s, err := startRedis(t)
	if err != nil {
		t.Skip(err)
	}
	h := newHost(t, 0, s.opt())
	g := h.learning(gate.Options{})
	ctx := t.Context()
	s.spawn(t, 2)
	kill := s.spawn(t, 3)
	until(t, "five workers are known", func() bool { return g.Status().Workers == 5 })
	// A client whose clock is years ahead removes all servers from asynq's list.
	until(t, "the list is empty", func() bool { return h.redis.Del(ctx, "asynq:servers").Err() == nil })
	h.enqueue("long", 5, time.Hour)
	until(t, "five tasks run", func() bool {
		n, err := h.redis.LLen(ctx, "asynq:{default}:active").Result()
		return err == nil && n == 5 && g.Status().Released == 5
	})
	kill()
	until(t, "the dead server's tasks are orphans", func() bool { st := g.Status(); return st.Workers == 2 && st.Orphans == 3 })
	s.spawn(t, 4)
	until(t, "the new server is known", func() bool { return g.Status().Workers == 6 })
	h.enqueue("short", 40, time.Millisecond)
	until(t, "new tasks have ended", func() bool {
		n, _ := h.redis.Get(ctx, "ends").Int()
		return n == 40
	})
	until(t, "the 5 long tasks are left, and two servers", func() bool { st := g.Status(); return st.Released == 5 && len(st.Servers) == 2 })
}

// Two gates in processes of their own. The one that decides is stopped and another time killed: the other one takes over, no task
// is lost or runs twice, and the one that was stopped and goes on does no harm.
func TestTwoGates(t *testing.T) {
	t.Parallel()
	s, err := startRedis(t)
	if err != nil {
		t.Skip(err)
	}
	h := newHost(t, 1, s.opt())
	ctx := t.Context()
	holder := func() string {
		name, _ := h.redis.Get(ctx, "asynq:{default}:sojourn:gate").Result()
		return name
	}
	first, _ := spawn(t, "SOJOURN_GATE="+s.dir+"/socket")
	until(t, "the first gate has the lock", func() bool { return holder() != "" })
	name := holder()
	h.enqueue("a", 40, 20*time.Millisecond)
	h.wait(8)
	_, kill := spawn(t, "SOJOURN_GATE="+s.dir+"/socket")
	h.wait(16)
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	until(t, "the second gate has the lock", func() bool { h := holder(); return h != "" && h != name })
	t.Logf("taken over after %v", time.Since(stopped))
	h.enqueue("b", 20, 20*time.Millisecond)
	h.wait(30)
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.wait(60)
	kill()
	h.enqueue("c", 10, 20*time.Millisecond)
	h.wait(70) // by the first one again
	h.once(none)
}

// A strict policy that refuses a pool does not stop the queue, at whichever start. Tasks run at their times and not before. A task
// for another queue is refused.
func TestPoolsAndTimes(t *testing.T) { eachRedis(t, testPoolsAndTimes) }

func testPoolsAndTimes(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 1, opt)
	ctx := t.Context()
	put := func(pool string, options ...asynq.Option) {
		t.Helper()
		text, err := json.Marshal(payload{Job: pool})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.queue.Enqueue(ctx, gate.Job{ID: fmt.Sprint(pool, len(options)), Pool: pool}, sojournasynq.Task{Type: "task", Payload: text, Options: options}); err != nil {
			t.Fatal(err)
		}
	}
	put("nobody")
	put("a")
	put("a", asynq.ProcessIn(time.Hour), asynq.TaskID("hour"))
	put("a", asynq.ProcessAt(time.Now().Add(3*time.Second)), asynq.TaskID("soon"), asynq.Queue("default"))
	other := sojournasynq.Task{Type: "task", Options: []asynq.Option{asynq.Queue("other")}}
	if err := h.queue.Enqueue(ctx, gate.Job{ID: "x"}, other); err == nil || !strings.Contains(err.Error(), `queue "other"`) {
		t.Errorf("error %v of a task for another queue", err)
	}
	start := time.Now()
	for range 2 {
		f, err := fair.New(fair.Options{Strict: true, Pools: map[string]fair.Pool{"a": {}}})
		g, err := gate.New(policy(f, err), h.queue, gate.Options{Compare: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); _ = g.Run(ctx) }()
		until(t, "a task has ended and one is parked", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.ends["a"]) > 0 && len(g.Status().Parked) == 1
		})
		if time.Since(start) > 2*time.Second {
			until(t, "the task of then has ended", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return h.runs["soon"] == 1
			})
		}
		time.Sleep(2 * time.Second)
		cancel()
		<-done
	}
	if took := time.Since(start); h.begun()["soon"] == 1 && took < 3*time.Second || h.begun()["hour"] != 0 {
		t.Errorf("after %v the tasks %v have run", took, h.begun())
	}
}

// A unique task that is archived is unique no longer than asynq says.
func TestUniqueForAWhile(t *testing.T) { eachRedis(t, testUniqueForAWhile) }

func testUniqueForAWhile(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 0, opt)
	ctx := t.Context()
	for i, options := range [][]asynq.Option{{asynq.Unique(time.Minute)}, {asynq.Unique(time.Minute), asynq.ProcessIn(time.Hour)}} {
		task := sojournasynq.Task{Type: "task", Payload: []byte(fmt.Sprint(i)), Options: options}
		if err := h.queue.Enqueue(ctx, gate.Job{ID: "a"}, task); err != nil {
			t.Fatal(err)
		}
		keys, err := h.redis.Keys(ctx, "asynq:{default}:unique:*").Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys %v, error %v, want one", keys, err)
		}
		want := time.Duration(i)*time.Hour + time.Minute
		if left := h.redis.TTL(ctx, keys[0]).Val(); left > want || left < want-30*time.Second {
			t.Errorf("a task is unique for %v, want %v", left, want)
		}
		h.redis.Del(ctx, keys[0])
	}
}

// Redis forgets everything, as one that keeps nothing on disk does when it starts again: the gate takes the lock anew, forgets the tasks, too, and
// new ones run as soon as servers have told again that they live.
func TestRedisForgets(t *testing.T) { eachRedis(t, testRedisForgets) }

func testRedisForgets(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 0, opt)
	g := h.learning(gate.Options{Compare: 200 * time.Millisecond})
	h.enqueue("lost", 20, time.Millisecond)
	until(t, "the gate knows the tasks", func() bool { return g.Status().Held == 20 })
	if err := h.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "the gate has forgotten them", func() bool { st := g.Status(); return st.Held == 0 && st.Decides })
	h.enqueue("new", 8, time.Millisecond)
	h.serve(workers) // from none to some
	h.wait(8)
	if n := len(h.begun()); n != 8 {
		t.Errorf("%d tasks have run, want 8", n)
	}
	h.once(none)
}

// What else a task may say holds through the gate: the end of its time, and for how long its result is kept. A queue that is paused runs nothing.
func TestOtherOptions(t *testing.T) { eachRedis(t, testOtherOptions) }

func testOtherOptions(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 0, opt)
	inspector := asynq.NewInspectorFromRedisClient(h.redis)
	want := time.Now().Add(time.Hour).Truncate(time.Second)
	h.handle = func(ctx context.Context, id string) error {
		if end, ok := ctx.Deadline(); !ok || !end.Equal(want) {
			t.Errorf("task %s is to end at %v, want %v", id, end, want)
		}
		return nil
	}
	h.serve(workers)
	h.gate(newFair(), gate.Options{})
	if err := inspector.PauseQueue("default"); err != nil {
		h.redis.SAdd(t.Context(), "asynq:queues", "default")
		if err := inspector.PauseQueue("default"); err != nil {
			t.Fatal(err)
		}
	}
	h.enqueue("a", 12, time.Millisecond, asynq.Deadline(want), asynq.Retention(time.Hour))
	time.Sleep(300 * time.Millisecond)
	if n := len(h.begun()); n > 0 {
		t.Errorf("%d tasks have run while the queue was paused", n)
	}
	if err := inspector.UnpauseQueue("default"); err != nil {
		t.Fatal(err)
	}
	h.wait(12)
	h.once(none)
	until(t, "the results are kept", func() bool {
		infos, err := inspector.ListCompletedTasks("default")
		return err == nil && len(infos) == 12
	})
}
