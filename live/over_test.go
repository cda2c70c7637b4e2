package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/live"
)

// A call of OnEnd outlives the pool. Whatever it returns then, nothing happens in this process, and the next one calls again.
func TestOnEndAfterThePool(t *testing.T) {
	for name, end := range map[string]func() error{
		"nil":   func() error { return nil },
		"error": func() error { return errors.New("too late") },
		"panic": func() error { panic("too late") },
	} {
		synctest.Test(t, func(t *testing.T) {
			var notes []live.NoteKind
			release, calls := make(chan struct{}), atomic.Int64{}
			o := live.Options{Slots: 1, Grace: time.Second, Handlers: map[string]live.Handler{"work": func(context.Context, live.Task, []byte) error { return nil }},
				Observer: noteFunc(func(n live.Note) { notes = append(notes, n.Kind) })}
			o.OnEnd = func(ctx context.Context, e live.Ended) error {
				if calls.Add(1) > 1 {
					return nil
				}
				<-release // and not the end of ctx
				return end()
			}
			d := newDisk()
			p, j := openDisk(d, o)
			h := must(p.Submit(bg, live.Job{Handler: "work", Key: "k", Phases: []live.Phase{{Tasks: 1}}}))
			if err := h.Wait(bg); err != nil {
				t.Fatal(err)
			}
			hard, stop := context.WithTimeout(bg, time.Second)
			defer stop()
			if err := errors.Join(p.Close(hard), j.Close()); err != nil {
				t.Errorf("%s: Close with a call that does not return = %v", name, err)
			}
			before := len(notes)
			close(release)
			time.Sleep(time.Hour)
			if len(notes) != before || calls.Load() != 1 {
				t.Errorf("%s: after the pool, %v were told, and OnEnd was called %d times", name, notes[before:], calls.Load())
			}
			p, j = openDisk(d, o)
			synctest.Wait()
			if e, ok := handle(p, h.ID()).Ended(); calls.Load() != 2 || !ok || e.Key != "k" {
				t.Errorf("%s: in the next process OnEnd was called %d times, and %+v is remembered", name, calls.Load()-1, e)
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Ended jobs that nobody asks for take no more room than Options.Remember says, in memory and in the journal. A long key is refused,
// and leaves nothing.
func TestManyEnded(t *testing.T) {
	o := live.Options{Slots: 2, Remember: 5, UnsyncedStarts: true, Handlers: map[string]live.Handler{"work": func(ctx context.Context, _ live.Task, _ []byte) error { return live.Save(ctx, []byte("result")) }}}
	d := newDisk()
	p, j := openDisk(d, o)
	const jobs = 300
	var last *live.Handle
	for i := range jobs {
		last = must(p.Submit(bg, live.Job{Handler: "work", Key: fmt.Sprint(i), Phases: []live.Phase{{Tasks: 1}}}))
	}
	for range 3 {
		if _, err := p.Submit(bg, live.Job{Handler: "work", Key: strings.Repeat("k", 1<<20), Phases: []live.Phase{{Tasks: 1}}}); err == nil || len(err.Error()) > 200 {
			t.Fatalf("a key of 1 MiB: %.300v", err)
		}
	}
	if err := last.Wait(bg); err != nil {
		t.Error(err)
	}
	for _, h := range p.Handles() {
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
	}
	if got := p.Ended(); len(got) > 5 || len(got) < 1 {
		t.Errorf("%d jobs are remembered, want at most 5", len(got))
	}
	if err := p.Close(bg); err != nil {
		t.Error(err)
	}
	kept := 0
	for range j.Kept() {
		kept++
	}
	if kept > 2*5 {
		t.Errorf("%d keys are kept, want at most 10", kept)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	bytes := 0
	for _, data := range d.segments {
		bytes += len(data)
	}
	if bytes > 20_000 {
		t.Errorf("%d ended jobs leave %d bytes", jobs, bytes)
	}
	if p, j = openDisk(d, o); len(p.Ended()) > 5 || len(p.Handles()) > 0 {
		t.Errorf("the next process has %d and %d jobs", len(p.Ended()), len(p.Handles()))
	}
	hardStop(p)
	_ = j.Close()
}
