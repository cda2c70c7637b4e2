package ledger

import (
	"fmt"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A job that bounds how many of its tasks run at a time has nothing to start while so many run, in any phase and on any class of
// slots. What can start is counted anew at each start, end and revision, and after a restart, and Explain says why nothing does.
func TestParallelism(t *testing.T) {
	l := &testLedger{t: t}
	l.Supports = sojourn.FeatureParallelism
	l.slots(4)
	for i := range sojourn.SlotID(2) {
		l.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 10 + i, Class: 1}})
	}
	spec := func(n uint32) *sojourn.Job {
		return &sojourn.Job{ID: 1, Parallelism: n, Phases: []sojourn.Phase{{Tasks: 5}, {Tasks: 3, Class: 1, After: sojourn.NoBarrier}, {Tasks: 1}}}
	}
	l.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec(2)})
	j := l.Job(1)
	check := func(when string, room, first, second, blocked int, why string) {
		t.Helper()
		attrs := map[string]string{}
		for _, a := range l.Attrs(l.Job(1)) {
			attrs[a.Key] = a.Value.String()
		}
		j := l.Job(1)
		if j.Room() != room || j.Side(0).Startable() != first || j.Side(1).Startable() != second ||
			j.Startable(0) != first || j.Startable(1) != second || j.Startable(2) != 0 {
			t.Errorf("%s: room %d, startable %d and %d by side, %d, %d and %d by phase, want %d, %d and %d", when, j.Room(),
				j.Side(0).Startable(), j.Side(1).Startable(), j.Startable(0), j.Startable(1), j.Startable(2), room, first, second)
		}
		if startable := fmt.Sprint(min(room, first+second)); attrs["startable"] != startable || attrs["blocked"] != fmt.Sprint(blocked) || attrs["why"] != why {
			t.Errorf("%s: Attrs = %v, want startable=%s blocked=%d why=%s", when, attrs, startable, blocked, why)
		}
	}
	revise := func(n uint32) { l.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: spec(n)}) }

	check("at first", 2, 2, 2, 7, "waits for a slot")
	a := l.Take(j, j.Side(0), 0)
	check("with one that runs", 1, 1, 1, 7, "waits for a slot")
	b := l.Take(j, j.Side(1), 10)
	check("with two", 0, 0, 0, 7, "runs as many tasks at a time as it may: 2")
	revise(1)
	check("with one more than it may", 0, 0, 0, 7, "runs as many tasks at a time as it may: 1")
	l.end(sojourn.TaskFinished, a)
	check("with as many as it may", 0, 0, 0, 7, "runs as many tasks at a time as it may: 1")
	revise(3)
	check("with two more", 2, 2, 2, 5, "waits for a slot")
	for _, n := range []uint32{math.MaxInt32, math.MaxUint32, 0} {
		revise(n)
		if j.Bounded() {
			t.Errorf("parallelism %d bounds a job", n)
		}
		check(fmt.Sprintf("with parallelism %d", n), math.MaxInt32, 4, 2, 1, "waits for a slot")
	}
	revise(1)
	if err := l.restore(l.save()); err != nil {
		t.Fatal(err)
	}
	check("after a restart", 0, 0, 0, 7, "runs as many tasks at a time as it may: 1")
	l.end(sojourn.TaskFailed, b)
	check("with none that runs", 1, 1, 1, 7, "waits for a slot")
}
