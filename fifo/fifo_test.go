package fifo_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newByIndex() sojourn.Policy {
	p, err := fifo.New(fifo.Options{IgnoreLocality: true})
	if err != nil {
		panic(err)
	}
	return p
}

func TestConformance(t *testing.T) {
	sojourntest.Run(t, newPolicy, sojourntest.Options{
		Changed: []func() sojourn.Policy{newByIndex},
		Bypass:  func(*sojourn.Job) int { return 0 },
		Scaled:  func(int) sojourn.Policy { return newPolicy() },
	})
}

func TestConformanceByIndex(t *testing.T) {
	histories.Share(t, 4) // all but the choice of the task is as above
	sojourntest.Run(t, newByIndex, sojourntest.Options{Changed: []func() sojourn.Policy{newPolicy}})
}

// Two jobs on two racks of one node each. The first job keeps its turn, whether or
// not it has a task close to the slot; within it the closest task goes first, or the
// first one if locality is ignored.
func TestIgnoreLocality(t *testing.T) {
	inputs := func(nodes ...sojourn.NodeID) []sojourn.Phase {
		lists := make([][]sojourn.NodeID, len(nodes))
		for i, n := range nodes {
			if n != 0 {
				lists[i] = []sojourn.NodeID{n}
			}
		}
		return []sojourn.Phase{{Tasks: len(nodes), Inputs: sojourn.MakeInputs(lists)}}
	}
	// Slot 0 is on node 1, rack 1; slot 1 on node 2, rack 2. Node 3 is on rack 2.
	events := []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 1, Rack: 1}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 2, Rack: 2}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2, Node: 3, Rack: 2, Class: 1}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: inputs(1, 3, 0, 2)}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: inputs(1, 2)}},
	}
	type start struct {
		slot     sojourn.SlotID
		job      sojourn.JobID
		index    uint32
		source   sojourn.NodeID
		locality sojourn.Locality
	}
	for _, tc := range []struct {
		name string
		p    sojourn.Policy
		want []start
	}{
		{"ignored", newByIndex(), []start{
			{1, 1, 0, 0, sojourn.AnyNode}, {1, 1, 1, 0, sojourn.AnyNode}, {1, 1, 2, 0, sojourn.AnyNode},
			{1, 1, 3, 0, sojourn.AnyNode}, {1, 2, 0, 0, sojourn.AnyNode}, {0, 2, 1, 0, sojourn.AnyNode},
		}},
		{"default", newPolicy(), []start{
			{1, 1, 3, 2, sojourn.NodeLocal}, {1, 1, 2, 0, sojourn.AnyNode}, {1, 1, 1, 3, sojourn.RackLocal},
			{1, 1, 0, 1, sojourn.Remote}, {1, 2, 1, 2, sojourn.NodeLocal}, {0, 2, 0, 1, sojourn.NodeLocal},
		}},
	} {
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := tc.p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		for _, ev := range events {
			observe(ev)
		}
		for i, want := range tc.want {
			a, _ := tc.p.Assign(want.slot)
			got := start{a.Slot, a.Task.Job, a.Task.Index, a.Source, a.Locality}
			if got != want {
				t.Errorf("%s: assignment %d = %+v, want %+v", tc.name, i+1, got, want)
			}
			if i+1 < len(tc.want) {
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			}
		}
	}
}
