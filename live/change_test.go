package live_test

import (
	"context"
	"sync"
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
		pause := func(n *sojourn.Pool) { n.Paused = true }
		if err := p.ChangePool("a", pause); err != nil {
			t.Fatal(err)
		}
		running(a, 4)
		time.Sleep(90 * time.Second)
		running(a, 0)
		running(b, 4)
		if shares := p.Shares(0); len(shares) != 2 || shares[0] != (sojourn.Share{Pool: "a"}) || shares[1].Running != 4 || shares[1].Entitled != 4 {
			t.Errorf("Shares = %+v", shares)
		}
		if err := p.ChangePool("b", func(n *sojourn.Pool) { n.Max = sojourn.Slots{0: 1} }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		running(b, 1)
		if err := p.Suspend(bg); err != nil {
			t.Fatal(err)
		}
		wantError(t, "ChangePool of a pool that is suspended", p.ChangePool("a", pause), live.ErrClosed)
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
		wantError(t, "a wrong maximum", p.ChangePool("b", func(n *sojourn.Pool) { n.Max = sojourn.Slots{0: 0} }), sojourn.ErrInvalidPool)
		for _, name := range []string{"a", "b"} {
			if err := p.ChangePool(name, func(n *sojourn.Pool) { *n = sojourn.Pool{} }); err != nil {
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
		wantError(t, "ChangePool of a policy without pools", p.ChangePool("a", func(n *sojourn.Pool) { n.Paused = true }), sojourn.ErrUnsupported)
	})
}

// Who changes another thing of a pool at the same time changes what is then, and neither change is lost. What change keeps is its own: if it
// writes there later, nothing changes; and if it is refused or panics, nothing has.
func TestChangesAtOnce(t *testing.T) {
	p := must(live.New(must(fair.New(fair.Options{})), live.Options{Slots: 1}))
	defer p.Close(bg)
	var all sync.WaitGroup
	var kept *sojourn.Pool
	wantError(t, "a limit", p.ChangePool("etl", func(n *sojourn.Pool) {
		all.Go(func() {
			wantError(t, "a pause meanwhile", p.ChangePool("etl", func(n *sojourn.Pool) { n.Paused = true }), nil)
		})
		time.Sleep(10 * ms) // the other one comes
		n.Max = sojourn.Slots{0: 3}
		kept = n
	}), nil)
	all.Wait()
	check := func(when string) {
		t.Helper()
		if n, _ := p.Settings("etl"); !n.Paused || n.Max[0] != 3 || n.Weight != 1 {
			t.Errorf("%s, etl is %+v, want a pause and a limit of 3", when, n)
		}
	}
	check("after two changes at once")
	kept.Max[0], kept.Paused = 7, false
	check("after a change is written to later")
	wantError(t, "a weight below 0", p.ChangePool("etl", func(n *sojourn.Pool) { n.Max[0], n.Weight = 9, -1 }), sojourn.ErrInvalidPool)
	check("after a change that is refused")
	wantError(t, "another name", p.ChangePool("etl", func(n *sojourn.Pool) { n.Name = "web" }), nil)
	check("after a change of the name")
	func() {
		defer func() { _ = recover() }()
		_ = p.ChangePool("etl", func(n *sojourn.Pool) { panic(n.Name) })
	}()
	check("after a panic")
}
