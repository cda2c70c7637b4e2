package shadow_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/shadow"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/workload"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

var bg = context.Background()

func must[P any](p P, err error) P {
	if err != nil {
		panic(err)
	}
	return p
}

func newFIFO() sojourn.Policy { return constructors.FIFO.Must(fifo.Options{}) }

// picky refuses every other job, and knows no feature.
type picky struct{ sojourn.Policy }

func (p picky) Observe(ev sojourn.Event) error {
	if (ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted) && ev.Job != nil && ev.Job.ID%2 == 0 {
		return &sojourn.EventError{Event: ev, Err: sojourn.ErrUnsupported}
	}
	return p.Policy.Observe(ev)
}

var candidates = map[string]func() sojourn.Policy{
	"fifo":      newFIFO,
	"fair":      func() sojourn.Policy { return pooled.Fair.Must(fair.Options{}) },
	"leastwork": constructors.LeastWork.With(leastwork.Options{}),
	"pfsp":      constructors.PFSP.With(pfsp.Options{}),
	"picky":     func() sojourn.Policy { return picky{newFIFO()} },
}

// On the histories of the conformance tests, a shadow keeps the contract, no candidate refuses anything but
// jobs, and each believes what is true.
func TestConformance(t *testing.T) {
	for name, candidate := range candidates {
		t.Run(name, func(t *testing.T) {
			histories.Set(t, max(histories.Count(t)/20, 3))
			var all []*shadow.Shadow
			var mu sync.Mutex
			sojourntest.Run(t, func() sojourn.Policy {
				s := must(shadow.New(newFIFO(), candidate(), shadow.Options{}))
				mu.Lock()
				defer mu.Unlock()
				all = append(all, s)
				return s.Inside() // the lock declines a slot that is not free
			}, sojourntest.Options{KeepsHistory: true}) // what the candidate has yet to be told waits in memory
			var sum shadow.Report
			for _, s := range all {
				if err := s.Wait(bg); err != nil {
					t.Fatal(err)
				}
				r := s.Report()
				if r.Err != nil && !errors.Is(r.Err, shadow.ErrRestored) && !errors.Is(r.Err, sojourn.ErrInvalidEvent) { // an attempt above 2^31
					t.Fatal(r.Err)
				}
				sum.Decisions += r.Decisions
				sum.SameTask += r.SameTask
				sum.Refused += r.Refused
				if r.Err == nil {
					s.Believes(t)
				}
				if name == "fifo" && r.Refused == 0 && (r.SameTask != r.Decisions || r.First != nil) {
					t.Fatalf("FIFO agrees with itself in %d of %d starts, first %v", r.SameTask, r.Decisions, r.First)
				}
			}
			if sum.Decisions < 100 || name == "picky" && sum.Refused < 10 {
				t.Errorf("the histories have %d starts and %d refused jobs", sum.Decisions, sum.Refused)
			}
		})
	}
}

// A shadow hides nothing of the active policy, and offers no more.
func TestHidesNothing(t *testing.T) {
	s := must(shadow.New(newFIFO(), newFIFO(), shadow.Options{}))
	found := 0
	for range sojourn.All[*fifo.Policy](s) {
		found++
	}
	if _, ok := sojourn.As[sojourn.Explainer](s); !ok || found != 1 {
		t.Errorf("Explainer %v, and %d policies of FIFO, want 1", ok, found)
	}
	s = must(shadow.New(bare{newFIFO()}, newFIFO(), shadow.Options{}))
	if _, ok := sojourn.As[sojourn.Seeker](s); ok || sojourn.Supports(s) != 0 {
		t.Errorf("Seeker %v, features %v, of a policy that has neither", ok, sojourn.Supports(s))
	}
	needs := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1, Needs: []int{0}}}}
	if err := s.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: needs}); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("a job that the active policy does not know how to read: %v", err)
	}
}

// A policy that is swapped every few calls decides as if it stayed: FIFO decides by facts alone.
func TestSwap(t *testing.T) {
	histories.Set(t, max(histories.Count(t)/20, 3))
	swaps := 0
	sojourntest.Run(t, func() sojourn.Policy {
		s := must(shadow.New(newFIFO(), newFIFO(), shadow.Options{Policy: byName}))
		return &swapping{s: s, t: t, swaps: &swaps}
	}, sojourntest.Options{})
	if swaps < 100 {
		t.Errorf("%d swaps", swaps)
	}

	s := must(shadow.New(newFIFO(), newFIFO(), shadow.Options{Policy: byName}))
	if err := s.Swap("bare"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a policy that is no Seeker takes over from one that is: %v", err)
	}
	for _, name := range []string{"none", "a\nb"} {
		if err := s.Swap(name); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("policy %q takes over: %v", name, err)
		}
	}
	if err := must(shadow.New(newFIFO(), newFIFO(), shadow.Options{})).Swap(""); err == nil || !strings.Contains(err.Error(), "Options.Policy") {
		t.Errorf("nothing makes a policy: %v", err)
	}
	if name, n := s.Active(); name != "" || n != 0 {
		t.Errorf("after swaps that failed, %q is active, after %d swaps", name, n)
	}
}

// byName makes policies.
func byName(name string) (sojourn.Policy, error) {
	switch name {
	case "":
		return newFIFO(), nil
	case "leastwork":
		return candidates["leastwork"](), nil
	case "bare":
		return bare{newFIFO()}, nil
	}
	return nil, nil
}

// bare hides all but the two methods.
type bare struct{ sojourn.Policy }

type swapping struct {
	s     *shadow.Shadow
	t     *testing.T
	calls int
	swaps *int
}

func (s *swapping) Supports() sojourn.Features { return sojourn.Supports(s.s.Inside()) }
func (s *swapping) As(target any) bool         { return s.s.InsideAs(target) }

func (s *swapping) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	return s.s.Inside().Assign(id)
}

func (s *swapping) Observe(ev sojourn.Event) error {
	err := s.s.Inside().Observe(ev)
	if s.calls++; err == nil && s.calls%3 == 0 && s.calls < 300 { // the law that ends allocate nothing has more calls
		switch err := s.s.Swap(""); {
		case err == nil:
			*s.swaps++
		case !strings.Contains(err.Error(), "more than"): // numbers of attempts that no event can tell
			s.t.Errorf("Swap: %v", err)
		}
	}
	return err
}

// After a swap, the other policy decides.
func TestSwapDecides(t *testing.T) {
	s := must(shadow.New(newFIFO(), newFIFO(), shadow.Options{Policy: byName}))
	d := must(driver.New(s, driver.Options{Now: func() sojourn.Time { return 0 }, Preempt: -1}))
	for _, ev := range twoJobs() {
		if err := d.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	e, _ := sojourn.As[sojourn.Explainer](s)
	if err := s.Swap("leastwork"); err != nil {
		t.Fatal(err)
	}
	if err := d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 3, Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Minute}}}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := e.Explain(3); !ok {
		t.Error("an Explainer that was found before the swap does not know a job that came after it")
	}
	if r := d.Settle(); len(r.Starts) != 1 || r.Starts[0].Task.Job != 2 {
		t.Errorf("starts %+v, want one of job 2", r.Starts)
	}
}

// What was found before a swap is that of the policy which decides, and may be looked for while policies are exchanged.
func TestAsAfterASwap(t *testing.T) {
	pools := must(fair.New(fair.Options{Pools: map[string]fair.Pool{"a": {Weight: 2}}}))
	s := must(shadow.New(pools, newFIFO(), shadow.Options{Policy: byName}))
	shares, ok := sojourn.As[sojourn.Sharer](s)
	if _, listed := shares.Pool("a"); !ok || !listed {
		t.Fatal("the active policy has no pools")
	}
	if err := s.Swap("leastwork"); err != nil {
		t.Fatal(err)
	}
	if p, ok := shares.Pool("a"); ok || len(shares.AppendShares(nil, 0)) > 0 {
		t.Errorf("after a swap to a policy without pools: %+v", p)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for range 100 {
			if err := s.Swap("leastwork"); err != nil {
				t.Error(err)
			}
		}
	})
	for range 100 {
		sojourn.As[sojourn.Sharer](s)
		sojourn.As[sojourn.Snapshotter](s)
		sojourn.Supports(s)
	}
	all.Wait()
}

// twoJobs are a slot, a job of two tasks of 10 s, and a job of a task of 1 s.
func twoJobs() []sojourn.Event {
	return []sojourn.Event{
		{Kind: sojourn.SlotAdded},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Estimate: 10 * time.Second}}}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}}},
	}
}

// runTwoJobs runs them to their end.
func runTwoJobs(t *testing.T, p sojourn.Policy) {
	now := sojourn.Time(0)
	d := must(driver.New(p, driver.Options{Now: func() sojourn.Time { return now }}))
	for _, ev := range twoJobs() {
		if err := d.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for r := d.Settle(); len(r.Starts) > 0; r = d.Settle() {
		a := r.Starts[0]
		now = now.Add(10 * time.Second)
		if a.Task.Job == 2 {
			now = now.Add(-9 * time.Second)
		}
		if err := d.Observe(driver.Finished(a)); err != nil {
			t.Fatal(err)
		}
	}
}

// FIFO starts job 1 twice where the least work is that of job 2; the third start is the same.
func TestReport(t *testing.T) {
	s := must(shadow.New(newFIFO(), candidates["leastwork"](), shadow.Options{}))
	runTwoJobs(t, s)
	if err := s.Wait(bg); err != nil {
		t.Fatal(err)
	}
	want := shadow.Report{Decisions: 3, SameTask: 1, SameJob: 1, First: &shadow.Divergence{Decision: 1,
		Active:    sojourn.Assignment{Task: sojourn.TaskID{Job: 1}, Attempt: 1},
		Candidate: sojourn.Assignment{Task: sojourn.TaskID{Job: 2}, Attempt: 1}}}
	r := s.Report()
	if !reflect.DeepEqual(r, want) {
		t.Errorf("report\n%+v, first %+v, want\n%+v, first %+v", r, *r.First, want, *want.First)
	}
	const line = "start 1 at 0s: slot 0 runs task 1/0/0, the candidate would have run task 2/0/0"
	if r.First.String() != line {
		t.Errorf("first %q, want %q", r.First, line)
	}
}

// Under FIFO the jobs end after 20 s and 21 s, under the other policy after 21 s and 1 s.
func TestPredict(t *testing.T) {
	newFIFO := func() (sojourn.Policy, error) { return newFIFO(), nil }
	shortest := func() (sojourn.Policy, error) { return candidates["leastwork"](), nil }
	s := must(shadow.New(must(newFIFO()), must(shortest()), shadow.Options{}))
	if _, err := s.Predict(bg, newFIFO, shortest); err == nil {
		t.Error("a prediction without jobs")
	}
	runTwoJobs(t, s)
	p, err := s.Predict(bg, newFIFO, shortest)
	if err != nil {
		t.Fatal(err)
	}
	want := shadow.Prediction{2, shadow.Outcome{Response: 20500 * time.Millisecond}, shadow.Outcome{Response: 11 * time.Second}}
	if *p != want {
		t.Errorf("prediction %+v, want %+v", *p, want)
	}
	if got, want := p.Gain(), 19./41; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("gain %v, want %v", got, want)
	}
	failing := errors.New("no policy")
	if _, err := s.Predict(bg, newFIFO, func() (sojourn.Policy, error) { return nil, failing }); !errors.Is(err, failing) {
		t.Errorf("a policy that cannot be made: %v", err)
	}
}

// A job is left out of the prediction if a task of it was done elsewhere or took no time, or if it was cancelled.
func TestPredictLeavesOutWhatIsNotKnown(t *testing.T) {
	newFIFO := func() (sojourn.Policy, error) { return newFIFO(), nil }
	slot := sojourn.Slot{ID: 1}
	task := func(i uint32) sojourn.TaskID { return sojourn.TaskID{Job: 1, Index: i} }
	finished := func(i uint32, took time.Duration) sojourn.Event {
		return sojourn.Event{Kind: sojourn.TaskFinished, Task: task(i), Attempt: 1, Slot: slot, Service: took}
	}
	for _, tc := range []struct {
		name  string
		tasks int
		left  bool // out
		end   []sojourn.Event
	}{
		{"complete", 1, false, []sojourn.Event{finished(0, time.Second)}},
		{"done elsewhere", 2, true, []sojourn.Event{{Kind: sojourn.TaskDone, Task: task(1)}, finished(0, time.Second)}},
		{"no time", 1, true, []sojourn.Event{finished(0, 0)}},
		{"cancelled", 1, true, []sojourn.Event{{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}}, finished(0, time.Second)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := must(shadow.New(must(newFIFO()), must(newFIFO()), shadow.Options{}))
			observe := func(ev sojourn.Event) {
				t.Helper()
				if err := s.Observe(ev); err != nil {
					t.Fatal(err)
				}
			}
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: tc.tasks}}}})
			if a, ok := s.Assign(slot.ID); !ok || a.Task != task(0) {
				t.Fatalf("Assign = %v, %v, want task 0", a, ok)
			}
			for _, ev := range tc.end {
				observe(ev)
			}
			if p, err := s.Predict(bg, newFIFO, newFIFO); (err != nil) != tc.left {
				t.Errorf("prediction %+v, %v; the job is to be left out: %v", p, err, tc.left)
			}
		})
	}
}

// Only the latest jobs are remembered: of jobs of 1 s to 4 s, one after the other, the last two.
func TestWindow(t *testing.T) {
	newFIFO := func() (sojourn.Policy, error) { return newFIFO(), nil }
	s := must(shadow.New(must(newFIFO()), must(newFIFO()), shadow.Options{Window: 2}))
	now := sojourn.Time(0)
	d := must(driver.New(s, driver.Options{Now: func() sojourn.Time { return now }}))
	observe := func(ev sojourn.Event) {
		if err := d.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	for id := range sojourn.JobID(4) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: 1}}}})
		starts := d.Settle().Starts
		now = now.Add(time.Duration(id+1) * time.Second)
		observe(driver.Finished(starts[0]))
	}
	p, err := s.Predict(bg, newFIFO, newFIFO)
	if out := (shadow.Outcome{Response: 3500 * time.Millisecond}); err != nil || *p != (shadow.Prediction{2, out, out}) || p.Gain() != 0 {
		t.Errorf("prediction %+v, %v, want 3.5 s for 2 jobs", p, err)
	}
}

// The candidate numbers attempts by itself: each choice that was refused took a number.
func TestNumbers(t *testing.T) {
	s := must(shadow.New(newFIFO(), candidates["leastwork"](), shadow.Options{}))
	now := sojourn.Time(0)
	d := must(driver.New(s, driver.Options{Now: func() sojourn.Time { return now }}))
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := d.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 3, Estimate: 10 * time.Second}}}})
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 2, Estimate: time.Second}}}})
	task, starts := sojourn.TaskID{Job: 2}, 0
	for r := d.Settle(); len(r.Starts) > 0; r = d.Settle() {
		starts++
		a := r.Starts[0]
		if starts == 2 { // the candidate has chosen the task twice
			observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: task, Attempt: 1})
			observe(sojourn.Event{Kind: sojourn.TaskReady, Task: task, Attempt: 1})
		}
		now = now.Add(time.Second)
		observe(driver.Finished(a))
		if a.Task == task && a.Attempt == 2 {
			observe(sojourn.Event{Kind: sojourn.OutputLost, Task: task, Attempt: 2})
		}
	}
	if err := s.Wait(bg); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if starts != 6 || r.Err != nil || r.Decisions != 6 || r.SameJob != 3 || s.CandidateLive() != 0 {
		t.Errorf("%d starts, report %+v, %d live jobs", starts, r, s.CandidateLive())
	}
	s.Believes(t)
}

// due wants a Tick at once after each arrival, and declines until it has had it.
type due struct {
	sojourn.Policy
	waits bool
}

func (p *due) Observe(ev sojourn.Event) error {
	p.waits = p.waits && ev.Kind != sojourn.Tick || ev.Kind == sojourn.JobArrived
	return p.Policy.Observe(ev)
}

func (p *due) NextWake() (sojourn.Time, bool) { return 0, p.waits }

func (p *due) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if p.waits {
		return sojourn.Assignment{}, false
	}
	return p.Policy.Assign(id)
}

// A candidate that is due learns of the time before it is asked.
func TestDue(t *testing.T) {
	s := must(shadow.New(newFIFO(), &due{Policy: newFIFO()}, shadow.Options{}))
	runTwoJobs(t, s)
	if err := s.Wait(bg); err != nil {
		t.Fatal(err)
	}
	if r := s.Report(); r.SameTask != 3 || r.Err != nil {
		t.Errorf("report %+v, want 3 equal starts", r)
	}
}

// spoiled is a candidate that behaves badly at its tenth call.
type spoiled struct {
	sojourn.Policy
	calls int
	do    func() error
}

func (p *spoiled) Observe(ev sojourn.Event) error {
	if p.calls++; p.calls == 10 {
		if err := p.do(); err != nil {
			return err
		}
	}
	return p.Policy.Observe(ev)
}

// Whatever the candidate does, the active policy decides as it would alone.
func TestTheCandidateTouchesNothing(t *testing.T) {
	run := func(p sojourn.Policy) []sim.JobRecord {
		g := must(workload.Lookup("poisson"))
		r := must(sim.Run(bg, sim.Config{Policy: p, Records: true, Seed: 1, Cluster: sim.Cluster{Nodes: []sim.Node{{Slots: []int{4, 4}}}},
			Jobs: must(g.Jobs(1, map[string]string{"jobs": "50"}))}))
		if r.Finished != 50 {
			t.Fatalf("%d jobs finish, want 50", r.Finished)
		}
		return r.JobRecords
	}
	alone := run(newFIFO())
	stop := make(chan struct{})
	for name, c := range map[string]struct {
		do   func() error
		want error
	}{
		"well":    {func() error { return nil }, nil},
		"panics":  {func() error { panic("candidate") }, shadow.ErrPanic},
		"goexit":  {func() error { runtime.Goexit(); return nil }, shadow.ErrPanic},
		"refuses": {func() error { return sojourn.ErrTimeReversed }, sojourn.ErrTimeReversed},
		"hangs":   {func() error { <-stop; return nil }, shadow.ErrBehind},
	} {
		t.Run(name, func(t *testing.T) {
			buffer := 1 << 20
			if name == "hangs" {
				buffer = 100
			}
			s := must(shadow.New(newFIFO(), &spoiled{Policy: newFIFO(), do: c.do}, shadow.Options{Buffer: buffer}))
			if got := run(s); !reflect.DeepEqual(got, alone) {
				t.Errorf("the run differs from that without a candidate")
			}
			if err := s.Wait(bg); err != nil {
				t.Error(err)
			}
			r := s.Report()
			if !errors.Is(r.Err, c.want) || r.Behind != 0 || (c.want == nil && (r.Decisions < 50 || r.SameTask != r.Decisions)) {
				t.Errorf("report %+v, want error %v", r, c.want)
			}
		})
	}
	close(stop)
}

func TestOptions(t *testing.T) {
	for _, o := range []shadow.Options{{Buffer: -1}, {Window: -1}} {
		if _, err := shadow.New(newFIFO(), newFIFO(), o); err == nil {
			t.Errorf("options %+v are accepted", o)
		}
	}
	if _, err := shadow.New(nil, newFIFO(), shadow.Options{}); err == nil {
		t.Error("no active policy")
	}
	if _, err := shadow.New(newFIFO(), nil, shadow.Options{}); err == nil {
		t.Error("no candidate")
	}
}
