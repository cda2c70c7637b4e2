package live_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// A calls lists the tasks that have run.
type calls struct {
	mu   sync.Mutex
	list []uint32
}

func (c *calls) run(_ context.Context, t live.Task) error {
	time.Sleep(time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, t.Index)
	return nil
}

func (c *calls) sorted() []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.list))
}

// An open job goes on with tasks that are added, also after all that it had are done, and ends as finished once it is complete.
func TestOpenJob(t *testing.T) {
	for name, p := range map[string]func() sojourn.Policy{
		"fifo": newFIFO, "default": func() sojourn.Policy { return must(leastwork.New(leastwork.Options{})) }, "fair": func() sojourn.Policy { return must(fair.New(fair.Options{})) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var ran calls
			errNo := errors.New("no")
			var tally live.Tally
			pool := must(live.New(p(), live.Options{Slots: 2, Observer: &tally, Remember: 10}))
			h := must(pool.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: ran.run}}}))
			for i, estimates := range [][]time.Duration{{0}, {time.Second, 0}, {}, {time.Minute}} {
				time.Sleep(time.Minute) // it has nothing to do meanwhile
				if pr := h.Progress(); pr.Ended || pr.Done != pr.Tasks {
					t.Fatalf("%s: an open job whose tasks are done: %+v", name, pr)
				}
				before := h.Progress().Tasks
				first, err := h.Add(0, estimates...)
				if err != nil || first != before {
					t.Fatalf("%s: Add %d: the first of the tasks is %d, %v; want %d", name, i, first, err, before)
				}
				if g := tally.Read(); g.Queued+g.Running != len(estimates) {
					t.Errorf("%s: after %d tasks were added, %d are queued and %d run", name, len(estimates), g.Queued, g.Running)
				}
			}
			if _, err := h.Add(0, -1); !errors.Is(err, sojourn.ErrInvalidJob) {
				t.Errorf("%s: a negative estimate: %v", name, err)
			}
			if _, err := h.Add(1, 0); err == nil {
				t.Errorf("%s: a phase that there is not: no error", name)
			}
			wantError(t, "Complete", h.Complete(), nil)
			if _, err := h.Add(0, 0); !errors.Is(err, live.ErrClosed) {
				t.Errorf("%s: a task after Complete: %v", name, err)
			}
			wantError(t, "Wait", h.Wait(bg), nil)
			if e, ok := h.Ended(); !ok || e.Outcome != live.Finished || e.Tasks != 5 || e.Attempts != 5 {
				t.Errorf("%s: the job ended as %+v", name, e)
			}
			if got := ran.sorted(); !slices.Equal(got, []uint32{0, 1, 2, 3, 4}) {
				t.Errorf("%s: tasks %d ran", name, got)
			}
			idle := must(pool.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: ran.run}}}))
			failing := must(pool.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error { return errNo }}}}))
			wantError(t, "an open job that fails", failing.Wait(bg), errNo)
			time.Sleep(time.Minute)
			wantError(t, "Close", pool.Close(bg), nil) // it does not wait for what may come
			wantError(t, "the job that Close completes", idle.Wait(bg), nil)
			if _, err := idle.Add(0, 0); !errors.Is(err, live.ErrClosed) {
				t.Errorf("%s: a task after Close: %v", name, err)
			}
		})
	}
}

// Tasks that were added survive a restart; the next process adds more of them, and completes the job.
func TestOpenDurableJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran calls
		d := newDisk()
		o := live.Options{Slots: 1, Remember: 10, Handlers: map[string]live.Handler{"run": func(ctx context.Context, t live.Task, _ []byte) error { return ran.run(ctx, t) }}}
		p, _ := openDisk(d, o)
		h := must(p.Submit(bg, live.Job{Handler: "run", Open: true, Phases: []live.Phase{{Tasks: 1}}}))
		must(h.Add(0, 0, time.Second))
		time.Sleep(1500 * time.Millisecond)
		wantError(t, "Suspend", p.Suspend(bg), nil)
		p, _ = openDisk(d, o)
		again := handle(p, h.ID())
		if first, err := again.Add(0, 0); first != 3 || err != nil {
			t.Errorf("Add = %d, %v, want 3", first, err)
		}
		time.Sleep(time.Minute)
		if pr := again.Progress(); pr.Ended || pr.Done != 4 || pr.Tasks != 4 {
			t.Errorf("the job after a restart: %+v", pr)
		}
		wantError(t, "Suspend", p.Suspend(bg), nil)
		p, _ = openDisk(d, o)
		again = handle(p, h.ID())
		wantError(t, "Complete", again.Complete(), nil)
		if e, ok := again.Ended(); !ok || e.Outcome != live.Finished || e.Tasks != 4 {
			t.Errorf("the job ended as %+v, %t", e, ok)
		}
		wantError(t, "Close", p.Close(bg), nil)
		p, _ = openDisk(d, o)
		if list := p.Ended(); len(list) != 1 || list[0].Outcome != live.Finished {
			t.Errorf("the next process knows of %+v", list)
		}
		wantError(t, "Close", p.Close(bg), nil)
		if got := ran.sorted(); !slices.Equal(got, []uint32{0, 1, 2, 3}) {
			t.Errorf("tasks %d ran", got)
		}
	})
}

// What tasks cannot be added to says so.
func TestAddRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1}))
		run := func(context.Context, live.Task) error { time.Sleep(time.Second); return nil }
		results := live.Collect(1, func(context.Context, live.Task) (int, error) { return 1, nil })
		for i, phase := range []live.Phase{
			{Tasks: 1, Run: run, Bytes: []int64{5}},
			{Tasks: 1, Run: run, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}})},
			results.Phase,
		} {
			h := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{phase}}))
			if _, err := h.Add(0, 0); err == nil || errors.Is(err, live.ErrClosed) {
				t.Errorf("phase %d: %v, want what is wrong with it", i, err)
			}
		}
		h := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 1, Run: run}}}))
		if _, err := h.Add(0, 0); !errors.Is(err, live.ErrClosed) {
			t.Errorf("a job that is not open: %v", err)
		}
		wantError(t, "Complete of a job that is not open", h.Complete(), nil)
		cancelled := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: run}}}))
		cancelled.Cancel()
		if _, err := cancelled.Add(0, 0); !errors.Is(err, sojourn.ErrUnknownJob) {
			t.Errorf("a cancelled job: %v", err)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// What a task costs that is added does not depend on how many there are: a list of estimates is continued in its memory, and not copied.
// TestGrownReadsNewTasksOnly of kit/ledger shows that it is not read either.
func TestAddToALargeJob(t *testing.T) {
	const large, more = 50_000, 1000
	p := must(live.New(must(leastwork.New(leastwork.Options{})), live.Options{Slots: 1}))
	h := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error { return nil }}}}))
	for range large {
		must(h.Add(0, time.Second))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range more {
		must(h.Add(0, time.Second))
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / more; bytes > 8*large/10 { // of the list, which has 8 bytes for each task
		t.Errorf("to add a task to %d takes %d bytes", large, bytes)
	}
	wantError(t, "Complete", h.Complete(), nil)
	wantError(t, "Wait", h.Wait(bg), nil)
	wantError(t, "Close", p.Close(bg), nil)
	if pr := h.Progress(); pr.Done != 1+large+more {
		t.Errorf("%+v", pr)
	}
}

// Two jobs may be described by parts of one list: tasks that are added to one of them change neither the list nor the other job.
func TestAddLeavesTheListAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(must(leastwork.New(leastwork.Options{})), live.Options{Slots: 1}))
		list := []time.Duration{1, 2, 3, 4, 5, 6}
		a := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 2, Run: sleep(time.Second), Estimates: list[:2]}}}))
		b := must(p.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 4, Run: sleep(time.Second), Estimates: list[2:]}}}))
		must(a.Add(0, time.Hour, time.Hour))
		wantError(t, "the other job", b.Wait(bg), nil)
		if !slices.Equal(list, []time.Duration{1, 2, 3, 4, 5, 6}) {
			t.Errorf("the list is %v", list)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// Several goroutines add tasks, while others end and fail.
func TestAddAtOnce(t *testing.T) {
	p := must(live.New(newFIFO(), live.Options{Slots: 2, Retry: live.Retry{Attempts: 3}}))
	h := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 2, Run: func(_ context.Context, task live.Task) error {
		if task.Attempt == 1 && task.Index%3 == 0 {
			return errors.New("again")
		}
		return nil
	}}}}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				must(h.Add(0, 0))
			}
		})
	}
	wg.Wait()
	wantError(t, "Complete", h.Complete(), nil)
	wantError(t, "Wait", h.Wait(bg), nil)
	if pr := h.Progress(); pr.Done != 202 {
		t.Errorf("%+v, want 202 tasks done", pr)
	}
	wantError(t, "Close", p.Close(bg), nil)
}

// A process without the handler of an open job takes no tasks for it, and leaves it open to the next one when it closes.
func TestParkedOpenJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		o := live.Options{Slots: 1, Remember: 10, Handlers: map[string]live.Handler{"run": func(context.Context, live.Task, []byte) error { time.Sleep(time.Minute); return nil }}}
		p, _ := openDisk(d, o)
		h := must(p.Submit(bg, live.Job{Handler: "run", Open: true, Phases: []live.Phase{{Tasks: 3}}}))
		idle := must(p.Submit(bg, live.Job{Handler: "run", Open: true, Phases: []live.Phase{{Tasks: 1}}}))
		time.Sleep(3*time.Minute + 30*time.Second)
		wantError(t, "Suspend", p.Suspend(bg), nil)
		p, j := openDisk(d, live.Options{Slots: 1, Remember: 10})
		for _, id := range []sojourn.JobID{h.ID(), idle.ID()} {
			if _, err := handle(p, id).Add(0, 0); !errors.Is(err, live.ErrNoHandler) {
				t.Errorf("Add to the parked job %d = %v", id, err)
			}
		}
		time.Sleep(time.Hour)
		if pr := handle(p, h.ID()).Progress(); pr.Ended || !pr.Parked {
			t.Errorf("the parked job: %+v", pr)
		}
		wantError(t, "Close", p.Close(bg), nil)
		_ = j.Close()
		p, _ = openDisk(d, o)
		for _, id := range []sojourn.JobID{h.ID(), idle.ID()} {
			again := handle(p, id)
			if _, err := again.Add(0, 0); err != nil {
				t.Errorf("Add in the next process: %v", err)
			}
			wantError(t, "Complete", again.Complete(), nil)
			wantError(t, "Wait", again.Wait(bg), nil)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// refusesToEnd is a policy that refuses to let an open job end.
type refusesToEnd struct{ sojourn.Policy }

func (p refusesToEnd) Unwrap() sojourn.Policy { return p.Policy }

func (p refusesToEnd) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.JobRevised && !ev.Job.Open {
		return &sojourn.EventError{Event: ev, Err: sojourn.ErrRejected}
	}
	return p.Policy.Observe(ev)
}

// What the policy refuses has not happened, also when the job has nothing to do. Close gives such a job up.
func TestCompleteRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(refusesToEnd{newFIFO()}, live.Options{Slots: 1, Remember: 10}))
		h := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: sleep(time.Second)}}}))
		for range 2 {
			wantError(t, "Complete", h.Complete(), sojourn.ErrRejected)
			time.Sleep(time.Minute)
			if e, ended := h.Ended(); ended || len(p.Ended()) != 0 {
				t.Errorf("the job has ended as %+v", e)
			}
		}
		must(h.Add(0, 0))
		wantError(t, "Close", p.Close(bg), nil)
		wantError(t, "Wait", h.Wait(bg), sojourn.ErrRejected)
	})
}

// So under a journal: the next process finds the job live, and no record of an end.
func TestCompleteRefusedAndRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		o := live.Options{Slots: 1, Remember: 10, Handlers: map[string]live.Handler{"run": func(context.Context, live.Task, []byte) error { return nil }}}
		p := must(live.New(must(journal.Open(d, refusesToEnd{newFIFO()}, journal.Options{})), o))
		h := must(p.Submit(bg, live.Job{Handler: "run", Open: true, Phases: []live.Phase{{Tasks: 1}}}))
		time.Sleep(time.Minute)
		wantError(t, "Complete", h.Complete(), sojourn.ErrRejected)
		_ = must(p.Submit(bg, live.Job{Handler: "run", Phases: []live.Phase{{Tasks: 1}}})).Wait(bg) // all before it is durable
		wantError(t, "Err", p.Err(), nil)
		killed := newDisk()
		for n, data := range d.segments {
			killed.segments[n] = slices.Clone(data)
		}
		wantError(t, "Suspend", p.Suspend(bg), nil)
		d = killed
		j := must(journal.Open(d, newFIFO(), journal.Options{}))
		kept := 0
		for range j.Kept() {
			kept++
		}
		if kept != 1 { // of the other job
			t.Errorf("the journal keeps %d records of ends, want 1", kept)
		}
		p = must(live.New(j, o))
		wantError(t, "Complete", handle(p, h.ID()).Complete(), nil)
		if list := p.Ended(); len(list) != 2 || list[0].Outcome != live.Finished || list[1].Outcome != live.Finished {
			t.Errorf("the jobs that have ended are %+v", list)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// Who steers a job that has ended, is about to, or is only remembered, is told that it is unknown.
func TestSteerEndedJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Remember: 10, Grace: time.Hour}))
		run := func(ctx context.Context, _ live.Task) error { time.Sleep(time.Minute); return ctx.Err() }
		cancelled := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: run}}}))
		time.Sleep(time.Second)
		cancelled.Cancel()
		ended := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: run}}}))
		time.Sleep(time.Hour)
		wantError(t, "Complete", ended.Complete(), nil)
		for name, h := range map[string]*live.Handle{"cancelled": cancelled, "ended": ended, "remembered": handle(p, ended.ID())} {
			_, err := h.Add(0, 0)
			wantError(t, name+", Add", err, sojourn.ErrUnknownJob)
			wantError(t, name+", Complete", h.Complete(), sojourn.ErrUnknownJob)
			wantError(t, name+", SetParallelism", h.SetParallelism(1), sojourn.ErrUnknownJob)
		}
		wantError(t, "Close", p.Close(bg), nil)
	})
}

// What observers learn of tasks that were added is true: their estimates, that no slot is of their class, and that a job with nothing to
// do does not starve.
func TestNotesOfAddedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally live.Tally
		var mu sync.Mutex
		var estimates []time.Duration
		stuck := 0
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Observer: observerFunc(func(n live.Note) {
			tally.Note(n)
			mu.Lock()
			defer mu.Unlock()
			switch n.Kind {
			case live.TaskEnded:
				estimates = append(estimates, n.Estimate)
			case live.JobStuck:
				stuck++
			}
		})}))
		none := func(context.Context, live.Task) error { return nil }
		h := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Run: none, Estimate: time.Second}}}))
		must(h.Add(0, time.Minute, 0))
		time.Sleep(time.Hour)
		mu.Lock()
		if !slices.Equal(estimates, []time.Duration{time.Second, time.Minute, time.Second}) {
			t.Errorf("the estimates of what has ended are %v", estimates)
		}
		mu.Unlock()
		if g := tally.Read(); g.Starvation != 0 || g.Jobs != 1 {
			t.Errorf("an idle job: %+v", g)
		}
		ids := must(p.AddSlots(1, sojourn.Slot{Class: 1}))
		other := must(p.Submit(bg, live.Job{Open: true, Phases: []live.Phase{{Tasks: 1, Class: 1, Run: none}}}))
		time.Sleep(time.Second)
		wantError(t, "Remove", p.Remove(ids[0]), nil)
		time.Sleep(time.Second)
		must(other.Add(0, 0))
		time.Sleep(time.Hour)
		mu.Lock()
		if stuck != 1 {
			t.Errorf("%d notes say that a job is stuck, want 1", stuck)
		}
		mu.Unlock()
		hardStop(p)
	})
}

// A job that is retried is submitted once, whoever asks for it at the same time.
func TestRetryAtOnce(t *testing.T) {
	p, _ := openDisk(newDisk(), live.Options{Slots: 1, Remember: 1000, Handlers: map[string]live.Handler{"run": func(context.Context, live.Task, []byte) error { return errors.New("no") }}})
	for range 50 {
		h := must(p.Submit(bg, live.Job{Handler: "run", Open: true, Payload: make([]byte, 4000), Phases: []live.Phase{{Tasks: 1}}}))
		_ = h.Wait(bg)
		var wg sync.WaitGroup
		var again [4]*live.Handle
		for i := range again {
			wg.Go(func() { again[i], _ = p.Retry(bg, h.ID()) })
		}
		wg.Wait()
		n := 0
		for _, h := range again {
			if h != nil {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("a job was submitted anew %d times", n)
		}
	}
	wantError(t, "Close", p.Close(bg), nil)
}

// A permit that was used and has failed is remembered as an attempt that has failed.
func TestFailedPermitIsRemembered(t *testing.T) {
	p := must(live.New(newFIFO(), live.Options{Slots: 1, Remember: 10}))
	must(p.Enter(bg, live.Job{})).Leave(errors.New("broken"))
	if e := p.Ended()[0]; e.Attempts != 1 || e.Failures != 1 || e.First != "broken" || e.Outcome != live.Failed {
		t.Errorf("%+v", e)
	}
	wantError(t, "Close", p.Close(bg), nil)
}
