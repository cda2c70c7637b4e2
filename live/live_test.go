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
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/rtmr"
)

const ms = time.Millisecond

var bg = context.Background()

func must[P any](p P, err error) P {
	if err != nil {
		panic(err)
	}
	return p
}

func newFIFO() sojourn.Policy { return must(fifo.New(fifo.Options{})) }

// bag is a job of n tasks.
func bag(n int, run func(context.Context, live.Task) error) live.Job {
	return live.Job{Phases: []live.Phase{{Tasks: n, Run: run}}}
}

func sleep(d time.Duration) func(context.Context, live.Task) error {
	return func(ctx context.Context, _ live.Task) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stubborn sleeps whatever its context says.
func stubborn(d time.Duration) func(context.Context, live.Task) error {
	return func(context.Context, live.Task) error { time.Sleep(d); return nil }
}

// inPool runs a test in a bubble of its own, with a pool that is closed and has no goroutine left
// at the end: otherwise the bubble fails.
func inPool(t *testing.T, o live.Options, test func(t *testing.T, p *live.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), o))
		test(t, p)
		if err := p.Close(bg); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if want == nil && got != nil || !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// since returns the time since the test began.
func stopwatch() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// Two slots: phases wait for what they need, and every task runs once.
func TestPhases(t *testing.T) {
	inPool(t, live.Options{Slots: 2}, func(t *testing.T, p *live.Pool) {
		now := stopwatch()
		var ends [4]time.Duration
		var mu sync.Mutex
		phase := func(i, tasks int, each time.Duration, needs ...int) live.Phase {
			return live.Phase{Tasks: tasks, Needs: needs, Run: func(ctx context.Context, task live.Task) error {
				err := sleep(each)(ctx, task)
				mu.Lock()
				defer mu.Unlock()
				ends[i] = now()
				return err
			}}
		}
		h, err := p.Submit(bg, live.Job{Phases: []live.Phase{
			phase(0, 3, 10*ms), phase(1, 1, 5*ms, 0), phase(2, 1, 7*ms, 0), phase(3, 2, 1*ms, 1, 2),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
		if want := [4]time.Duration{20 * ms, 25 * ms, 27 * ms, 28 * ms}; ends != want {
			t.Errorf("phases end at %v, want %v", ends, want)
		}
		if got, want := h.Progress(), (live.Progress{Tasks: 7, Done: 7, Ended: true}); got != want {
			t.Errorf("progress %+v, want %+v", got, want)
		}
	})
}

// Values come in the order of the ends, and one phase reads those of another.
func TestResults(t *testing.T) {
	inPool(t, live.Options{Slots: 3}, func(t *testing.T, p *live.Pool) {
		words := live.Collect(3, func(ctx context.Context, task live.Task) (string, error) {
			time.Sleep(time.Duration(30-10*task.Index) * ms)
			return fmt.Sprint("word ", task.Index), nil
		})
		total := live.Collect(1, func(context.Context, live.Task) (n int, err error) {
			for i := range 3 {
				w, ok := words.Get(i)
				if !ok {
					return 0, errors.New("a value is missing")
				}
				n += len(w)
			}
			return n, nil
		})
		if _, ok := words.Get(0); ok {
			t.Error("a value before its task")
		}
		h, err := p.Submit(bg, live.Job{Phases: []live.Phase{words.Phase, total.Phase}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, w := range words.All(bg) {
			got = append(got, fmt.Sprint(i, "=", w))
		}
		if want := []string{"2=word 2", "1=word 1", "0=word 0"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
		if n, ok := total.Get(0); n != 18 || !ok {
			t.Errorf("total %d, %v, want 18", n, ok)
		}
		if _, ok := words.Get(3); ok {
			t.Error("a value of no task")
		}
		for range words.All(bg) {
			break
		}
		_, err = p.Submit(bg, live.Job{Phases: []live.Phase{words.Phase}})
		wantError(t, "results of two jobs", err, live.ErrInUse)
	})
}

// An iteration ends when the job does, or its context, although values are missing. Results of a
// refused job may be used again.
func TestResultsEnd(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		r := live.Collect(3, func(_ context.Context, task live.Task) (int, error) {
			if task.Index == 1 {
				return 0, errors.New("bad")
			}
			return 7, nil
		})
		short, cancel := context.WithTimeout(bg, 5*ms)
		defer cancel()
		for range r.All(short) { // nobody has submitted it
			t.Error("a value from nowhere")
		}
		if _, err := p.Submit(bg, live.Job{Weight: -1, Phases: []live.Phase{r.Phase}}); !errors.Is(err, sojourn.ErrInvalidJob) {
			t.Errorf("an invalid job: %v", err)
		}
		if _, err := p.Submit(bg, live.Job{Phases: []live.Phase{r.Phase, r.Phase}}); !errors.Is(err, live.ErrInUse) {
			t.Errorf("one phase twice: %v", err)
		}
		more := r.Phase
		more.Tasks++
		if _, err := p.Submit(bg, live.Job{Phases: []live.Phase{more}}); err == nil {
			t.Error("more tasks than values")
		}
		h, err := p.Submit(bg, live.Job{Phases: []live.Phase{r.Phase}})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range r.All(bg) {
			n++
		}
		if n != 1 || h.Wait(bg) == nil {
			t.Errorf("%d values and %v, want 1 and an error", n, h.Wait(bg))
		}
	})
}

// A task that panics, or ends its goroutine, has failed; its slot lives on.
func TestPanicAndGoexit(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		cause := errors.New("the cause")
		h := must(p.Submit(bg, bag(1, func(context.Context, live.Task) error { panic(cause) })))
		var panicked *live.PanicError
		if err := h.Wait(bg); !errors.As(err, &panicked) || !errors.Is(err, cause) || !strings.Contains(string(panicked.Stack), "TestPanicAndGoexit") {
			t.Errorf("a panic: %v", err)
		}
		h = must(p.Submit(bg, bag(2, func(context.Context, live.Task) error { runtime.Goexit(); return nil })))
		behind := must(p.Submit(bg, bag(2, sleep(ms))))
		var failed *live.TaskError
		if err := h.Wait(bg); !errors.Is(err, live.ErrGoexit) || !errors.As(err, &failed) || failed.Failures != 1 {
			t.Errorf("Goexit: %v", err)
		}
		if err := behind.Wait(bg); err != nil {
			t.Errorf("the job behind: %v", err)
		}
		nothing := func(context.Context, live.Task) error { panic(nil) }
		if err := must(p.Submit(bg, bag(1, nothing))).Wait(bg); !errors.As(err, &panicked) {
			t.Errorf("panic(nil): %v", err)
		}
	})
}

// A task may fail so many times, with a growing time between, and the others go on meanwhile.
func TestRetries(t *testing.T) {
	o := live.Options{Slots: 1, Retry: live.Retry{Attempts: 4, Backoff: 10 * ms, MaxBackoff: 25 * ms}}
	inPool(t, o, func(t *testing.T, p *live.Pool) {
		now := stopwatch()
		var got []string
		run := func(fails uint32) func(context.Context, live.Task) error {
			return func(_ context.Context, task live.Task) error {
				got = append(got, fmt.Sprintf("%v: %v attempt %d", now(), task.TaskID, task.Attempt))
				if task.Index == 0 && task.Attempt <= fails {
					return errors.New("not yet")
				}
				time.Sleep(ms)
				return nil
			}
		}
		h := must(p.Submit(bg, bag(2, run(3))))
		time.Sleep(5 * ms)
		if got, want := h.Progress(), (live.Progress{Tasks: 2, Done: 1, Failed: 1, Held: 1}); got != want {
			t.Errorf("progress %+v, want %+v", got, want)
		}
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
		if got, want := h.Progress(), (live.Progress{Tasks: 2, Done: 2, Ended: true}); got != want {
			t.Errorf("progress at the end %+v, want %+v", got, want)
		}
		want := []string{"0s: 1/0/0 attempt 1", "0s: 1/0/1 attempt 1", "10ms: 1/0/0 attempt 2", "30ms: 1/0/0 attempt 3", "55ms: 1/0/0 attempt 4"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		var failed *live.TaskError
		if err := must(p.Submit(bg, bag(1, run(4)))).Wait(bg); !errors.As(err, &failed) || failed.Failures != 4 || failed.Task.Job != 2 {
			t.Errorf("a task that fails four times: %v", err)
		}
		once := bag(1, run(1))
		once.Retry = &live.Retry{}
		if err := must(p.Submit(bg, once)).Wait(bg); err == nil {
			t.Error("a task that fails once, in a job that allows no failure, succeeded")
		}
		// A job that is given up takes its held tasks with it.
		h = must(p.Submit(bg, bag(1, run(4))))
		time.Sleep(5 * ms)
		h.Cancel()
		h.Cancel()
		wantError(t, "a cancelled job", h.Wait(bg), live.ErrCancelled)
	})
}

// Jitter takes up to its part of the time, and is the same for the same seed.
func TestJitter(t *testing.T) {
	waits := func(seed uint64) (list []time.Duration) {
		o := live.Options{Slots: 1, Seed: seed, Retry: live.Retry{Attempts: 50, Backoff: 100 * ms, MaxBackoff: 100 * ms, Jitter: 0.5}}
		inPool(t, o, func(t *testing.T, p *live.Pool) {
			last := time.Now()
			h := must(p.Submit(bg, bag(1, func(_ context.Context, task live.Task) error {
				list = append(list, time.Since(last))
				last = time.Now()
				if task.Attempt < 50 {
					return errors.New("again")
				}
				return nil
			})))
			if err := h.Wait(bg); err != nil {
				t.Error(err)
			}
		})
		return list[1:]
	}
	list := waits(1)
	if least, most := slices.Min(list), slices.Max(list); least < 50*ms || most > 100*ms || least > 60*ms || most < 90*ms {
		t.Errorf("waits from %v to %v, want nearly 50ms to 100ms", least, most)
	}
	if !slices.Equal(list, waits(1)) || slices.Equal(list, waits(2)) {
		t.Error("the seed does not determine the waits")
	}
}

// The context of an attempt ends at its timeout, and that of a job at its own.
func TestTimeouts(t *testing.T) {
	inPool(t, live.Options{Slots: 1, Timeout: 20 * ms, Grace: 5 * ms}, func(t *testing.T, p *live.Pool) {
		now := stopwatch()
		var cause error
		task := func(ctx context.Context, _ live.Task) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != 20*ms {
				t.Errorf("deadline in %v, %v; want in 20ms", time.Until(at), ok)
			}
			if ctx.Err() != nil {
				t.Errorf("at once: %v", ctx.Err())
			}
			time.Sleep(21 * ms)
			cause = context.Cause(ctx)
			return ctx.Err()
		}
		wantError(t, "a task that is late", must(p.Submit(bg, bag(1, task))).Wait(bg), context.DeadlineExceeded)
		wantError(t, "its cause", cause, live.ErrTaskTimeout)
		if got := now(); got != 21*ms {
			t.Errorf("ended at %v, want 21ms", got)
		}
		j := bag(100, sleep(15*ms))
		j.Timeout = 40 * ms
		now = stopwatch()
		h := must(p.Submit(bg, j))
		wantError(t, "a job that is late", h.Wait(bg), live.ErrJobTimeout)
		if got := now(); got != 40*ms || h.Progress().Done != 2 {
			t.Errorf("ended at %v with %d tasks, want 40ms and 2", got, h.Progress().Done)
		}
		j = bag(1, sleep(50*ms))
		j.Phases[0].Timeout = 60 * ms
		wantError(t, "a timeout of the phase", must(p.Submit(bg, j)).Wait(bg), nil)
	})
}

// A task that ignores its context loses its slot after the grace. Nothing else is lost, and what it
// does later counts for nothing.
func TestTaskThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Timeout: 20 * ms, Grace: 5 * ms, Retry: live.Retry{Attempts: 2}}))
		now := stopwatch()
		r := live.Collect(1, func(_ context.Context, task live.Task) (uint32, error) {
			if task.Attempt == 1 {
				time.Sleep(100 * ms)
			}
			return task.Attempt, nil
		})
		h := must(p.Submit(bg, live.Job{Phases: []live.Phase{r.Phase}}))
		wantError(t, "the second attempt", h.Wait(bg), nil)
		if v, _ := r.Get(0); now() != 25*ms || v != 2 {
			t.Errorf("value %d at %v, want 2 at 25ms", v, now())
		}
		h = must(p.Submit(bg, bag(1, stubborn(time.Hour))))
		time.Sleep(10 * ms)
		h.Cancel()
		wantError(t, "a cancelled job", h.Wait(bg), live.ErrCancelled)
		if now() != 40*ms {
			t.Errorf("ended at %v, want 40ms: 5ms after it was cancelled", now())
		}
		if got := p.Status().Ignoring; len(got) != 2 {
			t.Errorf("tasks that ignore their contexts: %v, want 2", got)
		}
		time.Sleep(100 * ms)
		if v, _ := r.Get(0); v != 2 {
			t.Errorf("value %d, want 2", v)
		}
		wantError(t, "Close", p.Close(bg), live.ErrAbandoned)
		time.Sleep(time.Hour)
	})
}

// A taker is FIFO, but wants attempts stopped as it is told.
type taker struct {
	*fifo.Policy
	victims atomic.Pointer[[]sojourn.Preemption]
}

func (p *taker) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	return append(dst, *p.victims.Load()...)
}

// The policy takes slots back. Attempts end by their contexts and run again, which is no failure.
// A task that ignores this is not run twice.
func TestPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := &taker{Policy: must(fifo.New(fifo.Options{}))}
		policy.victims.Store(&[]sojourn.Preemption{})
		p := must(live.New(policy, live.Options{Slots: 3, Preempt: 1, Grace: 10 * ms}))
		var cause error
		var log []string
		var mu sync.Mutex
		h := must(p.Submit(bg, bag(3, func(ctx context.Context, task live.Task) (err error) {
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				log = append(log, fmt.Sprintf("%d.%d %v", task.Index, task.Attempt, err))
			}()
			switch {
			case task.Attempt > 1:
			case task.Index == 0: // complies
				<-ctx.Done()
				cause = context.Cause(ctx)
				return ctx.Err()
			case task.Index == 1: // too late to matter
				time.Sleep(50 * ms)
			case task.Index == 2: // late
				time.Sleep(60 * ms)
				return errors.New("stopped")
			}
			return nil
		})))
		time.Sleep(5 * ms)
		var victims []sojourn.Preemption
		for i := range uint32(3) {
			victims = append(victims, sojourn.Preemption{Task: sojourn.TaskID{Job: h.ID(), Index: i}, Attempt: 1, Slot: sojourn.SlotID(i)})
		}
		policy.victims.Store(&victims)
		must(p.Submit(bg, bag(1, sleep(0)))) // so that the policy is asked
		time.Sleep(20 * ms)
		if got := p.Status(); len(got.Ignoring) != 2 || !errors.Is(got.Slots[2].Stopped, live.ErrPreempted) {
			t.Errorf("tasks that ignore their contexts: %v, want 1/0/1 and 1/0/2", got.Ignoring)
		}
		wantError(t, "the job", h.Wait(bg), nil)
		if got := p.Status().Ignoring; len(got) != 0 {
			t.Errorf("tasks that ignore their contexts: %v, want none any more", got)
		}
		want := []string{"0.1 context canceled", "0.2 <nil>", "1.1 <nil>", "2.1 stopped", "2.2 <nil>"}
		if !slices.Equal(log, want) || cause != live.ErrPreempted {
			t.Errorf("%q, cause %v; want %q, %v", log, cause, want, live.ErrPreempted)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// Under fair sharing with preemption, a short job gets a slot of a long one. With a negative
// Preempt it does not.
func TestFairPreemption(t *testing.T) {
	for _, tc := range []struct{ every, end time.Duration }{{1, 36 * ms}, {0, 51 * ms}, {-1, 101 * ms}} {
		synctest.Test(t, func(t *testing.T) {
			policy := pooled.Fair.Must(fair.Options{Preemption: fair.Preemption{FairTimeout: 20 * ms, Interval: 5 * ms}})
			p := must(live.New(policy, live.Options{Slots: 2, Preempt: tc.every}))
			now := stopwatch()
			long := bag(2, sleep(100*ms))
			long.Pool = "batch"
			h := must(p.Submit(bg, long))
			time.Sleep(10 * ms)
			wantError(t, "the short job", must(p.Submit(bg, bag(1, sleep(ms)))).Wait(bg), nil)
			if got := now(); got != tc.end {
				t.Errorf("Preempt %v: the short job ends at %v, want %v", tc.every, got, tc.end)
			}
			wantError(t, "the long job", h.Wait(bg), nil)
			wantError(t, "Close", p.Close(bg), nil)
		})
	}
}

// Random numbers of slots while permits come and go in any order, beside AddSlots, Drain and a class of its own. A model counts how many
// slots are wanted: SetSlots says it, and each AddSlots and Drain adds to it or takes from it. An idle slot takes a job at once. One that
// becomes idle stays only if there are fewer than wanted without it, and one that is idle only while no more than wanted are.
func TestSetSlots(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		inPool(t, live.Options{Slots: 3}, func(t *testing.T, p *live.Pool) {
			must(p.AddSlots(2, sojourn.Slot{Class: 1}))
			type permit struct {
				*live.Permit
				name string
			}
			in := make(chan permit, 1000)
			var running []permit
			wanted, idle, leaving, waiting, entered := 3, 3, 0, 0, 0
			busy := func() int { return len(running) - leaving }
			enter := func() {
				waiting++
				entered++
				name := fmt.Sprint(entered)
				go func() { in <- permit{must(p.Enter(bg, live.Job{Name: name})), name} }()
			}
			slotOf := func(m permit) live.SlotStatus {
				st := p.Status()
				job := st.Jobs[slices.IndexFunc(st.Jobs, func(j live.JobStatus) bool { return j.Name == m.name })].ID
				return st.Slots[slices.IndexFunc(st.Slots, func(s live.SlotStatus) bool { return s.Busy && s.Task.Job == job })]
			}
			check := func(what string) {
				t.Helper()
				synctest.Wait()
				starts := min(waiting, idle)
				if len(in) != starts {
					t.Fatalf("seed %d, %s: %d start, want %d: %d run, %d of them on slots that leave, %d wait, %d slots are wanted", seed, what, len(in), starts, len(running), leaving, waiting, wanted)
				}
				for range starts {
					running, waiting, idle = append(running, <-in), waiting-1, idle-1
				}
				slots := [2]int{}
				for _, s := range p.Status().Slots {
					if slots[s.Slot.Class]++; s.Slot.Class == 0 && !s.Leaving && !s.Busy && waiting > 0 {
						t.Fatalf("seed %d, %s: slot %d is idle while %d wait", seed, what, s.Slot.ID, waiting)
					}
				}
				if want := idle + len(running); slots != [2]int{want, 2} {
					t.Fatalf("seed %d, %s: %v slots by class, want %d and 2", seed, what, slots, want)
				}
				if waiting == 0 && len(running) == 0 && idle != wanted {
					t.Fatalf("seed %d, %s: when nothing runs there are %d slots, want %d", seed, what, idle, wanted)
				}
			}
			for range 60 {
				switch k := r.IntN(8); {
				case k < 2:
					enter()
					check("Enter")
				case k < 4 && len(running) > 0:
					i := r.IntN(len(running))
					if slotOf(running[i]).Leaving {
						leaving--
					} else if busy()-1+idle < wanted {
						idle++
					}
					running[i].Leave(nil)
					running = slices.Delete(running, i, i+1)
					check("Leave")
				case k == 4:
					wanted = r.IntN(6)
					idle = max(0, wanted-busy())
					wantError(t, "SetSlots", p.SetSlots(wanted, sojourn.Slot{}), nil)
					check(fmt.Sprintf("SetSlots(%d)", wanted))
				case k == 5:
					more := r.IntN(3)
					must(p.AddSlots(more, sojourn.Slot{}))
					wanted, idle = wanted+more, idle+more
					check(fmt.Sprintf("AddSlots(%d)", more))
				case k > 5:
					list := slices.DeleteFunc(p.Status().Slots, func(s live.SlotStatus) bool { return s.Slot.Class > 0 || s.Leaving })
					if len(list) == 0 {
						continue
					}
					slot := list[r.IntN(len(list))]
					wantError(t, "Drain", p.Drain(slot.Slot.ID), nil)
					if slot.Busy {
						leaving++
					} else {
						idle--
					}
					wanted = max(wanted-1, 0)
					idle = min(idle, wanted)
					check(fmt.Sprintf("Drain of a slot that is busy: %v", slot.Busy))
				}
			}
			for waiting+len(running) > 0 {
				wanted = 100
				idle = max(0, wanted-busy())
				wantError(t, "SetSlots", p.SetSlots(wanted, sojourn.Slot{}), nil)
				check("the end")
				for _, m := range running {
					m.Leave(nil)
				}
				idle += busy()
				running, leaving = nil, 0
			}
			for _, n := range []int{-1, sojourn.MaxSlots + 1} {
				if p.SetSlots(n, sojourn.Slot{}) == nil {
					t.Errorf("SetSlots(%d): no error", n)
				}
			}
		})
	}
}

// How many slots there are in the end does not depend on which were busy when they were taken away.
func TestSetSlotsThenDrain(t *testing.T) {
	for _, busy := range []int{0, 1, 4} {
		for more, takes := range map[int]int{0: 2, 1: 1, 3: 4} {
			for name, take := range map[string]func(*live.Pool, sojourn.SlotID) error{"Drain": (*live.Pool).Drain, "Remove": (*live.Pool).Remove} {
				inPool(t, live.Options{Slots: 4}, func(t *testing.T, p *live.Pool) {
					if busy > 0 {
						must(p.Submit(bg, bag(busy, sleep(time.Second))))
						synctest.Wait()
					}
					wantError(t, "SetSlots", p.SetSlots(2, sojourn.Slot{}), nil)
					must(p.AddSlots(more, sojourn.Slot{}))
					for range takes {
						slots := p.Status().Slots // the last one is idle, if any is
						wantError(t, name, take(p, slots[slices.IndexFunc(slots, func(s live.SlotStatus) bool { return !s.Leaving })].Slot.ID), nil)
					}
					time.Sleep(time.Minute)
					if got, want := len(p.Status().Slots), 2+more-takes; got != want {
						t.Errorf("%d busy: SetSlots(2), AddSlots(%d), %d times %s: %d slots in the end, want %d", busy, more, takes, name, got, want)
					}
					must(p.AddSlots(1, sojourn.Slot{})) // it stays when its task ends
					must(p.Submit(bg, bag(3, sleep(time.Second))))
					time.Sleep(time.Minute)
					if got, want := len(p.Status().Slots), 3+more-takes; got != want {
						t.Errorf("%d busy: SetSlots(2), AddSlots(%d), %d times %s, AddSlots(1): %d slots in the end, want %d", busy, more, takes, name, got, want)
					}
				})
			}
		}
	}
}

// Slots come and go while tasks run, and no task is lost.
func TestSlots(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		now := stopwatch()
		h := must(p.Submit(bg, bag(4, sleep(10*ms))))
		ids := must(p.AddSlots(2, sojourn.Slot{Node: 7}))
		if want := []sojourn.SlotID{1, 2}; !slices.Equal(ids, want) {
			t.Errorf("slots %v, want %v", ids, want)
		}
		time.Sleep(5 * ms)
		wantError(t, "Drain", p.Drain(0), nil)
		wantError(t, "Drain again", p.Drain(0), sojourn.ErrUnknownSlot)
		wantError(t, "Remove", p.Remove(1), nil) // its task starts anew, on slot 2 at 10 ms
		time.Sleep(time.Second / 10)
		wantError(t, "the job", h.Wait(bg), nil)
		if st := p.Status(); len(st.Slots) != 1 || st.Slots[0].Slot.ID != 2 {
			t.Errorf("slots %+v, want slot 2 only", st.Slots)
		}
		ids = must(p.AddSlots(1, sojourn.Slot{Class: 3}))
		if len(ids) != 1 || ids[0] > 1 {
			t.Errorf("slots %v, want one of those that have left", ids)
		}
		_ = now
		// A pool without slots of a class keeps its jobs until there are some.
		wantError(t, "Drain", p.Drain(2), nil)
		h = must(p.Submit(bg, bag(1, sleep(ms))))
		time.Sleep(time.Hour)
		if h.Progress().Running != 0 {
			t.Error("a task runs on a slot of another class")
		}
		must(p.AddSlots(1, sojourn.Slot{}))
		wantError(t, "the job", h.Wait(bg), nil)
	})
}

// Close ends jobs that no slot can ever run, and lets the others end.
func TestCloseWithoutSlots(t *testing.T) {
	inPool(t, live.Options{Slots: 2}, func(t *testing.T, p *live.Pool) {
		fine := must(p.Submit(bg, bag(3, sleep(10*ms))))
		late := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 1, Run: sleep(5 * ms)}, {Tasks: 1, Class: 1, Run: sleep(ms)}}}))
		go func() {
			time.Sleep(12 * ms)
			wantError(t, "Drain", p.Drain(0), nil)
			time.Sleep(ms)
			wantError(t, "AddSlots", errors.Join(func() error { _, err := p.AddSlots(1, sojourn.Slot{}); return err }()), live.ErrClosed)
			wantError(t, "Drain", p.Drain(1), nil)
		}()
		wantError(t, "Close", p.Close(bg), nil)
		wantError(t, "a job with slots", fine.Wait(bg), nil)
		wantError(t, "a job without slots", late.Wait(bg), live.ErrNoSlots)
	})
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		// The slots that a job has no more tasks for do not matter.
		must(p.AddSlots(1, sojourn.Slot{Class: 1}))
		h := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 1, Run: sleep(ms)}, {Tasks: 1, Class: 1, Run: sleep(10 * ms)}}}))
		stranded := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 1, Class: 2, Run: sleep(ms)}}}))
		time.Sleep(2 * ms)
		wantError(t, "Drain", p.Drain(0), nil)
		wantError(t, "Close", p.Close(bg), nil)
		wantError(t, "a job that needs its slot no more", h.Wait(bg), nil)
		wantError(t, "a job that never had a slot", stranded.Wait(bg), live.ErrNoSlots)
	})
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		h := must(p.Submit(bg, bag(3, sleep(10*ms))))
		go func() { time.Sleep(5 * ms); wantError(t, "Drain", p.Drain(0), nil) }()
		wantError(t, "Close", p.Close(bg), nil)
		wantError(t, "a job whose last slot leaves", h.Wait(bg), live.ErrNoSlots)
		if done := h.Progress().Done; done != 1 {
			t.Errorf("%d tasks done, want 1", done)
		}
	})
}

// A hard stop ends the contexts of all tasks.
func TestHardStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 2}))
		running := must(p.Submit(bg, bag(9, sleep(time.Hour))))
		waiting := must(p.Submit(bg, bag(9, sleep(time.Hour))))
		now := stopwatch()
		ctx, cancel := context.WithTimeout(bg, 10*ms)
		defer cancel()
		wantError(t, "Close", p.Close(ctx), context.DeadlineExceeded)
		wantError(t, "a job that runs", running.Wait(bg), live.ErrClosed)
		wantError(t, "a job that waits", waiting.Wait(bg), live.ErrClosed)
		wantError(t, "Close again", p.Close(bg), nil)
		if now() != 10*ms {
			t.Errorf("closed after %v, want 10ms", now())
		}
		_, err := p.Submit(bg, bag(1, sleep(0)))
		wantError(t, "Submit after Close", err, live.ErrClosed)
		wantError(t, "Drain after Close", p.Drain(0), live.ErrClosed)
		running.Cancel()
	})
}

// The context of Submit is that of the job.
func TestContextOfSubmit(t *testing.T) {
	type key struct{}
	inPool(t, live.Options{Slots: 1, Retry: live.Retry{Attempts: 3}}, func(t *testing.T, p *live.Pool) {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(context.WithValue(bg, key{}, "value"))
		var inner context.Context
		h := must(p.Submit(ctx, bag(2, func(ctx context.Context, task live.Task) error {
			if ctx.Value(key{}) != "value" {
				t.Error("the value of the context is lost")
			}
			child, stop := context.WithTimeout(ctx, time.Hour)
			defer stop()
			inner = ctx
			<-child.Done()
			if context.Cause(child) != why {
				t.Errorf("cause %v, want %v", context.Cause(child), why)
			}
			return child.Err()
		})))
		time.Sleep(ms)
		cancel(why)
		wantError(t, "a job whose context has ended", h.Wait(bg), why)
		if inner.Err() == nil {
			t.Error("the context of an attempt outlives it")
		}
		_, err := p.Submit(ctx, bag(1, sleep(0)))
		wantError(t, "Submit with a context that is done", err, why)
		short, stop := context.WithTimeout(bg, ms)
		defer stop()
		h = must(p.Submit(bg, bag(1, sleep(10*ms))))
		wantError(t, "Wait with a context that ends", h.Wait(short), context.DeadlineExceeded)
		wantError(t, "the job after it", h.Wait(bg), nil)
	})
}

func TestBadInput(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		good := sleep(0)
		for name, j := range map[string]live.Job{
			"no phases":           {},
			"nil function":        bag(1, nil),
			"nil Collect":         {Phases: []live.Phase{live.Collect[int](1, nil).Phase}},
			"no tasks":            bag(0, good),
			"tasks below none":    bag(-5, good),
			"Collect below none":  {Phases: []live.Phase{live.Collect(-1, func(context.Context, live.Task) (int, error) { return 0, nil }).Phase}},
			"negative timeout":    {Timeout: -1, Phases: bag(1, good).Phases},
			"negative deadline":   {Deadline: -1, Phases: bag(1, good).Phases},
			"timeout of a phase":  {Phases: []live.Phase{{Tasks: 1, Run: good, Timeout: -1}}},
			"retry":               {Retry: &live.Retry{Jitter: 2}, Phases: bag(1, good).Phases},
			"need of itself":      {Phases: []live.Phase{{Tasks: 1, Run: good, Needs: []int{0}}}},
			"estimates too short": {Phases: []live.Phase{{Tasks: 2, Run: good, Estimates: []time.Duration{1}}}},
		} {
			if h, err := p.Submit(bg, j); err == nil || h != nil {
				t.Errorf("%s: %v, %v, want an error", name, h, err)
			}
		}
		var none context.Context
		if _, err := p.Submit(none, bag(1, good)); err == nil {
			t.Error("a nil context was accepted")
		}
		wantError(t, "a good job after them", must(p.Submit(bg, bag(1, good))).Wait(bg), nil)
		wantError(t, "Drain of no slot", p.Drain(77), sojourn.ErrUnknownSlot)
		wantError(t, "Remove of no slot", p.Remove(sojourn.MaxSlots), sojourn.ErrUnknownSlot)
		if ids, err := p.AddSlots(-1, sojourn.Slot{}); len(ids) != 0 || err != nil {
			t.Errorf("AddSlots(-1) = %v, %v", ids, err)
		}
	})
	for name, o := range map[string]live.Options{
		"slots": {Slots: -1}, "too many slots": {Slots: sojourn.MaxSlots + 1}, "timeout": {Timeout: -1}, "grace": {Grace: -1},
		"attempts": {Retry: live.Retry{Attempts: -1}}, "backoff": {Retry: live.Retry{Backoff: -1}}, "jitter": {Retry: live.Retry{Jitter: 1.5}},
	} {
		if _, err := live.New(newFIFO(), o); err == nil {
			t.Errorf("%s: %+v was accepted", name, o)
		}
	}
	if _, err := live.New(nil, live.Options{}); err == nil {
		t.Error("a nil policy was accepted")
	}
}

// A policy serves one pool at a time.
func TestOnePolicyTwoPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := newFIFO()
		p := must(live.New(policy, live.Options{Slots: 1}))
		_, err := live.New(policy, live.Options{Slots: 1})
		wantError(t, "the second pool", err, live.ErrInUse)
		wantError(t, "Close", p.Close(bg), nil)
		q := must(live.New(policy, live.Options{Slots: 1}))
		wantError(t, "Close of the first again", p.Close(bg), nil)
		time.Sleep(time.Second)
		_, err = live.New(policy, live.Options{Slots: 1})
		wantError(t, "the third pool", err, live.ErrInUse)
		wantError(t, "a job in the second", must(q.Submit(bg, bag(1, sleep(ms)))).Wait(bg), nil)
		wantError(t, "Close", q.Close(bg), nil)
		busy := newFIFO()
		if err := busy.Observe(sojourn.Event{Kind: sojourn.SlotAdded}); err != nil {
			t.Fatal(err)
		}
		_, err = live.New(busy, live.Options{Slots: 1})
		wantError(t, "a policy with slots", err, sojourn.ErrDuplicateSlot)
	})
}

// A clock that jumps in both directions does no harm.
func TestClockThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := []time.Duration{5 * time.Hour, 0, 3, 100 * time.Hour, time.Hour, -7}
		i := 0
		now := func() sojourn.Time { i++; return sojourn.Time(at[i%len(at)]) } // under the lock of the pool
		policy := pooled.Fair.Must(fair.Options{Delay: time.Second, RackDelay: new(time.Duration), Preemption: fair.Preemption{FairTimeout: ms, Interval: ms}})
		p := must(live.New(policy, live.Options{Slots: 3, Now: now, Preempt: 1}))
		var jobs []*live.Handle
		for k := range 30 {
			j := bag(5, sleep(ms))
			j.Pool = fmt.Sprint(k % 3)
			j.Phases[0].Inputs = sojourn.MakeInputs(slices.Repeat([][]sojourn.NodeID{{5}}, 5))
			jobs = append(jobs, must(p.Submit(bg, j)))
		}
		for _, h := range jobs {
			wantError(t, "a job", h.Wait(bg), nil)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// The policy refuses a job with a counter-offer, and accepts the job with it.
func TestCounterOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(constructors.RTMR.Must(rtmr.Options{}), live.Options{Slots: 2}))
		j := bag(10, sleep(10*ms))
		j.Phases[0].Estimate = 10 * ms
		j.Deadline = 20 * ms
		time.Sleep(time.Second)
		_, err := p.Submit(bg, j)
		wantError(t, "a deadline that is too early", err, sojourn.ErrRejected)
		offer, ok := live.Offer(err)
		if !ok || offer < 50*ms || offer > 60*ms {
			t.Fatalf("offer %v, %v; want 50ms and a bit", offer, ok)
		}
		if _, ok := live.Offer(errors.New("something else")); ok {
			t.Error("an offer out of nothing")
		}
		j.Deadline = offer
		now := stopwatch()
		wantError(t, "the offer", must(p.Submit(bg, j)).Wait(bg), nil)
		if now() > offer {
			t.Errorf("ended after %v, want %v at most", now(), offer)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// Status lists jobs in the order in which the policy would serve them.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(constructors.LeastWork.Must(leastwork.Options{}), live.Options{Slots: 1}))
		large := bag(100, sleep(ms))
		large.Name = "large"
		must(p.Submit(bg, large))
		small := bag(2, sleep(ms))
		small.Name = "small"
		h := must(p.Submit(bg, small))
		st := p.Status()
		var names []string
		for _, j := range st.Jobs {
			names = append(names, j.Name)
		}
		if want := []string{"small", "large"}; !slices.Equal(names, want) {
			t.Errorf("jobs %v, want %v", names, want)
		}
		if len(st.Slots) != 1 || st.Slots[0].Task.Job != 1 || !st.Slots[0].Busy {
			t.Errorf("slots %+v, want one that runs job 1", st.Slots)
		}
		if attrs, ok := h.Explain(); !ok || len(attrs) == 0 {
			t.Error("no explanation")
		}
		wantError(t, "Close", p.Close(bg), nil)
		if _, ok := h.Explain(); ok {
			t.Error("an explanation of a job that has ended")
		}
	})
}
