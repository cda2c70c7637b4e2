package hfsp_test

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

func named(name, pool string, tasks int) *sojourn.Job {
	return &sojourn.Job{ID: 1, Name: name, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks}}}
}

// Delta/p_k, rounded down; a task that has finished took what it took.
// Reference: HFSP, section III-A, "Final Size".
func TestSampleTime(t *testing.T) {
	for s, want := range map[hfsp.Sample]time.Duration{
		{Service: 60, Progress: 2500}:                           240,
		{Service: 1, Progress: 3}:                               3333,
		{Service: 7, Progress: sojourn.MaxProgress}:             7,
		{Service: math.MaxInt64, Progress: 1}:                   math.MaxInt64,
		{Service: math.MaxInt64, Progress: sojourn.MaxProgress}: math.MaxInt64,
	} {
		if got := s.Time(); got != want {
			t.Errorf("%+v.Time() = %d, want %d", s, got, want)
		}
	}
}

// Classes learn apart, by task and not by job.
// Reference: HFSP, section III-A, "Initial Size".
func TestTrainerLearnsByClassAndTask(t *testing.T) {
	e := hfsp.NewTrainer(0, 10)
	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 3}, {Tasks: 3, Class: 1}}}
	initial := func(phase int, want time.Duration) {
		t.Helper()
		if got, known := e.Initial(job, phase); got != want || known {
			t.Errorf("Initial of phase %d = %d, %v, want %d, false", phase, got, known, want)
		}
	}
	initial(0, 30)
	e.Completed(job, 0, 1, 100)
	e.Completed(job, 0, 9, 101)
	initial(0, 60) // 3 * 201/10
	initial(1, 30)
}

// An estimator of somebody else's works, and a policy with one that cannot be saved
// says so.
func TestEstimatorsOfOthers(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{Estimator: func() hfsp.Estimator { return fixed{} }})}
	s.arrive(0, 1, tasks(10, 0))
	s.want(1, "v", 42.0)
	if _, err := s.p.AppendBinary(nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("AppendBinary = %v, want ErrUnsupported", err)
	}
}

type fixed struct{}

func (fixed) Initial(*sojourn.Job, int) (time.Duration, bool)         { return 42 * time.Second, true }
func (fixed) Final(*sojourn.Job, int, []hfsp.Sample) time.Duration    { return 0 }
func (fixed) Completed(_ *sojourn.Job, _ int, _ int, _ time.Duration) {}

// Estimators that are restored answer as before, and refuse what others saved.
func TestEstimatorSnapshots(t *testing.T) {
	makers := map[string]func() hfsp.Estimator{
		"trainer": func() hfsp.Estimator { return hfsp.NewTrainer(1, 3) },
		"oracle":  func() hfsp.Estimator { return hfsp.NewOracle(hfsp.NewTrainer(1, 3)) },
	}
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				e := make()
				for range rapid.IntRange(0, 9).Draw(t, "runs") {
					job := named(rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "name"), "", 5)
					e.Completed(job, 0, rapid.IntRange(1, 5).Draw(t, "tasks"), time.Duration(rapid.IntRange(0, 1e9).Draw(t, "service")))
				}
				saved, err := e.(encoding.BinaryAppender).AppendBinary(nil)
				if err != nil {
					t.Fatal(err)
				}
				f := make()
				if err := f.(encoding.BinaryUnmarshaler).UnmarshalBinary(saved); err != nil {
					t.Fatal(err)
				}
				if again, _ := f.(encoding.BinaryAppender).AppendBinary(nil); string(again) != string(saved) {
					t.Fatalf("saved %q, restored, saved %q", saved, again)
				}
				for _, name := range []string{"", "a", "b", "c", "d"} {
					a, knownA := e.Initial(named(name, "", 9), 0)
					if b, knownB := f.Initial(named(name, "", 9), 0); a != b || knownA != knownB {
						t.Fatalf("Initial = %v, %v, restored %v, %v", a, knownA, b, knownB)
					}
				}
				for other, make := range makers {
					if other != name && make().(encoding.BinaryUnmarshaler).UnmarshalBinary(saved) == nil {
						t.Fatalf("a %s takes what a %s saved", other, name)
					}
				}
			})
		})
	}
}

// Names of options as text are read back.
func TestTextOfOptions(t *testing.T) {
	type text interface {
		fmt.Stringer
		encoding.TextMarshaler
	}
	check := func(v text, back encoding.TextUnmarshaler, get func() any) {
		t.Helper()
		b, err := v.MarshalText()
		if err != nil || string(b) != v.String() {
			t.Errorf("MarshalText = %q, %v, want %q", b, err, v)
		}
		if err := back.UnmarshalText(b); err != nil || get() != any(v) {
			t.Errorf("UnmarshalText(%q) = %v, %v", b, get(), err)
		}
		if err := back.UnmarshalText([]byte("no")); err == nil {
			t.Errorf("UnmarshalText(no) = nil, want an error")
		}
	}
	for i := range 2 {
		late, kill := vqueue.Late(i), hfsp.Preemption(i)
		a, b := new(vqueue.Late), new(hfsp.Preemption)
		check(late, a, func() any { return *a })
		check(kill, b, func() any { return *b })
	}
	if got, want := vqueue.Late(9).String(), "Late(9)"; got != want {
		t.Errorf("Late(9) = %q, want %q", got, want)
	}
}

// An estimator that panics is not covered up, and one that returns negative sizes does no
// harm.
func TestEstimatorsThatMisbehave(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{Estimator: func() hfsp.Estimator { return negative{} }})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(9, 0))
	s.want(1, "S_i", 0.0)
	for at := range 9 {
		s.finish(float64(at+1), s.assign(0, 1))
	}
	defer func() {
		if r := recover(); r != "no idea" {
			t.Errorf("recover() = %v, want what the estimator panicked with", r)
		}
	}()
	s = stage{t, newWith(hfsp.Options{Estimator: func() hfsp.Estimator { return clueless{} }})}
	s.arrive(0, 1, tasks(9, 0))
}

type negative struct{ fixed }

func (negative) Initial(*sojourn.Job, int) (time.Duration, bool)      { return -1, false }
func (negative) Final(*sojourn.Job, int, []hfsp.Sample) time.Duration { return math.MinInt64 }

type clueless struct{ fixed }

func (clueless) Initial(*sojourn.Job, int) (time.Duration, bool) { panic("no idea") }
