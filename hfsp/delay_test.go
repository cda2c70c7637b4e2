package hfsp_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// near returns a phase of n tasks, all with their input on a node.
func near(n int, node sojourn.NodeID) sojourn.Phase {
	nodes := make([][]sojourn.NodeID, n)
	for i := range nodes {
		nodes[i] = []sojourn.NodeID{node}
	}
	return sojourn.Phase{Tasks: n, Inputs: sojourn.MakeInputs(nodes)}
}

// allow lets a job arrive at 0 s, with so many tasks and one that runs on the node of its input until an instant. The job may
// leave a sixteenth of that time of a slot unused. Its other tasks are held until then, so that it waits for nothing.
func (s stage) allow(id sojourn.JobID, left int) (end func(until float64)) {
	s.t.Helper()
	n := 10 + int(id)
	s.node(0, sojourn.SlotID(n), sojourn.NodeID(n), 9)
	s.arrive(0, id, near(left+1, sojourn.NodeID(n)))
	a := s.assign(sojourn.SlotID(n), id)
	all := func(at float64, kind sojourn.EventKind) {
		for i := range left {
			s.observe(at, sojourn.Event{Kind: kind, Task: sojourn.TaskID{Job: id, Index: uint32(i + 1)}})
		}
	}
	all(0, sojourn.TaskHeld)
	return func(until float64) {
		s.finish(until, a)
		s.remove(until, a.Slot)
		all(until, sojourn.TaskReady)
	}
}

func (s stage) remove(at float64, id sojourn.SlotID) {
	s.t.Helper()
	s.observe(at, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: id}})
}

// wakes checks NextWake, in seconds; below 0, for none.
func (s stage) wakes(want float64) {
	s.t.Helper()
	if at, ok := s.p.NextWake(); ok != (want >= 0) || ok && at != sojourn.Time(want*1e9) {
		s.t.Errorf("NextWake = %v, %v, want %v s", at, ok, want)
	}
}

// declines checks that no phase takes a slot, and that Seek finds none.
func (s stage) declines(slot sojourn.SlotID) {
	s.t.Helper()
	if id, ok := s.p.Seek(0); ok {
		s.t.Errorf("Seek = %d, want none", id)
	}
	if a, ok := s.p.Assign(slot); ok {
		s.t.Fatalf("Assign(%d) = %v, want none", slot, a)
	}
}

func patient(t *testing.T, d time.Duration) stage {
	return stage{t, newWith(hfsp.Options{NodeDelay: d, RackDelay: time.Hour, Late: vqueue.LateFirst})}
}

// A phase that waits leaves unused what it could use: no more slots than are free, and no more than it has tasks to
// start. It waits until that is as much as it may leave unused, 10 s of a slot here, and then takes any slot.
func TestUnusedIsWhatThePhaseCouldUse(t *testing.T) {
	s := patient(t, time.Hour)
	s.allow(1, 2)(160)
	s.wakes(-1) // no slot is free
	for id := range sojourn.SlotID(3) {
		s.node(200, id, 3, 3)
	}
	s.wakes(205)
	s.observe(201, sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Index: 2}}) // 8 s of a slot are left
	s.wakes(209)
	s.observe(202, sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: 1, Index: 2}}) // 7 s
	s.wakes(205.5)
	s.remove(203, 0) // 5 s
	s.wakes(205.5)
	s.remove(203, 1)
	s.wakes(208)
	s.declines(2)
	s.observe(208, sojourn.Event{Kind: sojourn.Tick})
	if id, ok := s.p.Seek(0); !ok || id != 2 {
		t.Errorf("Seek = %d, %v, want slot 2", id, ok)
	}
	s.assign(2, 1)
}

// NextWake names the first end of a wait, whichever phase waits for it. The slot then goes to that phase, even if the other
// one is before it. Who is passed over waits from then on, though no slot is free. Who was not allowed to wait any longer does
// not, and what has counted of its wait stays.
func TestFirstEndOfAWait(t *testing.T) {
	for _, short := range []sojourn.JobID{1, 2} {
		for _, stays := range []sojourn.JobID{1, 2} {
			s := patient(t, 100*time.Second)
			ends := []func(float64){s.allow(1, 2), s.allow(2, 2)}
			ends[short-1](80)
			ends[2-short](160)
			s.node(200, 5, 3, 3)
			s.wakes(205)
			s.declines(5)
			s.observe(205, sojourn.Event{Kind: sojourn.Tick})
			if id, ok := s.p.Seek(0); !ok || id != 5 {
				t.Errorf("Seek = %d, %v, want slot 5", id, ok)
			}
			s.assign(5, short)
			s.remove(205, 5)
			s.observe(205, sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 3 - stays}})
			s.node(250, 6, 3, 3)
			if stays == short {
				s.wakes(345) // 5 s of 100 have counted
			} else {
				s.wakes(255) // 5 s of 10 have been left unused
			}
		}
	}
}

// A slot that all decline starts no wait, and one that another phase gets does.
func TestWhatAllDeclineStartsNoWait(t *testing.T) {
	for _, given := range []bool{false, true} {
		s := patient(t, 5*time.Second)
		s.allow(1, 1)(1600)
		s.node(2000, 7, 3, 3)
		s.declines(7)
		want := 3004.0 // one second of five has counted
		if given {
			s.arrive(2001, 2, tasks(1, 0))
			s.assign(7, 2)
			want = 3099 // the wait for the node has ended, and 99 s of a slot may be left unused
		}
		s.remove(2001, 7)
		s.node(3000, 6, 3, 3)
		s.wakes(want)
	}
}

// A phase without inputs waits for no slot, and neither does one whose tasks all run or are held.
func TestWhoHasNothingToWaitForDoesNotWait(t *testing.T) {
	s := patient(t, time.Hour)
	end := s.allow(1, 1) // one task runs, the other one is held
	s.node(0, 5, 3, 3)
	s.wakes(-1)
	end(160)
	s.wakes(170)
	s.observe(160, sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
	s.arrive(160, 2, tasks(1, 0))
	s.wakes(-1)
	s.assign(5, 2)
}

// Seek looks at the phases only up to the one that takes a slot: it makes no list of all that are ready.
func TestSeekListsNoPhases(t *testing.T) {
	s := patient(t, time.Hour)
	phases := make([]sojourn.Phase, 100)
	for i := range phases {
		phases[i] = sojourn.Phase{Tasks: 1, Needs: []int{}}
	}
	s.arrive(0, 1, phases...)
	s.node(0, 5, 3, 3)
	if n := testing.AllocsPerRun(10, func() { s.p.Seek(0) }); n > 0 {
		t.Errorf("Seek allocates %v times, want 0", n)
	}
}

// Where nobody has inputs, a delay changes nothing, whatever the reserve keeps.
func TestReserveBesideADelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := hfsp.Options{TrainingTasks: 2, Reserve: rapid.SampledFrom([]float64{0.25, 0.5, 1}).Draw(t, "reserve")}
		plain := newWith(opts)
		opts.NodeDelay = time.Hour
		delayed := newWith(opts)
		observe := func(ev sojourn.Event) {
			if a, b := plain.Observe(ev), delayed.Observe(ev); a != nil || b != nil {
				t.Fatal(ev, a, b)
			}
		}
		slots := rapid.IntRange(1, 8).Draw(t, "slots")
		for i := range slots {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
		}
		var running []sojourn.Assignment
		now := sojourn.Time(0)
		for id := range sojourn.JobID(rapid.IntRange(1, 12).Draw(t, "events")) {
			now += sojourn.Time(rapid.IntRange(0, 5).Draw(t, "time")) * 1e9
			if k := len(running); k > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, k-1).Draw(t, "which")
				a := running[i]
				running = slices.Delete(running, i, i+1)
				observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			} else {
				estimate := time.Duration(rapid.SampledFrom([]int{0, 1, 100}).Draw(t, "estimate")) * time.Second
				observe(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: rapid.IntRange(1, 9).Draw(t, "tasks"), Estimate: estimate}}}})
			}
			for {
				slot, ok := plain.Seek(0)
				if other, too := delayed.Seek(0); ok != too || slot != other {
					t.Fatalf("Seek = %v, %v, with a delay %v, %v", slot, ok, other, too)
				}
				if !ok {
					break
				}
				a, _ := plain.Assign(slot)
				if b, _ := delayed.Assign(slot); a != b {
					t.Fatalf("Assign(%d) = %v, with a delay %v", slot, a, b)
				}
				running = append(running, a)
			}
		}
	})
}

// A phase waits for no slot that the reserve keeps from it: such a slot wakes nobody, and leaves nothing unused.
func TestWhatTheReserveKeepsIsNoWait(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{NodeDelay: time.Hour, RackDelay: time.Hour, Late: vqueue.LateFirst, Reserve: 0.5})}
	s.allow(1, 2)(160)            // it may leave 10 s of a slot unused
	s.arrive(200, 2, tasks(1, 0)) // the reserve keeps nothing from a job that is alone
	s.observe(200, sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 2}})
	s.node(200, 0, 11, 9)
	near := s.assign(0, 1)
	s.node(201, 1, 3, 3)
	s.wakes(-1)
	s.declines(1)
	s.finish(1000, near) // 50 s more
	s.remove(1000, 0)
	s.wakes(1060)
	s.declines(1)
	s.observe(1060, sojourn.Event{Kind: sojourn.Tick})
	s.assign(1, 1)
}

// Of several phases that may not wait any longer, the first one in order gets the slot.
func TestTheFirstThatMayNotWaitGetsTheSlot(t *testing.T) {
	for _, tasks := range [][]int{{10, 20, 30}, {30, 10, 20}, {20, 30, 10}} {
		s := patient(t, time.Hour)
		for i, n := range tasks {
			s.arrive(0, sojourn.JobID(i+1), near(n, 9)) // none has had a task near: none may leave a slot unused
		}
		for slot := range sojourn.SlotID(4) { // two of them for training
			s.node(0, slot, 3, 3)
		}
		if id, ok := s.p.Seek(0); !ok || id != 0 {
			t.Errorf("Seek = %d, %v, want slot 0", id, ok)
		}
		first := sojourn.JobID(slices.Index(tasks, 10) + 1)
		s.assign(0, first)
		s.assign(1, first)
		s.want(sojourn.JobID(slices.Index(tasks, 20)+1), "training_priority", "waits for a training slot")
	}
}

// The last slot that no early task holds goes to one that has been held back for EarlyDelay, unless another phase waits for a
// slot close to its inputs.
// Reference: Options.EarlyDelay.
func TestTheLastSlotIsKeptForWhoWaits(t *testing.T) {
	for _, waits := range []bool{false, true} {
		s := stage{t, newWith(hfsp.Options{NodeDelay: time.Hour, RackDelay: time.Hour, Late: vqueue.LateFirst, EarlyDelay: time.Minute})}
		if waits {
			s.allow(2, 1)(16_000) // it may leave 1000 s of a slot unused
		}
		s.node(20_000, 0, 3, 3)
		s.node(20_000, 1, 3, 3)
		s.arrive(20_000, 1, tasks(2, 0), sojourn.Phase{Tasks: 9, After: 1})
		a, b := s.assign(0, 1), s.assign(1, 1)
		s.finish(20_001, a)
		if early := s.assign(0, 1); early.Task.Phase != 1 {
			t.Fatalf("slot 0 is given to %v, want an early task", early.Task)
		}
		s.end(20_002, sojourn.TaskFailed, b)
		s.observe(20_002, sojourn.Event{Kind: sojourn.TaskHeld, Task: b.Task}) // what the early tasks wait for cannot start
		s.declines(1)
		s.observe(20_100, sojourn.Event{Kind: sojourn.Tick})
		if waits {
			s.declines(1)
			continue
		}
		if id, ok := s.p.Seek(0); !ok || id != 1 {
			t.Errorf("Seek = %d, %v, want slot 1", id, ok)
		}
		s.assign(1, 1)
	}
}
