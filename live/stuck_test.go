package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// stuck keeps the notes that a job is stuck.
type stuck struct {
	mu    sync.Mutex
	notes []live.Note
}

func (s *stuck) Note(n live.Note) {
	if n.Kind == live.JobStuck {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.notes = append(s.notes, n)
	}
}

// all returns the notes so far.
func (s *stuck) all() []live.Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// forget begins anew.
func (s *stuck) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = nil
}

// A nest is a pool whose tasks submit jobs and wait for them.
type nest struct {
	p     *live.Pool
	notes stuck
}

func (n *nest) open(slots int) {
	n.p = must(live.New(newFIFO(), live.Options{Slots: slots, Observer: &n.notes}))
}

// waiter waits for a job of the same pool that run runs, with a context that comes from its own.
func (n *nest) waiter(run func(context.Context, live.Task) error) func(context.Context, live.Task) error {
	return func(ctx context.Context, _ live.Task) error {
		h, err := n.p.Submit(ctx, bag(1, run))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.WithValue(ctx, requestKey{}, 1))
		defer cancel()
		return h.Wait(ctx)
	}
}

// Tasks that wait for jobs of their own pool are told of when nothing can go on, and only then. Each case goes on when slots are
// added, or the job is cancelled.
func TestDeadlock(t *testing.T) {
	long := sleep(time.Minute)
	for _, tc := range []struct {
		name  string
		slots int
		jobs  func(n *nest) []live.Job
		want  int // attempts that are stuck
	}{
		{"one slot", 1, func(n *nest) []live.Job { return []live.Job{bag(1, n.waiter(long))} }, 1},
		{"a slot for the other", 2, func(n *nest) []live.Job { return []live.Job{bag(1, n.waiter(long))} }, 0},
		{"all of two slots", 2, func(n *nest) []live.Job { return []live.Job{bag(2, n.waiter(long))} }, 2},
		{"three levels", 2, func(n *nest) []live.Job { return []live.Job{bag(1, n.waiter(n.waiter(long)))} }, 2},
		{"three levels, three slots", 3, func(n *nest) []live.Job { return []live.Job{bag(1, n.waiter(n.waiter(long)))} }, 0},
		{"a slot that gets free", 2, func(n *nest) []live.Job { return []live.Job{bag(1, n.waiter(long)), bag(1, long)} }, 0},
		{"a slot that a waiter takes then", 2, func(n *nest) []live.Job { return []live.Job{bag(1, long), bag(2, n.waiter(long))} }, 2},
		{"itself, though slots are free", 4, func(n *nest) []live.Job {
			return []live.Job{bag(1, func(ctx context.Context, task live.Task) error {
				for _, h := range n.p.Handles() {
					if h.ID() == task.Job {
						return h.Wait(ctx)
					}
				}
				return nil
			})}
		}, 1},
		{"each other", 4, func(n *nest) []live.Job {
			wait := func(ctx context.Context, task live.Task) error {
				time.Sleep(ms) // until both are there
				for _, h := range n.p.Handles() {
					if h.ID() != task.Job {
						return h.Wait(ctx)
					}
				}
				return nil
			}
			return []live.Job{bag(1, wait), bag(1, wait)}
		}, 2},
		{"results", 1, func(n *nest) []live.Job {
			return []live.Job{bag(1, func(ctx context.Context, _ live.Task) error {
				r := live.Collect(2, func(context.Context, live.Task) (int, error) { return 1, nil })
				if _, err := n.p.Submit(ctx, live.Job{Phases: []live.Phase{r.Phase}}); err != nil {
					return err
				}
				for range r.All(ctx) {
				}
				return ctx.Err()
			})}
		}, 1},
		{"a job of another class", 1, func(n *nest) []live.Job {
			must(n.p.AddSlots(1, sojourn.Slot{Class: 3}))
			return []live.Job{bag(1, func(ctx context.Context, _ live.Task) error {
				j := bag(2, long)
				j.Phases[0].Class = 3
				return must(n.p.Submit(ctx, j)).Wait(ctx)
			})}
		}, 0},
		{"another pool", 1, func(n *nest) []live.Job {
			return []live.Job{bag(1, func(ctx context.Context, _ live.Task) error {
				q := must(live.New(newFIFO(), live.Options{Slots: 1, Observer: &n.notes}))
				err := must(q.Submit(ctx, bag(1, long))).Wait(ctx)
				return errors.Join(err, q.Close(ctx))
			})}
		}, 0},
		{"a job that is done", 1, func(n *nest) []live.Job {
			h := must(n.p.Submit(bg, bag(1, sleep(0))))
			_ = h.Wait(bg)
			return []live.Job{bag(1, func(ctx context.Context, _ live.Task) error { return h.Wait(ctx) })}
		}, 0},
		{"a job that it cancels", 1, func(n *nest) []live.Job {
			return []live.Job{bag(1, func(ctx context.Context, _ live.Task) error {
				h := must(n.p.Submit(ctx, bag(1, long)))
				h.Cancel()
				if err := h.Wait(ctx); !errors.Is(err, live.ErrCancelled) {
					return fmt.Errorf("the job that was cancelled: %w", err)
				}
				return nil
			})}
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := new(nest)
				n.open(tc.slots)
				var handles []*live.Handle
				for _, j := range tc.jobs(n) {
					handles = append(handles, must(n.p.Submit(bg, j)))
				}
				time.Sleep(time.Hour)
				if got := len(n.notes.all()); got != tc.want {
					t.Errorf("%d attempts are told of, want %d: %v", got, tc.want, n.notes.all())
				}
				var named []string
				for _, note := range n.notes.all() {
					named = append(named, fmt.Sprint(note.Task, "#", note.Attempt))
					if !errors.Is(note.Err, live.ErrDeadlock) || note.Job.ID != note.Task.Job {
						t.Errorf("a note of %+v", note)
					}
				}
				if slices.Sort(named); len(slices.Compact(named)) != len(n.notes.all()) {
					t.Errorf("an attempt is told of twice: %v", named)
				}
				must(n.p.AddSlots(4, sojourn.Slot{}))
				time.Sleep(time.Hour)
				for i, h := range handles {
					if strings.HasPrefix(tc.name, "itself") || strings.HasPrefix(tc.name, "each") {
						h.Cancel()
						wantError(t, "a job in a circle", h.Wait(bg), live.ErrCancelled)
						continue
					}
					wantError(t, fmt.Sprint("job ", i), h.Wait(bg), nil)
				}
				if got := len(n.notes.all()); got != tc.want {
					t.Errorf("%d attempts are told of after slots were added, want %d", got, tc.want)
				}
				wantError(t, "Close", n.p.Close(bg), nil)
			})
		})
	}
}

// A slot that leaves can leave others stuck, and so can Suspend.
func TestDeadlockOfWhatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := new(nest)
		n.open(1)
		other := must(n.p.AddSlots(1, sojourn.Slot{Class: 1}))[0]
		j := bag(1, n.waiter(sleep(time.Hour)))
		j.Phases[0].Class = 1
		h := must(n.p.Submit(bg, j))
		time.Sleep(time.Minute)
		wantError(t, "Remove", n.p.Remove(0), nil)
		time.Sleep(time.Minute)
		if len(n.notes.all()) != 2 || !errors.Is(n.notes.all()[0].Err, live.ErrNoSlots) || !errors.Is(n.notes.all()[1].Err, live.ErrDeadlock) {
			t.Errorf("after the slot has left: %v", n.notes.all())
		}
		must(n.p.AddSlots(1, sojourn.Slot{}))
		wantError(t, "the job", h.Wait(bg), nil)
		wantError(t, "Drain", n.p.Drain(other), nil)

		n.notes.forget()
		must(n.p.AddSlots(1, sojourn.Slot{}))
		must(n.p.Submit(bg, bag(1, sleep(time.Hour)))) // before the job that the other one submits
		h = must(n.p.Submit(bg, bag(1, n.waiter(sleep(time.Hour)))))
		time.Sleep(time.Minute)
		if len(n.notes.all()) > 0 {
			t.Errorf("with a slot that gets free: %v", n.notes.all())
		}
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		wantError(t, "Suspend", n.p.Suspend(ctx), context.DeadlineExceeded)
		if len(n.notes.all()) != 1 || !errors.Is(n.notes.all()[0].Err, live.ErrDeadlock) {
			t.Errorf("in a pool that is suspended: %v", n.notes.all())
		}
		wantError(t, "the job", h.Wait(bg), live.ErrSuspended)
	})
}

// A class without slots is told of once, whether it had slots before or not, until it has some.
func TestClassWithoutSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := new(nest)
		n.open(1)
		job := func(classes ...sojourn.Class) live.Job {
			var j live.Job
			for _, c := range classes {
				j.Phases = append(j.Phases, live.Phase{Tasks: 1, Class: c, Run: sleep(time.Minute)})
			}
			return j
		}
		want := func(what string, ids ...sojourn.JobID) {
			t.Helper()
			var got []sojourn.JobID
			for _, note := range n.notes.all() {
				got = append(got, note.Job.ID)
				if !errors.Is(note.Err, live.ErrNoSlots) || note.Attempt != 0 {
					t.Errorf("a note of %+v", note)
				}
			}
			if n.notes.forget(); !slices.Equal(got, ids) {
				t.Errorf("%s: notes on jobs %v, want %v", what, got, ids)
			}
		}
		must(n.p.Submit(bg, job(0)))
		want("a class with slots")
		two := must(n.p.Submit(bg, job(0, 7, 8)))
		want("two classes", 2, 2)
		must(n.p.Submit(bg, job(7)))
		want("the next job of them")
		time.Sleep(time.Hour)
		want("later")
		id := must(n.p.AddSlots(1, sojourn.Slot{Class: 7}))[0]
		must(n.p.Submit(bg, job(7)))
		time.Sleep(30 * time.Second)
		wantError(t, "Drain", n.p.Drain(id), nil)
		want("a slot that leaves, but is busy")
		time.Sleep(time.Hour)
		want("it has left", 3)
		must(n.p.AddSlots(2, sojourn.Slot{Class: 7}))
		time.Sleep(time.Hour)
		must(n.p.AddSlots(1, sojourn.Slot{Class: 8}))
		wantError(t, "the job", two.Wait(bg), nil)
		id = must(n.p.AddSlots(1, sojourn.Slot{Class: 9}))[0]
		h := must(n.p.Submit(bg, job(9)))
		wantError(t, "Drain under the last task", n.p.Drain(id), nil)
		wantError(t, "the job", h.Wait(bg), nil)
		want("the last task ends with its slot")
		wantError(t, "Close", n.p.Close(bg), nil)
		want("Close")
	})
}

// Attempts at one task that ignore its timeout run beside one another, and are told apart.
func TestIgnoringAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally live.Tally
		var mu sync.Mutex
		var list []string
		o := fan{&tally, noteFunc(func(n live.Note) {
			if n.Kind == live.TaskIgnores || n.Kind == live.TaskReturned {
				mu.Lock()
				defer mu.Unlock()
				list = append(list, fmt.Sprintf("%v %v#%d on %d: %v", n.Kind, n.Task, n.Attempt, n.Slot, n.Err))
			}
		})}
		p := must(live.New(newFIFO(), live.Options{Slots: 2, Grace: time.Second, Timeout: time.Second, Observer: o, Retry: live.Retry{Attempts: 3}}))
		returned := errors.New("too late")
		h := must(p.Submit(bg, bag(1, func(_ context.Context, task live.Task) error {
			time.Sleep(time.Hour / time.Duration(task.Attempt)) // the last one returns first
			return returned
		})))
		wantError(t, "the job", h.Wait(bg), live.ErrAbandoned)
		var got []string
		for _, a := range p.Status().Ignoring {
			got = append(got, fmt.Sprintf("%v#%d on %d", a.TaskID, a.Attempt, a.Slot))
		}
		if want := []string{"1/0/0#1 on 0", "1/0/0#2 on 0", "1/0/0#3 on 0"}; !slices.Equal(got, want) {
			t.Errorf("ignoring: %q, want %q", got, want)
		}
		if g := tally.Read(); g.Ignoring != 3 || g.Running != 0 || g.Jobs != 0 {
			t.Errorf("gauges %+v, want 3 that ignore", g)
		}
		time.Sleep(25 * time.Minute)
		if st := p.Status(); len(st.Ignoring) != 2 || st.Ignoring[0].Attempt != 1 || st.Ignoring[1].Attempt != 2 {
			t.Errorf("after the last one has returned: %+v", st.Ignoring)
		}
		err := p.Close(bg)
		wantError(t, "Close", err, live.ErrAbandoned)
		for _, want := range []string{"attempt 1 at task 1/0/0", "attempt 2 at task 1/0/0"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Close: %v, want %s", err, want)
			}
		}
		time.Sleep(time.Hour)
		if g := tally.Read(); g.Ignoring != 0 {
			t.Errorf("gauges %+v when all have returned", g)
		}
		want := []string{
			"task ignores its context 1/0/0#1 on 0: live: the time of the attempt is over",
			"task ignores its context 1/0/0#2 on 0: live: the time of the attempt is over",
			"task ignores its context 1/0/0#3 on 0: live: the time of the attempt is over",
			"task returned 1/0/0#3 on 0: too late", "task returned 1/0/0#2 on 0: too late", "task returned 1/0/0#1 on 0: too late",
		}
		mu.Lock()
		if !slices.Equal(list, want) {
			t.Errorf("notes\n%s\nwant\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
		}
		mu.Unlock()
		wantError(t, "Close again", p.Close(bg), nil)
	})
}

// A fan tells several observers.
type fan []live.Observer

func (f fan) Note(n live.Note) {
	for _, o := range f {
		o.Note(n)
	}
}

type noteFunc func(live.Note)

func (f noteFunc) Note(n live.Note) { f(n) }
