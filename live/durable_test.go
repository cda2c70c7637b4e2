package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A diary is what handlers have done, in one process after another.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// openFIFO opens the journal of a folder under FIFO.
func openFIFO(dir string) *journal.Journal {
	return must(journal.Open(must(journal.OpenFiles(dir)), newFIFO(), journal.Options{}))
}

// durable returns a pool with a journal in a folder. Its handler sleeps for as long as the payload says.
func durable(dir string, d *diary, o live.Options) (*live.Pool, *journal.Journal) {
	j := openFIFO(dir)
	o.Handlers = map[string]live.Handler{"sleep": func(ctx context.Context, t live.Task, payload []byte) error {
		d.say("%v#%d", t.TaskID, t.Attempt)
		return sleep(must(time.ParseDuration(string(payload))))(ctx, t)
	}}
	return must(live.New(j, o)), j
}

// A pool that is suspended leaves its jobs to the next one: tasks that were done stay done, numbers of attempts go on, and so do the
// limit of time of a job, its own retries, and the IDs.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, d := t.TempDir(), new(diary)
		p, j := durable(dir, d, live.Options{Slots: 2})
		job := func(payload string, n int) live.Job {
			return live.Job{Name: "name", Pool: "pool", Weight: 2, Handler: "sleep", Payload: []byte(payload), Phases: []live.Phase{{Tasks: n}, {Tasks: 1}}}
		}
		long := must(p.Submit(bg, job("1h", 3)))
		limited := job("1h", 1)
		limited.Timeout = 90 * time.Minute
		late := must(p.Submit(bg, limited))
		limited.Timeout, limited.Phases = 0, []live.Phase{{Tasks: 1, Timeout: ms}}
		limited.Retry = &live.Retry{Attempts: 2}
		failing := must(p.Submit(bg, limited))
		time.Sleep(61 * time.Minute)
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if err := p.Suspend(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Suspend: %v", err)
		}
		for _, h := range []*live.Handle{long, late} {
			wantError(t, fmt.Sprint("job ", h.ID()), h.Wait(bg), live.ErrSuspended)
		}
		if _, err := p.Submit(bg, job("1h", 1)); !errors.Is(err, live.ErrClosed) {
			t.Errorf("Submit to a suspended pool: %v", err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		before := len(d.lines)

		p, j = durable(dir, d, live.Options{Slots: 2})
		handles := p.Handles()
		if len(handles) != 3 || handles[0].ID() != long.ID() || handles[1].ID() != late.ID() {
			t.Fatalf("%d handles", len(handles))
		}
		st := p.Status()
		if js := st.Jobs[slices.IndexFunc(st.Jobs, func(js live.JobStatus) bool { return js.ID == long.ID() })]; js.Name != "name" || js.Pool != "pool" || js.Progress.Tasks != 4 || js.Age != 62*time.Minute {
			t.Errorf("a job after the restart: %+v", js)
		}
		wantError(t, "the limit of time", handles[1].Wait(bg), live.ErrJobTimeout)
		if age := p.Status().Now; age != j.Time(time.Now()) {
			t.Errorf("it is %v, want %v", age, j.Time(time.Now()))
		}
		var failed *live.TaskError
		if err := handles[2].Wait(bg); !errors.As(err, &failed) || failed.Failures != 2 {
			t.Errorf("the job with retries of its own: %v, job %d before", err, failing.ID())
		}
		if err := handles[0].Wait(bg); err != nil {
			t.Error(err)
		}
		if h := must(p.Submit(bg, job("1ms", 1))); h.ID() != 4 || h.Wait(bg) != nil {
			t.Errorf("the next job has ID %d", h.ID())
		}
		if got := len(j.Attached(1)); got != 0 {
			t.Errorf("%d bytes are kept for a job that has ended", got)
		}
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
		if sorted := slices.Sorted(slices.Values(d.lines)); len(slices.Compact(sorted)) != len(d.lines) || before == 0 || before == len(d.lines) {
			t.Errorf("attempts, the first %d before the restart: %v", before, d.lines)
		}
	})
}

// After a restart nothing starts before all jobs of the journal are there: the least one is served first,
// though it is the last one in the journal (Volcano #2821, #5174, #5819).
func TestNothingStartsBeforeTheStateIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, d := t.TempDir(), new(diary)
		open := func() (*live.Pool, *journal.Journal) {
			j := must(journal.Open(must(journal.OpenFiles(dir)), constructors.SRPT.Must(baseline.SRPTOptions{}), journal.Options{}))
			return must(live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{"wait": func(ctx context.Context, task live.Task, _ []byte) error {
				d.say("%d", task.Job)
				return sleep(time.Hour)(ctx, task)
			}}})), j
		}
		p, j := open()
		for _, estimate := range []time.Duration{3 * time.Hour, 2 * time.Hour, time.Hour} {
			must(p.Submit(bg, live.Job{Handler: "wait", Phases: []live.Phase{{Tasks: 1, Estimate: estimate}}}))
		}
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if err := p.Suspend(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Suspend: %v", err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		p, j = open()
		for _, h := range p.Handles() {
			if err := h.Wait(bg); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
		if want := []string{"1", "3", "2", "1"}; !slices.Equal(d.lines, want) {
			t.Errorf("jobs start in the order %v, want %v", d.lines, want)
		}
	})
}

// failing is a store that fails at a call that changes something, and at all after it.
type failing struct {
	journal.Store
	mu   sync.Mutex
	left int
}

var errDisk = errors.New("no space left")

func (f *failing) call() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left < 0 {
		return errDisk
	}
	return nil
}

func (f *failing) Append(segment uint64, data []byte) error {
	if err := f.call(); err != nil {
		return err
	}
	return f.Store.Append(segment, data)
}

func (f *failing) Sync(segment uint64) error {
	if err := f.call(); err != nil {
		return err
	}
	return f.Store.Sync(segment)
}

// The store fails at each call in turn. Every Wait returns, jobs end with the error of the store or well, Close returns the error,
// no goroutine is left, and the next process goes on: a job whose Wait returned nil does not run again.
func TestStoreFails(t *testing.T) {
	whole := false
	for n := 0; !whole; n++ {
		synctest.Test(t, func(t *testing.T) {
			dir, d := t.TempDir(), new(diary)
			files := must(journal.OpenFiles(dir))
			j, err := journal.Open(&failing{Store: files, left: n}, newFIFO(), journal.Options{})
			if err != nil {
				wantError(t, "Open", err, errDisk)
				return
			}
			run := map[string]live.Handler{"sleep": func(ctx context.Context, task live.Task, _ []byte) error {
				d.say("%v#%d", task.TaskID, task.Attempt)
				if task.Job == 2 && task.Attempt == 1 {
					return errors.New("the first attempt fails")
				}
				return sleep(time.Minute)(ctx, task)
			}}
			o := live.Options{Slots: 2, Handlers: run, Retry: live.Retry{Attempts: 2, Backoff: time.Second}}
			p := must(live.New(j, o))
			acked, done := map[sojourn.JobID]bool{}, map[sojourn.JobID]bool{}
			for range 3 {
				h, err := p.Submit(bg, live.Job{Handler: "sleep", Timeout: time.Hour, Phases: []live.Phase{{Tasks: 2}, {Tasks: 1}}})
				if err != nil {
					wantError(t, "Submit", err, errDisk)
					continue
				}
				acked[h.ID()] = true
				time.Sleep(30 * time.Second)
				if h.ID() != 1 {
					continue
				}
				if err := h.Wait(bg); err == nil {
					done[h.ID()] = true
				} else {
					wantError(t, "Wait", err, errDisk)
				}
			}
			for _, h := range p.Handles() {
				if err := h.Wait(bg); err == nil {
					done[h.ID()] = true
				} else {
					wantError(t, "Wait", err, errDisk)
				}
			}
			err = p.Close(bg)
			if whole = err == nil && len(acked) == 3; !whole && err != nil {
				wantError(t, "Close", err, errDisk)
			}
			_ = j.Close()
			before := slices.Clone(d.lines)
			j = openFIFO(dir)
			p = must(live.New(j, o))
			for _, h := range p.Handles() {
				if done[h.ID()] {
					t.Errorf("job %d runs again after its Wait", h.ID())
				}
				delete(acked, h.ID())
				if err := h.Wait(bg); err != nil {
					t.Error(err)
				}
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
			for id := range acked { // it had ended before
				if tasks := slices.DeleteFunc(slices.Clone(before), func(s string) bool { return !strings.HasPrefix(s, fmt.Sprint(id, "/")) }); len(tasks) < 3 {
					t.Errorf("job %d was acknowledged and is lost: it ran %v", id, tasks)
				}
			}
			if lines := slices.Sorted(slices.Values(d.lines)); len(slices.Compact(lines)) != len(d.lines) {
				t.Errorf("an attempt is started twice: %v", d.lines)
			}
		})
		if t.Failed() {
			t.Fatalf("the store fails at call %d", n)
		}
	}
}

// The store fails while no attempt runs: a job that waits for a slot ends all the same.
func TestStoreFailsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Store: must(journal.OpenFiles(t.TempDir())), left: 1000}
		j := must(journal.Open(store, newFIFO(), journal.Options{}))
		p := must(live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{"h": func(context.Context, live.Task, []byte) error { return nil }}}))
		if err := p.Drain(0); err != nil {
			t.Fatal(err)
		}
		job := live.Job{Handler: "h", Phases: []live.Phase{{Tasks: 1}}}
		h := must(p.Submit(bg, job))
		store.left = 0
		if _, err := p.Submit(bg, job); !errors.Is(err, errDisk) {
			t.Errorf("Submit: %v", err)
		}
		wantError(t, "the job before", h.Wait(bg), errDisk)
		wantError(t, "Close", p.Close(bg), errDisk)
		_ = j.Close()
	})
}

// A journal that is closed before its pool: jobs end with an error, also one whose last task ends well.
func TestJournalClosedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := durable(t.TempDir(), new(diary), live.Options{Slots: 1})
		h := must(p.Submit(bg, live.Job{Handler: "sleep", Payload: []byte("1h"), Phases: []live.Phase{{Tasks: 1}}}))
		time.Sleep(time.Minute)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		wantError(t, "Wait", h.Wait(bg), journal.ErrClosed)
		wantError(t, "Close", p.Close(bg), journal.ErrClosed)
	})
}

// What has ended is kept although nobody waits for it, and a slot that leaves with a suspended pool ends no job.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p, j := durable(dir, new(diary), live.Options{Slots: 1})
		job := live.Job{Handler: "sleep", Payload: []byte("1m"), Phases: []live.Phase{{Tasks: 1}}}
		must(p.Submit(bg, job))
		time.Sleep(time.Hour)
		again := t.TempDir()
		if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		k := openFIFO(again)
		if n := k.Account().Live(); n != 0 {
			t.Errorf("%d jobs are left if the process is killed", n)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		job.Phases[0].Tasks = 2
		h := must(p.Submit(bg, job))
		time.Sleep(time.Second)
		if err := p.Drain(0); err != nil {
			t.Fatal(err)
		}
		if err := p.Suspend(bg); err != nil {
			t.Error(err)
		}
		wantError(t, "a job of a suspended pool", h.Wait(bg), live.ErrSuspended)
		if job, ok := j.Account().Job(h.ID()); !ok || job.Left != 1 || job.Cancelled {
			t.Errorf("what is left of the job: %+v, %v", job, ok)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// What a durable pool does not accept.
func TestDurableBadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, d := t.TempDir(), new(diary)
		p, j := durable(dir, d, live.Options{Slots: 1})
		nothing := func(context.Context, live.Task) error { return nil }
		for what, job := range map[string]live.Job{
			"a function":            bag(1, nothing),
			"no such handler":       {Handler: "none", Phases: []live.Phase{{Tasks: 1}}},
			"a payload alone":       {Payload: []byte("x"), Phases: []live.Phase{{Tasks: 1}}},
			"a handler, a function": {Handler: "sleep", Phases: []live.Phase{{Tasks: 1, Run: nothing}}},
			"no phases":             {Handler: "sleep"},
		} {
			if _, err := p.Submit(bg, job); err == nil {
				t.Errorf("%s is accepted", what)
			}
		}
		if _, err := live.New(j, live.Options{}); !errors.Is(err, live.ErrInUse) {
			t.Errorf("a second pool with the journal: %v, want ErrInUse", err)
		}
		must(p.Submit(bg, live.Job{Handler: "sleep", Payload: []byte("1s"), Phases: []live.Phase{{Tasks: 1}}}))
		if err := errors.Join(p.Suspend(bg), j.Close()); err != nil {
			t.Fatal(err)
		}

		j = openFIFO(dir) // the task was done before Suspend returned
		if n := j.Account().Live(); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
		if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: j.Account().Now(), Job: &sojourn.Job{ID: 9, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := live.New(j, live.Options{}); err == nil || !strings.Contains(err.Error(), "job 9 has no handler") {
			t.Errorf("a job of another driver: %v", err)
		}
		if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: j.Account().Now(), Job: &sojourn.Job{ID: 1 << 63, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := live.New(j, live.Options{}); err == nil || !strings.Contains(err.Error(), "too far apart") {
			t.Errorf("an ID that no pool gives: %v", err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A job whose handler a release has renamed waits, visibly, and others go on. It can be cancelled, Close does not wait for it, and it
// goes on in a process that has the handler.
func TestParked(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			disk, d := newDisk(), new(diary)
			var stuck []error
			handler := func(ctx context.Context, task live.Task, _ []byte) error {
				d.say("%v#%d", task.TaskID, task.Attempt)
				return sleep(time.Second)(ctx, task)
			}
			open := func(names ...string) (*live.Pool, *journal.Journal) {
				o := live.Options{Slots: 2, Handlers: map[string]live.Handler{}, Observer: noteFunc(func(n live.Note) {
					if n.Kind == live.JobStuck {
						stuck = append(stuck, n.Err)
					}
				})}
				for _, name := range names {
					o.Handlers[name] = handler
				}
				return openDisk(disk, o)
			}
			p, j := open("old", "other")
			for _, name := range []string{"old", "other"} {
				must(p.Submit(bg, live.Job{Name: name, Handler: name, Payload: []byte(name), Phases: []live.Phase{{Tasks: 3}, {Tasks: 1}}}))
			}
			time.Sleep(1500 * ms) // two tasks of the first job are done, and a task of each runs
			disk.end()
			hardStop(p)
			_ = j.Close()
			before := len(d.lines)

			p, j = open("new", "other")
			parked, other := p.Handles()[0], p.Handles()[1]
			what, ended := parked.Ended()
			if pr := parked.Progress(); !pr.Parked || pr.Done != 2 || what.Name != "old" || what.Handler != "old" || string(what.Payload) != "old" || string(parked.Payload()) != "old" || ended {
				t.Errorf("%+v, %+v, %t", pr, what, ended)
			}
			if len(stuck) != 1 || !errors.Is(stuck[0], live.ErrNoHandler) || !strings.Contains(stuck[0].Error(), `"old"`) {
				t.Errorf("notes: %v", stuck)
			}
			if err := other.Wait(bg); err != nil {
				t.Error(err)
			}
			want := live.ErrSuspended
			if cancel {
				parked.Cancel()
				want = live.ErrCancelled
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
			wantError(t, "a parked job", parked.Wait(bg), want)
			for _, line := range d.lines[before:] {
				if strings.HasPrefix(line, "1/") {
					t.Errorf("task %s of a parked job was started", line)
				}
			}

			p, j = open("old")
			if h, ok := p.Handle(1); !ok || h.Wait(bg) != nil && !cancel || cancel && !errors.Is(h.Wait(bg), live.ErrCancelled) {
				t.Errorf("the job with its handler: %v", h.Wait(bg))
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A guard that hides the journal would make a pool that keeps nothing.
func TestDurableBehindALock(t *testing.T) {
	dir := t.TempDir()
	j := openFIFO(dir)
	_, err := live.New(sojourn.NewLocked(j), live.Options{Slots: 1})
	wantError(t, "a journal behind a lock", err, live.ErrHidden)
	d := new(diary)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	p, j := durable(dir, d, live.Options{Slots: 1}) // nothing was written
	if err := errors.Join(p.Close(bg), j.Close()); err != nil {
		t.Error(err)
	}
}

// A job that names a handler runs in any pool.
func TestHandlerWithoutJournal(t *testing.T) {
	var got string
	o := live.Options{Slots: 1, Handlers: map[string]live.Handler{"h": func(_ context.Context, t live.Task, payload []byte) error {
		got = fmt.Sprint(t.TaskID, " ", string(payload))
		return nil
	}}}
	inPool(t, o, func(t *testing.T, p *live.Pool) {
		h := must(p.Submit(bg, live.Job{Handler: "h", Payload: []byte("bytes"), Phases: []live.Phase{{Tasks: 1}}}))
		if err := h.Wait(bg); err != nil || got != "1/0/0 bytes" {
			t.Errorf("the handler got %q: %v", got, err)
		}
	})
}
