package nats_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournnats "github.com/sojourn-sched/sojourn/connect/gate/nats"
	"github.com/sojourn-sched/sojourn/fair"
)

// The program runs the tests, or a gate or workers that a test kills.
func TestMain(m *testing.M) {
	if address := os.Getenv("SOJOURN_GATE"); address != "" {
		queue := must(sojournnats.New(context.Background(), dial(address), "jobs", options))
		o := quick
		if os.Getenv("SOJOURN_COMPARE") == "default" {
			o.Compare = 0
		}
		g := must(gate.New(newFair(), queue, o))
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := g.Run(ctx)
		stop()
		panic(err)
	}
	if address, workers, ok := strings.Cut(os.Getenv("SOJOURN_WORKERS"), " "); ok {
		conn := dial(address)
		queue := must(sojournnats.New(context.Background(), conn, "jobs", options))
		panic(queue.Work(context.Background(), must(strconv.Atoi(workers)), (&record{conn: conn}).work))
	}
	os.Exit(m.Run())
}

var (
	options = sojournnats.Options{AckWait: 3 * time.Second, Delay: func(int) time.Duration { return 10 * time.Millisecond }}
	quick   = gate.Options{Compare: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func newFair() sojourn.Policy { return must(fair.New(fair.Options{})) }

func dial(address string) *nats.Conn {
	return must(nats.Connect(address, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true)))
}

// An engine is a server of NATS, or several that are one.
type engine struct {
	t       testing.TB
	options []server.Options
	servers []*server.Server
}

// newEngine starts a server, or n that are one.
func newEngine(t testing.TB, n int) *engine {
	for range 5 {
		e := &engine{t: t}
		var routes []*url.URL
		for i := range n {
			o := server.Options{Host: "127.0.0.1", Port: freePort(), ServerName: fmt.Sprint("s", i), JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}
			if n > 1 {
				o.Cluster = server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: freePort()}
				routes = append(routes, must(url.Parse(fmt.Sprintf("nats://127.0.0.1:%d", o.Cluster.Port))))
			}
			e.options = append(e.options, o)
		}
		for i := range e.options {
			e.options[i].Routes = routes
		}
		e.servers = make([]*server.Server, n)
		ok := true
		for i := range n {
			ok = ok && e.start(i) == nil
		}
		if ok {
			t.Cleanup(func() {
				for i := range n {
					e.stop(i)
				}
			})
			return e
		}
		for i := range n { // somebody else took a port
			e.stop(i)
		}
	}
	t.Fatal("no server starts")
	return nil
}

func freePort() int {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (e *engine) start(i int) error {
	o := e.options[i]
	s, err := server.NewServer(&o)
	if err != nil {
		return err
	}
	e.servers[i] = s
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("it does not start")
	}
	return nil
}

func (e *engine) stop(i int) {
	if s := e.servers[i]; s != nil {
		s.Shutdown()
		s.WaitForShutdown()
		e.servers[i] = nil
	}
}

// url is where the servers are.
func (e *engine) url() string {
	var all []string
	for _, o := range e.options {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}

// spawn starts this program with a variable set, and returns it and what kills it.
func spawn(t testing.TB, variable string) (cmd *exec.Cmd, kill func()) {
	cmd = exec.Command(must(os.Executable()))
	cmd.Env = append(os.Environ(), variable)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	return cmd, kill
}

// until waits for something that comes within seconds, on an idle machine.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after three minutes it is not so that %s", what)
		}
	}
}

// A record counts attempts and ends of tasks, in this process or for it.
type record struct {
	conn *nats.Conn

	mu     sync.Mutex
	runs   map[string]int
	ends   map[string]int
	handle func(context.Context, sojournnats.Task) error // nil: as the data say
}

// listen hears what workers in other processes tell.
func (r *record) listen(t testing.TB) {
	heard := map[string]bool{}
	for subject, count := range map[string]map[string]int{"runs": r.runs, "ends": r.ends} {
		_ = must(r.conn.Subscribe("record."+subject, func(m *nats.Msg) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if key, id, _ := strings.Cut(string(m.Data), " "); !heard[key] {
				heard[key] = true
				count[id]++
			}
			_ = m.Respond(nil)
		}))
	}
	if err := r.conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

// tell insists, since the server may be away: for three minutes. What it says again because the answer was lost counts once.
func (r *record) tell(subject, id string) {
	key := rand.Text()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
		if _, err := r.conn.Request("record."+subject, []byte(key+" "+id), time.Second); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// work runs a task whose data say how long it takes.
func (r *record) work(ctx context.Context, task sojournnats.Task) error {
	r.tell("runs", task.ID)
	if r.handle != nil {
		if err := r.handle(ctx, task); err != nil {
			return err
		}
	} else {
		d := must(time.ParseDuration(string(task.Data)))
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.tell("ends", task.ID)
	return nil
}

// A host has a queue and counts what runs.
type host struct {
	*record
	t     testing.TB
	e     *engine
	queue *sojournnats.Queue
	put   int
}

func newHost(t testing.TB, e *engine, o sojournnats.Options) *host {
	conn := dial(e.url())
	t.Cleanup(conn.Close)
	var queue *sojournnats.Queue
	until(t, "there is a queue", func() (ok bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var err error
		queue, err = sojournnats.New(ctx, conn, "jobs", o)
		return err == nil
	})
	h := &host{record: &record{conn: conn, runs: map[string]int{}, ends: map[string]int{}}, t: t, e: e, queue: queue}
	h.listen(t)
	return h
}

// background runs f until the test, or what it returns, stops it.
func background(t testing.TB, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = f(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (h *host) serve(workers int) (stop func()) {
	return background(h.t, func(ctx context.Context) error { return h.queue.Work(ctx, workers, h.work) })
}

func (h *host) gate(o gate.Options) (g *gate.Gate, stop func()) {
	g = must(gate.New(newFair(), h.queue, o))
	return g, background(h.t, g.Run)
}

// enqueue puts n tasks of a job in, named JOB-1 and so on.
func (h *host) enqueue(job string, n int, d time.Duration) {
	h.t.Helper()
	if err := h.queue.Enqueue(h.t.Context(), gate.Job{ID: job}, h.tasks(job, n, d)...); err != nil {
		h.t.Fatal(err)
	}
	h.put += n
}

func (h *host) tasks(job string, n int, d time.Duration) []sojournnats.Task {
	tasks := make([]sojournnats.Task, n)
	for i := range tasks {
		tasks[i] = sojournnats.Task{ID: fmt.Sprintf("%s-%d", job, i+1), Data: []byte(d.String())}
	}
	return tasks
}

func (h *host) ended() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ends)
}

func (h *host) wait(n int) {
	h.t.Helper()
	until(h.t, fmt.Sprint(n, " tasks have ended"), func() bool { return h.ended() >= n })
}

// ran checks that all tasks have ended, each having run as often as said.
func (h *host) ran(times func(id string) int) {
	h.t.Helper()
	h.wait(h.put)
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, n := range h.runs {
		if want := times(id); n != want {
			h.t.Errorf("task %s has run %d times, want %d", id, n, want)
		}
	}
	if len(h.runs) != h.put {
		h.t.Errorf("%d tasks have run, want %d", len(h.runs), h.put)
	}
}

func once(string) int { return 1 }
