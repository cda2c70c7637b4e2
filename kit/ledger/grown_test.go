package ledger_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// grow returns a description with more tasks at the end of a phase: it shares memory with the one before, as append makes it.
func grow(j *sojourn.Job, phase int, estimates ...time.Duration) *sojourn.Job {
	next := *j
	next.Phases = append([]sojourn.Phase(nil), j.Phases...)
	p := &next.Phases[phase]
	p.Estimates = append(p.Estimates, estimates...)
	p.Tasks = len(p.Estimates)
	return &next
}

func observe(l *ledger.Ledger[struct{}], ev sojourn.Event) error {
	if err := l.Check(&ev); err != nil {
		return err
	}
	l.Apply(&ev)
	return nil
}

// A description that has grown is judged as by Job.Check, wherever what is wrong with it stands.
func TestGrownIsChecked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := new(ledger.Ledger[struct{}])
		l.Supports = sojourn.FeatureOpen
		j := &sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{
			{Tasks: 1, Estimate: time.Duration(rapid.IntRange(0, 1).Draw(t, "estimate")), Estimates: []time.Duration{1}},
			{Tasks: 1, Estimates: make([]time.Duration, 1, 100)}}}
		if err := observe(l, sojourn.Event{Kind: sojourn.JobArrived, Job: j}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 20).Draw(t, "revisions") {
			add := rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 1, time.Hour, math.MaxInt64 / 3, math.MaxInt64, -1}), 0, 2).Draw(t, "estimates")
			next := grow(j, rapid.IntRange(0, 1).Draw(t, "phase"), add...)
			switch rapid.IntRange(0, 15).Draw(t, "fault") {
			case 0:
				next.Weight = -1
			case 1:
				next.Phases[1].Estimate = -1
			case 2:
				next.Phases[0].Bytes = make([]int64, 1)
			case 3:
				next.Phases[0].Tasks++
			case 4, 5: // not grown: another list
				next.Phases[1].Estimates = append(make([]time.Duration, 0, 100), next.Phases[1].Estimates...)
				next.Phases[1].Estimates[0] = math.MaxInt64/2 + 1
			}
			want := next.Check()
			err := observe(l, sojourn.Event{Kind: sojourn.JobRevised, Job: next})
			if (err == nil) != (want == nil) || want != nil && (!errors.Is(err, sojourn.ErrInvalidJob) || err.(*sojourn.EventError).Err.Error() != want.Error()) {
				t.Fatalf("a revision to %+v: %v, want %v", next.Phases, err, want)
			}
			if err == nil {
				left := next.Phases[0].Tasks + next.Phases[1].Tasks
				if j = next; l.Job(1).Left() != left {
					t.Fatalf("%d tasks are left, want %d", l.Job(1).Left(), left)
				}
			}
		}
	})
}

// What was read once is not read again when a phase grows: tasks are added at a cost that does not depend on how many there are. What
// nobody may change is changed here, to see whether it is read.
func TestGrownReadsNewTasksOnly(t *testing.T) {
	l := new(ledger.Ledger[struct{}])
	l.Supports = sojourn.FeatureOpen
	j := &sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 1, Estimates: make([]time.Duration, 1, 8)}}}
	if err := observe(l, sojourn.Event{Kind: sojourn.JobArrived, Job: j}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		j = grow(j, 0, time.Second)
		if err := observe(l, sojourn.Event{Kind: sojourn.JobRevised, Job: j}); err != nil {
			t.Fatal(err)
		}
	}
	j.Phases[0].Estimates[0] = -5
	j = grow(j, 0, time.Second)
	if err := observe(l, sojourn.Event{Kind: sojourn.JobRevised, Job: j}); err != nil {
		t.Errorf("the first task was read again: %v", err)
	}
	elsewhere := grow(j, 0)
	elsewhere.Phases[0].Estimates = append([]time.Duration(nil), j.Phases[0].Estimates...)
	if err := observe(l, sojourn.Event{Kind: sojourn.JobRevised, Job: elsewhere}); !errors.Is(err, sojourn.ErrInvalidJob) {
		t.Errorf("a list in other memory was not read: %v", err)
	}
}

// An open job with nothing left to do stays, goes on with tasks that are added, and ends as finished when it is closed, or when its last
// task is done after that.
func TestOpenJobs(t *testing.T) {
	for _, closedFirst := range []bool{false, true} {
		l := new(ledger.Ledger[struct{}])
		l.Supports = sojourn.FeatureOpen
		must := func(ev sojourn.Event) {
			t.Helper()
			if err := observe(l, ev); err != nil {
				t.Fatal(err)
			}
		}
		open := &sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 1}}}
		two := &sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 2}}}
		closed := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}
		must(sojourn.Event{Kind: sojourn.JobArrived, Job: open})
		must(sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 1}})
		if l.Job(1) == nil || l.Job(1).Left() != 0 {
			t.Fatal("an open job with nothing left has ended")
		}
		must(sojourn.Event{Kind: sojourn.JobRevised, Job: two})
		if l.Job(1).Left() != 1 {
			t.Fatalf("%d tasks are left of an open job with one more, want 1", l.Job(1).Left())
		}
		done := sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 1, Index: 1}}
		shut := sojourn.Event{Kind: sojourn.JobRevised, Job: closed}
		if closedFirst {
			done, shut = shut, done
		}
		must(done)
		if l.Job(1) == nil {
			t.Fatal("the job has ended too early")
		}
		must(shut)
		if l.Job(1) != nil {
			t.Fatal("the job has not ended")
		}
	}
}
