package fair_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// The inputs of job 1 are on node 9 of rack 1, where no slot is free. Job 2 runs anywhere
// and goes first because it came first. Job 1 waits 5 s with a free slot for node 9,
// another 5 s for rack 1, and then takes any slot.
func TestDelayScheduling(t *testing.T) {
	p := newWith(fair.Options{Delay: 5 * time.Second}).(*fair.Policy)
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		t.Helper()
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v, want nil", ev, err)
		}
	}
	slot := func(id sojourn.SlotID, node sojourn.NodeID, rack sojourn.RackID) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: node, Rack: rack}})
	}
	observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 9, Rack: 1}})
	observe(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: 9, Rack: 1}})
	slot(8, 9, 1)
	slot(0, 3, 2)
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 3, Weight: 1000, Phases: []sojourn.Phase{{Tasks: 1}}}})
	if _, ok := p.Assign(8); !ok { // node 9 is busy from now on
		t.Fatal("Assign(8) = false")
	}
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1}}}})
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{
		Tasks: 3, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{9}, {9}, {9}}),
	}}}})

	if id, ok := p.Seek(0); !ok || id != 0 {
		t.Errorf("Seek(0) = %d, %v, want slot 0 for job 2", id, ok)
	}
	if a, ok := p.Assign(0); !ok || a.Task.Job != 2 {
		t.Fatalf("Assign(0) = %+v, %v, want the task of job 2, which goes first", a, ok)
	}
	now = sojourn.Time(time.Hour) // no slot was free, so this time does not count as waiting
	slot(1, 1, 1)
	slot(2, 4, 2)
	now = now.Add(2 * time.Second) // this time does
	observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 2}})
	now = sojourn.Time(2 * time.Hour)
	slot(1, 1, 1)
	slot(2, 4, 2)
	began := now.Add(-2 * time.Second)
	steps := []struct {
		at    time.Duration // of waiting
		slot  sojourn.SlotID
		takes bool
		local sojourn.Locality
	}{
		{2 * time.Second, 1, false, 0},
		{5*time.Second - 1, 1, false, 0},
		{5 * time.Second, 2, false, 0},
		{7 * time.Second, 1, true, sojourn.RackLocal},
		// The wait starts again, at the rack.
		{11 * time.Second, 2, false, 0},
		{12 * time.Second, 2, true, sojourn.Remote},
	}
	for _, s := range steps {
		now = began.Add(s.at)
		observe(sojourn.Event{Kind: sojourn.Tick})
		a, ok := p.Assign(s.slot)
		if ok != s.takes || a.Locality != s.local {
			t.Errorf("after %v: Assign(%d) = %+v, %v, want %v, %v", s.at, s.slot, a, ok, s.local, s.takes)
		}
		wake, waits := p.NextWake()
		switch {
		case s.at < 5*time.Second && (!waits || wake != began.Add(5*time.Second)):
			t.Errorf("after %v: NextWake() = %v, %v, want 5 s", s.at, wake, waits)
		case s.at == 11*time.Second && (!waits || wake != began.Add(12*time.Second)):
			t.Errorf("after %v: NextWake() = %v, %v, want 12 s", s.at, wake, waits)
		}
	}
}

// Without a delay, the policy takes the closest task and no job waits. If it ignores
// locality, it takes the first task.
func TestIgnoreLocality(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		checkClosest(t, ignore)
	}
}

func checkClosest(t *testing.T, ignore bool) {
	t.Helper()
	p := newWith(fair.Options{IgnoreLocality: ignore})
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 2, Rack: 1}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{
			Tasks: 3, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}, {2}, {3}}),
		}}}},
	} {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	want := sojourn.Assignment{Task: sojourn.TaskID{Job: 1, Index: 1}, Attempt: 1, Source: 2, Locality: sojourn.NodeLocal}
	if ignore {
		want = sojourn.Assignment{Task: sojourn.TaskID{Job: 1}, Attempt: 1}
	}
	if a, ok := p.Assign(0); !ok || a != want {
		t.Errorf("ignoring locality %v: Assign(0) = %+v, %v, want %+v", ignore, a, ok, want)
	}
}

// In a busy cluster no slot is free for longer than an instant. The inputs of job 1 are
// on node 9 of rack 1, which has no slots. Job 2 has endless tasks for the only slot, on
// node 3 of rack 2. Job 1 comes first and is passed over at 0 s. From then on its wait
// counts: after 10 s it takes any slot, or after 5 s if it does not wait for a rack.
func TestDelayIsBoundedInABusyCluster(t *testing.T) {
	checkBusy(t, fair.Options{Delay: 5 * time.Second}, 10)
	checkBusy(t, fair.Options{Delay: 5 * time.Second, RackDelay: new(time.Duration)}, 5)
}

func checkBusy(t *testing.T, opts fair.Options, want int) {
	t.Helper()
	p := newWith(opts)
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v, want nil", ev, err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 3, Rack: 2}})
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{
		Tasks: 1, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{9}}),
	}}}})
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 100}}}})
	var served []int
	for now := range 20 {
		a, ok := p.Assign(0)
		if !ok {
			t.Fatalf("at %d s the slot stays free", now)
		}
		if a.Task.Job == 1 {
			served = append(served, now)
		}
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(now+1) * sojourn.Time(time.Second),
			Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
	}
	if !slices.Equal(served, []int{want}) {
		t.Errorf("job 1 was served at %v s, want %d", served, want)
	}
}

// A phase that waits for its node keeps the next phase of its job waiting on that slot.
// Once its task has started elsewhere, the next phase takes the slot that was declined,
// so a driver has to offer it again.
func TestDeclinedUntilThePhaseBeforeStarts(t *testing.T) {
	p := newWith(fair.Options{Delay: 5 * time.Second})
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 2}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{
			{Tasks: 1, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}})},
			{Tasks: 1, After: sojourn.NoBarrier},
		}}},
	} {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	var got []sojourn.Assignment
	for _, slot := range []sojourn.SlotID{0, 1, 0} {
		a, _ := p.Assign(slot)
		got = append(got, a)
	}
	want := []sojourn.Assignment{
		{},
		{Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: 1, Source: 1, Locality: sojourn.NodeLocal},
		{Task: sojourn.TaskID{Job: 1, Phase: 1}, Attempt: 1, Slot: 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("slots 0, 1 and 0 again get %+v, want %+v", got, want)
	}
}
