package river_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournriver "github.com/sojourn-sched/sojourn/connect/gate/river"
	"github.com/sojourn-sched/sojourn/fair"
)

// runClient runs a client of River until somebody kills the process.
func runClient(to, concurrency string) {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, to)
	if err != nil {
		panic(err)
	}
	queue, err := sojournriver.New(pool, sojournriver.Options{Queue: "default"})
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(concurrency)
	if err != nil {
		panic(err)
	}
	set := river.NewWorkers()
	river.AddWorker(set, river.WorkFunc(func(ctx context.Context, row *river.Job[Args]) error {
		select {
		case <-time.After(row.Args.Length):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	// The ID is that of the client that this one replaces, as is usual for the pods of a set.
	config := &river.Config{Queues: map[string]river.QueueConfig{"default": {MaxWorkers: n}}, Workers: set, FetchCooldown: 5 * time.Millisecond,
		Logger: silent, ID: "client", JobTimeout: -1}
	queue.Configure(config)
	client, err := river.NewClient(riverpgxv5.New(pool), config)
	if err == nil {
		err = client.Start(ctx)
	}
	if err != nil {
		panic(err)
	}
	select {}
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

// learning starts a gate that is not told of workers.
func (h *host) learning(o gate.Options) *gate.Gate {
	o.Log = silent
	g, err := gate.New(newFair(), h.queue, o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Run(ctx) }()
	h.t.Cleanup(func() { cancel(); <-done })
	return g
}

// Clients in two processes with one name are learned. One is killed: its workers do not count, its rows take none of the others, and the other
// one counts though its workers are busy all the time. Rows that are put in later run on a client that comes, which does not count when it has stopped.
func TestClientsAreLearned(t *testing.T) {
	t.Parallel()
	h := newHost(t, 0, 0, nil)
	g := h.learning(gate.Options{})
	client := func(n int) (kill func()) {
		_, kill = spawn(t, fmt.Sprintf("SOJOURN_CLIENT=%d %s", n, h.dsn))
		return kill
	}
	client(2)
	kill := client(3)
	h.until("five workers are known", func() bool { return g.Status().Workers == 5 })
	inserter, err := river.NewClient(riverpgxv5.New(h.pool), &river.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h.client = inserter
	h.insert("long", 5, time.Hour)
	h.until("five rows run", func() bool {
		var n int
		err := h.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'running'`).Scan(&n)
		return err == nil && n == 5 && g.Status().Released == 5
	})
	kill()
	h.until("the dead client's rows are orphans", func() bool { st := g.Status(); return st.Workers == 2 && st.Orphans == 3 })
	comes := h.serve(4, 5*time.Millisecond)
	h.until("the new client is known", func() bool { return g.Status().Workers == 6 })
	h.insert("short", 40, time.Millisecond)
	h.wait(40)
	h.until("the long rows are left, and two clients", func() bool { st := g.Status(); return st.Released == 5 && st.Orphans == 3 && len(st.Servers) == 2 })
	if err := comes.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.until("the client that has stopped is gone", func() bool { return g.Status().Workers == 2 })
}

// A gate in a process of its own is stopped while it decides: another one takes over. The first one goes on and does no harm, and takes over
// when the other one is killed.
func TestStoppedGate(t *testing.T) {
	t.Parallel()
	h := newHost(t, 1, 5*time.Millisecond, nil)
	holder := func() (name string) {
		_ = h.pool.QueryRow(t.Context(), `SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
			WHERE locktype = 'advisory' AND granted AND datname = current_database() AND application_name LIKE 'gate%'`).Scan(&name)
		return name
	}
	first, _ := spawn(t, "SOJOURN_GATE="+h.dsn+" application_name=gate1")
	h.until("the first gate decides", func() bool { return holder() == "gate1" })
	h.insert("a", 40, 20*time.Millisecond)
	h.wait(8)
	_, kill := spawn(t, "SOJOURN_GATE="+h.dsn+" application_name=gate2")
	h.wait(16)
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	h.until("the second gate decides", func() bool { return holder() == "gate2" })
	t.Logf("taken over after %v", time.Since(stopped))
	h.insert("b", 20, 20*time.Millisecond)
	h.wait(30)
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.wait(60)
	kill()
	h.insert("c", 10, 20*time.Millisecond)
	h.wait(70)
	h.ran(70, nil)
}

// A strict policy that refuses a pool does not stop the queue. Rows run at their times and not before.
func TestPoolsAndTimes(t *testing.T) {
	t.Parallel()
	h := newHost(t, 1, 5*time.Millisecond, nil)
	ctx := t.Context()
	start := time.Now()
	for i, put := range []struct {
		pool  string
		after time.Duration
	}{{"nobody", 0}, {"a", 0}, {"a", time.Hour}, {"a", 3 * time.Second}} {
		row := rows(fmt.Sprint(i), 1, 0)
		row[0].InsertOpts = &river.InsertOpts{}
		if put.after > 0 {
			row[0].InsertOpts.ScheduledAt = start.Add(put.after)
		}
		if _, err := h.queue.Insert(ctx, h.client, gate.Job{ID: fmt.Sprint(i), Pool: put.pool}, row...); err != nil {
			t.Fatal(err)
		}
	}
	g, err := gate.New(policy(fair.New(fair.Options{Strict: true, Pools: map[string]fair.Pool{"a": {}}})), h.queue, gate.Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Run(running) }()
	h.wait(2)
	if took := time.Since(start); took < 3*time.Second {
		t.Errorf("the row of in three seconds has ended after %v", took)
	}
	if st := g.Status(); len(st.Parked) != 1 || st.Held != 1 {
		t.Errorf("status %+v, want a parked task, and a held one", st)
	}
	cancel()
	<-done
	h.ran(2, nil)
}

// A queue that is paused runs nothing, and the gate lets nothing go that would wait in River. Then it goes on.
func TestPaused(t *testing.T) {
	t.Parallel()
	h := newHost(t, 1, 5*time.Millisecond, nil)
	ctx := t.Context()
	g := h.learning(gate.Options{})
	h.until("the workers are known", func() bool { return g.Status().Workers == workers })
	if err := h.client.QueuePause(ctx, "default", nil); err != nil {
		t.Fatal(err)
	}
	h.until("nobody takes rows", func() bool { return g.Status().Workers == 0 })
	h.insert("a", 12, time.Millisecond)
	h.until("the rows are held", func() bool { s := g.Status(); return s.Held == 12 && s.Released == 0 })
	if err := h.client.QueueResume(ctx, "default", nil); err != nil {
		t.Fatal(err)
	}
	h.wait(12)
	h.ran(12, nil)
}
