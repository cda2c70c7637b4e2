package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// After a restart the gauges count what New found: jobs, tasks that are not done, and for how long nothing has run. A class
// without slots that they need is told of after the grace, since New cannot add its slots.
func TestTallyAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		job := func(pool string, class sojourn.Class, n int) live.Job {
			return live.Job{Pool: pool, Handler: "sleep", Payload: []byte("1m"), Phases: []live.Phase{{Tasks: n, Class: class}, {Tasks: 2, Class: class}}}
		}
		p, j := durable(dir, new(diary), live.Options{Slots: 2})
		must(p.Submit(bg, job("a", 0, 5)))
		must(p.Submit(bg, job("b", 0, 3)))
		must(p.Submit(bg, job("b", 1, 1)))
		time.Sleep(90 * time.Second) // 2 tasks of job 1 are done, 2 run
		stop, cancel := context.WithCancel(bg)
		cancel()
		_ = p.Suspend(stop)
		wantError(t, "Close", j.Close(), nil)
		time.Sleep(time.Hour)

		var tally live.Tally
		var resumed []string
		var lacking stuck
		o := fan{&tally, &lacking, noteFunc(func(n live.Note) {
			if n.Kind == live.JobResumed {
				resumed = append(resumed, fmt.Sprint(n.Job.ID, n.Done, n.Age, n.Took))
			}
		})}
		p, j = durable(dir, new(diary), live.Options{Slots: 4, Observer: o, Grace: time.Second})
		h := p.Handles()
		// The slots go to the 3 tasks of job 1 and to one of job 2. Job 3 has waited since its submission. Fair were 1.5, 1.5
		// and 1 slot for the jobs, of which the last one can use no more, and 2 and 2 for the pools.
		want := live.Gauges{Jobs: 3, Queued: 2 + 4 + 3, Running: 4, Starvation: time.Hour + 90*time.Second, JobShareError: 0.375, PoolShareError: 0.25}
		if got := tally.Read(); got != want {
			t.Errorf("gauges after the restart %+v, want %+v", got, want)
		}
		if want := []string{"1 [2 0] 1h1m30s 1h1m30s", "2 [0 0] 1h1m30s 1h1m30s", "3 [0 0] 1h1m30s 1h1m30s"}; !slices.Equal(resumed, want) {
			t.Errorf("resumed %q, want %q", resumed, want)
		}
		if told := lacking.all(); len(told) > 0 {
			t.Errorf("told at once: %v", told)
		}
		time.Sleep(2 * time.Second)
		if told := lacking.all(); len(told) != 1 || told[0].Job.ID != 3 || !errors.Is(told[0].Err, live.ErrNoSlots) {
			t.Errorf("after the grace: %v", told)
		}
		must(p.AddSlots(1, sojourn.Slot{Class: 1}))
		for _, h := range h {
			wantError(t, "a job", h.Wait(bg), nil)
		}
		if got := tally.Read(); got != (live.Gauges{}) {
			t.Errorf("gauges at the end %+v", got)
		}
		wantError(t, "Close", errors.Join(p.Close(bg), j.Close()), nil)
	})
}

// The process is killed while tasks run: the jobs that ran then count from the last that is known of the process.
func TestTallyAfterKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p, j := durable(dir, new(diary), live.Options{Slots: 1})
		var second time.Time
		for range 2 {
			second = time.Now()
			must(p.Submit(bg, live.Job{Handler: "sleep", Payload: []byte("1h"), Phases: []live.Phase{{Tasks: 1}}}))
			time.Sleep(time.Minute)
		}
		wantError(t, "Close of the journal", j.Close(), nil) // as a kill: nothing more is written
		wantError(t, "Close", p.Close(bg), p.Err())
		time.Sleep(10 * time.Minute)
		down := time.Since(second)
		var took []time.Duration
		p, j = durable(dir, new(diary), live.Options{Slots: 1, Observer: noteFunc(func(n live.Note) {
			if n.Kind == live.JobResumed {
				took = append(took, n.Took)
			}
		})})
		// Job 1 ran at the submission of job 2, which is the last that is known. Job 2 never ran.
		if want := []time.Duration{down, down}; !slices.Equal(took, want) {
			t.Errorf("nothing has run for %v, want %v", took, want)
		}
		stop, cancel := context.WithCancel(bg)
		cancel()
		_ = p.Suspend(stop)
		wantError(t, "Close of the journal", j.Close(), nil)
	})
}

// An observer that panics, at each note in turn, harms nobody: all jobs end as they would, it is told nothing more, and the pool
// says so.
func TestObserverThatPanics(t *testing.T) {
	for n, whole := 1, false; !whole; n++ {
		synctest.Test(t, func(t *testing.T) {
			count, after := 0, 0
			o := noteFunc(func(live.Note) {
				if count++; count == n {
					panic("the observer")
				}
				if count > n {
					after++
				}
			})
			p := must(live.New(newFIFO(), live.Options{Slots: 2, Observer: o, Retry: live.Retry{Attempts: 2, Backoff: ms}, Grace: time.Second}))
			fails := must(p.Submit(bg, bag(1, func(context.Context, live.Task) error { panic("the task") })))
			good := must(p.Submit(bg, bag(4, sleep(time.Second))))
			ignores := bag(1, stubborn(time.Minute))
			ignores.Timeout = 10 * time.Second
			late := must(p.Submit(bg, ignores))
			lacks := bag(1, sleep(0))
			lacks.Phases[0].Class = 5
			cancelled := must(p.Submit(bg, lacks))
			cancelled.Cancel()
			var failed *live.PanicError
			if err := fails.Wait(bg); !errors.As(err, &failed) || failed.Value != "the task" {
				t.Errorf("the job that panics: %v", err)
			}
			wantError(t, "the good job", good.Wait(bg), nil)
			wantError(t, "the late job", late.Wait(bg), live.ErrJobTimeout)
			wantError(t, "the job that was cancelled", cancelled.Wait(bg), live.ErrCancelled)
			time.Sleep(time.Hour)
			err := p.Close(bg)
			st := p.Status()
			if whole = count < n; whole {
				wantError(t, "Close", err, nil)
				return
			}
			for _, err := range []error{err, st.Observer} {
				if failed = nil; !errors.As(err, &failed) || failed.Value != "the observer" {
					t.Errorf("the observer panics, and the error is %v", err)
				}
			}
			if after > 0 || st.Err != nil {
				t.Errorf("it is told %d notes after that; the pool is broken: %v", after, st.Err)
			}
		})
		if t.Failed() {
			t.Fatalf("the observer panics at note %d", n)
		}
	}
}

// The logger writes all kinds of notes, also those without a job.
func TestLogOfAllKinds(t *testing.T) {
	var buf bytes.Buffer
	log := live.Log(slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug})))
	job := &sojourn.Job{ID: 7, Name: "n"}
	for kind := live.JobSubmitted; kind <= live.JobRevised; kind++ {
		n := live.Note{Kind: kind, Job: job, Err: errors.New("why")}
		switch kind {
		case live.PoolBroken, live.Decided:
			n.Job = nil
		case live.TaskStarted, live.TaskStopped, live.TaskEnded, live.TaskIgnores, live.TaskReturned:
			n.Attempt = 3
		}
		if strings.HasPrefix(kind.String(), "NoteKind") {
			t.Errorf("kind %d has no name", kind)
		}
		log.Note(n)
	}
	log.Note(live.Note{Kind: live.JobEnded, Job: job, Err: fmt.Errorf("why: %w", live.ErrSuspended)})
	for _, want := range []string{`level=INFO msg="job resumed"`, `level=INFO msg="job ended"`, `level=WARN msg="job stuck"`, `level=WARN msg="task ignores its context" job=7 name=n age=0s task=0/0/0 attempt=3`,
		`level=DEBUG msg="task returned"`, `level=ERROR msg="pool broken" error=why`, `level=WARN msg="task ended"`, `level=DEBUG msg="task stopped"`} {
		if want == `level=INFO msg="job resumed"` {
			want = `msg="job resumed"` // with an error it is a warning
		}
		if !strings.Contains(buf.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &buf)
		}
	}
}

// Every method may be called without a context that is one, or with one that has ended.
func TestContextsOfCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1}))
		h := must(p.Submit(bg, bag(2, sleep(time.Minute))))
		var none context.Context
		ended, cancel := context.WithCancelCause(bg)
		why := errors.New("over")
		cancel(why)
		for what, call := range map[string]func(context.Context) error{
			"Submit":  func(ctx context.Context) error { _, err := p.Submit(ctx, bag(1, sleep(0))); return err },
			"Wait":    h.Wait,
			"Close":   func(ctx context.Context) error { return when(ctx == nil, p.Close, ctx) },
			"Suspend": func(ctx context.Context) error { return when(ctx == nil, p.Suspend, ctx) },
		} {
			if err := call(none); err == nil || !strings.Contains(err.Error(), what+" without a context") {
				t.Errorf("%s without a context: %v", what, err)
			}
			if err := call(ended); (what == "Submit" || what == "Wait") && err != why {
				t.Errorf("%s with a context that has ended: %v", what, err)
			}
		}
		wantError(t, "the job", h.Wait(bg), nil)
		wantError(t, "Wait for what has ended", h.Wait(ended), nil)
		wantError(t, "Close when all jobs have ended", p.Close(ended), nil)
		wantError(t, "Wait after Close", h.Wait(ended), nil)
		for range 2 {
			wantError(t, "Close again", p.Close(ended), nil)
			wantError(t, "Suspend after Close", p.Suspend(ended), nil)
			h.Cancel()
			if err := p.Drain(0); !errors.Is(err, live.ErrClosed) {
				t.Errorf("Drain after Close: %v", err)
			}
			if _, err := p.AddSlots(1, sojourn.Slot{}); !errors.Is(err, live.ErrClosed) {
				t.Errorf("AddSlots after Close: %v", err)
			}
		}
	})
}

func when(yes bool, call func(context.Context) error, ctx context.Context) error {
	if yes {
		return call(ctx)
	}
	return nil
}

// Tasks call every method of their own pool, with their own contexts.
func TestCallsFromTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 2, Retry: live.Retry{Attempts: 2}}))
		self := func(id sojourn.JobID) *live.Handle {
			for _, h := range p.Handles() {
				if h.ID() == id {
					return h
				}
			}
			return nil
		}
		for name, tc := range map[string]struct {
			call func(ctx context.Context, task live.Task) error
			want error
		}{
			"questions": {func(_ context.Context, task live.Task) error {
				st, h := p.Status(), self(task.Job)
				if len(st.Jobs) != 1 || h.Progress().Running != 1 || p.Err() != nil {
					t.Errorf("in a task: %+v, %+v", st, h.Progress())
				}
				p.Explain(task.Job)
				h.Explain()
				return nil
			}, nil},
			"Submit and Wait": {func(ctx context.Context, _ live.Task) error { return must(p.Submit(ctx, bag(3, sleep(ms)))).Wait(ctx) }, nil},
			"Cancel itself": {func(ctx context.Context, task live.Task) error {
				self(task.Job).Cancel()
				<-ctx.Done()
				return context.Cause(ctx)
			}, live.ErrCancelled},
			"Remove its slot": {func(ctx context.Context, task live.Task) error {
				if task.Attempt > 1 {
					return nil
				}
				must(p.AddSlots(1, sojourn.Slot{}))
				wantError(t, "Remove", p.Remove(task.Slot), nil)
				<-ctx.Done()
				return context.Cause(ctx)
			}, nil},
			"Drain its slot": {func(ctx context.Context, task live.Task) error {
				must(p.AddSlots(1, sojourn.Slot{}))
				return p.Drain(task.Slot)
			}, nil},
			"Close": {func(ctx context.Context, _ live.Task) error {
				child, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				return p.Close(child)
			}, live.ErrDeadlock},
			"Suspend": {func(ctx context.Context, _ live.Task) error { return p.Suspend(ctx) }, live.ErrDeadlock},
			"panic":   {func(context.Context, live.Task) error { panic(live.ErrHidden) }, live.ErrHidden},
		} {
			now := stopwatch()
			h := must(p.Submit(bg, bag(1, tc.call)))
			wantError(t, name, h.Wait(bg), tc.want)
			if now() > time.Second {
				t.Errorf("%s took %v", name, now())
			}
		}
		wantError(t, "a job after them", must(p.Submit(bg, bag(3, sleep(ms)))).Wait(bg), nil)
		closed := make(chan error, 1)
		must(p.Submit(bg, bag(1, func(context.Context, live.Task) error {
			go func() { closed <- p.Close(bg) }() // by another goroutine, a task may
			return nil
		})))
		wantError(t, "Close by a goroutine of a task", <-closed, nil)
	})
}

// Slots come and go by all that can make them, at once with questions and jobs, until none is left.
func TestRacesOfSlots(t *testing.T) {
	p := must(live.New(newFIFO(), live.Options{Slots: 4, Observer: new(live.Tally)}))
	var all sync.WaitGroup
	for g := range uint64(4) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(g, 3))
			for range 200 {
				id := sojourn.SlotID(rng.IntN(12))
				switch rng.IntN(6) {
				case 0:
					must(p.AddSlots(1+rng.IntN(3), sojourn.Slot{Class: sojourn.Class(rng.IntN(2))}))
				case 1:
					_ = p.Drain(id)
				case 2:
					_ = p.Remove(id)
				case 3:
					p.Status()
				default:
					j := bag(2, nothing)
					j.Phases[0].Class = sojourn.Class(rng.IntN(2))
					h := must(p.Submit(bg, j))
					if rng.IntN(2) == 0 {
						h.Cancel()
					}
				}
			}
		})
	}
	all.Wait()
	for _, s := range p.Status().Slots {
		if !s.Leaving {
			wantError(t, "Remove", p.Remove(s.Slot.ID), nil)
		}
	}
	must(p.AddSlots(1, sojourn.Slot{}))
	must(p.AddSlots(1, sojourn.Slot{Class: 1}))
	for _, h := range p.Handles() {
		if err := h.Wait(bg); err != nil && !errors.Is(err, live.ErrCancelled) {
			t.Error(err)
		}
	}
	wantError(t, "Close", p.Close(bg), nil)
}
