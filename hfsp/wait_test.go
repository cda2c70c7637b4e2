package hfsp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
)

// node adds a slot on a node of a rack.
func (s stage) node(at float64, id sojourn.SlotID, node sojourn.NodeID, rack sojourn.RackID) {
	s.t.Helper()
	s.observe(at, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: node, Rack: rack}})
}

// A job whose input is on node 1 lets others go first: on its node at once, on its
// rack after D1, anywhere after D1 + D2; and from when a slot was given to another
// job in its stead the time counts.
// Reference: HFSP, section III-C, "Data locality"; Zaharia et al. 2010, algorithm 3.
func TestDelayScheduling(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{NodeDelay: 5 * time.Second, RackDelay: 10 * time.Second, Late: hfsp.LateFirst})}
	s.node(0, 0, 2, 1) // on the rack of node 1
	s.node(0, 1, 3, 2)
	s.observe(0, sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 1, Rack: 1}})
	s.observe(0, sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: 1, Rack: 1}})
	s.node(0, 2, 1, 1)
	local := sojourn.Phase{Tasks: 3, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}, {1}, {1}})}
	s.arrive(0, 1, local)
	if slot, ok := s.p.Seek(0); !ok || slot != 2 {
		t.Fatalf("Seek = %d, %v, want 2, the slot on the node", slot, ok)
	}
	if a := s.assign(2, 1); a.Locality != sojourn.NodeLocal || a.Source != 1 {
		t.Errorf("assignment %+v, want one on the node", a)
	}
	for slot := range sojourn.SlotID(2) {
		if a, ok := s.p.Assign(slot); ok {
			t.Fatalf("Assign(%d) = %+v, want none", slot, a)
		}
	}
	if at, ok := s.p.NextWake(); !ok || at != 5*second {
		t.Fatalf("NextWake = %v, %v, want 5s", at, ok)
	}
	s.observe(5, sojourn.Event{Kind: sojourn.Tick})
	if a, ok := s.p.Assign(1); ok {
		t.Fatalf("Assign(1) = %+v, want none off the rack", a)
	}
	if a := s.assign(0, 1); a.Locality != sojourn.RackLocal {
		t.Errorf("assignment %+v, want one on the rack", a)
	}
	if at, ok := s.p.NextWake(); !ok || at != 15*second {
		t.Fatalf("NextWake = %v, %v, want 15s: a launch on the rack begins the second wait", at, ok)
	}
	s.arrive(6, 2, tasks(1, 0))
	s.assign(1, 2) // passed over: the time counts although no slot is free
	s.observe(16, sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 2}, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
	if a := s.assign(1, 1); a.Locality != sojourn.Remote {
		t.Errorf("assignment %+v, want a remote one", a)
	}
}

// With slow start, early tasks hold at most half of the slots, for EarlyDelay.
// Reference: package comment, departures.
func TestEarlyTasksAreHeldBack(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{EarlyDelay: time.Minute})}
	for i := range sojourn.SlotID(4) {
		s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i, Class: sojourn.Reduce}})
	}
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 9}})
	s.arrive(0, 1, tasks(2, 0), sojourn.Phase{Tasks: 4, Class: sojourn.Reduce, After: 1})
	s.finish(1, s.assign(9, 1))
	last := s.assign(9, 1)
	s.assign(0, 1)
	s.assign(1, 1)
	if a, ok := s.p.Assign(2); ok {
		t.Fatalf("Assign(2) = %+v, want none: half of the slots are held", a)
	}
	if _, ok := s.p.Seek(sojourn.Reduce); ok {
		t.Fatal("Seek finds a slot for an early task")
	}
	attrs, _ := s.p.Explain(1)
	if text := attrs[len(attrs)-1].String(); !strings.Contains(text, "held_back") {
		t.Errorf("Explain = %v, want held_back in it", attrs)
	}
	s.arrive(2, 2, sojourn.Phase{Tasks: 1, Class: sojourn.Reduce})
	s.assign(2, 2)
	if at, ok := s.p.NextWake(); !ok || at != 61*second {
		t.Fatalf("NextWake = %v, %v, want 1m1s", at, ok)
	}
	s.observe(61, sojourn.Event{Kind: sojourn.Tick})
	s.assign(3, 1)
	s.finish(62, last)
}

// As soon as the phase before has finished, nothing is early.
func TestEarlyTasksEndWithThePhaseBefore(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{})}
	for i := range sojourn.SlotID(2) {
		s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i, Class: sojourn.Reduce}})
	}
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 9}})
	s.arrive(0, 1, tasks(2, 0), sojourn.Phase{Tasks: 4, Class: sojourn.Reduce, After: 1})
	s.finish(1, s.assign(9, 1))
	last := s.assign(9, 1)
	s.assign(0, 1)
	if _, ok := s.p.Assign(1); ok {
		t.Fatal("Assign(1) starts a second early task on two slots")
	}
	s.finish(2, last)
	s.assign(1, 1)
}

// Where the phases of a job share a class, tasks of the second do not keep the first
// from its slots, however long they have waited: the job would wait for itself.
// Reference: package comment, departures.
func TestEarlyTasksDoNotBlockTheirOwnJob(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingSlots: ptr(0), DefaultTaskTime: time.Hour, EarlyDelay: time.Minute})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(6, 0), sojourn.Phase{Tasks: 4, After: 1})
	first, working := s.assign(0, 1), s.assign(1, 1)
	s.finish(70, first)
	if a := s.assign(0, 1); a.Task.Phase != 1 {
		t.Fatalf("slot 0 is given to %v, want an early task", a.Task)
	}
	for at := 140.0; at < 144; at++ { // phase 1 is held back no more
		s.finish(at, working)
		if working = s.assign(1, 1); working.Task.Phase != 0 {
			t.Fatalf("at %vs slot 1 is given to %v: nothing is left for what that waits for", at, working.Task)
		}
	}
	s.finish(144, working)
	if a := s.assign(1, 1); a.Task.Phase != 1 {
		t.Fatalf("slot 1 is given to %v", a.Task)
	}
}

// Nothing is killed for tasks that would wait in the slot for the phase before.
func TestNothingIsKilledForEarlyTasks(t *testing.T) {
	s := stage{t, exact(hfsp.Options{Preemption: hfsp.Kill, EarlySlots: ptr(9)})}
	s.slots(0, 9)
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Class: sojourn.Reduce}})
	s.arrive(0, 1, sojourn.Phase{Tasks: 9, Class: sojourn.Reduce, Estimate: 20 * time.Second})
	s.assign(0, 1)
	s.arrive(1, 2, tasks(2, 1), sojourn.Phase{Tasks: 4, Class: sojourn.Reduce, Estimate: time.Second, After: 1})
	s.finish(2, s.assign(9, 2))
	last := s.assign(9, 2)
	if list := s.p.AppendPreemptions(nil); len(list) > 0 {
		t.Errorf("AppendPreemptions = %+v, want none", list)
	}
	s.finish(3, last)
	if list := s.p.AppendPreemptions(nil); len(list) != 1 || list[0].For != 2 {
		t.Errorf("AppendPreemptions = %+v, want one for job 2", list)
	}
}
