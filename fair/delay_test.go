package fair_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// The inputs of job 1 are on node 9 of rack 1. One task has run there for 1000 s, so that the job may
// leave 62.5 s of a slot unused. Then node 9 has no free slot. Job 1 waits 5 s with a free slot for node 9,
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
	slot(7, 9, 1)
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1}}}})
	if _, ok := p.Assign(7); !ok { // it stays busy
		t.Fatal("Assign(7) = false")
	}
	slot(8, 9, 1)
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{
		Tasks: 4, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{9}, {9}, {9}, {9}}),
	}}}})
	if a, ok := p.Assign(8); !ok || a.Locality != sojourn.NodeLocal {
		t.Fatalf("Assign(8) = %+v, %v, want a local task of job 1", a, ok)
	}
	now = sojourn.Time(1000 * time.Second)
	observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 8}})
	observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 8}})
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

// Explain tells how close to its inputs a slot has to be for a job, and how long: until an instant while
// time counts, or else for how much longer. Nothing is told of a job without inputs, and none of a job
// that a limit keeps from the slot waits while one is free.
func TestExplainsTheWaitForLocality(t *testing.T) {
	p := newWith(fair.Options{Delay: 5 * time.Second, Ties: fair.Arrival, Pools: map[string]fair.Pool{"narrow": {Max: fair.Slots{0: 1}}}}).(*fair.Policy)
	observe := func(at int, ev sojourn.Event) {
		t.Helper()
		ev.At = sojourn.Time(at) * sojourn.Time(time.Second)
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v, want nil", ev, err)
		}
	}
	arrive := func(at int, id sojourn.JobID, pool string, nodes ...sojourn.NodeID) {
		ph := sojourn.Phase{Tasks: 3}
		if len(nodes) > 0 {
			ph.Inputs = sojourn.MakeInputs([][]sojourn.NodeID{nodes, nodes, nodes})
		}
		observe(at, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{ph}}})
	}
	slot := func(at int, id sojourn.SlotID, node sojourn.NodeID, rack sojourn.RackID) {
		observe(at, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: node, Rack: rack}})
	}
	finish := func(at int, a sojourn.Assignment) {
		observe(at, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	}
	want := func(id sojourn.JobID, text string) {
		t.Helper()
		attrs, _ := p.Explain(id)
		for _, a := range attrs {
			if a.Key != "class0" {
				continue
			}
			got := ""
			for _, b := range a.Value.Group() {
				if b.Key == "locality" {
					got = b.Value.String()
				}
			}
			if got != text {
				t.Errorf("job %d: locality is %q, want %q", id, got, text)
			}
			return
		}
		t.Errorf("job %d: no class0 in %v", id, attrs)
	}
	const node = "takes only slots on the nodes of its inputs"

	slot(0, 1, 1, 1)
	arrive(0, 1, "", 1)
	want(1, node+" and those that all others decline, until 5s")
	a, _ := p.Assign(1)
	want(1, node+" and those that all others decline, for 5s more in which a slot is free")
	finish(160, a) // it may leave 10 s of a slot unused
	observe(160, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	want(1, node+", for 5s more in which a slot is free")
	slot(200, 2, 2, 2)
	want(1, node+", until 3m25s")
	arrive(201, 2, "")
	if b, ok := p.Assign(2); !ok || b.Task.Job != 2 {
		t.Fatalf("Assign(2) = %+v, %v, want job 2", b, ok)
	}
	want(1, node+", until 3m25s") // another job got a slot in its place: the time goes on
	want(2, "")
	observe(205, sojourn.Event{Kind: sojourn.Tick})
	want(1, "takes only slots on the racks of its inputs, until 3m30s")
	observe(210, sojourn.Event{Kind: sojourn.Tick})
	want(1, "")

	arrive(210, 3, "narrow", 3)
	slot(210, 3, 3, 3)
	if c, ok := p.Assign(3); !ok || c.Task.Job != 3 {
		t.Fatalf("Assign(3) = %+v, %v, want job 3", c, ok)
	}
	slot(210, 4, 4, 4)
	want(3, node+" and those that all others decline, for 5s more in which a slot is free") // its pool runs its maximum
}

// A slot that all decline goes to the first job that may not leave it unused: job 2 comes first, and has
// had a task of 100 s on its node; job 1 has had none. Seek names the slot. Job 2 keeps its wait for 6.25
// s of a slot, then it is pressed, too, although it would wait for another 53 s.
func TestWhoMayNotWaitTakesTheSlot(t *testing.T) {
	p := newWith(fair.Options{Delay: time.Minute, RackDelay: new(time.Duration), Ties: fair.Arrival}).(*fair.Policy)
	observe := func(at int, ev sojourn.Event) {
		t.Helper()
		ev.At = sojourn.Time(at) * sojourn.Time(time.Millisecond)
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v, want nil", ev, err)
		}
	}
	assign := func(slot sojourn.SlotID, job sojourn.JobID, far sojourn.Locality) {
		t.Helper()
		if id, ok := p.Seek(0); !ok || id != slot {
			t.Fatalf("Seek = %d, %v, want %d", id, ok, slot)
		}
		if a, ok := p.Assign(slot); !ok || a.Task.Job != job || a.Locality != far {
			t.Fatalf("Assign(%d) = %+v, %v, want a task of job %d, %v", slot, a, ok, job, far)
		}
	}
	hot := func(job sojourn.JobID) sojourn.Event {
		return sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: job, Phases: []sojourn.Phase{{
			Tasks: 3, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{9}, {9}, {9}}),
		}}}}
	}
	observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 9}})
	observe(0, hot(2))
	assign(0, 2, sojourn.NodeLocal)
	observe(100000, sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 2}, Attempt: 1, Slot: sojourn.Slot{ID: 0}})
	observe(100000, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 0}})
	for id := range sojourn.SlotID(3) {
		observe(100000, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: 3}})
	}
	observe(100000, hot(1))
	for id := range sojourn.SlotID(3) {
		assign(id, 1, sojourn.Remote)
	}
	observe(101000, sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 0}})
	if a, ok := p.Assign(0); ok {
		t.Fatalf("Assign(0) = %+v, want none: job 2 may leave it unused", a)
	}
	want := sojourn.Time(101000+6250) * sojourn.Time(time.Millisecond)
	if at, ok := p.NextWake(); !ok || at != want {
		t.Fatalf("NextWake = %v, %v, want %v", at, ok, want)
	}
	observe(107249, sojourn.Event{Kind: sojourn.Tick})
	if a, ok := p.Assign(0); ok {
		t.Fatalf("Assign(0) = %+v a millisecond early", a)
	}
	observe(107250, sojourn.Event{Kind: sojourn.Tick})
	assign(0, 2, sojourn.Remote)
}

// A phase that waits for its node keeps the next phase of its job waiting on that slot.
// Once its task has started elsewhere, the next phase takes the slot that was declined,
// so a driver has to offer it again.
func TestDeclinedUntilThePhaseBeforeStarts(t *testing.T) {
	p := newWith(fair.Options{Delay: 5 * time.Second})
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{
			{Tasks: 2, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}, {1}})},
			{Tasks: 1, After: sojourn.NoBarrier},
		}}},
	} {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	if a, ok := p.Assign(1); !ok || a.Locality != sojourn.NodeLocal { // so the job may leave something unused
		t.Fatalf("Assign(1) = %+v, %v, want a local task", a, ok)
	}
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 1}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 2}},
	} {
		ev.At = sojourn.Time(time.Minute)
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
		{Task: sojourn.TaskID{Job: 1, Index: 1}, Attempt: 1, Slot: 1, Source: 1, Locality: sojourn.NodeLocal},
		{Task: sojourn.TaskID{Job: 1, Phase: 1}, Attempt: 1, Slot: 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("slots 0, 1 and 0 again get %+v, want %+v", got, want)
	}
}

// A job that waits leaves unused what it could use: no more slots than are free, and no more than it has tasks
// to start. Job 1 has had a task of 160 s on its node, and so may leave 10 s of a slot unused. It has two more
// tasks, and three slots are free: that lasts 5 s. With a slot taken by another job, and one of its
// tasks held, it leaves one unused.
func TestUnusedIsWhatTheJobCouldUse(t *testing.T) {
	p := newWith(fair.Options{Delay: time.Hour}).(*fair.Policy)
	observe := func(at time.Duration, ev sojourn.Event) {
		t.Helper()
		ev.At = sojourn.Time(at)
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v, want nil", ev, err)
		}
	}
	want := func(at time.Duration) {
		t.Helper()
		if got, ok := p.NextWake(); !ok || got != sojourn.Time(at) {
			t.Errorf("NextWake = %v, %v, want %v", got, ok, at)
		}
	}
	s := time.Second
	observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 9, Node: 9}})
	observe(0, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{
		{Tasks: 3, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{9}, {9}, {9}})},
	}}})
	a, _ := p.Assign(9)
	observe(160*s, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: 1, Slot: sojourn.Slot{ID: 9}})
	observe(160*s, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 9}})
	for id := range sojourn.SlotID(3) {
		observe(200*s, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: 3}})
	}
	want(205 * s)
	observe(201*s, sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Index: 2}}) // 8 s of a slot are left
	want(209 * s)
	observe(202*s, sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: 1, Index: 2}}) // 7 s
	want(202*s + 7*s/2)
	observe(203*s, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 0}}) // 5 s
	want(203*s + 5*s/2)
	observe(203*s, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	want(208 * s)
}

// NextWake names the first end of a wait, whichever job waits for it: one of two jobs may leave 10 s of a slot unused,
// the other one 5 s. A job that its pool does not let start anything does not wait, although a slot is free.
func TestFirstEndOfAWait(t *testing.T) {
	for _, first := range []int{160, 80} { // seconds for which the task of job 1 runs
		p := newWith(fair.Options{Delay: time.Hour, Pools: map[string]fair.Pool{"one": {MaxJobs: 1}}}).(*fair.Policy)
		observe := func(at int, ev sojourn.Event) {
			t.Helper()
			ev.At = sojourn.Time(at) * sojourn.Time(time.Second)
			if err := p.Observe(ev); err != nil {
				t.Fatalf("Observe(%v) = %v, want nil", ev, err)
			}
		}
		arrive := func(at int, id sojourn.JobID, pool string, tasks int) {
			nodes := make([][]sojourn.NodeID, tasks)
			for i := range nodes {
				nodes[i] = []sojourn.NodeID{9}
			}
			observe(at, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks, Inputs: sojourn.MakeInputs(nodes)}}}})
		}
		var running []sojourn.Assignment
		for i := range 2 {
			observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Node: 9}})
			arrive(0, sojourn.JobID(i+1), "", 2)
			a, ok := p.Assign(sojourn.SlotID(i))
			if !ok || a.Task.Job != sojourn.JobID(i+1) {
				t.Fatalf("Assign(%d) = %v, %v, want job %d", i, a, ok, i+1)
			}
			running = append(running, a)
		}
		for _, at := range []int{80, 160} {
			a := running[0]
			if at != first {
				a = running[1]
			}
			observe(at, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: 1, Slot: sojourn.Slot{ID: a.Slot}})
			observe(at, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: a.Slot}})
		}
		observe(200, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 5, Node: 3}})
		if at, ok := p.NextWake(); !ok || at != sojourn.Time(205*time.Second) {
			t.Errorf("NextWake = %v, %v, want 205 s", at, ok)
		}
		for id := range sojourn.JobID(2) {
			observe(200, sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id + 1}})
		}
		arrive(200, 3, "one", 1)
		if a, ok := p.Assign(5); !ok || a.Task.Job != 3 {
			t.Fatalf("Assign(5) = %v, %v, want job 3, which may not wait", a, ok)
		}
		arrive(200, 4, "one", 1)
		observe(200, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 6, Node: 3}})
		if at, ok := p.NextWake(); ok {
			t.Errorf("NextWake = %v, want none: a pool of one job runs one", at)
		}
	}
}

// A job does not wait while its pool, or one around it, runs as many tasks as it may.
func TestWhoseLimitIsReachedDoesNotWait(t *testing.T) {
	for _, full := range []string{"", "a", "a/b", "a/b/c", "a/b/c/d"} {
		opts := fair.Options{Delay: time.Hour, Pools: map[string]fair.Pool{"a/b/c/d": {}}}
		if full != "" {
			opts.Pools[full] = fair.Pool{Max: fair.Slots{0: 2}}
		}
		s := waiter{t, newWith(opts).(*fair.Policy)}
		s.slot(0, 8, 8)
		s.slot(0, 9, 9)
		s.arrive(0, 1, "a/b/c/d", 9, 9)
		s.arrive(0, 2, "a/b/c/d", 0, 0)
		a := s.assign(9, 1)
		s.assign(8, 2)
		s.end(160, a) // so job 1 may leave 10 s of a slot unused
		s.slot(160, 7, 3)
		s.assign(7, 2)
		s.slot(200, 6, 3)
		if at, ok := s.p.NextWake(); ok != (full == "") || ok && at != sojourn.Time(210*time.Second) {
			t.Errorf("NextWake = %v, %v with a limit of pool %q, want 210 s without one, and else none", at, ok, full)
		}
	}
}

// A slot that all decline starts no wait: time without a free slot does not count after that.
func TestWhatAllDeclineStartsNoWait(t *testing.T) {
	s := waiter{t, newWith(fair.Options{Delay: 5 * time.Second}).(*fair.Policy)}
	s.slot(0, 9, 9)
	s.arrive(0, 1, "", 9, 9)
	s.end(1600, s.assign(9, 1))
	s.slot(2000, 7, 3)
	if a, ok := s.p.Assign(7); ok {
		t.Fatalf("Assign(7) = %v, want none: job 1 waits", a)
	}
	s.observe(2001, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 7}})
	s.slot(3000, 7, 3)
	if at, ok := s.p.NextWake(); !ok || at != sojourn.Time(3004*time.Second) {
		t.Errorf("NextWake = %v, %v, want 3004 s: one second of five has counted", at, ok)
	}
}

// A waiter drives a policy whose jobs wait for slots close to their inputs. Times are in seconds.
type waiter struct {
	t *testing.T
	p *fair.Policy
}

func (s waiter) observe(at int, ev sojourn.Event) {
	s.t.Helper()
	ev.At = sojourn.Time(at) * sojourn.Time(time.Second)
	if err := s.p.Observe(ev); err != nil {
		s.t.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (s waiter) slot(at int, id sojourn.SlotID, node sojourn.NodeID) {
	s.t.Helper()
	s.observe(at, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: node}})
}

// arrive lets a job arrive with a task for each node: the one of its input, or 0 if it has none. All have, or none has.
func (s waiter) arrive(at int, id sojourn.JobID, pool string, nodes ...sojourn.NodeID) {
	s.t.Helper()
	ph := sojourn.Phase{Tasks: len(nodes)}
	if nodes[0] != 0 {
		var in [][]sojourn.NodeID
		for _, n := range nodes {
			in = append(in, []sojourn.NodeID{n})
		}
		ph.Inputs = sojourn.MakeInputs(in)
	}
	s.observe(at, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{ph}}})
}

func (s waiter) assign(slot sojourn.SlotID, job sojourn.JobID) sojourn.Assignment {
	s.t.Helper()
	a, ok := s.p.Assign(slot)
	if !ok || a.Task.Job != job {
		s.t.Fatalf("Assign(%d) = %v, %v, want a task of job %d", slot, a.Task, ok, job)
	}
	return a
}

func (s waiter) end(at int, a sojourn.Assignment) {
	s.t.Helper()
	s.observe(at, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	s.observe(at, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: a.Slot}})
}
