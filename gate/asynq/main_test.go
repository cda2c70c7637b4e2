package asynq_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/gate"
	sojournasynq "github.com/sojourn-sched/sojourn/gate/asynq"
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
	t.Run("miniredis", func(t *testing.T) { test(t, asynq.RedisClientOpt{Addr: miniredis.RunT(t).Addr()}) })
	t.Run("redis-server", func(t *testing.T) {
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

// The program runs the tests, or a gate that a test kills.
func TestMain(m *testing.M) {
	if socket := os.Getenv("SOJOURN_GATE"); socket != "" {
		runGate(socket)
		return
	}
	os.Exit(m.Run())
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
	g, err := gate.New(f, queue, gate.Options{Workers: workers, Compare: 200 * time.Millisecond, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Run(context.Background()))
}

// A gate in a process of its own is killed twice while tasks run: no task is lost, and none runs twice.
func TestKilledGate(t *testing.T) {
	s, err := startRedis(t)
	if err != nil {
		t.Skip(err)
	}
	h := newHost(t, 1, s.opt())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h.enqueue("a", 20, 20*time.Millisecond)
	for i := range 3 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "SOJOURN_GATE="+s.dir+"/socket")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
		t.Cleanup(kill)
		if i < 2 {
			h.wait(6 * (i + 1))
			kill()
			h.enqueue(fmt.Sprint("b", i), 3, 20*time.Millisecond)
		}
	}
	h.wait(26)
	h.once(none)
}
