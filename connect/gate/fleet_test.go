package gate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/gate"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
)

const (
	beat   = 5 * time.Second  // between two heartbeats of a server; each lasts for twice as long
	rescue = 60 * time.Second // after which the queue holds a task of a dead server
)

// A cluster is a queue with servers that beat, die and are replaced, and with a lock that lasts 2 s.
type cluster struct {
	*host
	servers []*machine
	holder  string
	until   time.Time
	terms   map[string]uint64
}

// A machine is a server of a cluster.
type machine struct {
	gate.Server // as it told last
	told        time.Time
	workers     int
	runs        map[string]bool
	dead, stops bool
}

func newCluster() *cluster { return &cluster{host: newHost(0), terms: map[string]uint64{}} }

// join starts a server.
func (c *cluster) join(ctx context.Context, workers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &machine{workers: workers, runs: map[string]bool{}}
	m.ID = fmt.Sprint("s", len(c.servers))
	c.servers = append(c.servers, m)
	go c.work(ctx, m)
}

// work lets a server beat and take tasks until it is dead, or has stopped and is idle.
func (c *cluster) work(ctx context.Context, m *machine) {
	for i := 0; ctx.Err() == nil; i++ {
		c.mu.Lock()
		if m.dead {
			c.mu.Unlock()
			return
		}
		if time.Since(m.told) >= beat {
			m.told, m.Tasks, m.Workers = time.Now(), nil, m.workers
			if m.stops {
				m.Workers = 0
			}
			for id := range m.runs {
				m.Tasks = append(m.Tasks, id)
			}
		}
		for !m.stops && len(m.runs) < m.workers && len(c.pending) > 0 {
			t := c.tasks[c.pending[0]]
			c.pending = c.pending[1:]
			t.runs++
			m.runs[t.ID] = true
			time.AfterFunc(t.length, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				if !m.dead {
					delete(m.runs, t.ID)
					c.host.busy--
					t.State = gate.Gone
					c.tell(gate.Note{Kind: gate.Finished, Task: t.ID, Service: t.length})
				}
			})
		}
		c.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

// kill kills a server. The queue finds its tasks later.
func (c *cluster) kill(m *machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.dead = true
	time.AfterFunc(rescue, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for id := range m.runs {
			c.tasks[id].State = gate.Held
		}
		m.runs = nil
	})
}

func (c *cluster) Servers(context.Context) (s gate.Servers, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults("servers") {
		return s, errHost
	}
	s.Beat = beat + time.Second
	for _, m := range c.servers {
		if !m.told.IsZero() && time.Since(m.told) < beat+time.Second && (!m.stops || len(m.runs) > 0) {
			s.Live = append(s.Live, gate.Server{ID: m.ID, Workers: m.Workers, Tasks: slices.Clone(m.Tasks)})
		}
		for id := range m.runs {
			s.Running = append(s.Running, id)
		}
	}
	return s, nil
}

func (c *cluster) Lock(_ context.Context, name string) (uint64, time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const lease = 2 * time.Second
	if c.faults("lock") {
		return 0, 0, errHost
	}
	if c.holder != name || !time.Now().Before(c.until) {
		if time.Now().Before(c.until) {
			return 0, 0, fmt.Errorf("no: %w", gate.ErrLocked)
		}
		c.terms[name]++
	}
	c.holder, c.until = name, time.Now().Add(lease)
	return c.terms[name], lease, nil
}

func (c *cluster) Unlock(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holder == name {
		c.until = time.Time{}
	}
	return nil
}

// busy returns how many tasks run on servers that live, how many workers these have, and how many tasks wait for one.
func (c *cluster) busy() (running, workers, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.servers {
		if !m.dead && !m.stops {
			running, workers = running+len(m.runs), workers+m.workers
		}
	}
	return running, workers, len(c.pending)
}

func workersOf(c *cluster) int { _, workers, _ := c.busy(); return workers }

// Servers join, leave, die, and are replaced by larger and smaller ones: 10 s later every worker that lives is busy, and
// no task waits for one in the queue beyond Options.Ahead. In the end each task has ended, and only those of dead servers ran twice.
func TestServers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type step struct {
			what    string
			workers int
			after   time.Duration
		}
		ahead := rapid.IntRange(0, 2).Draw(rt, "ahead")
		var steps []step
		for range rapid.IntRange(1, 4).Draw(rt, "steps") {
			steps = append(steps, step{rapid.SampledFrom([]string{"join", "kill", "replace", "stop", "none", "deaf"}).Draw(rt, "what"),
				rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "workers"), rapid.SampledFrom([]time.Duration{10500 * time.Millisecond, 13 * time.Second, 70 * time.Second}).Draw(rt, "after")})
		}
		length := rapid.SampledFrom([]time.Duration{700 * time.Millisecond, 3 * time.Second, 30 * time.Second}).Draw(rt, "length")
		synctest.Test(t, func(t *testing.T) {
			c := newCluster()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.join(ctx, 2)
			c.add(gate.Job{ID: "a"}, 20, length)
			g, err := gate.New(must(fifo.New(fifo.Options{})), c, gate.Options{Ahead: ahead, Log: silent})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { _ = g.Run(ctx) })
			for i, s := range steps {
				old := c.servers[len(c.servers)-1]
				_, workers, _ := c.busy()
				c.add(gate.Job{ID: fmt.Sprint("a", i)}, (workers+s.workers+2)*int(s.after/length)+20, length)
				switch s.what {
				case "join":
					c.join(ctx, s.workers)
				case "kill", "replace":
					c.kill(old)
					if s.what == "replace" {
						c.join(ctx, s.workers)
					}
				case "stop":
					c.mu.Lock()
					old.stops = true
					c.mu.Unlock()
				case "deaf": // the queue is gone, as is what the servers wrote
					c.mu.Lock()
					for _, m := range c.servers {
						m.told = time.Now()
					}
					c.faults = func(string) bool { return true }
					c.mu.Unlock()
					time.Sleep(3 * time.Second)
					c.mu.Lock()
					c.faults = func(string) bool { return false }
					for _, m := range c.servers {
						m.told = m.told.Add(-time.Duration(s.workers) * time.Second)
					}
					c.mu.Unlock()
				}
				time.Sleep(s.after)
				// Tasks end between two looks of the test: look for a moment in which all are busy.
				running, waiting := 0, 0
				patient := workersOf(c) == 0 || length > 10*time.Second // what was let go before a server died waits for another one
				for range 40 {
					if running, workers, waiting = c.busy(); running == workers && (waiting <= ahead || patient) {
						break
					}
					time.Sleep(25 * time.Millisecond)
				}
				if running != workers || waiting > ahead && !patient {
					t.Fatalf("%v after step %d of %v: %d tasks run on %d workers, and %d wait for one; ahead %d, length %v, status %+v", s.after, i, steps, running, workers, waiting, ahead, length, g.Status())
				}
				if st := g.Status(); st.Workers != workers || !st.Decides {
					t.Fatalf("status %+v after step %d, want %d workers", st, i, workers)
				}
			}
			c.join(ctx, 100)
			for deadline := time.Now().Add(time.Hour); c.unfinished() > 0; time.Sleep(time.Second) {
				if time.Now().After(deadline) {
					t.Fatalf("%d tasks are left; status %+v", c.unfinished(), g.Status())
				}
			}
			cancel()
			wg.Wait()
			time.Sleep(2 * rescue)
		})
	})
}

// Two gates, of which the one that decides dies, gives up, or is stopped in the middle of a take and wakes up later: the other
// one goes on within 3 s, each task runs once, and no more are let go than there are workers and those that were left over.
func TestTwoGates(t *testing.T) {
	for _, how := range []string{"ends", "dies", "sleeps", "sleeps for long"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				ctx, cancel := context.WithCancel(t.Context())
				c.join(ctx, 4)
				c.add(gate.Job{ID: "a"}, 200, time.Second)
				var wg sync.WaitGroup
				start := func(p sojourn.Policy, b gate.Backend) (*gate.Gate, context.CancelFunc) {
					g, err := gate.New(p, b, gate.Options{Log: silent})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(ctx)
					wg.Go(func() { _ = g.Run(ctx) })
					return g, cancel
				}
				p := &pausing{cluster: c}
				told := &spy{Policy: must(fair.New(fair.Options{}))}
				first, stop := start(told, p)
				time.Sleep(time.Second)
				second, _ := start(must(fair.New(fair.Options{})), c)
				time.Sleep(5 * time.Second)
				if !first.Status().Decides || second.Status().Decides {
					t.Fatal("two gates, and not the first one alone decides")
				}
				switch how {
				case "ends":
					stop()
				case "dies":
					p.pause(time.Hour)
					stop()
				case "sleeps":
					p.pause(5 * time.Second)
				case "sleeps for long":
					p.pause(30 * time.Second)
				}
				time.Sleep(3 * time.Second)
				if !second.Status().Decides {
					t.Fatal("3 s later the second gate does not decide")
				}
				time.Sleep(1500 * time.Millisecond)
				if running, workers, _ := c.busy(); running < workers-1 {
					t.Errorf("%d tasks run on %d workers", running, workers)
				}
				time.Sleep(40 * time.Second)
				if how != "dies" && first.Status().Decides {
					t.Error("both gates decide")
				}
				for deadline := time.Now().Add(10 * time.Minute); c.unfinished() > 0 && time.Now().Before(deadline); {
					time.Sleep(time.Second)
				}
				for id, k := range c.tasks {
					if k.runs != 1 {
						t.Errorf("task %s ran %d times", id, k.runs)
					}
				}
				if c.most > 8 {
					t.Errorf("%d were let go at once for 4 workers", c.most)
				}
				if p.late > 0 {
					t.Errorf("the first gate let %d tasks go when it had not the lock", p.late)
				}
				if failed := told.of(sojourn.TaskFailed); len(failed) > 0 {
					t.Errorf("the policy was told that tasks failed: %v", failed)
				}
				cancel()
				p.pause(0)
				wg.Wait()
				time.Sleep(time.Hour)
			})
		})
	}
}

// A pausing backend stops its gate for a while in every call.
type pausing struct {
	*cluster
	mu    sync.Mutex
	until time.Time
	name  string
	late  int // releases that began when another gate had the lock
}

func (p *pausing) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(d)
}

func (p *pausing) wait() {
	p.mu.Lock()
	d := time.Until(p.until)
	p.mu.Unlock()
	time.Sleep(d)
}

func (p *pausing) Release(ctx context.Context, id string) error {
	p.cluster.mu.Lock()
	if p.holder != p.name {
		p.late++
	}
	p.cluster.mu.Unlock()
	p.wait()
	return p.cluster.Release(ctx, id)
}

func (p *pausing) Notes(ctx context.Context) ([]gate.Note, error) {
	p.wait()
	return p.cluster.Notes(ctx)
}

func (p *pausing) Lock(ctx context.Context, name string) (uint64, time.Duration, error) {
	p.cluster.mu.Lock()
	p.name = name
	p.cluster.mu.Unlock()
	p.wait()
	return p.cluster.Lock(ctx, name)
}

func (p *pausing) Unlock(ctx context.Context, name string) error {
	if p.mu.Lock(); time.Now().Before(p.until) {
		p.mu.Unlock()
		return errHost // it is dead
	}
	p.mu.Unlock()
	return p.cluster.Unlock(ctx, name)
}

// A policy that refuses a job whatever is said of it does not stop the gate: the tasks are parked, Status and the log say
// why, and other jobs run. A task that is deleted is not parked any more.
func TestParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		ctx, cancel := context.WithCancel(t.Context())
		workers := h.serve(ctx, 1)
		h.add(gate.Job{ID: "old", Pool: "nobody"}, 2, time.Second)
		var log bytes.Buffer
		g, err := gate.New(must(fair.New(fair.Options{Strict: true, Pools: map[string]fair.Pool{"a": {}}})), h,
			gate.Options{Workers: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = g.Run(ctx) })
		h.add(gate.Job{ID: "new", Pool: "nobody"}, 2, time.Second)
		h.add(gate.Job{ID: "unnamed"}, 1, time.Second)
		h.add(gate.Job{ID: "weight", Pool: "a", Weight: math.NaN(), Estimate: -1}, 2, time.Second)
		h.add(gate.Job{ID: "good", Pool: "a"}, 3, time.Second)
		time.Sleep(time.Minute)
		if n := h.unfinished(); n != 5 {
			t.Errorf("%d tasks are left, want the 5 that the policy refuses", n)
		}
		s := g.Status()
		if len(s.Parked) != 5 || s.Held != 0 || s.Released != 0 {
			t.Errorf("status %+v, want 5 parked tasks", s)
		}
		for _, p := range s.Parked {
			if !strings.Contains(p.Reason, "unknown pool") || p.Job == "good" || p.Job == "weight" {
				t.Errorf("parked %+v", p)
			}
		}
		if n := strings.Count(log.String(), "parked"); n != 3 {
			t.Errorf("the log names %d jobs, want 3, each once:\n%s", n, &log)
		}
		h.mu.Lock()
		for id, k := range h.tasks {
			if k.Job.ID == "old" {
				k.State = gate.Gone
				h.tell(gate.Note{Kind: gate.Dropped, Task: id})
			} else if k.Job.ID == "new" {
				k.State = gate.Gone // nobody tells
			}
		}
		h.mu.Unlock()
		time.Sleep(time.Minute)
		if s := g.Status(); len(s.Parked) != 1 {
			t.Errorf("%d tasks are parked, want 1", len(s.Parked))
		}
		cancel()
		wg.Wait()
		workers.Wait()
	})
}

// Whatever notes say, of whichever task, the gate goes on, and each task runs.
func TestAlienNotes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SampledFrom([]time.Duration{0, 1, -1, time.Second, math.MaxInt64, math.MinInt64})
		ids := rapid.SampledFrom([]string{"", "x", "x/0/0", "a/0/0", "a/0/1", "a/0/2", "b/3/0"})
		note := rapid.Custom(func(t *rapid.T) gate.Note {
			n := gate.Note{Kind: gate.NoteKind(rapid.SampledFrom([]int{0, 1, 2, 3, 4, 255}).Draw(t, "kind")), Task: ids.Draw(t, "task"), Service: times.Draw(t, "service"), After: min(times.Draw(t, "after"), time.Minute)}
			for range rapid.IntRange(0, 3).Draw(t, "tasks") {
				n.Tasks = append(n.Tasks, gate.Task{ID: ids.Draw(t, "id"), State: gate.State(rapid.SampledFrom([]int{0, 1, 2, 9}).Draw(t, "state")),
					Job:       gate.Job{ID: ids.Draw(t, "job"), Pool: ids.Draw(t, "pool"), Estimate: times.Draw(t, "estimate"), Weight: rapid.SampledFrom([]float64{0, -1, math.Inf(1), math.NaN(), 2}).Draw(t, "weight")},
					NotBefore: time.Time{}.Add(min(times.Draw(t, "time"), time.Hour)), Since: time.Time{}.Add(times.Draw(t, "since"))})
			}
			return n
		})
		notes := rapid.SliceOfN(note, 1, 8).Draw(rt, "notes")
		synctest.Test(t, func(t *testing.T) {
			h := newHost(2)
			ctx, cancel := context.WithCancel(t.Context())
			serving := h.serve(ctx, 2)
			h.add(gate.Job{ID: "a"}, 3, time.Second)
			stop := open(t, h, must(fair.New(fair.Options{})), gate.Options{Workers: 2, Compare: 3 * time.Second})
			for _, n := range notes {
				time.Sleep(300 * time.Millisecond)
				n.Tasks = slices.Clone(n.Tasks)
				for i := range n.Tasks {
					k := &n.Tasks[i]
					k.NotBefore, k.Since = time.Now().Add(k.NotBefore.Sub(time.Time{})), time.Now().Add(k.Since.Sub(time.Time{}))
				}
				h.mu.Lock()
				h.tell(n)
				h.mu.Unlock()
			}
			h.add(gate.Job{ID: "b"}, 2, time.Second)
			for deadline := time.Now().Add(3 * time.Hour); h.unfinished() > 0; time.Sleep(time.Second) {
				if time.Now().After(deadline) {
					t.Fatalf("%d tasks are left", h.unfinished())
				}
			}
			for id, k := range h.tasks {
				if k.runs != 1 {
					t.Errorf("task %s ran %d times", id, k.runs)
				}
			}
			stop()
			cancel()
			serving.Wait()
		})
	})
}

// A task is let go at its time and not before, also if the gate starts in between, and beside others of its job.
func TestNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(4)
		ctx, cancel := context.WithCancel(t.Context())
		workers := h.serve(ctx, 4)
		options := gate.Options{Workers: 4, Compare: time.Hour}
		stop := open(t, h, must(fair.New(fair.Options{})), options)
		start := time.Now()
		ends := map[string]time.Duration{}
		h.mu.Lock()
		var added []gate.Task
		for i, after := range []time.Duration{time.Hour, 0, time.Minute, 30 * time.Minute, -time.Hour} {
			k := &hosted{Task: gate.Task{ID: fmt.Sprint(i), Job: gate.Job{ID: "a"}, State: gate.Held, Since: start, NotBefore: start.Add(after)}, length: time.Millisecond}
			h.tasks[k.ID] = k
			ends[k.ID] = max(after, 0)
			added = append(added, k.Task)
		}
		h.tell(gate.Note{Kind: gate.Added, Tasks: added})
		h.mu.Unlock()
		for restarted := false; h.unfinished() > 0; time.Sleep(time.Second) {
			took := time.Since(start)
			h.mu.Lock()
			for id, after := range ends {
				if began := h.tasks[id].runs > 0; began && took < after || !began && took > after+2*time.Second {
					t.Errorf("after %v, task %s that was put in for %v has run: %v", took, id, after, began)
				}
			}
			h.mu.Unlock()
			if took > 2*time.Hour {
				t.Fatal("tasks are left after two hours")
			}
			if !restarted && took > 10*time.Minute {
				stop()
				stop, restarted = open(t, h, must(fair.New(fair.Options{})), options), true
			}
		}
		if took := time.Since(start); took < time.Hour {
			t.Errorf("all tasks have ended after %v, want an hour", took)
		}
		stop()
		cancel()
		workers.Wait()
	})
}

// SetWorkers counts from now on, to zero and back, and whatever the queue tells of its servers. A pool that is paused waits.
func TestSetWorkersAndPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		ctx, cancel := context.WithCancel(t.Context())
		c.join(ctx, 8)
		c.add(gate.Job{ID: "a", Pool: "a"}, 1000, time.Second)
		c.add(gate.Job{ID: "b", Pool: "b"}, 1000, time.Second)
		g, err := gate.New(must(fair.New(fair.Options{})), c, gate.Options{Log: silent})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = g.Run(ctx) })
		for _, n := range []int{-1, sojourn.MaxSlots + 1} {
			if err := g.SetWorkers(n); err == nil {
				t.Errorf("%d workers", n)
			}
		}
		for _, n := range []int{8, 3, 0, 5} {
			if n != 8 {
				if err := g.SetWorkers(n); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(5500 * time.Millisecond)
			if running, _, waiting := c.busy(); running+waiting != n {
				t.Errorf("%d tasks are let go, want %d", running+waiting, n)
			}
		}
		if err := g.ChangePool(sojourn.Pool{Name: "a", Paused: true}); err != nil {
			t.Error(err)
		}
		if err := g.ChangePool(sojourn.Pool{Name: "a", Weight: -1}); !errors.Is(err, sojourn.ErrInvalidPool) {
			t.Errorf("error %v, want ErrInvalidPool", err)
		}
		time.Sleep(5 * time.Second)
		c.mu.Lock()
		for _, m := range c.servers {
			for id := range m.runs {
				if !strings.HasPrefix(id, "b/") {
					t.Errorf("task %s of the paused pool runs", id)
				}
			}
		}
		c.mu.Unlock()
		cancel()
		wg.Wait()
		time.Sleep(time.Minute)
	})
}

// A note of a kind that another version may have says nothing, and a task that somebody else lets go counts as running.
func TestByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(0)
		s := &spy{Policy: must(fair.New(fair.Options{}))}
		g, err := gate.New(s, h, gate.Options{Workers: 2, Compare: time.Second, Log: silent})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = g.Run(ctx) })
		h.add(gate.Job{ID: "a"}, 5, time.Hour)
		time.Sleep(time.Second)
		h.mu.Lock()
		var held string
		for id, k := range h.tasks {
			h.tell(gate.Note{Kind: 4, Task: id})
			h.tell(gate.Note{Kind: 255, Task: id})
			if k.State == gate.Held {
				held = id
			}
		}
		h.mu.Unlock()
		if err := h.Release(ctx, held); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if done := s.of(sojourn.TaskDone); len(done) > 0 {
			t.Errorf("the policy was told %v", done)
		}
		if st := g.Status(); st.Released != 3 || st.Held != 2 {
			t.Errorf("status %+v, want 3 tasks let go and 2 held", st)
		}
		h.mu.Lock()
		h.tasks[held].State = gate.Gone
		h.tell(gate.Note{Kind: gate.Finished, Task: held})
		h.mu.Unlock()
		time.Sleep(5 * time.Second)
		if st := g.Status(); st.Released != 2 || st.Held != 2 {
			t.Errorf("status %+v, want 2 tasks let go and 2 held", st)
		}
		cancel()
		wg.Wait()
	})
}

// An amnesiac cluster has forgotten its servers for a while after an outage.
type amnesiac struct {
	*cluster
	gone, empty time.Time // until then it does not answer; it names no server. The lock of the cluster is held
}

func (a *amnesiac) forget(gone, empty time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone, a.empty = time.Now().Add(gone), time.Now().Add(empty)
}

func (a *amnesiac) Servers(ctx context.Context) (gate.Servers, error) {
	s, err := a.cluster.Servers(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch now := time.Now(); {
	case now.Before(a.gone):
		return s, errHost
	case now.Before(a.empty):
		s.Live = nil
	}
	return s, err
}

func (a *amnesiac) Lock(ctx context.Context, gate string) (uint64, time.Duration, error) {
	if a.away() {
		return 0, 0, errHost
	}
	return a.cluster.Lock(ctx, gate)
}

func (a *amnesiac) Release(ctx context.Context, id string) error {
	if a.away() {
		return errHost
	}
	return a.cluster.Release(ctx, id)
}

func (a *amnesiac) away() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.gone)
}

// After an outage of the queue in which what the servers had told was lost, those that were known count until they tell again, also if the gate had a task to let go and so
// has not asked for them meanwhile.
func TestServersAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &amnesiac{cluster: newCluster()}
		ctx, cancel := context.WithCancel(t.Context())
		c.join(ctx, 4)
		g, err := gate.New(must(fifo.New(fifo.Options{})), c, gate.Options{Log: silent})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = g.Run(ctx) })
		time.Sleep(3 * time.Second)
		for range 2 {
			c.forget(20*time.Second, 24*time.Second)
			for range 40 {
				time.Sleep(time.Second)
				if s := g.Status(); s.Workers != 4 {
					t.Fatalf("status %+v, want 4 workers", s)
				}
			}
			c.add(gate.Job{ID: "a"}, 20, 5*time.Second)
		}
		c.forget(0, time.Hour)
		time.Sleep(3 * time.Second)
		if s := g.Status(); s.Workers != 0 {
			t.Errorf("status %+v, want no workers", s)
		}
		cancel()
		wg.Wait()
		time.Sleep(time.Minute)
	})
}
