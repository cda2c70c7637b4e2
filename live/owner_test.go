package live_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// The clock of the machine jumps by a year, to and fro, between processes: jobs go on, what is remembered keeps its order, and OnEnd is
// told once of each.
func TestClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, year := newDisk(), 365*24*time.Hour
		told := map[sojourn.JobID]int{}
		for i, jump := range []time.Duration{0, year, -year, 0, 2 * year, 0} {
			j := must(journal.Open(d, newFIFO(), journal.Options{}))
			o := live.Options{Slots: 1, Now: func() sojourn.Time { return j.Time(time.Now().Add(jump)) }}
			o.Handlers = map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error { return sleep(time.Second)(ctx, task) }}
			o.OnEnd = func(_ context.Context, e live.Ended) error {
				told[e.ID]++
				return nil
			}
			p := must(live.New(j, o))
			must(p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 2}}}))
			for _, h := range p.Handles() {
				if i%2 == 1 || h.ID() < sojourn.JobID(i) {
					if err := h.Wait(bg); err != nil {
						t.Errorf("a jump by %v: job %d: %v", jump, h.ID(), err)
					}
				}
			}
			stop, cancel := context.WithCancel(bg)
			cancel()
			_ = p.Suspend(stop)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for id := sojourn.JobID(1); id <= 6; id++ {
			if told[id] == 0 {
				t.Errorf("nobody was told of job %d: %v", id, told)
			}
		}
	})
}

// A large payload survives a restart, and what is remembered of its job has no copy of it.
func TestLargePayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		large := bytes.Repeat([]byte("x"), 8<<20)
		got := 0
		o := live.Options{Slots: 1, Handlers: map[string]live.Handler{"work": func(ctx context.Context, task live.Task, payload []byte) error {
			got = len(payload)
			return sleep(time.Second)(ctx, task)
		}}}
		p, j := openDisk(d, o)
		must(p.Submit(bg, live.Job{Handler: "work", Payload: large, Phases: []live.Phase{{Tasks: 1}}}))
		d.end()
		hardStop(p)
		_ = j.Close()
		got = 0
		p, j = openDisk(d, o)
		h := p.Handles()[0]
		if err := h.Wait(bg); err != nil || got != len(large) {
			t.Errorf("%v, a payload of %d bytes", err, got)
		}
		if e, ok := h.Ended(); !ok || e.Payload != nil {
			t.Errorf("%d bytes are remembered", len(e.Payload))
		}
		for key, data := range j.Kept() {
			if len(data) > 1000 {
				t.Errorf("%d bytes are kept under %q", len(data), key)
			}
		}
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
	})
}

// What a later version of a pool has kept is an error with its place, and nothing changes.
func TestKeptByAnotherVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, letter := range []string{"t", "j", "e"} {
			d := newDisk()
			o := live.Options{Slots: 1, Handlers: map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error { return sleep(time.Second)(ctx, task) }}}
			p, j := openDisk(d, o)
			must(p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 1}}}))
			d.end()
			hardStop(p)
			_ = j.Close()
			d.gone = false
			j = must(journal.Open(d, newFIFO(), journal.Options{}))
			key := letter + strings.Repeat("\x00", 8)
			if letter == "t" {
				key += strings.Repeat("\x00", 6)
			}
			if err := j.Keep(key, []byte("of another version")); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j = must(journal.Open(d, newFIFO(), journal.Options{}))
			if _, err := live.New(j, o); err == nil || !strings.Contains(err.Error(), "what is kept under") {
				t.Errorf("%s: %v", letter, err)
			}
			if err := errors.Join(j.Keep(key, nil), j.Close()); err != nil {
				t.Fatal(err)
			}
			p, j = openDisk(d, o)
			if err := p.Handles()[0].Wait(bg); err != nil {
				t.Error(err)
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// OnEnd calls the pool: it submits what comes next, asks for the job, and may not close the pool, which would wait for it. What it cannot submit to a pool that is being
// closed, it submits in the next process.
func TestCallsFromOnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		told := map[string]int{}
		open := func() (*live.Pool, *journal.Journal) {
			var p *live.Pool
			ready := make(chan struct{})
			j := openFIFO(dir)
			p = must(live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error { return sleep(time.Second)(ctx, task) }},
				OnEnd: func(ctx context.Context, e live.Ended) error {
					<-ready
					for what, end := range map[string]func(context.Context) error{"Close": p.Close, "Suspend": p.Suspend} {
						begun := time.Now()
						wantError(t, what+" by OnEnd", end(ctx), live.ErrDeadlock)
						if time.Since(begun) > 0 {
							t.Errorf("%s takes %v", what, time.Since(begun))
						}
					}
					h, ok := p.Handle(e.ID)
					if !ok || h.Wait(ctx) != nil || p.Err() != nil || len(p.Status().Slots) == 0 && ctx.Err() == nil {
						t.Errorf("OnEnd asks for job %d: %t, %v", e.ID, ok, p.Err())
					}
					if e.Key != "xxxx" {
						if _, err := p.Submit(ctx, live.Job{Key: e.Key + "x", Handler: "work", Phases: []live.Phase{{Tasks: 1}}}); err != nil && !errors.Is(err, live.ErrDuplicate) {
							return err
						}
					}
					told[e.Key]++
					return nil
				}}))
			close(ready)
			return p, j
		}
		p, j := open()
		must(p.Submit(bg, live.Job{Key: "x", Handler: "work", Phases: []live.Phase{{Tasks: 1}}}))
		time.Sleep(1500 * ms)
		if err := errors.Join(p.Close(bg), j.Close()); err != nil { // "xx" ends meanwhile
			t.Error(err)
		}
		if len(told) != 1 {
			t.Errorf("told %v before the restart", told)
		}
		p, j = open()
		time.Sleep(time.Hour)
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
		for _, key := range []string{"x", "xx", "xxx", "xxxx"} {
			if told[key] != 1 {
				t.Errorf("told %v, want of each once", told)
			}
		}
	})
}

// A key is its bytes: those that look alike, differ in case, or are no text are different jobs, in the next process, too.
func TestOddKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		keys := []string{"a", "A", "a ", " a", "\u00e9", "e\u0301", "\xff", "\xfe", "\xff\xfe", "\ufffd", "\x00", "\x00\x00", "k\n", "\u202ek", strings.Repeat("k", 1024), strings.Repeat("k", 1023)}
		for life := range 3 {
			p, j := durable(dir, new(diary), live.Options{Slots: 4})
			for i, key := range keys {
				h, err := p.Submit(bg, live.Job{Key: key, Handler: "sleep", Payload: []byte("1h"), Phases: []live.Phase{{Tasks: 1}}})
				if life == 0 && err != nil || life > 0 && !errors.Is(err, live.ErrDuplicate) || h.ID() != sojourn.JobID(i+1) || h.Key() != key {
					t.Errorf("process %d: key %q is job %d with key %q: %v", life, key, h.ID(), h.Key(), err)
				}
			}
			end := p.Suspend
			if life == 1 {
				end = p.Close
			}
			if err := errors.Join(end(bg), j.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}
