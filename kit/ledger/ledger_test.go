package ledger

import (
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// Package sojourntest drives the ledger through every policy, with every valid and
// invalid event, against a model of its own. This file tests what it cannot see.

type testLedger struct {
	Ledger[int]
	t interface{ Fatalf(string, ...any) }
}

func (l *testLedger) observe(ev sojourn.Event) Change[int] {
	if err := l.Check(&ev); err != nil {
		l.t.Fatalf("Check(%v) = %v, want nil", ev, err)
	}
	return l.Apply(&ev)
}

func (l *testLedger) slots(n int) {
	for i := range n {
		l.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
}

func (l *testLedger) arrive(id sojourn.JobID, phases ...sojourn.Phase) *Job[int] {
	return l.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: phases}}).Job
}

func (l *testLedger) end(kind sojourn.EventKind, a sojourn.Assignment) Change[int] {
	return l.observe(sojourn.Event{Kind: kind, At: l.Now(), Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
}

// Tasks are taken in the order of their index, and a failed task comes back to its place in
// that order.
func TestLowestTaskFirst(t *testing.T) {
	l := &testLedger{t: t}
	l.slots(4)
	j := l.arrive(1, sojourn.Phase{Tasks: 6})
	var got []uint32
	take := func(slot sojourn.SlotID) sojourn.Assignment {
		a := l.Take(j, &j.sides[0], slot)
		got = append(got, a.Task.Index)
		return a
	}
	first := take(0)
	take(1)
	take(2)
	l.end(sojourn.TaskFailed, first)
	take(0)
	take(3)
	if want := []uint32{0, 1, 2, 0, 3}; !slices.Equal(got, want) {
		t.Errorf("tasks = %v, want %v", got, want)
	}
}

// Startable, Ready and NextPhase agree with a count over all tasks while tasks finish, fail
// and lose outputs in phases on two classes that wait for others.
func TestSidesAgreeWithACount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &testLedger{t: t}
		l.Supports = sojourn.FeatureNeeds
		for i := range 4 {
			l.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: sojourn.Class(i % 2)}})
		}
		var phases []sojourn.Phase
		for i := range rapid.IntRange(1, 6).Draw(t, "phases") {
			ph := sojourn.Phase{Tasks: rapid.IntRange(1, 5).Draw(t, "tasks"), Class: sojourn.Class(rapid.IntRange(0, 1).Draw(t, "class"))}
			if i > 0 {
				ph.After = rapid.IntRange(sojourn.NoBarrier, phases[i-1].Tasks).Draw(t, "after")
			}
			if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
				ph.After, ph.Needs = 0, []int{}
				for k := range i {
					if rapid.Bool().Draw(t, "this one") {
						ph.Needs = append(ph.Needs, k)
					}
				}
			}
			phases = append(phases, ph)
		}
		j := l.arrive(1, phases...)
		l.arrive(2, sojourn.Phase{Tasks: 1}) // keeps the ledger from being empty
		var live []sojourn.Assignment
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				side := &j.sides[rapid.IntRange(0, len(j.sides)-1).Draw(t, "side")]
				slot, ok := l.FreeSlot(side.class)
				if !ok || side.startable == 0 {
					t.Skip("nothing to take")
				}
				live = append(live, l.Take(j, side, slot))
			},
			"end": func(t *rapid.T) {
				if len(live) == 0 || j.left == 1 {
					t.Skip("nothing may end")
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "attempt")
				l.end(rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFailed}).Draw(t, "kind"), live[i])
				live = slices.Delete(live, i, i+1)
			},
			"lose": func(t *rapid.T) {
				p := rapid.IntRange(0, len(phases)-1).Draw(t, "phase")
				k := uint32(rapid.IntRange(0, phases[p].Tasks-1).Draw(t, "task"))
				if !j.phases[p].IsDone(k) {
					t.Skip("not done")
				}
				n := j.more.get().tries[task{uint16(p), k}]
				l.observe(sojourn.Event{Kind: sojourn.OutputLost, Task: sojourn.TaskID{Job: 1, Phase: uint16(p), Index: k}, Attempt: max(n, 1)})
			},
			"": func(t *rapid.T) {
				want := map[sojourn.Class]int{}
				first := map[sojourn.Class]int{}
				for p := len(phases) - 1; p >= 0; p-- {
					ready := p == 0 || phases[p].Needs != nil || j.phases[p-1].Done() >= j.spec.Threshold(p)
					for _, k := range phases[p].Needs {
						ready = ready && j.phases[k].Done() == phases[k].Tasks
					}
					if j.phases[p].ready != ready {
						t.Fatalf("phase %d: Ready = %v, want %v", p, j.phases[p].ready, ready)
					}
					if n := j.phases[p].Pending(); ready && n > 0 {
						want[phases[p].Class] += n
						first[phases[p].Class] = p
					}
				}
				for i := range j.sides {
					s := &j.sides[i]
					if s.Startable() != want[s.class] {
						t.Fatalf("class %d: Startable = %d, want %d", s.class, s.startable, want[s.class])
					}
					if s.startable > 0 && j.NextPhase(s) != first[s.class] {
						t.Fatalf("class %d: NextPhase = %d, want %d", s.class, j.NextPhase(s), first[s.class])
					}
				}
			},
		})
	})
}

// Jobs that have ended leave nothing behind: memory does not grow, and handles are reused.
func TestEndedJobsAreForgotten(t *testing.T) {
	l := &testLedger{t: t}
	l.slots(1)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run := func(n int) {
		for i := range n {
			j := l.arrive(sojourn.JobID(i+1), sojourn.Phase{Tasks: 2, Estimate: time.Second})
			a := l.Take(j, &j.sides[0], 0)
			l.end(sojourn.TaskFailed, a)
			for range 2 {
				l.end(sojourn.TaskFinished, l.Take(j, &j.sides[0], 0))
			}
		}
	}
	run(1000)
	before := heap()
	run(100_000)
	if after := heap(); after > before+1<<16 {
		t.Errorf("the heap grew from %d to %d bytes over 100,000 jobs", before, after)
	}
	if l.Live() != 0 || l.jobs.table.Len() != 1 {
		t.Errorf("%d live jobs and %d handles, want 0 and 1", l.Live(), l.jobs.table.Len())
	}
}

// Any number of tasks that are held from the beginning takes little memory, also when some of
// them are released and run.
func TestHeldTasksTakeLittleMemory(t *testing.T) {
	l := &testLedger{t: t}
	l.Supports = sojourn.FeatureHeld
	l.slots(1)
	least := uint64(math.MaxUint64)
	for range 5 { // the runtime allocates beside it
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		j := l.arrive(1, sojourn.Phase{Tasks: sojourn.MaxTasks, Held: true})
		if j.sides[0].startable != 0 || j.heldTasks != sojourn.MaxTasks {
			t.Fatalf("%d tasks may start and %d are held", j.sides[0].startable, j.heldTasks)
		}
		for _, i := range []uint32{0, 1 << 20, sojourn.MaxTasks - 1} {
			l.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: 1, Index: i}})
			a := l.Take(j, &j.sides[0], 0)
			if a.Task.Index != i {
				t.Fatalf("task %v starts, want %d", a.Task, i)
			}
			l.end(sojourn.TaskFinished, a)
		}
		l.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: j.spec})
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 64<<10 {
		t.Errorf("%d held tasks took %d bytes, want at most %d", sojourn.MaxTasks, least, 64<<10)
	}
}

// A wild slot ID is refused and costs nothing.
func TestSlotIDsAreBounded(t *testing.T) {
	l := &testLedger{t: t}
	ev := sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.MaxSlots}}
	if err := l.Check(&ev); !errors.Is(err, sojourn.ErrInvalidSlot) {
		t.Errorf("Check(%v) = %v, want %v", ev, err, sojourn.ErrInvalidSlot)
	}
	l.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.MaxSlots - 1}})
	if id, ok := l.FreeSlot(0); !ok || id != sojourn.MaxSlots-1 {
		t.Errorf("FreeSlot = %d, %v, want %d", id, ok, sojourn.MaxSlots-1)
	}
}

// A task that was done without an attempt, was lost, and is dropped by a revision
// leaves nothing behind.
func TestDroppedTasksAreForgotten(t *testing.T) {
	l := &testLedger{t: t}
	j := l.arrive(1, sojourn.Phase{Tasks: 3})
	last := sojourn.TaskID{Job: 1, Index: 2}
	l.observe(sojourn.Event{Kind: sojourn.TaskDone, Task: last})
	l.observe(sojourn.Event{Kind: sojourn.OutputLost, Task: last})
	l.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}})
	if len(j.more.get().tries) != 0 {
		t.Errorf("tries = %v, want none", j.more.get().tries)
	}
}

// Every unfinished task is running, startable, blocked by an earlier phase or held.
// A job that waits says for which phases: those that can go on.
func TestWhatAJobWaitsFor(t *testing.T) {
	for _, tc := range []struct {
		needs [][]int // of phases 1, 2, ...
		done  []int   // phases that have finished
		want  string
	}{
		{[][]int{nil}, nil, "waits for phase 0"},
		{[][]int{nil, nil}, []int{0}, "waits for phase 1"},
		{[][]int{{}, {0, 1}, {2}}, nil, "waits for phases 0, 1"},
		{[][]int{{}, {0, 1}, {2}}, []int{1}, "waits for phase 0"},
		{[][]int{{}, {}, {}, {}, {}, {0, 1, 2, 3, 4, 5}}, nil, "waits for phases 0, 1, 2, 3 and 2 more"},
	} {
		l := &testLedger{t: t}
		l.Supports = sojourn.FeatureNeeds
		l.slots(6)
		phases := []sojourn.Phase{{Tasks: 1}}
		for _, needs := range tc.needs {
			phases = append(phases, sojourn.Phase{Tasks: 1, Needs: needs})
		}
		j := l.arrive(1, phases...)
		for id := sojourn.SlotID(0); j.SideOf(0).Startable() > 0; {
			a := l.Take(j, j.SideOf(0), id)
			if id++; slices.Contains(tc.done, int(a.Task.Phase)) {
				l.end(sojourn.TaskFinished, a)
			}
		}
		if got := l.Attrs(j)[0].Value.String(); got != tc.want {
			t.Errorf("needs %v, done %v: it %s, want %s", tc.needs, tc.done, got, tc.want)
		}
	}
}

func TestAttrsAddUp(t *testing.T) {
	l := &testLedger{t: t}
	l.slots(2)
	j := l.arrive(1, sojourn.Phase{Tasks: 7}, sojourn.Phase{Tasks: 3})
	l.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Index: 6}})
	l.end(sojourn.TaskFinished, l.Take(j, &j.sides[0], 0))
	l.Take(j, &j.sides[0], 0)
	l.Take(j, &j.sides[0], 1)
	got := map[string]int64{}
	for _, a := range l.Attrs(j)[1:] {
		got[a.Key] = a.Value.Int64()
	}
	want := map[string]int64{"done": 1, "running": 2, "startable": 3, "blocked": 3, "held": 1}
	if !maps.Equal(got, want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
}

// The figure of the states of a task, in the comment on sojourn.EventKind, is right: an event
// with an arrow is accepted and leads where the arrow points, and an event without an arrow
// is refused.
func TestStatesOfATask(t *testing.T) {
	type state string
	const pending, held, running, done state = "pending", "held", "running", "done"
	arrows := map[state]map[sojourn.EventKind]state{
		pending: {sojourn.TaskHeld: held, sojourn.TaskDone: done, sojourn.TaskAdopted: running},
		held:    {sojourn.TaskReady: pending, sojourn.TaskDone: done},
		running: {sojourn.TaskFinished: done, sojourn.TaskFailed: pending, sojourn.TaskRefused: pending, sojourn.TaskProgress: running, sojourn.TaskPinned: running},
		done:    {sojourn.OutputLost: pending},
	}
	kinds := []sojourn.EventKind{sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.TaskAdopted, sojourn.TaskProgress,
		sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned, sojourn.OutputLost}
	// in returns a ledger with slots 0 and 1, and a job whose task 0 is in a state. Task 1 is
	// pending, so that the job is live.
	in := func(s state) (*testLedger, *Job[int]) {
		l := &testLedger{t: t}
		l.Supports = sojourn.FeatureAttempts
		l.slots(2)
		j := l.arrive(1, sojourn.Phase{Tasks: 2})
		switch s {
		case held:
			l.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1}})
		case running:
			l.Take(j, j.Side(0), 0)
		case done:
			l.end(sojourn.TaskFinished, l.Take(j, j.Side(0), 0))
		}
		return l, j
	}
	of := func(l *testLedger, j *Job[int]) (list []state) {
		if j.Phase(0).IsPending(0) {
			list = append(list, pending)
		}
		if j.IsHeld(0, 0) {
			list = append(list, held)
		}
		for _, a := range l.Attempts() {
			if a.Task.Index == 0 {
				list = append(list, running)
			}
		}
		if j.Phase(0).IsDone(0) {
			list = append(list, done)
		}
		return list
	}
	for _, from := range []state{pending, held, running, done} {
		for _, kind := range kinds {
			l, j := in(from)
			ev := sojourn.Event{Kind: kind, Task: sojourn.TaskID{Job: 1}, Attempt: 1}
			to, fits := arrows[from][kind]
			err := l.Check(&ev)
			if (err == nil) != fits {
				t.Errorf("%s: Check(%v) = %v", from, kind, err)
			}
			if err != nil {
				to = from
			} else {
				l.Apply(&ev)
			}
			if got := of(l, j); !slices.Equal(got, []state{to}) {
				t.Errorf("%s, after %v: %v, want %s", from, kind, got, to)
			}
		}
	}
}
