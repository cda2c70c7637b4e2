package asynq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournasynq "github.com/sojourn-sched/sojourn/connect/gate/asynq"
	"github.com/sojourn-sched/sojourn/fair"
)

// A server is a Redis of its own, on a socket in a folder. It keeps what it was told when it is killed.
type server struct {
	dir string
	cmd *exec.Cmd
}

var errNoRedis = errors.New("redis-server is not installed (apt-get install redis-server)")

// startRedis starts a server, or returns errNoRedis. Where CI=true there must be one.
func startRedis(t testing.TB) (*server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(errNoRedis)
		}
		return nil, errNoRedis
	}
	dir, err := os.MkdirTemp("", "redis") // short, since the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	s := &server{dir: dir}
	t.Cleanup(func() { s.kill(); os.RemoveAll(dir) })
	s.start(t)
	return s, nil
}

func (s *server) start(t testing.TB) {
	s.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", s.dir+"/socket", "--dir", s.dir, "--appendonly", "yes", "--appendfsync", "no", "--save", "")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.dir + "/socket"})
	defer client.Close()
	for deadline := time.Now().Add(time.Minute); client.Ping(context.Background()).Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
	}
}

func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *server) opt() asynq.RedisClientOpt {
	return asynq.RedisClientOpt{Network: "unix", Addr: s.dir + "/socket"}
}

// eachRedis runs a test on a Redis in this process and on a real one.
func eachRedis(t *testing.T, test func(*testing.T, asynq.RedisClientOpt)) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, asynq.RedisClientOpt{Addr: miniredis.RunT(t).Addr(), ReadTimeout: time.Minute})
	})
	t.Run("redis-server", func(t *testing.T) {
		t.Parallel()
		s, err := startRedis(t)
		if err != nil {
			t.Skip(err)
		}
		test(t, s.opt())
	})
}

// redisOf returns a real Redis, and without one a Redis in this process.
func redisOf(b *testing.B) asynq.RedisClientOpt {
	s, err := startRedis(b)
	if err != nil {
		b.Log(err)
		return asynq.RedisClientOpt{Addr: miniredis.RunT(b).Addr()}
	}
	return s.opt()
}

// The program runs the tests, or a gate or a server that a test kills.
func TestMain(m *testing.M) {
	if socket := os.Getenv("SOJOURN_GATE"); socket != "" {
		runGate(socket)
		return
	}
	if socket, concurrency, ok := strings.Cut(os.Getenv("SOJOURN_SERVER"), " "); ok {
		runServer(socket, concurrency)
	}
	os.Exit(m.Run())
}

// compare returns what a test wants, or what most want.
func compare(most time.Duration) time.Duration {
	if os.Getenv("SOJOURN_COMPARE") == "default" {
		return 0
	}
	return most
}

// runGate runs a gate until somebody kills the process.
func runGate(socket string) {
	queue, err := sojournasynq.New(asynq.RedisClientOpt{Network: "unix", Addr: socket}, "default")
	if err != nil {
		panic(err)
	}
	f, err := fair.New(fair.Options{})
	if err != nil {
		panic(err)
	}
	g, err := gate.New(f, queue, gate.Options{Compare: compare(200 * time.Millisecond), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println(g.Run(ctx))
}

// A gate in a process of its own is killed twice while tasks run: no task is lost, and none runs twice.
func TestKilledGate(t *testing.T) {
	t.Parallel()
	s, err := startRedis(t)
	if err != nil {
		t.Skip(err)
	}
	h := newHost(t, 1, s.opt())
	h.enqueue("a", 20, 20*time.Millisecond)
	for i := range 3 {
		_, kill := spawn(t, "SOJOURN_GATE="+s.dir+"/socket")
		if i < 2 {
			h.wait(6 * (i + 1))
			kill()
			h.enqueue(fmt.Sprint("b", i), 3, 20*time.Millisecond)
		}
	}
	h.wait(26)
	h.once(none)
}

// Redis is killed and gone for a while, three times, while tasks are put in, let go and run: no task is lost, and none
// runs twice. If Redis takes a fetch along whose answer asynq has not got, the task is active though no worker has it.
// asynq itself finds such tasks two minutes later; the test ends their leases, so that a new server finds them at once.
func TestRedisGone(t *testing.T) {
	t.Parallel()
	s, err := startRedis(t)
	if err != nil {
		t.Skip(err)
	}
	h := newHost(t, 1, s.opt())
	f, err := fair.New(fair.Options{})
	h.gate(policy(f, err), gate.Options{Compare: 200 * time.Millisecond})
	h.enqueue("a", 40, 20*time.Millisecond)
	for i := range 3 {
		h.wait(8 * (i + 1))
		var producer sync.WaitGroup
		producer.Go(func() { h.put(fmt.Sprint("b", i), 4) })
		s.kill()
		latest := time.Now().Add(30 * time.Second).Unix() // end of a lease that was given before
		time.Sleep(time.Second + 10*time.Millisecond)
		begun := h.begun()
		s.start(t)
		h.rescue(begun, latest)
		producer.Wait()
	}
	h.wait(52)
	h.once(none)
}

// put puts tasks in, and tries again what Redis may not have taken.
func (h *host) put(job string, tasks int) {
	for i := range tasks {
		id := fmt.Sprint(job, "-", i)
		text, err := json.Marshal(payload{job, 20 * time.Millisecond})
		if err != nil {
			panic(err)
		}
		task := sojournasynq.Task{Type: "task", Payload: text, Options: []asynq.Option{asynq.TaskID(id), asynq.Retention(time.Hour)}}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			err := h.queue.Enqueue(context.Background(), gate.Job{ID: job}, task)
			if err == nil || errors.Is(err, asynq.ErrTaskIDConflict) {
				break
			}
			if time.Now().After(deadline) {
				h.t.Errorf("task %s after a minute: %v", id, err)
				return
			}
		}
	}
}

// begun returns the tasks that handlers have begun.
func (h *host) begun() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.runs)
}

// rescue ends the leases up to a second of tasks that no handler has begun, and starts a server if there are any.
func (h *host) rescue(begun map[string]int, latest int64) {
	const leases = "asynq:{default}:lease"
	ids, err := h.redis.ZRangeByScore(h.t.Context(), leases, &redis.ZRangeBy{Min: "-inf", Max: fmt.Sprint(latest)}).Result()
	if err != nil {
		h.t.Fatal(err)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return begun[id] > 0 })
	for _, id := range ids {
		h.t.Logf("Redis took the fetch of task %s along", id)
		if err := h.redis.ZAddXX(h.t.Context(), leases, redis.Z{Member: id}).Err(); err != nil {
			h.t.Fatal(err)
		}
	}
	if len(ids) > 0 {
		h.serve(1)
	}
}

// asynq could not file the end of a task: the task takes no worker, and is not run again when its lease ends.
// A new task with its ID is a task like any other.
func TestUnfiledEnd(t *testing.T) { eachRedis(t, testUnfiledEnd) }

func testUnfiledEnd(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 0, opt)
	ctx := t.Context()
	const key = "asynq:{default}:"
	enqueue := func() { h.enqueue("a", 1, time.Millisecond, asynq.TaskID("x")) }
	list := func(want int, state gate.State) {
		t.Helper()
		tasks, err := h.queue.Tasks(ctx)
		if err != nil || len(tasks) != want {
			t.Errorf("tasks %v, error %v, want %d", tasks, err, want)
		}
		if got, err := h.queue.State(ctx, "x"); err != nil || got != state {
			t.Errorf("state %v, error %v, want %v", got, err, state)
		}
	}
	do := func(args ...any) {
		t.Helper()
		if err := h.redis.Do(ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	enqueue()
	if err := h.queue.Release(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	do("RPOPLPUSH", key+"pending", key+"active")
	do("HSET", key+"t:x", "state", "active")
	do("ZADD", key+"lease", 0, "x")
	list(1, gate.Released)
	do("RPUSH", key+"sojourn", fmt.Sprintf(`{"Kind":%d,"Task":"x"}`, gate.Finished))
	for ended := false; !ended; {
		notes, err := h.queue.Notes(ctx)
		if err != nil || len(notes) == 0 {
			t.Fatalf("notes %v, error %v", notes, err)
		}
		ended = slices.ContainsFunc(notes, func(n gate.Note) bool { return n.Kind == gate.Finished })
	}
	list(0, gate.Gone)
	list(0, gate.Gone)
	h.serve(1) // which finds at once that the lease has ended
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		list(0, gate.Gone)
		if n, err := h.redis.Exists(ctx, key+"t:x").Result(); err == nil && n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the task is there after a minute")
		}
	}
	if len(h.begun()) != 0 {
		t.Error("the task ran again")
	}
	list(0, gate.Gone)
	enqueue()
	list(1, gate.Held)
	if err := h.queue.Release(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	h.wait(1)
}
