package locality_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A bed is a ledger with an index beside it.
type bed struct {
	t      testing.TB
	ledger ledger.Ledger[struct{}]
	index  *locality.Index[struct{}]
}

func newBed(t testing.TB) *bed {
	b := &bed{t: t}
	b.index = locality.New(&b.ledger)
	return b
}

func (b *bed) observe(ev sojourn.Event) ledger.Change[struct{}] {
	b.t.Helper()
	if err := b.ledger.Check(&ev); err != nil {
		b.t.Fatal(err)
	}
	c := b.ledger.Apply(&ev)
	b.index.Update(&ev, &c)
	return c
}

// slots adds one slot a node: nodes 1 and 2 on rack 1, 3 and 4 on rack 2, ...
func (b *bed) slots(n int) {
	b.t.Helper()
	for i := range n {
		b.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{
			ID: sojourn.SlotID(i), Node: sojourn.NodeID(i + 1), Rack: sojourn.RackID(1 + i/2),
		}})
	}
}

func (b *bed) arrive(inputs ...[]sojourn.NodeID) *ledger.Job[struct{}] {
	b.t.Helper()
	return b.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
		ID: 1, Phases: []sojourn.Phase{{Tasks: len(inputs), Inputs: sojourn.MakeInputs(inputs)}},
	}}).Job
}

// The order of the package comment, on nodes 1 and 2 of rack 1 and 3 and 4 of
// rack 2. The slot is on node 1.
func TestNearestFirst(t *testing.T) {
	type nodes = []sojourn.NodeID
	b := newBed(t)
	b.slots(4)
	j := b.arrive(
		nodes{3},    // 0: elsewhere
		nodes{4, 2}, // 1: on the rack
		nil,         // 2: anywhere
		nodes{2, 1}, // 3: on the node
		nodes{3, 1}, // 4: on the node
	)
	s := b.ledger.Free(0)
	for _, want := range []locality.Pick{
		{Index: 3, Locality: sojourn.NodeLocal, Source: 1},
		{Index: 4, Locality: sojourn.NodeLocal, Source: 1},
		{Index: 2, Locality: sojourn.AnyNode},
		{Index: 1, Locality: sojourn.RackLocal, Source: 2},
		{Index: 0, Locality: sojourn.Remote, Source: 3},
	} {
		if least := want.Locality; least > sojourn.NodeLocal {
			if got, ok := b.index.Find(j, 0, s, least-1); ok {
				t.Fatalf("Find(%v) = %+v, want none", least-1, got)
			}
		}
		got, ok := b.index.Find(j, 0, s, sojourn.Remote)
		if !ok || got != want {
			t.Fatalf("Find(remote) = %+v, %v, want %+v", got, ok, want)
		}
		a := b.index.Take(j, 0, got, s.ID)
		b.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: s})
	}
}

// The input of the only task is on nodes 1 and 3. If node 1 is down, it is on rack
// 2 only. If both are down, the task reads from somewhere else and may start at
// once, on any slot.
func TestLostNodes(t *testing.T) {
	b := newBed(t)
	b.slots(4)
	j := b.arrive([]sojourn.NodeID{1, 3})
	find := func(slot sojourn.SlotID, limit sojourn.Locality) any {
		pick, ok := b.index.Find(j, 0, b.ledger.Free(slot), limit)
		if !ok {
			return nil
		}
		return pick
	}
	check := func(slot sojourn.SlotID, limit sojourn.Locality, want any) {
		t.Helper()
		if got := find(slot, limit); got != want {
			t.Errorf("Find(slot %d, %v) = %+v, want %+v", slot, limit, got, want)
		}
	}
	down := func(n sojourn.NodeID) {
		b.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: n}})
	}
	check(1, sojourn.RackLocal, locality.Pick{Locality: sojourn.RackLocal, Source: 1})
	down(1)
	check(0, sojourn.RackLocal, nil)
	check(1, sojourn.Remote, locality.Pick{Locality: sojourn.Remote, Source: 3})
	check(3, sojourn.RackLocal, locality.Pick{Locality: sojourn.RackLocal, Source: 3})
	if got := b.index.Local(j, 0, 1); got != 0 {
		t.Errorf("%d tasks are local to a node that is down, want 0", got)
	}
	down(3)
	check(2, sojourn.NodeLocal, locality.Pick{Locality: sojourn.Remote})
	b.observe(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: 1}})
	check(2, sojourn.NodeLocal, nil)
	check(0, sojourn.NodeLocal, locality.Pick{Locality: sojourn.NodeLocal, Source: 1})
}

// A node that leaves with its last slot may come back on another rack.
func TestRackChanges(t *testing.T) {
	b := newBed(t)
	b.slots(4)
	j := b.arrive([]sojourn.NodeID{1})
	want := func(slot sojourn.SlotID, limit sojourn.Locality, ok bool) {
		t.Helper()
		if _, got := b.index.Find(j, 0, b.ledger.Free(slot), limit); got != ok {
			t.Errorf("Find(slot %d, %v) = %v, want %v", slot, limit, got, ok)
		}
	}
	want(1, sojourn.RackLocal, true)
	b.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 0}})
	want(1, sojourn.RackLocal, false)
	b.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 1, Rack: 2}})
	want(1, sojourn.RackLocal, false)
	want(3, sojourn.RackLocal, true)

	// Now the slot is busy when it leaves: the rack is forgotten when its attempt
	// ends. That attempt is of another job.
	other := b.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1}}}}).Job
	a := b.index.Take(other, 0, locality.Pick{}, 0)
	b.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 0}})
	want(3, sojourn.RackLocal, true)
	b.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
	want(3, sojourn.RackLocal, false)
}

// Choosing a task allocates nothing, and neither do the events that follow.
func TestTakeAllocatesNothing(t *testing.T) {
	b := newBed(t)
	b.slots(40)
	inputs := make([][]sojourn.NodeID, 4000)
	for i := range inputs {
		inputs[i] = []sojourn.NodeID{sojourn.NodeID(1 + i%40), sojourn.NodeID(1 + i*7%40), sojourn.NodeID(50 + i%3)}
	}
	j := b.arrive(inputs...)
	i := 0
	allocs := testing.AllocsPerRun(1000, func() {
		s := b.ledger.Free(sojourn.SlotID(i % 40))
		i++
		pick, ok := b.index.Find(j, 0, s, sojourn.Remote)
		if !ok {
			t.Fatal("nothing found")
		}
		a := b.index.Take(j, 0, pick, s.ID)
		b.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: s})
	})
	if allocs != 0 {
		t.Errorf("%v allocations a task, want 0", allocs)
	}
}
