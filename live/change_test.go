package live_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// A pool that is paused starts nothing, also in the next process, until it goes on; what runs goes on, and others do.
func TestChangePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, d := t.TempDir(), new(diary)
		var j *journal.Journal
		open := func() *live.Pool {
			j = must(journal.Open(must(journal.OpenFiles(dir)), must(fair.New(fair.Options{})), journal.Options{}))
			return must(live.New(j, live.Options{Slots: 4, Handlers: map[string]live.Handler{"sleep": func(ctx context.Context, task live.Task, payload []byte) error {
				d.say("%v#%d", task.TaskID, task.Attempt)
				return sleep(time.Minute)(ctx, task)
			}}}))
		}
		running := func(h *live.Handle, want int) {
			t.Helper()
			synctest.Wait()
			if n := h.Progress().Running; n != want {
				t.Errorf("job %d runs %d tasks, want %d", h.ID(), n, want)
			}
		}
		p := open()
		job := func(pool string) live.Job {
			return live.Job{Pool: pool, Handler: "sleep", Phases: []live.Phase{{Tasks: 12}}}
		}
		a, b := must(p.Submit(bg, job("a"))), must(p.Submit(bg, job("b")))
		running(a, 4)
		n, ok := p.Settings("a")
		if n.Paused = true; !ok || p.ChangePool(n) != nil {
			t.Fatal("a is not paused")
		}
		running(a, 4)
		time.Sleep(90 * time.Second)
		running(a, 0)
		running(b, 4)
		if shares := p.Shares(0); len(shares) != 2 || shares[0] != (sojourn.Share{Pool: "a"}) || shares[1].Running != 4 || shares[1].Entitled != 4 {
			t.Errorf("Shares = %+v", shares)
		}
		if err := p.ChangePool(sojourn.Pool{Name: "b", Max: sojourn.Slots{0: 1}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		running(b, 1)
		if err := p.Suspend(bg); err != nil {
			t.Fatal(err)
		}
		wantError(t, "ChangePool of a pool that is suspended", p.ChangePool(n), live.ErrClosed)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}

		p = open()
		a, b = p.Handles()[0], p.Handles()[1]
		running(a, 0)
		running(b, 1)
		if n, ok := p.Settings("a"); !ok || !n.Paused {
			t.Errorf("after a restart, a is %+v", n)
		}
		wantError(t, "a wrong maximum", p.ChangePool(sojourn.Pool{Name: "b", Max: sojourn.Slots{0: 0}}), sojourn.ErrInvalidPool)
		for _, name := range []string{"a", "b"} {
			if err := p.ChangePool(sojourn.Pool{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		running(a, 3) // it is level with b, which runs one
		for _, h := range []*live.Handle{a, b} {
			if err := h.Wait(bg); err != nil {
				t.Error(err)
			}
		}
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
	})
	inPool(t, live.Options{}, func(t *testing.T, p *live.Pool) {
		if _, ok := p.Settings("a"); ok || p.Shares(0) != nil {
			t.Error("a policy without pools has one")
		}
		wantError(t, "ChangePool of a policy without pools", p.ChangePool(sojourn.Pool{Name: "a", Paused: true}), sojourn.ErrUnsupported)
	})
}
