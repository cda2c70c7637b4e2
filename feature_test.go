package sojourn_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
)

const everyFeature = sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts | sojourn.FeatureParallelism | sojourn.FeatureRelease | sojourn.FeatureSequence | sojourn.FeatureSpeed | sojourn.FeaturePools | sojourn.FeaturePriority | sojourn.FeatureOpen

// byOthers are the features that only a wrapper, or a policy with pools, has.
const byOthers = sojourn.FeatureRelease | sojourn.FeatureSequence | sojourn.FeaturePools | sojourn.FeaturePriority

// Each feature is found where it is used and nowhere else, and is refused alone, by name.
func TestFeatures(t *testing.T) {
	plain := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1, After: sojourn.NoBarrier}}}
	needs := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1, Needs: []int{}}}}
	bounded := &sojourn.Job{ID: 1, Parallelism: 1, Phases: []sojourn.Phase{{Tasks: 1}}}
	later := &sojourn.Job{ID: 1, Release: 1, Phases: []sojourn.Phase{{Tasks: 1}}}
	inOrder := &sojourn.Job{ID: 1, Sequence: "a", Phases: []sojourn.Phase{{Tasks: 1}}}
	ranked := &sojourn.Job{ID: 1, Priority: -1, Phases: []sojourn.Phase{{Tasks: 1}}}
	open := &sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 1}}}
	held := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1, Held: true}}}
	tests := []struct {
		ev   sojourn.Event
		want sojourn.Features
		name string
	}{
		{sojourn.Event{Kind: sojourn.JobArrived, Job: plain}, 0, "none"},
		{sojourn.Event{Kind: sojourn.JobArrived}, 0, "none"},
		{sojourn.Event{Kind: sojourn.JobArrived, Job: needs}, sojourn.FeatureNeeds, "Phase.Needs"},
		{sojourn.Event{Kind: sojourn.JobAdopted, Job: held}, sojourn.FeatureHeld, "Phase.Held"},
		{sojourn.Event{Kind: sojourn.JobRevised, Job: held}, sojourn.FeatureHeld, "Phase.Held"},
		{sojourn.Event{Kind: sojourn.JobArrived, Job: bounded}, sojourn.FeatureParallelism, "Job.Parallelism"},
		{sojourn.Event{Kind: sojourn.JobRevised, Job: bounded}, sojourn.FeatureParallelism, "Job.Parallelism"},
		{sojourn.Event{Kind: sojourn.JobArrived, Job: later}, sojourn.FeatureRelease, "Job.Release"},
		{sojourn.Event{Kind: sojourn.JobAdopted, Job: inOrder}, sojourn.FeatureSequence, "Job.Sequence"},
		{sojourn.Event{Kind: sojourn.JobRevised, Job: ranked}, sojourn.FeaturePriority, "Job.Priority"},
		{sojourn.Event{Kind: sojourn.JobArrived, Job: open}, sojourn.FeatureOpen, "Job.Open"},
		{sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{}}, sojourn.FeaturePools, "PoolChanged"},
		{sojourn.Event{Kind: sojourn.JobCancelled, Job: bounded}, 0, "none"},
		{sojourn.Event{Kind: sojourn.JobCancelled, Job: held}, 0, "none"},
		{sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{Speed: 100}}, sojourn.FeatureSpeed, "Slot.Speed"},
		{sojourn.Event{Kind: sojourn.TaskHeld, Attempt: 1}, sojourn.FeatureAttempts, "attempts of held tasks"},
		{sojourn.Event{Kind: sojourn.TaskReady, Attempt: 1}, sojourn.FeatureAttempts, "attempts of held tasks"},
		{sojourn.Event{Kind: sojourn.TaskReady}, 0, "none"},
		{sojourn.Event{Kind: sojourn.TaskFailed, Attempt: 1}, 0, "none"},
	}
	for _, tc := range tests {
		if got := tc.ev.Features(); got != tc.want || got.String() != tc.name {
			t.Errorf("%v: Features() = %v, want %s", tc.ev, got, tc.name)
		}
		if err := tc.ev.CheckSupport(everyFeature); err != nil {
			t.Errorf("%v: %v, though all is supported", tc.ev, err)
		}
		err := tc.ev.CheckSupport(everyFeature &^ tc.want)
		var ee *sojourn.EventError
		switch {
		case tc.want == 0 && err == nil:
		case !errors.Is(err, sojourn.ErrUnsupported) || !errors.As(err, &ee) || ee.Event != tc.ev || !strings.HasSuffix(err.Error(), ": "+tc.name):
			t.Errorf("%v: %v, want one that says that %s is not supported", tc.ev, err, tc.name)
		}
	}
	if got, want := (everyFeature | 1<<11).String(), "Phase.Needs, Phase.Held, attempts of held tasks, Job.Parallelism, Job.Release, Job.Sequence, Slot.Speed, PoolChanged, Job.Priority, Job.Open, feature 11"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A policy that says nothing supports nothing; wrappers hide nothing.
func TestSupports(t *testing.T) {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		p    sojourn.Policy
		want sojourn.Features
	}{
		"silent":         {struct{ sojourn.Policy }{p}, 0},
		"fifo":           {p, everyFeature&^byOthers | sojourn.FeatureProjected},
		"locked":         {sojourn.NewLocked(p), everyFeature&^byOthers | sojourn.FeatureProjected},
		"silent, locked": {sojourn.NewLocked(struct{ sojourn.Policy }{p}), 0},
	} {
		if got := sojourn.Supports(tc.p); got != tc.want {
			t.Errorf("%s: Supports = %v, want %v", name, got, tc.want)
		}
	}
}

// A job loses what it is to do without, alone and together, and nothing else; what it cannot do without stays, and the
// job that was given does not change.
func TestWithout(t *testing.T) {
	full := func() *sojourn.Job {
		return &sojourn.Job{ID: 1, Name: "n", Pool: "p", Weight: 2, Deadline: 3, Parallelism: 4, Priority: -5, Release: 6, Sequence: "s", Open: true,
			Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1, Needs: []int{}, Held: true}}}
	}
	for f := range everyFeature + 1 {
		want := full()
		for _, clear := range []struct {
			f  sojourn.Features
			f0 func()
		}{
			{sojourn.FeatureParallelism, func() { want.Parallelism = 0 }}, {sojourn.FeaturePriority, func() { want.Priority = 0 }},
			{sojourn.FeatureRelease, func() { want.Release = 0 }}, {sojourn.FeatureSequence, func() { want.Sequence = "" }},
		} {
			if f&clear.f != 0 {
				clear.f0()
			}
		}
		given := full()
		got := given.Without(f)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(given, full()) {
			t.Errorf("without %v: %+v, want %+v; given %+v", f, got, want, given)
		}
		if again := got.Without(f); again != got {
			t.Errorf("without %v: a job that uses none of it is copied", f)
		}
	}
}
