package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/kit/priority"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// hold enters, and leaves after a time or at the end of its context.
func hold(ctx context.Context, p *live.Pool, j live.Job, d time.Duration) error {
	m, err := p.Enter(ctx, j)
	if err != nil {
		return err
	}
	err = sleep(d)(m.Context(), live.Task{})
	m.Leave(err)
	return err
}

// Permits beside jobs of functions, with callers that give up, fail, panic and leave twice: no more run than there are slots, no slot
// is idle while somebody waits, each call of Enter returns one thing, none returns a permit after the end of its context, and nothing is left.
func TestEnter(t *testing.T) {
	for name, policy := range map[string]sojourn.Policy{
		"fifo": newFIFO(), "fair": pooled.Fair.Must(fair.Options{}), "leastwork": constructors.LeastWork.Must(leastwork.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			const slots = 3
			p := must(live.New(policy, live.Options{Slots: slots}))
			var running, granted, refused atomic.Int64
			var wg sync.WaitGroup
			work := func(d time.Duration) {
				if n := running.Add(1); n > slots {
					t.Errorf("%d run on %d slots", n, slots)
				}
				time.Sleep(d)
				running.Add(-1)
			}
			for i := range 40 {
				rng := rand.New(rand.NewPCG(7, uint64(i)))
				wg.Go(func() {
					for range 25 {
						d := time.Duration(rng.IntN(300)) * time.Microsecond
						j := live.Job{Pool: fmt.Sprint(rng.IntN(5))}
						if rng.IntN(4) == 0 {
							h := must(p.Submit(bg, live.Job{Pool: j.Pool, Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error {
								work(d)
								return nil
							}}}}))
							wantError(t, "a job", h.Wait(bg), nil)
							continue
						}
						ctx, cancel := context.WithTimeout(bg, time.Duration(rng.IntN(3000))*time.Microsecond)
						m, err := p.Enter(ctx, j)
						if (m == nil) == (err == nil) {
							t.Errorf("Enter returns %v and %v", m, err)
						}
						if err != nil {
							wantError(t, "Enter", err, context.DeadlineExceeded)
							refused.Add(1)
						} else {
							granted.Add(1)
							func() {
								defer func() { _ = recover() }()
								defer m.Leave(nil)
								work(d)
								switch rng.IntN(4) {
								case 0:
									m.Leave(errors.New("it failed"))
								case 1:
									panic("the work panics")
								}
							}()
							if m.Context().Err() == nil {
								t.Error("the context goes on after Leave")
							}
						}
						cancel()
					}
				})
			}
			wg.Wait()
			if granted.Load() == 0 || refused.Load() == 0 {
				t.Errorf("%d granted, %d gave up: want some of both", granted.Load(), refused.Load())
			}
			st := p.Status()
			for _, s := range st.Slots {
				if s.Busy {
					t.Errorf("slot %d is busy at the end", s.Slot.ID)
				}
			}
			if len(st.Jobs) > 0 {
				t.Errorf("%d jobs are left", len(st.Jobs))
			}
			wantError(t, "Close", p.Close(bg), nil)
		})
	}
}

// Requests go in the order of the policy: beside ten of one customer, the one of another waits for none but those that run.
func TestEnterInTheOrderOfThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(pooled.Fair.Must(fair.Options{}), live.Options{Slots: 1}))
		var wg sync.WaitGroup
		var order []string
		enter := func(customer string) {
			wg.Go(func() {
				m := must(p.Enter(bg, live.Job{Pool: customer}))
				order = append(order, customer) // one at a time
				time.Sleep(time.Second)
				m.Leave(nil)
			})
			synctest.Wait()
		}
		for range 4 {
			enter("a")
		}
		enter("b")
		wg.Wait()
		if got, want := strings.Join(order, ""), "abaaa"; got != want {
			t.Errorf("order %s, want %s", got, want)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// A starts is an observer that counts attempts and the ends of jobs.
type starts struct{ started, ended atomic.Int64 }

func (s *starts) Note(n live.Note) {
	switch n.Kind {
	case live.TaskStarted:
		s.started.Add(1)
	case live.JobEnded:
		s.ended.Add(1)
	}
}

// Whoever gives up, or is given up, while he waits is never started, learns why at once, and leaves no job.
func TestEnterGivesUp(t *testing.T) {
	gone := errors.New("the client has gone")
	for name, tc := range map[string]struct {
		job  live.Job
		end  func(p *live.Pool, cancel context.CancelCauseFunc)
		want error
	}{
		"its context":   {end: func(_ *live.Pool, cancel context.CancelCauseFunc) { cancel(gone) }, want: gone},
		"its timeout":   {job: live.Job{Timeout: 5 * ms}, want: live.ErrJobTimeout},
		"cancelled":     {end: func(p *live.Pool, _ context.CancelCauseFunc) { p.Handles()[1].Cancel() }, want: live.ErrCancelled},
		"class":         {job: live.Job{Phases: []live.Phase{{Tasks: 1, Class: 3}}}, end: func(p *live.Pool, _ context.CancelCauseFunc) { go p.Close(bg) }, want: live.ErrNoSlots},
		"closed":        {end: func(p *live.Pool, _ context.CancelCauseFunc) { go p.Close(ended()) }, want: live.ErrClosed},
		"suspended":     {end: func(p *live.Pool, _ context.CancelCauseFunc) { go p.Suspend(bg) }, want: live.ErrSuspended},
		"its own class": {job: live.Job{Phases: []live.Phase{{Tasks: 1, Class: 3}}}, end: func(_ *live.Pool, cancel context.CancelCauseFunc) { cancel(gone) }, want: gone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen starts
				p := must(live.New(newFIFO(), live.Options{Slots: 1, Observer: &seen}))
				go func() { _ = hold(bg, p, live.Job{}, time.Second) }()
				synctest.Wait()
				ctx, cancel := context.WithCancelCause(bg)
				defer cancel(nil)
				result := make(chan error, 1)
				now := stopwatch()
				go func() { _, err := p.Enter(ctx, tc.job); result <- err }()
				synctest.Wait()
				if tc.end != nil {
					tc.end(p, cancel)
				}
				err := <-result
				wantError(t, "Enter", err, tc.want)
				if d := now(); d > 5*ms && name != "suspended" {
					t.Errorf("it took %v", d)
				}
				wantError(t, "Close", errors.Join(p.Close(bg)), nil)
				if n := seen.started.Load(); n != 1 {
					t.Errorf("%d attempts, want the first one's", n)
				}
				if n := seen.ended.Load(); n != 2 {
					t.Errorf("%d jobs have ended, want 2", n)
				}
			})
		})
	}
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(bg)
	cancel()
	return ctx
}

// A context that has ended gets no permit, also if a slot is free.
func TestEnterWithAnEndedContext(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		m, err := p.Enter(ended(), live.Job{})
		wantError(t, "Enter", err, context.Canceled)
		if m != nil || len(p.Handles()) > 0 {
			t.Error("it has a permit or a job")
		}
	})
}

// A context that ends in the moment in which the slot is given gets no permit either, and the slot is free again.
func TestEnterGivesUpAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(bg)
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Observer: observerFunc(func(n live.Note) {
			if n.Kind == live.TaskStarted {
				cancel()
			}
		})}))
		if m, err := p.Enter(ctx, live.Job{}); m != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v, want no permit", m, err)
		}
		wantError(t, "the next one", hold(bg, p, live.Job{}, ms), nil)
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// Permits count as attempts: for Status, Progress, Explain and a Tally, for AddSlots, Drain, Remove and Close.
func TestPermitsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally live.Tally
		p := must(live.New(pooled.Fair.Must(fair.Options{}), live.Options{Slots: 1, Observer: &tally}))
		m := must(p.Enter(bg, live.Job{Name: "first", Pool: "a"}))
		second := make(chan *live.Permit)
		go func() { second <- must(p.Enter(bg, live.Job{Name: "second", Pool: "b"})) }()
		synctest.Wait()
		st := p.Status()
		if got := fmt.Sprintf("%d jobs, %s %+v, %s %+v, slot %v", len(st.Jobs), st.Jobs[0].Name, st.Jobs[0].Progress.Running, st.Jobs[1].Name, st.Jobs[1].Progress.Running, st.Slots[0].Busy); got != "2 jobs, second 0, first 1, slot true" && got != "2 jobs, first 1, second 0, slot true" {
			t.Errorf("status %s", got)
		}
		if g := tally.Read(); g.Jobs != 2 || g.Queued != 1 || g.Running != 1 {
			t.Errorf("tally %+v, want 2 jobs, one queued, one running", g)
		}
		if why, ok := p.Explain(st.Jobs[0].ID); !ok || len(why) == 0 {
			t.Errorf("Explain: %v, %v", why, ok)
		}
		if shares := p.Shares(0); len(shares) != 2 {
			t.Errorf("shares %v, want those of two pools", shares)
		}
		ids := must(p.AddSlots(1, sojourn.Slot{}))
		n := <-second
		wantError(t, "Drain", p.Drain(ids[0]), nil)
		synctest.Wait()
		if st := p.Status(); len(st.Slots) != 2 || !st.Slots[1].Leaving || n.Context().Err() != nil {
			t.Errorf("a slot that drains: %+v, context %v", st.Slots, n.Context().Err())
		}
		n.Leave(nil)
		if st := p.Status(); len(st.Slots) != 1 {
			t.Errorf("%d slots after Leave, want 1", len(st.Slots))
		}
		n.Leave(nil)
		wantError(t, "Remove", p.Remove(0), nil)
		wantError(t, "the context of the permit", context.Cause(m.Context()), live.ErrSlotRemoved)
		m.Leave(m.Context().Err())
		if st := p.Status(); len(st.Slots)+len(st.Jobs) > 0 {
			t.Errorf("left: %+v", st)
		}
		must(p.AddSlots(1, sojourn.Slot{}))
		m = must(p.Enter(bg, live.Job{}))
		closed := make(chan error)
		go func() { closed <- p.Close(bg) }()
		time.Sleep(time.Hour)
		select {
		case err := <-closed:
			t.Errorf("Close does not wait for a permit: %v", err)
		default:
		}
		if _, err := p.Enter(bg, live.Job{}); !errors.Is(err, live.ErrClosed) {
			t.Errorf("Enter of a closed pool: %v", err)
		}
		m.Leave(nil)
		wantError(t, "Close", <-closed, nil)
	})
}

// The policy stops a permit as it stops an attempt, by its context. Another is served on the slot when it has left.
func TestPermitIsPreempted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(must(priority.New(newFIFO, priority.Options{Preempt: 1})), live.Options{Slots: 1}))
		low := make(chan error, 1)
		go func() {
			m := must(p.Enter(bg, live.Job{Priority: 1}))
			<-m.Context().Done()
			low <- context.Cause(m.Context())
			m.Leave(m.Context().Err())
		}()
		synctest.Wait()
		m := must(p.Enter(bg, live.Job{Priority: 2}))
		wantError(t, "the lower one", <-low, live.ErrPreempted)
		synctest.Wait()
		if n := len(p.Handles()); n != 1 {
			t.Errorf("%d jobs, want one: nobody does the work of the other again", n)
		}
		m.Leave(nil)
		m = must(p.Enter(bg, live.Job{Priority: 1}))
		wantError(t, "Pin", live.Pin(m.Context()), nil)
		go func() { _ = hold(bg, p, live.Job{Priority: 2}, ms) }()
		time.Sleep(time.Hour)
		wantError(t, "one that is pinned", m.Context().Err(), nil)
		m.Leave(nil)
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// The caller's goroutine may panic, or end itself, and the slot is free again.
func TestPermitOfCallerThatPanics(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		for _, end := range []func(){func() { panic("no") }, runtime.Goexit} {
			done := make(chan any)
			go func() {
				m := must(p.Enter(bg, live.Job{}))
				defer func() { done <- recover() }()
				defer m.Leave(errors.New("lost"))
				end()
			}()
			<-done
			wantError(t, "the next one", hold(bg, p, live.Job{}, ms), nil)
		}
	})
}

// Permit.Context comes from the context of Enter: it has its values and ends with it. The slot is busy until Leave, however long
// that takes.
func TestContextOfPermit(t *testing.T) {
	inPool(t, live.Options{Slots: 1, Grace: ms}, func(t *testing.T, p *live.Pool) {
		type key struct{}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(context.WithValue(bg, key{}, "value"))
		m := must(p.Enter(ctx, live.Job{}))
		if got := m.Context().Value(key{}); got != "value" {
			t.Errorf("value %v", got)
		}
		cancel(gone)
		<-m.Context().Done()
		wantError(t, "cause", context.Cause(m.Context()), gone)
		other := make(chan error, 1)
		go func() { other <- hold(bg, p, live.Job{}, ms) }()
		time.Sleep(time.Hour)
		if len(other) > 0 {
			t.Error("the slot was given away before Leave")
		}
		m.Leave(m.Context().Err())
		wantError(t, "the next one", <-other, nil)
	})
}

// The time of an attempt holds for permits. One that ignores the end of its context is given up after the grace, and its Leave
// then does no harm to who has the slot.
func TestTimeOfPermit(t *testing.T) {
	inPool(t, live.Options{Slots: 1, Timeout: 20 * ms, Grace: 5 * ms}, func(t *testing.T, p *live.Pool) {
		now := stopwatch()
		m := must(p.Enter(bg, live.Job{}))
		if at, ok := m.Context().Deadline(); !ok || time.Until(at) != 20*ms {
			t.Errorf("deadline in %v, %v", time.Until(at), ok)
		}
		next := must(p.Enter(bg, live.Job{}))
		if d := now(); d != 25*ms {
			t.Errorf("the next one is served after %v, want 25ms", d)
		}
		wantError(t, "cause", context.Cause(m.Context()), live.ErrTaskTimeout)
		if n := len(p.Status().Ignoring); n != 1 {
			t.Errorf("%d ignore their contexts, want 1", n)
		}
		m.Leave(nil)
		if st := p.Status(); !st.Slots[0].Busy || len(st.Ignoring) > 0 || next.Context().Err() != nil {
			t.Errorf("after the late Leave: %+v", st)
		}
		next.Leave(nil)
		m.Leave(nil)
		wantError(t, "another", hold(bg, p, live.Job{Phases: []live.Phase{{Tasks: 1, Timeout: time.Hour}}}, 30*ms), nil)
	})
}

// The pool is closed while a caller ignores it: Close says so.
func TestCloseWithPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Grace: ms}))
		m := must(p.Enter(bg, live.Job{}))
		err := p.Close(ended())
		wantError(t, "Close", err, live.ErrAbandoned)
		wantError(t, "the context of the permit", context.Cause(m.Context()), live.ErrClosed)
		m.Leave(nil)
		if err := p.Close(m.Context()); err != nil { // nobody is left to wait for
			t.Errorf("Close again: %v", err)
		}
	})
}

// A caller that holds the only slot and waits for another one is told to the observer, as a task that waits for a job is.
func TestPermitWaitsForItsOwnSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var stuck error
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Observer: observerFunc(func(n live.Note) {
			mu.Lock()
			defer mu.Unlock()
			if n.Kind == live.JobStuck {
				stuck = n.Err
			}
		})}))
		m := must(p.Enter(bg, live.Job{}))
		wantError(t, "Close by the caller itself", p.Close(m.Context()), live.ErrDeadlock)
		ctx, cancel := context.WithTimeout(m.Context(), time.Second)
		defer cancel()
		_, err := p.Enter(ctx, live.Job{})
		wantError(t, "the second permit", err, context.DeadlineExceeded)
		mu.Lock()
		wantError(t, "the note", stuck, live.ErrDeadlock)
		mu.Unlock()
		m.Leave(nil)
		wantError(t, "Close", p.Close(bg), nil)
	})
}

type observerFunc func(live.Note)

func (f observerFunc) Note(n live.Note) { f(n) }

// What does not fit is refused in words, and leaves no job.
func TestEnterRefuses(t *testing.T) {
	run := func(context.Context, live.Task) error { return nil }
	r := live.Collect(1, func(context.Context, live.Task) (int, error) { return 0, nil })
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		for name, j := range map[string]live.Job{
			"key":          {Key: "k"},
			"handler":      {Handler: "h"},
			"payload":      {Payload: []byte{1}},
			"open":         {Open: true},
			"two tasks":    {Phases: []live.Phase{{Tasks: 2}}},
			"no task":      {Phases: []live.Phase{{}}},
			"two phases":   {Phases: []live.Phase{{Tasks: 1}, {Tasks: 1}}},
			"a function":   {Phases: []live.Phase{{Tasks: 1, Run: run}}},
			"results":      {Phases: []live.Phase{r.Phase}},
			"weight":       {Weight: -1},
			"timeout":      {Timeout: -1},
			"its timeout":  {Phases: []live.Phase{{Tasks: 1, Timeout: -1}}},
			"the policy's": {Priority: 1},
		} {
			if m, err := p.Enter(bg, j); err == nil || m != nil || err.Error() == "" {
				t.Errorf("%s: %v, %v", name, m, err)
			}
		}
		var none context.Context
		if _, err := p.Enter(none, live.Job{}); err == nil {
			t.Error("no context: no error")
		}
		phases := []live.Phase{{Tasks: 1, Estimate: time.Second}}
		wantError(t, "one that fits", hold(bg, p, live.Job{Phases: phases}, ms), nil)
		if phases[0].Run != nil || len(p.Handles()) > 0 {
			t.Error("Enter has changed the job, or left it")
		}
	})
	j := openFIFO(t.TempDir())
	p := must(live.New(j, live.Options{Slots: 1}))
	if _, err := p.Enter(bg, live.Job{}); err == nil || !strings.Contains(err.Error(), "durable") {
		t.Errorf("durable: %v", err)
	}
	wantError(t, "Close", errors.Join(p.Close(bg), j.Close()), nil)
}

// No more jobs wait than Options.MaxWaiting says, with functions and without. Those that have been started do not count, and those
// that have given up do not either.
func TestMaxWaiting(t *testing.T) {
	var refused atomic.Int64
	o := live.Options{Slots: 1, MaxWaiting: 2, Remember: 10, Retry: live.Retry{Attempts: 2, Backoff: ms}, Observer: observerFunc(func(n live.Note) {
		if n.Kind == live.JobRefused {
			refused.Add(1)
		}
	})}
	inPool(t, o, func(t *testing.T, p *live.Pool) {
		m := must(p.Enter(bg, live.Job{}))
		ctx, cancel := context.WithCancel(bg)
		left := make(chan error, 2)
		go func() { left <- hold(ctx, p, live.Job{}, ms) }()
		synctest.Wait()
		keyed := bag(1, func(_ context.Context, t live.Task) error {
			if t.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		})
		keyed.Key = "k"
		h := must(p.Submit(bg, keyed))
		full := func(what string) {
			t.Helper()
			_, err := p.Submit(bg, bag(1, sleep(ms)))
			wantError(t, what, err, live.ErrFull)
			_, err = p.Enter(bg, live.Job{})
			wantError(t, what, err, live.ErrFull)
		}
		full("two wait")
		if again, err := p.Submit(bg, keyed); again != h || !errors.Is(err, live.ErrDuplicate) {
			t.Errorf("a duplicate: %v", err)
		}
		cancel()
		wantError(t, "one that gives up", <-left, context.Canceled)
		go func() { left <- hold(bg, p, live.Job{}, time.Hour) }()
		synctest.Wait()
		full("two wait again")
		m.Leave(nil)
		time.Sleep(10 * ms)
		if n := len(p.Handles()); n != 2 {
			t.Errorf("%d jobs are live, want one that runs, and one that has failed once and waits for it", n)
		}
		for range 2 {
			go func() { _, _ = p.Submit(bg, bag(1, sleep(ms))) }()
		}
		synctest.Wait()
		full("two wait that were never started")
		wantError(t, "the one that runs", <-left, nil)
		if n := refused.Load(); n != 6 {
			t.Errorf("the observer was told of %d refusals, want 6", n)
		}
	})
	if err := (live.Options{MaxWaiting: -1}).Validate(); err == nil {
		t.Error("MaxWaiting -1: no error")
	}
}

// Permits may be left at the same time by several goroutines.
func TestLeaveAtOnce(t *testing.T) {
	p := must(live.New(newFIFO(), live.Options{Slots: 2}))
	for range 200 {
		m := must(p.Enter(bg, live.Job{}))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { m.Leave(nil) })
		}
		other := must(p.Enter(bg, live.Job{}))
		wg.Wait()
		if other.Context().Err() != nil {
			t.Fatal("another permit has ended")
		}
		other.Leave(nil)
	}
	wantError(t, "Close", p.Close(bg), nil)
}

// A permit goes on with what a function has left, and the other way round.
func TestPermitAfterFunction(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		var order []string
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				if i%2 == 0 {
					h := must(p.Submit(bg, bag(1, func(context.Context, live.Task) error {
						order = append(order, "function")
						time.Sleep(ms)
						return nil
					})))
					wantError(t, "Wait", h.Wait(bg), nil)
					return
				}
				m := must(p.Enter(bg, live.Job{}))
				order = append(order, "permit")
				time.Sleep(ms)
				m.Leave(nil)
			})
			synctest.Wait()
		}
		wg.Wait()
		if want := []string{"function", "permit", "function", "permit", "function", "permit"}; !slices.Equal(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
	})
}

// A permit costs a handful of allocations, whether somebody waits or not.
func TestAllocationsOfPermit(t *testing.T) {
	p := must(live.New(newFIFO(), live.Options{Slots: 1}))
	if n := testing.AllocsPerRun(100, func() { must(p.Enter(bg, live.Job{})).Leave(nil) }); n > 5 {
		t.Errorf("%v allocations, want at most 5", n)
	}
	wantError(t, "Close", p.Close(bg), nil)
}
