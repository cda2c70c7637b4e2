package mars

import (
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A stepper drives a policy whose plans take several Ticks.
type stepper struct {
	*testing.T
	*Policy
	now sojourn.Time
	id  sojourn.JobID
}

func newStepper(t *testing.T, opts Options) *stepper {
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	s := &stepper{T: t, Policy: p}
	s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	return s
}

func (s *stepper) observe(ev sojourn.Event) {
	s.Helper()
	ev.At = s.now
	if err := s.Observe(ev); err != nil {
		s.Fatal(err)
	}
}

// arrive reports jobs of two tasks that take a second each.
func (s *stepper) arrive(n int) {
	for range n {
		s.id++
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: s.id, Phases: []sojourn.Phase{{Tasks: 2, Estimate: time.Second}}}})
	}
}

// tick goes to the instant at which something is due.
func (s *stepper) tick() {
	s.Helper()
	at, ok := s.NextWake()
	if !ok {
		s.Fatal("nothing is due")
	}
	s.now = at
	s.observe(sojourn.Event{Kind: sojourn.Tick})
}

// finish makes all steps of the plan.
func (s *stepper) finish() {
	for s.tick(); s.planning != nil; s.tick() {
	}
}

// A step sees no more jobs than its options allow, and a job with twice as many phases counts for
// almost twice as much.
func TestStepIsBounded(t *testing.T) {
	s := newStepper(t, Options{Step: 40})
	s.arrive(25)
	s.tick()
	if s.planning.walked != 10 {
		t.Errorf("the first step has seen %d jobs, want 40/(2+2)", s.planning.walked)
	}
	s.tick()
	if s.planning.walked != 20 {
		t.Errorf("the first two have seen %d jobs, want 20", s.planning.walked)
	}
}

// While a plan is made, slots take tasks even if the next one is due. It is due an interval after
// this one, and begins later than this one ends.
func TestNextPlanWaits(t *testing.T) {
	for _, interval := range []time.Duration{1, 40 * time.Second} {
		s := newStepper(t, Options{Step: 1000, Interval: interval})
		s.arrive(1)
		s.finish()
		s.now = 50e9
		s.arrive(300)
		s.tick()
		s.arrive(1)
		s.tick()
		if _, ok := s.Assign(1); !ok {
			t.Fatal("a slot is declined although no plan is about to begin")
		}
		for s.planning != nil {
			s.tick()
		}
		want := max(s.now.Add(pause), 90e9)
		if interval == 1 {
			want = s.now.Add(pause)
		}
		if at, ok := s.NextWake(); !ok || at != want {
			t.Errorf("interval %v: at %v, the next plan is due at %v (%v), want %v", interval, s.now, at, ok, want)
		}
	}
}

// Jobs that have ended are forgotten, and never while a plan walks through the list.
func TestEndedJobsAreForgotten(t *testing.T) {
	s := newStepper(t, Options{Interval: math.MaxInt64 / 8, Step: 40})
	end := func(id sojourn.JobID) {
		s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
	}
	s.arrive(1)
	s.finish()
	for range 1000 {
		s.arrive(1)
		end(s.id)
	}
	if len(s.arrived) > 2*2+17 {
		t.Errorf("%d jobs are listed, and 1 is live", len(s.arrived))
	}
	s.arrive(30)
	s.tick()
	for id := s.id - 29; id < s.id-22; id++ {
		end(id) // the plan has seen it
	}
	for range 100 {
		s.arrive(1)
		end(s.id)
	}
	if s.planning.stage != gathering || s.planning.walked == 0 {
		t.Fatalf("the plan has seen %d of %d jobs", s.planning.walked, s.planning.end)
	}
	for s.planning.stage == gathering {
		s.tick()
	}
	if len(s.planning.jobs) != 31 {
		t.Errorf("the plan is for %d jobs, want 31", len(s.planning.jobs))
	}
}

// A job whose batch is being planned is told when its batch ended, one that came later when its own
// batch will.
func TestExplainBetweenSteps(t *testing.T) {
	s := newStepper(t, Options{Step: 1000, Batch: 10 * time.Second})
	s.arrive(1)
	s.finish()
	s.now = 12e9
	s.arrive(300)
	s.tick()
	s.now = s.now.Add(pause / 2)
	s.arrive(1)
	for id, want := range map[sojourn.JobID]time.Duration{2: 20 * time.Second, s.id: 30 * time.Second} {
		attrs, _ := s.Explain(id)
		found := false
		for _, a := range attrs {
			found = found || a.Key == "batch_ends" && a.Value.Duration() == want
		}
		if !found {
			t.Errorf("job %d: %v, want the end of the batch at %v", id, attrs, want)
		}
	}
}

// What runs is no part of a plan: its work is that of the running tasks, each with its own estimate or all with one. Of a
// job of six tasks two have started, one of them has finished, and two others are held.
func TestRunningWork(t *testing.T) {
	for _, estimates := range [][]time.Duration{nil, {1, 20, 300, 4000, 50_000, 600_000}} {
		s := newStepper(t, Options{})
		s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}})
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 6, Estimate: 7, Estimates: estimates}}}})
		for _, held := range []uint32{2, 4} {
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Index: held}})
		}
		s.finish()
		one := func(task uint32) uint64 {
			if estimates == nil {
				return 7
			}
			return uint64(estimates[task])
		}
		j := s.queue.Ledger.Job(1)
		a, _ := s.Assign(1)
		b, _ := s.Assign(2)
		want := one(a.Task.Index) + one(b.Task.Index)
		if got, _ := s.running(j, 0); got != wide.From64(want) {
			t.Errorf("tasks %d and %d run: their work is %v, want %d", a.Task.Index, b.Task.Index, got, want)
		}
		s.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: b.Task, Attempt: 1, Slot: sojourn.Slot{ID: 2}})
		if got, _ := s.running(j, 0); got != wide.From64(one(a.Task.Index)) {
			t.Errorf("task %d runs: its work is %v, want %d", a.Task.Index, got, one(a.Task.Index))
		}
	}
}
