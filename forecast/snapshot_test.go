package forecast_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func newWatch() sojourn.Policy {
	p, err := another()
	if err != nil {
		panic(err)
	}
	return forecast.New(p)
}

// A Watch is restored from no snapshot that is wrong, and from others to the last bit.
func TestForgedSnapshots(t *testing.T) { snapshottest.Attack(t, newWatch, 600) }

func FuzzSnapshot(f *testing.F) { snapshottest.Fuzz(f, newWatch) }

// A Watch that was restored foresees what the one that was saved does, at once and after the same events: with more kinds, groups and tasks than are
// kept, and jobs that live on.
func TestForecastAfterARestart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	w := newWatch().(*forecast.Watch)
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event, to ...*forecast.Watch) {
		t.Helper()
		ev.At = now
		for _, w := range to {
			if err := w.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded}, w)
	arrive := func(id sojourn.JobID, name string, tasks int, to ...*forecast.Watch) {
		j := &sojourn.Job{ID: id, Name: name, Phases: []sojourn.Phase{{Tasks: tasks}, {Tasks: 2, After: sojourn.NoBarrier, Estimate: 3 * time.Second}}}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j}, to...)
	}
	run := func(tasks int, to ...*forecast.Watch) {
		t.Helper()
		for range tasks {
			var a sojourn.Assignment
			for i, w := range to {
				b, ok := w.Assign(0)
				if !ok || i > 0 && a != b {
					t.Fatalf("slot 0 gets %v, want %v", b, a)
				}
				a = b
			}
			kind := sojourn.TaskFinished
			if r.IntN(20) == 0 {
				kind = sojourn.TaskFailed
			}
			now = now.Add(time.Duration(1 + r.Int64N(9_000_000_000)))
			observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt}, to...)
		}
	}
	id := sojourn.JobID(0)
	next := func(name string, tasks int, to ...*forecast.Watch) { id++; arrive(id, name, tasks, to...) }
	for i := range 550 { // two kinds each
		next(fmt.Sprint("name ", i), 3, w)
		run(5, w)
	}
	for range 40 {
		next("often", 20, w)
		run(22, w)
	}
	next("long", 2000, w)
	run(1600, w)
	next("next", 4, w)
	question := forecast.Question{Policy: another, Draws: 5, Seed: 3}
	check := func(when string, got, want *forecast.Watch) {
		t.Helper()
		a, err := got.Foresee(context.Background(), question)
		b, err2 := want.Foresee(context.Background(), question)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %+v, want %+v", when, a, b)
		}
	}
	data, err := w.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	again := newWatch().(*forecast.Watch)
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	check("after a restart", again, w)
	for range 3 {
		run(30, w, again)
		next("often", 5, w, again)
		check("later", again, w)
	}

	// What a Watch of before has saved is an account. Nothing is known then of what tasks took.
	p, err := another()
	if err != nil {
		t.Fatal(err)
	}
	acc := account.New(p)
	if err := acc.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if data, err = acc.AppendBinary(nil); err != nil {
		t.Fatal(err)
	}
	var unknown *forecast.UnknownError
	if err := again.UnmarshalBinary(data); err != nil {
		t.Error(err)
	} else if _, err := again.Foresee(context.Background(), question); !errors.As(err, &unknown) {
		t.Errorf("a forecast of what nothing is known of: %v", err)
	}
	snapshot.Seal(data[:len(data)-1])
	before, _ := again.AppendBinary(nil)
	if err := again.UnmarshalBinary(data[:len(data)-1]); err == nil {
		t.Error("half a snapshot is restored")
	}
	if after, _ := again.AppendBinary(nil); !reflect.DeepEqual(before, after) {
		t.Error("a snapshot that is wrong has changed the watch")
	}
}
