package locality

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// The index keeps nothing about jobs that have ended or are cancelled, even while
// attempts of the latter run. Of a revised job it keeps only the latest
// description.
func TestNothingIsKept(t *testing.T) {
	var l ledger.Ledger[struct{}]
	x := New(&l)
	observe := func(ev sojourn.Event) *ledger.Job[struct{}] {
		t.Helper()
		if err := l.Check(&ev); err != nil {
			t.Fatal(err)
		}
		c := l.Apply(&ev)
		x.Update(&ev, &c)
		return c.Job
	}
	spec := func(id sojourn.JobID) *sojourn.Job {
		return &sojourn.Job{ID: id, Phases: []sojourn.Phase{{
			Tasks: 2, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1, 2}, {2, 3}}),
		}}}
	}
	check := func(when string, sites int) {
		t.Helper()
		phases := 0
		for _, list := range x.jobs.All() {
			phases += len(list)
		}
		held := 0
		for _, s := range x.sites {
			held += len(s.phases)
		}
		if len(x.sites) != sites || phases != sites/3 || held != sites {
			t.Errorf("%s: %d sites that hold %d inputs of %d phases, want %d, %d and %d",
				when, len(x.sites), held, phases, sites, sites, sites/3)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 1, Rack: 1}})
	j := observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec(1)})
	check("with a job", 3)

	revised := spec(1)
	observe(sojourn.Event{Kind: sojourn.JobRevised, Job: revised})
	if got, want := &(*x.jobs.At(j.Handle()))[0].inputs.Of(0)[0], &revised.Phases[0].Inputs.Of(0)[0]; got != want {
		t.Error("the index keeps the inputs of a description that was replaced")
	}

	pick, _ := x.Find(j, 0, l.Free(0), sojourn.Remote)
	a := x.Take(j, 0, pick, 0)
	observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: spec(1)})
	check("with a cancelled job", 0)
	observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})

	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec(2)})
	check("with the next job", 3)
	for i := range uint32(2) {
		observe(sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 2, Index: i}})
	}
	check("after all jobs", 0)
}
