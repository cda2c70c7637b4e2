package release_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// Around policies that are right, the laws hold with release times and sequences, too: what waits never starts,
// and what is released is served.
func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   func() sojourn.Policy
		opts sojourntest.Options
	}{
		{"fifo", func() sojourn.Policy { return constructors.FIFO.Must(fifo.Options{}) }, sojourntest.Options{}},
		{"fair", func() sojourn.Policy { return pooled.Fair.Must(fair.Options{}) }, sojourntest.Options{IdlesOnPurpose: true}},
		{"hfsp", func() sojourn.Policy { return constructors.HFSP.Must(hfsp.Options{}) }, sojourntest.Options{IdlesOnPurpose: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			histories.Set(t, histories.Count(t)/2)
			sojourntest.Run(t, func() sojourn.Policy { return release.New(tc.in()) }, tc.opts)
		})
	}
}

// A script reports events and says what happens in words.
type script struct {
	t *testing.T
	p sojourn.Policy
}

func newScript(t *testing.T, in sojourn.Policy) script {
	s := script{t, release.New(in)}
	s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	return s
}

func (s script) observe(ev sojourn.Event) {
	s.t.Helper()
	if err := s.p.Observe(ev); err != nil {
		s.t.Fatal(err)
	}
}

func (s script) arrive(at sojourn.Time, j *sojourn.Job) {
	s.t.Helper()
	j.Phases = []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}
	s.observe(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: j})
}

// tick lets time pass and returns the job that slot 1 then gets, 0 for none. What runs there ends at the next tick.
func (s script) tick(at sojourn.Time) sojourn.JobID {
	s.t.Helper()
	s.observe(sojourn.Event{Kind: sojourn.Tick, At: at})
	a, ok := s.p.Assign(1)
	if !ok {
		return 0
	}
	s.observe(sojourn.Event{Kind: sojourn.TaskFinished, At: at, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
	return a.Task.Job
}

// No task starts before the release time of its job, at it one may, and NextWake names it. Jobs are served in the
// order of their release, also if one event releases them all, and a revision moves the time.
func TestRelease(t *testing.T) {
	s := newScript(t, constructors.FIFO.Must(fifo.Options{}))
	s.arrive(0, &sojourn.Job{ID: 1, Release: math.MaxInt64})
	s.arrive(0, &sojourn.Job{ID: 2, Release: 30})
	s.arrive(0, &sojourn.Job{ID: 3, Release: 20})
	s.arrive(0, &sojourn.Job{ID: 4, Release: 20})
	for _, want := range []struct {
		at   sojourn.Time
		job  sojourn.JobID
		wake sojourn.Time
	}{{19, 0, 20}, {20, 3, 30}, {29, 4, 30}, {29, 0, 30}, {30, 2, math.MaxInt64}, {31, 0, math.MaxInt64}} {
		got := s.tick(want.at)
		if wake, _ := s.p.(sojourn.Waker).NextWake(); got != want.job || wake != want.wake {
			t.Fatalf("at %d: job %d, NextWake %d; want job %d, %d", want.at, got, wake, want.job, want.wake)
		}
	}
	s.arrive(40, &sojourn.Job{ID: 5, Release: 60})
	s.arrive(40, &sojourn.Job{ID: 6, Release: 50})
	s.observe(sojourn.Event{Kind: sojourn.JobRevised, At: 41, Job: &sojourn.Job{ID: 1, Release: 55, Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}}})
	for _, want := range []sojourn.JobID{6, 1, 5, 0} { // one Tick releases all
		if got := s.tick(70); got != want {
			t.Fatalf("job %d, want %d", got, want)
		}
	}
	s.arrive(80, &sojourn.Job{ID: 7, Sequence: "a"})
	s.arrive(80, &sojourn.Job{ID: 8, Sequence: "a"})
	s.arrive(80, &sojourn.Job{ID: 9, Release: 85})
	s.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: 90, Job: &sojourn.Job{ID: 7}}) // releases 9 for the time, and 8 now
	for _, want := range []sojourn.JobID{9, 8, 0} {
		if got := s.tick(90); got != want {
			t.Fatalf("job %d, want %d", got, want)
		}
	}
	if at, ok := s.p.(sojourn.Waker).NextWake(); ok {
		t.Errorf("NextWake %v when nothing waits", at)
	}
}

// Jobs of a sequence run one after the other, also while the first waits for a retry or for its
// release time, and whichever of them is cancelled.
func TestSequence(t *testing.T) {
	s := newScript(t, constructors.FIFO.Must(fifo.Options{}))
	s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}})
	for id := range sojourn.JobID(5) {
		s.arrive(0, &sojourn.Job{ID: 1 + id, Sequence: "a"})
	}
	s.arrive(0, &sojourn.Job{ID: 9, Sequence: "b", Release: 10})
	s.arrive(0, &sojourn.Job{ID: 10, Sequence: "b"})

	first, _ := s.p.Assign(1)
	if a, ok := s.p.Assign(2); first.Task.Job != 1 || ok {
		t.Fatalf("%v runs beside %v", a.Task, first.Task)
	}
	s.observe(sojourn.Event{Kind: sojourn.TaskFailed, Task: first.Task, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
	s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: first.Task})
	if got := s.tick(1); got != 0 {
		t.Fatalf("job %d runs while job 1 waits for its retry", got)
	}
	e, _ := sojourn.As[sojourn.Explainer](s.p)
	for id, want := range map[sojourn.JobID]string{
		2: `waits for job 1, the one before it in sequence "a"`, 9: "waits for its release time, in 9ns", 10: `waits for job 9, the one before it in sequence "b"`,
	} {
		attrs, _ := e.Explain(id)
		if text := fmt.Sprint(attrs[0]); !strings.Contains(text, want) {
			t.Errorf("job %d: %s, want %s", id, text, want)
		}
		for _, a := range attrs {
			if a.Key == "startable" && a.Value.Int64() != 0 || a.Key == "blocked" && a.Value.Int64() != 1 {
				t.Errorf("job %d: %v", id, a)
			}
		}
	}
	cancel := func(id sojourn.JobID) {
		s.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: 1, Job: &sojourn.Job{ID: id}})
	}
	cancel(3) // in the middle
	cancel(5) // the last
	s.arrive(1, &sojourn.Job{ID: 6, Sequence: "a"})
	cancel(1) // the first, which was told
	for _, want := range []sojourn.JobID{2, 4, 6, 0} {
		if got := s.tick(2); got != want {
			t.Fatalf("job %d, want %d", got, want)
		}
	}
	for _, want := range []sojourn.JobID{9, 10, 0} {
		if got := s.tick(10); got != want {
			t.Fatalf("job %d, want %d", got, want)
		}
	}
	s.arrive(11, &sojourn.Job{ID: 1, Sequence: "a"}) // the sequence begins anew
	if got := s.tick(11); got != 1 {
		t.Fatalf("job %d, want 1", got)
	}
}

// What is true of the tasks of a job that waits is told when it is released: what is done does not run, what is held waits,
// and attempts are counted on.
func TestFacts(t *testing.T) {
	for _, held := range []bool{false, true} {
		s := newScript(t, constructors.FIFO.Must(fifo.Options{}))
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Release: 10, Phases: []sojourn.Phase{{Tasks: 6, Held: held}}}})
		task := func(i uint32) sojourn.TaskID { return sojourn.TaskID{Job: 1, Index: i} }
		to := func(kind sojourn.EventKind, i, attempt uint32) {
			s.observe(sojourn.Event{Kind: kind, At: 1, Task: task(i), Attempt: attempt})
		}
		if held {
			to(sojourn.TaskReady, 0, 0)
			to(sojourn.TaskReady, 1, 7)
			to(sojourn.TaskReady, 3, 9)
			to(sojourn.TaskHeld, 3, 0)
		} else {
			to(sojourn.TaskHeld, 1, 7)
			to(sojourn.TaskReady, 1, 0)
			to(sojourn.TaskHeld, 2, 0)
			to(sojourn.TaskHeld, 3, 9)
			to(sojourn.TaskHeld, 5, 0)
		}
		to(sojourn.TaskDone, 4, 0)
		s.observe(sojourn.Event{Kind: sojourn.Tick, At: 10})
		to = func(kind sojourn.EventKind, i, attempt uint32) {
			s.observe(sojourn.Event{Kind: kind, At: 10, Task: task(i), Attempt: attempt})
		}
		var got []string
		serve := func() {
			for a, ok := s.p.Assign(1); ok; a, ok = s.p.Assign(1) {
				got = append(got, fmt.Sprint(a.Task.Index, ".", a.Attempt))
				s.observe(sojourn.Event{Kind: sojourn.TaskFinished, At: 10, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
			}
		}
		serve()
		for _, i := range []uint32{2, 3, 5} {
			to(sojourn.TaskReady, i, 0)
		}
		serve()
		if text := fmt.Sprint(got); text != "[0.1 1.8 2.1 3.10 5.1]" {
			t.Errorf("held %v: tasks and attempts %s, want [0.1 1.8 2.1 3.10 5.1]", held, text)
		}
	}
}

// A policy that refuses jobs is asked when a job arrives. What it would refuse when the job is released goes on without its promise.
func TestPromise(t *testing.T) {
	s := newScript(t, constructors.RTMR.Must(rtmr.Options{}))
	promiser, _ := sojourn.As[sojourn.Promiser](s.p)
	s.arrive(0, &sojourn.Job{ID: 1, Deadline: sojourn.Time(90 * time.Second), Release: sojourn.Time(10 * time.Second)})
	s.arrive(0, &sojourn.Job{ID: 2, Deadline: sojourn.Time(5 * time.Second), Release: sojourn.Time(10 * time.Second)})
	late := &sojourn.Job{ID: 3, Deadline: sojourn.Time(time.Second / 2), Release: sojourn.Time(10 * time.Second), Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}}
	for _, at := range []sojourn.Time{0, sojourn.Time(10 * time.Second)} { // whether it has to wait or not
		p := newScript(t, constructors.RTMR.Must(rtmr.Options{})).p
		ev := sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: late}
		var e *sojourn.EventError
		if err := p.Observe(ev); !errors.Is(err, sojourn.ErrRejected) || !errors.As(err, &e) || e.Event != ev || strings.Count(err.Error(), "JobArrived") != 1 {
			t.Errorf("a job that would be late at once, at %v: %v", at, err)
		}
		if ev.Kind = sojourn.JobAdopted; p.Observe(ev) != nil {
			t.Errorf("a job that was accepted elsewhere is refused at %v", at)
		}
	}
	if void := promiser.AppendVoid(nil); len(void) != 0 {
		t.Errorf("void before the release: %v", void)
	}
	s.observe(sojourn.Event{Kind: sojourn.Tick, At: sojourn.Time(10 * time.Second)})
	if void := promiser.AppendVoid(nil); fmt.Sprint(void) != "[2]" {
		t.Errorf("void: %v, want [2]", void)
	}
}

// A job that has to wait is refused by name if the policy inside cannot say whether it will take it.
func TestNoAdmitter(t *testing.T) {
	s := newScript(t, struct{ sojourn.Policy }{constructors.FIFO.Must(fifo.Options{})})
	job := &sojourn.Job{ID: 1, Release: 10, Phases: []sojourn.Phase{{Tasks: 1}}}
	if err := s.p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err == nil || !strings.Contains(err.Error(), "no Admitter") {
		t.Error(err)
	}
	s.observe(sojourn.Event{Kind: sojourn.JobArrived, At: 10, Job: job}) // it need not wait any more
	if _, ok := sojourn.As[sojourn.Explainer](s.p); ok {
		t.Error("it explains, though the policy inside does not")
	}
}

// Time passes in the policy inside whatever the event is about.
func TestTimePasses(t *testing.T) {
	spec := &sojourn.Job{ID: 1, Release: 99, Phases: []sojourn.Phase{{Tasks: 2, Held: true}}}
	task := sojourn.TaskID{Job: 1}
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Release: 99, Phases: spec.Phases}},
		{Kind: sojourn.JobRevised, Job: spec},
		{Kind: sojourn.JobCancelled, Job: spec},
		{Kind: sojourn.TaskReady, Task: task},
		{Kind: sojourn.TaskDone, Task: task},
	} {
		in := account.New(constructors.FIFO.Must(fifo.Options{}))
		s := newScript(t, in)
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec})
		ev.At = 5
		if s.observe(ev); in.Now() != 5 || in.Live() != 0 {
			t.Errorf("after %v it is %v inside, where %d jobs are known; want 5 and none", ev, in.Now(), in.Live())
		}
	}
}

// NextWake is the earlier one of the release and of what the policy inside waits for.
func TestNextWake(t *testing.T) {
	for _, tc := range []struct{ inside, release, want sojourn.Time }{{7, 0, 7}, {7, 9, 7}, {9, 7, 7}} {
		p := release.New(waking{constructors.FIFO.Must(fifo.Options{}), tc.inside})
		job := &sojourn.Job{ID: 1, Release: tc.release, Phases: []sojourn.Phase{{Tasks: 1}}}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
			t.Fatal(err)
		}
		if at, ok := p.(sojourn.Waker).NextWake(); at != tc.want || !ok {
			t.Errorf("%+v: NextWake %v, %v", tc, at, ok)
		}
	}
}

// waking is a policy that waits for an instant.
type waking struct {
	sojourn.Policy
	at sojourn.Time
}

func (w waking) NextWake() (sojourn.Time, bool) { return w.at, true }
func (w waking) Unwrap() sojourn.Policy         { return w.Policy }
