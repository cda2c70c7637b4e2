package nats_test

import (
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournnats "github.com/sojourn-sched/sojourn/connect/gate/nats"
)

func (h *host) spawnWorkers(n int) (kill func()) {
	_, kill = spawn(h.t, fmt.Sprintf("SOJOURN_WORKERS=%s %d", h.e.url(), n))
	return kill
}

// Two servers in processes of their own are learned. One is killed: its workers do not count, its tasks take none of the others, and NATS
// gives them to another server after AckWait. All tasks end, and only those of the dead server have run twice.
func TestServersAreLearned(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	g, _ := h.gate(quick)
	h.spawnWorkers(2)
	until(t, "two workers are known", func() bool { return g.Status().Workers == 2 })
	kill := h.spawnWorkers(3)
	until(t, "five workers are known", func() bool { return g.Status().Workers == 5 })
	h.enqueue("long", 5, 6*time.Second)
	until(t, "five tasks run", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.runs) == 5
	})
	kill()
	killed := time.Now()
	until(t, "the dead server's tasks are orphans", func() bool { s := g.Status(); return s.Workers == 2 && s.Orphans == 3 })
	t.Logf("known after %v", time.Since(killed))
	h.spawnWorkers(4)
	until(t, "the new server is known", func() bool { return g.Status().Workers == 6 })
	h.enqueue("short", 40, time.Millisecond)
	h.wait(h.put)
	h.mu.Lock()
	defer h.mu.Unlock()
	twice := 0
	for id, n := range h.runs {
		if n == 2 && id[0] == 'l' {
			twice++
		} else if n != 1 {
			t.Errorf("task %s has run %d times, want once", id, n)
		}
	}
	if twice != 3 {
		t.Errorf("%d tasks have run twice, want the 3 of the dead server", twice)
	}
}

// Two gates in processes of their own. The one that decides is stopped and another time killed: the other one takes over, no task
// is lost or runs twice, and the one that was stopped and goes on does no harm.
func TestTwoGates(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	h.serve(4)
	api := must(js.New(h.conn))
	bucket := must(api.KeyValue(t.Context(), "SOJOURN_jobs"))
	holder := func() string {
		e, err := bucket.Get(t.Context(), "gate")
		if err != nil {
			return ""
		}
		return string(e.Value())
	}
	first, _ := spawn(t, "SOJOURN_GATE="+h.e.url())
	until(t, "the first gate has the lock", func() bool { return holder() != "" })
	name := holder()
	h.enqueue("a", 40, 20*time.Millisecond)
	h.wait(8)
	_, kill := spawn(t, "SOJOURN_GATE="+h.e.url())
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
	killed := time.Now()
	h.enqueue("c", 10, 20*time.Millisecond)
	h.wait(70) // by the first one again
	t.Logf("ten tasks have ended %v after the second gate was killed", time.Since(killed))
	h.ran(once)
}

// The server is away for a while, longer than its window of duplicates, while tasks run and are put in: no task is lost, and
// none runs twice.
func TestOutage(t *testing.T) {
	t.Parallel()
	o := options
	o.AckWait = 15 * time.Second // a message on its way to a worker when the server goes comes again then
	h := newHost(t, newEngine(t, 1), o)
	api := must(js.New(h.conn))
	for _, name := range []string{"SOJOURN_jobs_HELD", "SOJOURN_jobs_WORK"} {
		c := must(api.Stream(t.Context(), name)).CachedInfo().Config
		c.Duplicates = 100 * time.Millisecond
		_ = must(api.UpdateStream(t.Context(), c))
	}
	g, _ := h.gate(quick)
	h.serve(4)
	h.enqueue("a", 100, 30*time.Millisecond)
	for i := range 3 {
		h.wait(20 * (i + 1))
		h.e.stop(0)
		time.Sleep(time.Second)
		if err := h.e.start(0); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		n := h.ended()
		until(t, "tasks end again", func() bool { return h.ended() > n+8 || h.ended() == h.put })
		t.Logf("tasks end again %v after the server is back", time.Since(back))
	}
	h.enqueue("b", 20, 0)
	h.ran(once)
	until(t, "the gate knows all ends", func() bool { s := g.Status(); return s.Held+s.Released == 0 })
}

// Three servers of NATS keep the queue. Each stops and comes back, so that leaders change: no task is lost, and none runs twice.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute, and longer under the race detector")
	}
	t.Parallel()
	o := options
	o.AckWait = 30 * time.Second
	o.Replicas = 3
	h := newHost(t, newEngine(t, 3), o)
	log := &diary{}
	g, _ := h.gate(gate.Options{Compare: time.Second, Log: slog.New(slog.NewTextHandler(log, nil))})
	h.serve(4)
	api := must(js.New(h.conn))
	leader := func() string {
		s, err := api.Stream(t.Context(), "SOJOURN_jobs_WORK")
		if err != nil || s.CachedInfo().Cluster == nil {
			return ""
		}
		return s.CachedInfo().Cluster.Leader
	}
	h.enqueue("a", 200, 20*time.Millisecond)
	changes := 0
	for i := range 3 {
		h.wait(30 * (i + 1))
		was := leader()
		h.e.stop(i)
		until(t, "there is a leader", func() bool { return leader() != "" })
		if leader() != was {
			changes++
		}
		n := h.ended()
		until(t, "tasks end with a server away", func() bool { return h.ended() >= min(n+8, h.put) })
		if err := h.e.start(i); err != nil {
			t.Fatal(err)
		}
		until(t, "all servers are there", func() bool { return h.current("SOJOURN_jobs_WORK") })
	}
	if changes == 0 {
		t.Error("no leader has changed")
	}
	h.ran(once)
	until(t, "the gate knows all ends", func() bool { s := g.Status(); return s.Held+s.Released == 0 })
	if log.has("another one than before") {
		t.Errorf("the gate takes a stream for another one: %s", &log.text)
	}
}

// Whoever opens the queue again leaves its streams as they are: each server of a cluster says, also after it has come back, that they were made when
// they were made.
func TestStreamsAreMadeOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute, and longer under the race detector")
	}
	t.Parallel()
	o := options
	o.Replicas = 3
	h := newHost(t, newEngine(t, 3), o)
	for range 2 {
		_ = must(sojournnats.New(t.Context(), h.conn, "jobs", o))
	}
	api := must(js.New(h.conn))
	const name = "SOJOURN_jobs_HELD"
	first := must(api.Stream(t.Context(), name)).CachedInfo().Created
	for i := range 3 {
		h.e.stop(i)
		if err := h.e.start(i); err != nil {
			t.Fatal(err)
		}
		var made time.Time
		until(t, "it leads", func() bool {
			if !h.current(name) {
				return false
			}
			s, err := api.Stream(t.Context(), name)
			if err != nil || s.CachedInfo().Cluster.Leader != fmt.Sprint("s", i) {
				_, _ = h.conn.Request("$JS.API.STREAM.LEADER.STEPDOWN."+name, fmt.Appendf(nil, `{"placement":{"preferred":"s%d"}}`, i), time.Second)
				return false
			}
			made = s.CachedInfo().Created
			return true
		})
		if !made.Equal(first) {
			t.Errorf("server %d says that the stream was made at %v, and not at %v", i, made, first)
		}
	}
}

// current reports whether all three servers keep a stream and know all of it.
func (h *host) current(stream string) bool {
	s, err := must(js.New(h.conn)).Stream(h.t.Context(), stream)
	if err != nil || s.CachedInfo().Cluster == nil || len(s.CachedInfo().Cluster.Replicas) != 2 {
		return false
	}
	for _, r := range s.CachedInfo().Cluster.Replicas {
		if !r.Current {
			return false
		}
	}
	return true
}
