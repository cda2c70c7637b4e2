package catalog_test

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// A cause of a later version counts as CauseSlotLost, in each policy: the states are the same, byte for byte.
func TestUnknownCause(t *testing.T) {
	for _, e := range catalog.Builtin() {
		want := afterFailure(t, e.Name, sojourn.CauseSlotLost)
		for c := sojourn.CauseSlotLost + 1; c != 0; c++ {
			if c.Valid() {
				t.Fatalf("%v is known", c)
			}
			if got := afterFailure(t, e.Name, c); !bytes.Equal(got, want) {
				t.Errorf("%s: %v is not counted as CauseSlotLost", e.Name, c)
				break
			}
		}
		if task := afterFailure(t, e.Name, sojourn.CauseTask); e.Name == "leastwork" && bytes.Equal(task, want) {
			t.Errorf("%s: a task's own failure is counted as a lost slot", e.Name)
		}
	}
}

// afterFailure returns the snapshot of a policy after a task has failed.
func afterFailure(t *testing.T, name string, cause sojourn.Cause) []byte {
	t.Helper()
	p, err := catalog.Builtin().Make(name)
	if err != nil {
		t.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatalf("%s: %v: %v", name, ev, err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{Node: 1}})
	for id := range sojourn.JobID(2) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Name: "j", Phases: []sojourn.Phase{{Tasks: 3, Estimate: time.Second}}}})
	}
	a, ok := start(p, 0)
	if !ok {
		t.Fatalf("%s: nothing starts", name)
	}
	observe(sojourn.Event{Kind: sojourn.TaskFailed, At: sojourn.Time(time.Second), Task: a.Task, Attempt: a.Attempt, Cause: cause, Service: time.Second})
	s, ok := sojourn.As[sojourn.Snapshotter](p)
	if !ok {
		t.Fatalf("%s cannot be saved", name)
	}
	b, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := start(p, 0); !ok {
		t.Fatalf("%s: nothing starts after %v", name, cause)
	}
	return b
}

// Policies serve the last class there is, and refuse the one after it.
func TestLastClass(t *testing.T) {
	const last = sojourn.MaxClasses - 1
policies:
	for _, e := range catalog.Builtin() {
		p, err := catalog.Builtin().Make(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, class := range []sojourn.Class{last, last + 1, math.MaxUint16} {
			want := map[bool]error{true: nil, false: sojourn.ErrInvalidSlot}[class == last]
			err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(class), Class: class}})
			if !isError(err, want) {
				t.Errorf("%s: a slot of class %d: %v, want %v", e.Name, class, err, want)
			}
			want = map[bool]error{true: nil, false: sojourn.ErrInvalidJob}[class == last]
			err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(class), Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second, Class: class}}}})
			if errors.Is(err, sojourn.ErrUnsupported) {
				continue policies // it knows two classes
			}
			if !isError(err, want) {
				t.Errorf("%s: a job of class %d: %v, want %v", e.Name, class, err, want)
			}
		}
		seeker, _ := sojourn.As[sojourn.Seeker](p)
		for _, class := range []sojourn.Class{last + 1, math.MaxUint16} {
			if seeker == nil {
				continue
			}
			if id, ok := seeker.Seek(class); ok {
				t.Errorf("%s: slot %d of class %d is worth offering", e.Name, id, class)
			}
		}
		if a, ok := start(p, last); !ok || a.Task.Job != last {
			t.Errorf("%s: %v, %v on the last class", e.Name, a, ok)
		}
	}
}

// start offers a slot, and once more when the policy wants to be asked.
func start(p sojourn.Policy, id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Assign(id)
	if w, is := sojourn.As[sojourn.Waker](p); is && !ok {
		if at, any := w.NextWake(); any && p.Observe(sojourn.Event{Kind: sojourn.Tick, At: at}) == nil {
			return p.Assign(id)
		}
	}
	return a, ok
}

func isError(err, want error) bool {
	if want == nil {
		return err == nil
	}
	return errors.Is(err, want)
}
