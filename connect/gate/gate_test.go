package gate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// A host is a queue with workers, in memory. It fails when told to.
type host struct {
	costs   map[string]uint64 // of a task, by pool
	mu      sync.Mutex
	tasks   map[string]*hosted
	pending []string // let go, in this order
	notes   []gate.Note
	wake    chan struct{} // one note or more, or one task to run or more
	work    chan struct{}

	faults  func(string) bool // whether a call fails, or a note is lost
	busy    int
	most    int      // let go and not ended
	started []string // in order
}

type hosted struct {
	gate.Task
	length   time.Duration
	failures int // that are still to come
	delay    time.Duration
	runs     int
}

var errHost = errors.New("connection refused")

func newHost(workers int) *host {
	h := &host{tasks: map[string]*hosted{}, wake: make(chan struct{}, 1), work: make(chan struct{}, workers), faults: func(string) bool { return false }}
	return h
}

// serve runs workers until ctx ends.
func (h *host) serve(ctx context.Context, workers int) *sync.WaitGroup {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-h.work:
				}
				for h.runOne() {
				}
			}
		})
	}
	return &wg
}

func (h *host) runOne() bool {
	h.mu.Lock()
	if len(h.pending) == 0 {
		h.mu.Unlock()
		return false
	}
	t := h.tasks[h.pending[0]]
	h.pending = h.pending[1:]
	t.runs++
	h.started = append(h.started, t.ID)
	h.mu.Unlock()
	time.Sleep(t.length)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
	if t.failures > 0 {
		t.failures--
		t.State = gate.Held
		h.tell(gate.Note{Kind: gate.Failed, Task: t.ID, Service: t.length, After: t.delay, Cost: h.costs[t.Job.Pool]})
		return true
	}
	t.State = gate.Gone
	h.tell(gate.Note{Kind: gate.Finished, Task: t.ID, Service: t.length, Cost: h.costs[t.Job.Pool]})
	return true
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (h *host) tell(n gate.Note) {
	if !h.faults("note") {
		h.notes = append(h.notes, n)
		signal(h.wake)
	}
}

// add puts a batch into the queue.
func (h *host) add(job gate.Job, tasks int, length time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var added []gate.Task
	for i := range tasks {
		t := &hosted{Task: gate.Task{ID: fmt.Sprintf("%s/%d/%d", job.ID, len(h.tasks), i), Job: job, State: gate.Held, Since: time.Now()}, length: length}
		h.tasks[t.ID] = t
		added = append(added, t.Task)
	}
	h.tell(gate.Note{Kind: gate.Added, Tasks: added})
}

func (h *host) Tasks(context.Context) (all []gate.Task, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults("list") {
		return nil, errHost
	}
	for _, t := range h.tasks {
		if t.State != gate.Gone {
			all = append(all, t.Task)
		}
	}
	return all, nil
}

func (h *host) State(_ context.Context, id string) (gate.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults("state") {
		return 0, errHost
	}
	if t := h.tasks[id]; t != nil {
		return t.State, nil
	}
	return gate.Gone, nil
}

func (h *host) Release(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults("release") {
		return errHost
	}
	t := h.tasks[id]
	if t == nil || t.State == gate.Gone {
		return fmt.Errorf("task %s: %w", id, gate.ErrGone)
	}
	if t.State == gate.Held {
		t.State = gate.Released
		h.busy++
		h.most = max(h.most, h.busy)
		h.pending = append(h.pending, id)
		signal(h.work)
	}
	if h.faults("answer") {
		return errHost // it was let go all the same
	}
	return nil
}

func (h *host) Notes(ctx context.Context) ([]gate.Note, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Second):
		return nil, nil
	case <-h.wake:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults("notes") {
		signal(h.wake)
		return nil, errHost
	}
	notes := h.notes
	h.notes = nil
	return notes, nil
}

func (h *host) unfinished() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tasks {
		if t.State != gate.Gone {
			n++
		}
	}
	return n
}

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

func must[P sojourn.Policy](p P, err error) sojourn.Policy {
	if err != nil {
		panic(err)
	}
	return p
}

// open starts a gate and returns a function that stops it, as if it died.
func open(t interface{ Fatal(...any) }, h *host, p sojourn.Policy, o gate.Options) (stop func()) {
	o.Log = silent
	g, err := gate.New(p, h, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

// The order is the policy's: small batches do not wait for the large one that came first.
func TestOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		policy sojourn.Policy
		small  time.Duration // when the last small batch has ended
	}{
		"fifo":      {must(fifo.New(fifo.Options{})), 17 * time.Second},
		"fair":      {must(fair.New(fair.Options{})), 6 * time.Second},
		"leastwork": {must(leastwork.New(leastwork.Options{})), 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(4)
				ctx, cancel := context.WithCancel(t.Context())
				workers := h.serve(ctx, 4)
				stop := open(t, h, tc.policy, gate.Options{Workers: 4})
				start := time.Now()
				for i, n := range []int{60, 2, 3, 2} {
					h.add(gate.Job{ID: fmt.Sprint(i)}, n, time.Second)
				}
				for h.unfinished() > 0 {
					time.Sleep(time.Second)
				}
				stop()
				cancel()
				workers.Wait()
				if took := time.Since(start); took < 17*time.Second || took > 19*time.Second {
					t.Errorf("all took %v, want 17 s of work", took)
				}
				last := slices.IndexFunc(h.started, func(string) bool { return false })
				for i, id := range h.started {
					if !strings.HasPrefix(id, "0/") {
						last = i
					}
				}
				if at := time.Duration(last/4+1) * time.Second; at > tc.small {
					t.Errorf("the last small task is number %d, and ends after about %v, want %v", last, at, tc.small)
				}
				if h.most != 4 {
					t.Errorf("%d tasks were let go at once, want 4", h.most)
				}
			})
		})
	}
}

// Whatever fails, and however often the gate dies: each task runs as often as it fails and once
// more, and no more are let go at a time than Options say.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const workers = 3
		ahead := rapid.IntRange(0, 2).Draw(rt, "ahead")
		deaths := rapid.IntRange(0, 4).Draw(rt, "deaths")
		one := rapid.SampledFrom([]int{1000000, 50, 10, 4}).Draw(rt, "a fault in")
		seed := rapid.Uint64().Draw(rt, "seed")
		batches := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 6).Draw(rt, "batches")
		synctest.Test(t, func(t *testing.T) {
			h := newHost(workers)
			h.faults = func(string) bool {
				seed = seed*6364136223846793005 + 1442695040888963407
				return int(seed>>33)%one == 0
			}
			ctx, cancel := context.WithCancel(t.Context())
			serving := h.serve(ctx, workers)
			options := gate.Options{Workers: workers, Ahead: ahead, Compare: 3 * time.Second}
			newPolicy := func() sojourn.Policy { return must(hfsp.New(hfsp.Options{})) }
			stop := open(t, h, newPolicy(), options)
			want := map[string]int{}
			for i, n := range batches {
				h.add(gate.Job{ID: fmt.Sprint(i % 4), Pool: fmt.Sprint(i % 2), Weight: float64(i % 3)}, n, time.Duration(i)*700*time.Millisecond)
				h.mu.Lock()
				for id, k := range h.tasks {
					if _, ok := want[id]; !ok {
						k.failures = (len(id) + n) % 3 * (i % 2)
						k.delay = time.Duration(i%3) * time.Second
						want[id] = k.failures + 1
					}
				}
				h.mu.Unlock()
				if i < deaths {
					time.Sleep(time.Duration(i) * time.Second / 2)
					stop()
					time.Sleep(time.Second)
					stop = open(t, h, newPolicy(), options)
				}
			}
			for h.unfinished() > 0 {
				if time.Sleep(time.Second); time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) > 10*time.Hour {
					t.Fatal("tasks are left after ten hours")
				}
			}
			stop()
			cancel()
			serving.Wait()
			for id, n := range want {
				if h.tasks[id].runs != n {
					t.Errorf("task %s ran %d times, want %d", id, h.tasks[id].runs, n)
				}
			}
			if deaths == 0 && one == 1000000 && h.most > workers+ahead {
				t.Errorf("%d were let go at once, want %d", h.most, workers+ahead)
			}
		})
	})
}

// A gate that starts over a queue in which more runs than its workers can take waits for it.
func TestAdoption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(5)
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		h.add(gate.Job{ID: "a"}, 9, 10*time.Second)
		for id := range h.tasks {
			if h.busy < 5 {
				if err := h.Release(ctx, id); err != nil {
					t.Fatal(err)
				}
			}
		}
		workers := h.serve(ctx, 5)
		h.most = 0
		stop := open(t, h, must(fifo.New(fifo.Options{})), gate.Options{Workers: 2})
		time.Sleep(5 * time.Second)
		if h.most != 0 {
			t.Errorf("%d tasks are let go while five run, want none", h.most)
		}
		for h.unfinished() > 0 {
			time.Sleep(time.Second)
		}
		if h.most > 2 {
			t.Errorf("%d tasks are let go at once, want 2", h.most)
		}
		if took := time.Since(start); took > 31*time.Second {
			t.Errorf("9 tasks of 10 s, five of them at once, took %v, want 30 s", took)
		}
		stop()
		cancel()
		workers.Wait()
	})
}

// A job that the policy refuses, and one that is deleted, do no harm to others.
func TestRefusedAndDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		ctx, cancel := context.WithCancel(t.Context())
		workers := h.serve(ctx, 1)
		stop := open(t, h, must(fair.New(fair.Options{})), gate.Options{Workers: 1})
		h.add(gate.Job{ID: "bad", Weight: math.NaN(), Pool: "/x//"}, 2, time.Second)
		h.add(gate.Job{ID: "deleted"}, 3, time.Hour)
		h.add(gate.Job{ID: "good"}, 2, time.Second)
		h.mu.Lock()
		for id, k := range h.tasks {
			if k.Job.ID == "deleted" {
				k.State = gate.Gone
				h.tell(gate.Note{Kind: gate.Dropped, Task: id})
				h.tell(gate.Note{Kind: gate.Dropped, Task: id})
			}
		}
		h.tell(gate.Note{Kind: gate.Finished, Task: "nobody's"})
		h.mu.Unlock()
		start := time.Now()
		for h.unfinished() > 0 {
			time.Sleep(time.Second)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("four tasks of a second took %v", took)
		}
		stop()
		cancel()
		workers.Wait()
	})
}

// A spy records what the policy is told.
type spy struct {
	sojourn.Policy
	mu     sync.Mutex
	events []sojourn.Event
}

func (s *spy) Observe(ev sojourn.Event) error {
	s.mu.Lock()
	s.events = append(s.events, ev)
	s.mu.Unlock()
	return s.Policy.Observe(ev)
}

func (s *spy) Unwrap() sojourn.Policy { return s.Policy }

func (s *spy) of(kind sojourn.EventKind) (all []sojourn.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range s.events {
		if ev.Kind == kind {
			all = append(all, ev)
		}
	}
	return all
}

// A gate that starts tells the policy how old the jobs are, and which of their tasks run.
func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(0)
		h.add(gate.Job{ID: "old"}, 3, time.Second)
		time.Sleep(time.Hour)
		h.add(gate.Job{ID: "young"}, 1, time.Second)
		for id, k := range h.tasks {
			if k.Job.ID == "old" && k.State == gate.Held && h.busy < 2 {
				if err := h.Release(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		s := &spy{Policy: must(fifo.New(fifo.Options{}))}
		stop := open(t, h, s, gate.Options{Workers: 1})
		synctest.Wait()
		stop()
		adopted, arrived, running := s.of(sojourn.JobAdopted), s.of(sojourn.JobArrived), s.of(sojourn.TaskAdopted)
		if len(adopted) != 1 || adopted[0].Service != time.Hour || len(arrived) != 1 || len(running) != 2 {
			t.Errorf("adopted %v, arrived %v, running %v, want a job of an hour, one other job, and two tasks", adopted, arrived, running)
		}
	})
}

// A comparison that overtakes the note of an end does not count the task as running, nor does it count
// the end twice.
func TestNoteOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		slow := false
		h.faults = func(call string) bool { return call == "notes" && slow }
		ctx, cancel := context.WithCancel(t.Context())
		workers := h.serve(ctx, 1)
		s := &spy{Policy: must(fifo.New(fifo.Options{}))}
		stop := open(t, h, s, gate.Options{Workers: 1, Compare: 4 * time.Second})
		h.add(gate.Job{ID: "a"}, 1, time.Second)
		h.mu.Lock()
		for _, k := range h.tasks {
			k.failures = 1
		}
		h.mu.Unlock()
		synctest.Wait()
		h.mu.Lock()
		slow = true // from 0 to 6 s; the task fails at 1 s, the gate compares at 4 s
		h.mu.Unlock()
		time.Sleep(6 * time.Second)
		h.mu.Lock()
		slow = false
		h.mu.Unlock()
		time.Sleep(10 * time.Second)
		stop()
		cancel()
		workers.Wait()
		if failed, done := s.of(sojourn.TaskFailed), s.of(sojourn.TaskFinished); len(failed) != 1 || failed[0].Service != time.Second || len(done) != 1 {
			t.Errorf("failed %v, finished %v, want one of each, and the failure by its note", failed, done)
		}
	})
}

// A task is tried again as soon as its delay is over.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		ctx, cancel := context.WithCancel(t.Context())
		workers := h.serve(ctx, 1)
		stop := open(t, h, must(fifo.New(fifo.Options{})), gate.Options{Workers: 1, Compare: time.Hour})
		h.add(gate.Job{ID: "a"}, 1, time.Second)
		h.mu.Lock()
		for _, k := range h.tasks {
			k.failures, k.delay = 1, 5*time.Second
		}
		h.mu.Unlock()
		time.Sleep(7*time.Second + time.Millisecond)
		if n := h.unfinished(); n != 0 {
			t.Errorf("%d tasks are left after a second, 5 s of delay and a second", n)
		}
		stop()
		cancel()
		workers.Wait()
	})
}

func TestOptions(t *testing.T) {
	p := must(fifo.New(fifo.Options{}))
	for _, tc := range []struct {
		o    gate.Options
		want string
	}{
		{gate.Options{}, "Workers is 0: want 1 to"},
		{gate.Options{Workers: -1}, "Workers is -1"},
		{gate.Options{Workers: math.MaxInt}, "Workers is"},
		{gate.Options{Workers: 1, Ahead: -1}, "Ahead is -1"},
		{gate.Options{Workers: 1, Ahead: math.MaxInt}, "Ahead is"},
		{gate.Options{Workers: 1, Compare: -1}, "Compare is -1ns"},
		{gate.Options{Workers: 1, Retry: -1}, "Retry is -1ns"},
	} {
		if _, err := gate.New(p, newHost(1), tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
	}
	if _, err := gate.New(nil, newHost(1), gate.Options{Workers: 1}); err == nil {
		t.Error("a gate without a policy")
	}
	if _, err := gate.New(p, nil, gate.Options{Workers: 1}); err == nil {
		t.Error("a gate without a backend")
	}
}

// While the queue does not do something, Status says what and why; and nothing when it does again, or when the gate has ended.
func TestFails(t *testing.T) {
	for call, want := range map[string]string{"list": "compare", "release": "let a task go", "notes": "tell what happens"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(1)
			g, err := gate.New(must(fifo.New(fifo.Options{})), h, gate.Options{Workers: 100, Log: silent})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { _ = g.Run(ctx) })
			for _, call := range []string{"", call, "", call} {
				h.mu.Lock()
				h.faults = func(c string) bool { return c == call }
				h.mu.Unlock()
				h.add(gate.Job{ID: "a"}, 1, time.Hour)
				time.Sleep(15 * time.Second)
				if got := strings.Join(g.Status().Fails, "; "); call == "" && got != "" || call != "" && got != want+": "+errHost.Error() {
					t.Errorf("the call %q fails: status has %q, want %q", call, got, want)
				}
			}
			cancel()
			wg.Wait()
			if got := g.Status().Fails; len(got) > 0 {
				t.Errorf("status has %q behind the end, want nothing", got)
			}
		})
	}
}

// A dear host takes its time to list its tasks.
type dear struct {
	*host
	lists int
}

func (d *dear) Tasks(ctx context.Context) ([]gate.Task, error) {
	d.lists++
	time.Sleep(2 * time.Second)
	return d.host.Tasks(ctx)
}

// The gate lists all tasks for a fortieth of the time at most. It finds lost ends all the same at the second comparison, and lost news of tasks with the
// next listing.
func TestDearList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dear{host: newHost(1)}
		ctx, cancel := context.WithCancel(t.Context())
		workers := d.serve(ctx, 1)
		g, err := gate.New(must(fifo.New(fifo.Options{})), d, gate.Options{Workers: 1, Log: silent})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = g.Run(ctx) })
		time.Sleep(time.Minute)
		d.add(gate.Job{ID: "a"}, 20, time.Second)
		time.Sleep(500 * time.Millisecond)
		d.mu.Lock()
		d.faults = func(call string) bool { return call == "note" }
		d.mu.Unlock()
		start := time.Now()
		for d.unfinished() > 0 {
			time.Sleep(time.Second)
		}
		if took := time.Since(start); took > 20*22*time.Second {
			t.Errorf("20 tasks whose ends nobody told have taken %v, want two comparisons for each", took)
		}
		d.add(gate.Job{ID: "b"}, 1, time.Second) // nobody tells
		start = time.Now()
		for d.unfinished() > 0 {
			time.Sleep(time.Second)
		}
		if took := time.Since(start); took > 95*time.Second {
			t.Errorf("a task of which nobody told has taken %v, want a listing", took)
		}
		time.Sleep(time.Hour)
		cancel()
		wg.Wait()
		workers.Wait()
		if most := 3 + int((time.Since(start)+20*22*time.Second+time.Minute)/(80*time.Second)); d.lists > most || d.lists < most/2 {
			t.Errorf("%d listings, want %d", d.lists, most)
		}
	})
}
