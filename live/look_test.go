package live_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
)

// A watcher looks at its pool.
type watcher struct {
	live.Tally
	pool interface {
		Status(ids []sojourn.JobID) (live.Status, []sojourn.Time)
		Hasten(id sojourn.JobID) bool
	}
	notes int // before Watch
}

func (w *watcher) Watch(pool any) {
	w.pool = pool.(interface {
		Status(ids []sojourn.JobID) (live.Status, []sojourn.Time)
		Hasten(id sojourn.JobID) bool
	})
}

func (w *watcher) Note(n live.Note) {
	if w.pool == nil {
		w.notes++
	}
	w.Tally.Note(n)
}

// An observer sees the jobs that it names and all slots, and when what has failed is tried again. Nobody has to wait for that.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := new(watcher)
		p, err := live.New(policy, live.Options{Slots: 3, Observer: w, Retry: live.Retry{Attempts: 3, Backoff: time.Minute, MaxBackoff: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		epoch := time.Now()
		var starts []time.Duration
		fail := func(_ context.Context, task live.Task) error {
			if task.Index == 0 {
				starts = append(starts, time.Since(epoch))
			}
			time.Sleep(time.Duration(task.Index) * time.Second)
			return errors.New("no")
		}
		h, err := p.Submit(t.Context(), live.Job{Phases: []live.Phase{{Tasks: 2, Run: fail}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Submit(t.Context(), live.Job{Phases: []live.Phase{{Tasks: 1, Run: func(ctx context.Context, _ live.Task) error { <-ctx.Done(); return nil }}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(2 * time.Second)
		st, next := w.pool.Status([]sojourn.JobID{2, 7, 1})
		if w.notes != 0 || len(st.Jobs) != 2 || st.Jobs[0].ID != 2 || st.Jobs[1].ID != 1 || len(st.Slots) != 3 {
			t.Errorf("%d notes before Watch, %+v", w.notes, st)
		}
		if len(next) != 2 || next[0] != 0 || next[1] != sojourn.Time(time.Minute) {
			t.Errorf("the next attempts are at %v, want none, and a minute after the first failure", next)
		}
		if st, _ := w.pool.Status(nil); len(st.Jobs) != 0 || len(st.Slots) != 3 {
			t.Errorf("the status without jobs: %+v", st)
		}
		if w.pool.Hasten(2) || w.pool.Hasten(7) || !w.pool.Hasten(1) {
			t.Error("want the tasks of job 1 alone to be tried at once")
		}
		time.Sleep(2 * time.Second) // the second one has failed again
		synctest.Wait()
		if len(starts) != 2 || starts[1] != 2*time.Second {
			t.Errorf("attempts at the first task began at %v, want 0 and 2s", starts)
		}
		h.Cancel()
		if w.pool.Hasten(1) {
			t.Error("tasks of a job that has ended are tried")
		}
		p.Handles()[0].Cancel()
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
