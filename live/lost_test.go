package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// A sharedStore is one that several processes have open.
type sharedStore interface {
	journal.Store
	Lead() error
	Leader() string
	Yield()
	ReadAt(segment uint64, b []byte, offset int64) (int, error)
}

// A shaky store does what it is told.
type shaky struct {
	sharedStore
	full atomic.Bool
	slow atomic.Int64 // how long it takes to ask for the lock
	lost func(error)
}

func (s *shaky) Lead() error {
	time.Sleep(time.Duration(s.slow.Load()))
	return s.sharedStore.Lead()
}

func (s *shaky) Create(n uint64, data []byte) error {
	if s.full.Load() {
		return syscall.ENOSPC
	}
	return s.sharedStore.Create(n, data)
}

func (s *shaky) Append(n uint64, data []byte) error {
	if s.full.Load() {
		return syscall.ENOSPC
	}
	return s.sharedStore.Append(n, data)
}

func (s *shaky) OnLost(f func(error)) { s.lost = f }

// shakyPool opens a pool on a shaky store of a folder.
func shakyPool(dir string, o live.Options, jo journal.Options) (*live.Pool, *journal.Journal, *shaky) {
	jo.Another = func() (sojourn.Policy, error) { return constructors.LeastWork(leastwork.Options{}) }
	s := &shaky{sharedStore: must(journal.FollowFiles(dir)).(sharedStore)}
	j := must(journal.Open(s, must(jo.Another()), jo))
	o.Handlers = map[string]live.Handler{"waits": func(ctx context.Context, _ live.Task, _ []byte) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}, "runs": func(context.Context, live.Task, []byte) error { return nil }}
	return must(live.New(j, o)), j, s
}

// A pool that writes nothing learns that another process has begun with its jobs: the context of its attempt ends, whether it has led from the
// start or has taken over. One whose journal fails lets a standby go on, though nobody closes it.
func TestLostLead(t *testing.T) {
	for _, how := range []string{"another process leads", "the disk fails"} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			a, ja, store := shakyPool(dir, live.Options{Slots: 1}, journal.Options{})
			h := must(a.Submit(bg, live.Job{Handler: "waits", Phases: []live.Phase{{Tasks: 1}}}))
			lead := newLeads()
			b, jb, second := shakyPool(dir, live.Options{Slots: 1, Observer: lead}, journal.Options{})
			for h.Progress().Running == 0 {
				time.Sleep(ms)
			}
			if how == "the disk fails" {
				store.full.Store(true)
				if _, err := a.Submit(bg, live.Job{Handler: "runs", Phases: []live.Phase{{Tasks: 1}}}); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("Submit: %v", err)
				}
			} else {
				store.lost(fmt.Errorf("b leads: %w", journal.ErrLocked))
			}
			if err := h.Wait(bg); err == nil || a.Err() == nil || !errors.Is(err, a.Err()) {
				t.Errorf("%s: the job ends with %v, and the pool has %v", how, err, a.Err())
			}
			<-lead.now
			again, ok := b.Handle(h.ID())
			for ok && again.Progress().Running == 0 {
				time.Sleep(ms)
			}
			if !ok {
				t.Fatalf("%s: the job does not go on", how)
			}
			second.lost(fmt.Errorf("c leads: %w", journal.ErrLocked))
			soon, done := context.WithTimeout(bg, time.Minute)
			defer done()
			if err := again.Wait(soon); !errors.Is(err, journal.ErrLocked) || !errors.Is(b.Err(), journal.ErrLocked) {
				t.Errorf("%s: then a third process leads: the job ends with %v, and the pool has %v", how, err, b.Err())
			}
			stop, cancel := context.WithCancel(bg)
			cancel()
			_ = a.Close(stop)
			_ = ja.Close()
			_ = b.Close(stop)
			_ = jb.Close()
		})
	}
}

// A standby that cannot go on with the jobs says which job it is, and leaves the lock to others.
func TestStandbyWithoutHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a := must(followJournal(dir, 3000))
		if err := a.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Fatal(err)
		}
		p, _, _ := shakyPool(dir, live.Options{Slots: 4}, journal.Options{})
		if err := errors.Join(a.Flush(), a.Close()); err != nil {
			t.Fatal(err)
		}
		for errors.Is(p.Err(), live.ErrStandby) {
			time.Sleep(ms)
		}
		_, err := p.Submit(bg, live.Job{Handler: "runs", Phases: []live.Phase{{Tasks: 1}}})
		for what, err := range map[string]error{"Err": p.Err(), "Submit": err, "Close": p.Close(bg)} {
			if err == nil || !strings.Contains(err.Error(), "job 1 has no handler") {
				t.Errorf("%s: %v, want that job 1 has no handler", what, err)
			}
		}
		synctest.Wait()
		b := must(followJournal(dir, 3000))
		if err := errors.Join(b.Follow(), b.Close()); err != nil {
			t.Errorf("another process: %v", err)
		}
	})
}

// A standby whose store is slow answers at once.
func TestSlowStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a := must(followJournal(dir, 3000))
		p, j, store := shakyPool(dir, live.Options{Slots: 1}, journal.Options{})
		store.slow.Store(int64(time.Minute))
		time.Sleep(time.Second) // it asks for the lock now
		begun := time.Now()
		_, err := p.Submit(bg, live.Job{Handler: "runs", Phases: []live.Phase{{Tasks: 1}}})
		p.Shares(0)
		p.Settings("x")
		p.Explain(1)
		if took := time.Since(begun); took > 0 || !errors.Is(err, live.ErrStandby) || !errors.Is(p.Status().Err, live.ErrStandby) {
			t.Errorf("Submit returns %v after %v", err, took)
		}
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("Close takes %v", took)
		}
		time.Sleep(2 * time.Minute) // until it has been answered
		if err := errors.Join(a.Close(), j.Close()); err != nil {
			t.Error(err)
		}
	})
}
