package hfsp_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
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
	s := stage{t, newWith(hfsp.Options{NodeDelay: 5 * time.Second, RackDelay: 10 * time.Second, Late: vqueue.LateFirst})}
	s.observe(0, sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 1, Rack: 1}})
	s.observe(0, sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: 1, Rack: 1}})
	s.node(0, 2, 1, 1)
	local := sojourn.Phase{Tasks: 4, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}, {1}, {1}, {1}})}
	s.arrive(0, 1, local)
	s.finish(1000, s.assign(2, 1)) // so the phase may leave 62.5 s of a slot unused
	s.node(1000, 0, 2, 1)          // on the rack of node 1
	s.node(1000, 1, 3, 2)
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
	if at, ok := s.p.NextWake(); !ok || at != 1005*second {
		t.Fatalf("NextWake = %v, %v, want 1005s", at, ok)
	}
	s.observe(1005, sojourn.Event{Kind: sojourn.Tick})
	if a, ok := s.p.Assign(1); ok {
		t.Fatalf("Assign(1) = %+v, want none off the rack", a)
	}
	if a := s.assign(0, 1); a.Locality != sojourn.RackLocal {
		t.Errorf("assignment %+v, want one on the rack", a)
	}
	if at, ok := s.p.NextWake(); !ok || at != 1015*second {
		t.Fatalf("NextWake = %v, %v, want 1015s: a launch on the rack begins the second wait", at, ok)
	}
	s.arrive(1006, 2, tasks(1, 0))
	s.assign(1, 2) // passed over: the time counts although no slot is free
	s.observe(1016, sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 2}, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
	if a := s.assign(1, 1); a.Locality != sojourn.Remote {
		t.Errorf("assignment %+v, want a remote one", a)
	}
}

// With slow start, early tasks hold at most half of the slots, for EarlyDelay.
// Reference: docs/theory/hfsp.md, departures.
func TestEarlyTasksAreHeldBack(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{EarlyDelay: time.Minute})}
	for i := range sojourn.SlotID(4) {
		s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i, Class: sojourn.ReduceClass}})
	}
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 9}})
	s.arrive(0, 1, tasks(2, 0), sojourn.Phase{Tasks: 4, Class: sojourn.ReduceClass, After: 1})
	s.finish(1, s.assign(9, 1))
	last := s.assign(9, 1)
	s.assign(0, 1)
	s.assign(1, 1)
	if a, ok := s.p.Assign(2); ok {
		t.Fatalf("Assign(2) = %+v, want none: half of the slots are held", a)
	}
	if _, ok := s.p.Seek(sojourn.ReduceClass); ok {
		t.Fatal("Seek finds a slot for an early task")
	}
	attrs, _ := s.p.Explain(1)
	if text := attrs[len(attrs)-1].String(); !strings.Contains(text, "held_back") {
		t.Errorf("Explain = %v, want held_back in it", attrs)
	}
	s.arrive(2, 2, sojourn.Phase{Tasks: 1, Class: sojourn.ReduceClass})
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
		s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i, Class: sojourn.ReduceClass}})
	}
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 9}})
	s.arrive(0, 1, tasks(2, 0), sojourn.Phase{Tasks: 4, Class: sojourn.ReduceClass, After: 1})
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
// Reference: docs/theory/hfsp.md, departures.
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
	s := stage{t, exact(hfsp.Options{Preemption: hfsp.KillAny, EarlySlots: ptr(9)})}
	s.slots(0, 9)
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Class: sojourn.ReduceClass}})
	s.arrive(0, 1, sojourn.Phase{Tasks: 9, Class: sojourn.ReduceClass, Estimate: 20 * time.Second})
	s.assign(0, 1)
	s.arrive(1, 2, tasks(2, 1), sojourn.Phase{Tasks: 4, Class: sojourn.ReduceClass, Estimate: time.Second, After: 1})
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

// After slots were lost, a task that waits for the phase before may hold the last one.
// It is named to be killed also with Wait: what it waits for could never run.
// Reference: docs/theory/hfsp.md, departures.
func TestEarlyTaskGivesWayWhenSlotsAreLost(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(2, 0), sojourn.Phase{Tasks: 4, After: 1})
	first, last := s.assign(0, 1), s.assign(1, 1)
	s.finish(1, first)
	early := s.assign(0, 1)
	s.observe(2, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	if list := s.p.AppendPreemptions(nil); len(list) > 0 {
		t.Errorf("AppendPreemptions = %+v, want none: the other slot still works", list)
	}
	s.observe(2, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: last.Task, Attempt: last.Attempt, Slot: sojourn.Slot{ID: 1}})
	want := sojourn.Preemption{Task: early.Task, Attempt: early.Attempt, Slot: 0, For: 1}
	if list := s.p.AppendPreemptions(nil); len(list) != 1 || list[0] != want {
		t.Fatalf("AppendPreemptions = %+v, want %+v", list, want)
	}
	s.observe(3, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted, Task: early.Task, Attempt: early.Attempt, Slot: sojourn.Slot{ID: 0}})
	a := s.assign(0, 1)
	if a.Task != last.Task {
		t.Fatalf("slot 0 is given to %v, want %v", a.Task, last.Task)
	}
	s.drain(4, a)
}

// The same after the output of a finished task is lost; of two tasks that wait the
// younger one goes.
func TestEarlyTaskGivesWayWhenOutputIsLost(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(1, 0), tasks(4, 0))
	first := s.assign(0, 1)
	s.finish(1, first)
	old := s.assign(1, 1)
	s.observe(2, sojourn.Event{Kind: sojourn.Tick})
	young := s.assign(0, 1)
	s.observe(3, sojourn.Event{Kind: sojourn.OutputLost, Task: first.Task, Attempt: first.Attempt})
	if list := s.p.AppendPreemptions(nil); len(list) != 1 || list[0].Task != young.Task {
		t.Fatalf("AppendPreemptions = %+v, want task %v", list, young.Task)
	}
	s.observe(3, sojourn.Event{Kind: sojourn.TaskPinned, Task: young.Task, Attempt: young.Attempt, Slot: sojourn.Slot{ID: young.Slot}})
	if list := s.p.AppendPreemptions(nil); len(list) != 1 || list[0].Task != old.Task {
		t.Fatalf("AppendPreemptions = %+v, want task %v: the younger one may not be killed", list, old.Task)
	}
	s.observe(3, sojourn.Event{Kind: sojourn.TaskPinned, Task: old.Task, Attempt: old.Attempt, Slot: sojourn.Slot{ID: old.Slot}})
	if list := s.p.AppendPreemptions(nil); len(list) != 0 {
		t.Fatalf("AppendPreemptions = %+v, want none: neither may be killed", list)
	}
	s.end(3, sojourn.TaskFailed, young)
	if a := s.assign(0, 1); a.Task != first.Task {
		t.Fatalf("slot 0 is given to %v, want %v", a.Task, first.Task)
	}
	if list := s.p.AppendPreemptions(nil); len(list) > 0 {
		t.Errorf("AppendPreemptions = %+v, want none any more", list)
	}
}

// Whatever is lost, and however tasks wait for the phase before and for their inputs,
// a driver that kills what it is asked to kill comes to an end: early tasks never end
// by themselves here before they have their input.
// Reference: docs/theory/hfsp.md, departures.
func TestEarlyTasksBlockNobodyForGood(t *testing.T) {
	history := func(t *rapid.T) int {
		opts := hfsp.Options{TrainingTasks: rapid.IntRange(1, 4).Draw(t, "t"), EarlyDelay: time.Second}
		if rapid.Bool().Draw(t, "limit") {
			opts.EarlySlots = ptr(rapid.SampledFrom([]int{0, 1, 9}).Draw(t, "early"))
		}
		if rapid.Bool().Draw(t, "kill") {
			opts.Preemption, opts.KillFraction = rapid.SampledFrom([]hfsp.Preemption{hfsp.Kill, hfsp.KillAny}).Draw(t, "preemption"), 0.5
		}
		if rapid.Bool().Draw(t, "delay") {
			opts.NodeDelay, opts.RackDelay = 3*time.Second, time.Second
		}
		y := &yard{t: t, p: newWith(opts), classes: rapid.IntRange(1, 3).Draw(t, "classes")}
		for range rapid.IntRange(1, 4).Draw(t, "slots") {
			y.add()
		}
		for id := range rapid.IntRange(1, 3).Draw(t, "jobs") {
			y.arrive(sojourn.JobID(id + 1))
		}
		t.Repeat(map[string]func(*rapid.T){
			"run": func(t *rapid.T) { y.offer() },
			"end": func(t *rapid.T) { y.finish() },
			"wait": func(t *rapid.T) {
				y.now += sojourn.Time(rapid.IntRange(1, 4000).Draw(t, "dt")) * ms
				y.observe(sojourn.Event{Kind: sojourn.Tick})
			},
			"add":  func(t *rapid.T) { y.add() },
			"lose": func(t *rapid.T) { y.lose() },
			"output": func(t *rapid.T) {
				if len(y.done) > 0 {
					y.outputLost(rapid.IntRange(0, len(y.done)-1).Draw(t, "done"))
				}
			},
		})
		for c := range y.classes {
			if !slices.ContainsFunc(y.runs, func(s *yardSlot) bool { return s.Class == sojourn.Class(c) }) {
				y.addOf(c)
			}
		}
		y.drain()
		return y.kills
	}
	rapid.Check(t, func(t *rapid.T) { history(t) })
	hfsp.Happens(t, "nothing was ever to be killed", history)
}

const ms = sojourn.Time(time.Millisecond)

// A yard is a cluster whose tasks of a phase end only when the phase before has
// finished. Jobs have their phases on any of its classes.
type yard struct {
	t       *rapid.T
	p       *hfsp.Policy
	classes int
	now     sojourn.Time

	left  map[[2]uint64]int // tasks not done, by job and phase
	runs  []*yardSlot
	done  []sojourn.Assignment
	next  sojourn.SlotID
	kills int

	times map[sojourn.TaskID]int // how often each was killed; nil if it may be killed again
	again int                    // tasks that were started after they were killed
}

type yardSlot struct {
	sojourn.Slot
	a    sojourn.Assignment
	busy bool
}

func (y *yard) observe(ev sojourn.Event) {
	ev.At = y.now
	if err := y.p.Observe(ev); err != nil {
		y.t.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (y *yard) add() { y.addOf(rapid.IntRange(0, y.classes-1).Draw(y.t, "class")) }

func (y *yard) addOf(class int) {
	s := sojourn.Slot{ID: y.next, Node: sojourn.NodeID(y.next%3 + 1), Rack: sojourn.RackID(y.next%3/2 + 1), Class: sojourn.Class(class)}
	y.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
	y.runs = append(y.runs, &yardSlot{Slot: s})
	y.next++
}

func (y *yard) arrive(id sojourn.JobID) {
	j := &sojourn.Job{ID: id}
	for i := range rapid.IntRange(1, 3).Draw(y.t, "phases") {
		ph := sojourn.Phase{Tasks: rapid.IntRange(1, 5).Draw(y.t, "tasks"), Class: sojourn.Class(rapid.IntRange(0, y.classes-1).Draw(y.t, "class"))}
		if i > 0 {
			ph.After = rapid.IntRange(0, j.Phases[i-1].Tasks).Draw(y.t, "after")
		}
		nodes := make([][]sojourn.NodeID, ph.Tasks)
		for k := range nodes {
			nodes[k] = []sojourn.NodeID{sojourn.NodeID(rapid.IntRange(1, 4).Draw(y.t, "node"))}
		}
		ph.Inputs = sojourn.MakeInputs(nodes)
		j.Phases = append(j.Phases, ph)
	}
	y.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})

	if y.left == nil {
		y.left = map[[2]uint64]int{}
	}
	for i := range j.Phases {
		y.left[[2]uint64{uint64(id), uint64(i)}] = j.Phases[i].Tasks
	}
}

// offer offers slots until none is taken, kills what is to be killed, and starts over.
func (y *yard) offer() {
	for round := 0; ; round++ {
		if round > 100 {
			y.t.Fatalf("at %v slots are given away and taken back again and again", y.now)
		}
		for c := range y.classes {
			for id, ok := y.p.Seek(sojourn.Class(c)); ok; id, ok = y.p.Seek(sojourn.Class(c)) {
				a, ok := y.p.Assign(id)
				if !ok {
					y.t.Fatalf("Seek names slot %d, and Assign declines it", id)
				}
				if y.times[a.Task] > 0 {
					y.again++
				}
				for _, s := range y.runs {
					if s.ID == id {
						s.a, s.busy = a, true
					}
				}
			}
		}
		list := y.p.AppendPreemptions(nil)
		if len(list) == 0 {
			return
		}
		for _, v := range list {
			for _, s := range y.runs {
				if s.ID == v.Slot {
					s.busy = false
				}
			}
			y.kills++
			if y.times != nil {
				if y.works(v.Task) && y.times[v.Task] > 0 {
					y.t.Fatalf("at %v %+v is to be killed again", y.now, v)
				}
				y.times[v.Task]++
			}
			y.observe(sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted, Task: v.Task, Attempt: v.Attempt, Slot: sojourn.Slot{ID: v.Slot}})
		}
	}
}

// works reports whether a task has its input.
func (y *yard) works(id sojourn.TaskID) bool {
	return id.Phase == 0 || y.left[[2]uint64{uint64(id.Job), uint64(id.Phase - 1)}] == 0
}

// finish ends the first task that has its input, if there is one.
func (y *yard) finish() bool {
	for _, s := range y.runs {
		id := s.a.Task
		if !s.busy || !y.works(id) {
			continue
		}
		s.busy = false
		y.done = append(y.done, s.a)
		y.left[[2]uint64{uint64(id.Job), uint64(id.Phase)}]--
		y.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: id, Attempt: s.a.Attempt, Slot: s.Slot})
		return true
	}
	return false
}

// lose loses the first slot, with what runs there.
func (y *yard) lose() {
	if len(y.runs) == 0 {
		return
	}
	s := y.runs[0]
	y.runs = y.runs[1:]
	y.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s.Slot})
	if s.busy {
		y.observe(sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: s.a.Task, Attempt: s.a.Attempt, Slot: s.Slot})
	}
}

// outputLost loses what a task of a job that is not complete has put out.
func (y *yard) outputLost(i int) {
	a := y.done[i]
	if _, ok := y.p.Explain(a.Task.Job); !ok {
		return
	}
	y.done = append(y.done[:i:i], y.done[i+1:]...)
	y.left[[2]uint64{uint64(a.Task.Job), uint64(a.Task.Phase)}]++
	y.observe(sojourn.Event{Kind: sojourn.OutputLost, Task: a.Task, Attempt: a.Attempt})
}

// drain runs all that is left.
func (y *yard) drain() {
	for range 500 {
		y.offer()
		if len(y.p.AppendRanking(nil)) == 0 {
			return
		}
		if y.finish() {
			y.now += ms
			continue
		}
		at, ok := y.p.NextWake()
		if !ok {
			break
		}
		y.now = max(y.now, at)
		y.observe(sojourn.Event{Kind: sojourn.Tick})
	}
	for _, id := range y.p.AppendRanking(nil) {
		attrs, _ := y.p.Explain(id)
		y.t.Logf("job %d: %v", id, attrs)
	}
	y.t.Fatalf("at %v nothing moves any more", y.now)
}

// A phase that is passed over for the sake of locality, and held back as soon as another
// early task has started in its stead, does not count that time as a wait: what it could
// not have used is no wait. A policy that is restored has the same state.
func TestWhoIsHeldBackDoesNotWait(t *testing.T) {
	opts := hfsp.Options{NodeDelay: 5 * time.Second, Late: vqueue.LateFirst, EarlySlots: ptr(1)}
	s := stage{t, newWith(opts)}
	s.slots(0, 0, 1, 2, 3)
	for id := range sojourn.SlotID(2) {
		s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 8 + id, Node: 2, Class: 1}})
	}
	far := sojourn.Phase{Tasks: 2, Class: 1, After: 1, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{9}, {9}})}
	s.arrive(0, 1, tasks(2, 0), far)
	s.arrive(0, 2, tasks(2, 0), sojourn.Phase{Tasks: 2, Class: 1, After: 1})
	for i := range sojourn.SlotID(4) {
		a := s.assign(i, sojourn.JobID(1+i/2))
		if i%2 == 1 {
			s.finish(1, a)
		}
	}
	s.assign(8, 2) // job 1 is first, and passed over
	locality := func(p *hfsp.Policy) string {
		attrs, _ := p.Explain(1)
		return attrs[len(attrs)-1].String()
	}
	if text := locality(s.p); !strings.Contains(text, "held_back") || strings.Contains(text, "locality") {
		t.Errorf("Explain = %v, want it to be held back, and to wait for nothing else", text)
	}
	saved, err := s.p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	restored := newWith(opts)
	if err := restored.UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
	if again, _ := restored.AppendBinary(nil); !bytes.Equal(saved, again) {
		t.Errorf("%d bytes saved, %d after they were restored, want the same", len(saved), len(again))
	}
}

// Where a phase shares its class with the one it waits for, the last slot is not for early
// tasks, whatever EarlySlots says: all but one are.
// Reference: Options.EarlySlots.
func TestEarlyTasksLeaveTheLastSlot(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{EarlySlots: ptr(9), TrainingSlots: ptr(0)})}
	s.slots(0, 0, 1, 2)
	s.arrive(0, 1, tasks(4, 0), sojourn.Phase{Tasks: 9, After: 1})
	a, b, c := s.assign(0, 1), s.assign(1, 1), s.assign(2, 1)
	s.finish(1, a)
	last := s.assign(0, 1)
	for at, a := range []sojourn.Assignment{b, c} {
		s.finish(float64(2+at), a)
		if early := s.assign(a.Slot, 1); early.Task.Phase != 1 {
			t.Fatalf("slot %d is given to %v, want an early task", a.Slot, early.Task)
		}
	}
	s.observe(4, sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Phase: 1, Index: 8}})
	s.end(4, sojourn.TaskFailed, last)
	s.observe(4, sojourn.Event{Kind: sojourn.TaskHeld, Task: last.Task})
	if a, ok := s.p.Assign(0); ok {
		t.Fatalf("the last slot is given to %v", a.Task)
	}
	s.observe(5, sojourn.Event{Kind: sojourn.TaskReady, Task: last.Task})
	if again := s.assign(0, 1); again.Task != last.Task {
		t.Fatalf("the last slot is given to %v, want %v", again.Task, last.Task)
	}
}

// The last slot is kept as soon as some phase waits for one of its own class, also from
// those that wait for a phase of a lower one.
func TestTheLastSlotIsKeptForOthersToo(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{EarlySlots: ptr(9), TrainingSlots: ptr(0)})}
	s.slots(0, 9)
	for id := range sojourn.SlotID(2) {
		s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: 1}})
	}
	of := func(n, after int) sojourn.Phase { return sojourn.Phase{Tasks: n, Class: 1, After: after} }
	s.arrive(0, 1, tasks(2, 0), of(9, 1))
	s.finish(1, s.assign(9, 1))
	s.assign(0, 1)
	s.arrive(2, 2, of(2, 0), of(9, 1))
	s.observe(2, sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 2, Index: 1}})
	s.observe(2, sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 2}})
	if a, ok := s.p.Assign(1); ok {
		t.Fatalf("the last slot is given to %v", a.Task)
	}
	s.observe(3, sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 2}})
	s.assign(1, 1)
}

// Jobs do not wait for each other in a circle that have their phases on the same classes
// in another order, however small those are that wait.
// Reference: Options.EarlySlots.
func TestEarlyTasksDoNotBlockInACircle(t *testing.T) {
	for n := sojourn.Class(2); n <= 4; n++ {
		s := stage{t, exact(hfsp.Options{EarlySlots: ptr(9)})}
		var first []sojourn.Assignment
		for c := range n {
			s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(c), Class: c}})
			s.arrive(0, 1+sojourn.JobID(c),
				sojourn.Phase{Tasks: 2, Class: c, Estimate: time.Minute},
				sojourn.Phase{Tasks: 1, Class: (c + 1) % n, Estimate: time.Second, After: 1})
			first = append(first, s.assign(sojourn.SlotID(c), 1+sojourn.JobID(c)))
		}
		for _, a := range first {
			s.finish(1, a)
		}
		waiting := 0
		for c := range n {
			if a, ok := s.p.Assign(sojourn.SlotID(c)); ok && a.Task.Phase == 1 {
				waiting++
			}
		}
		if waiting != int(n)-1 {
			t.Errorf("%d tasks wait in %d slots for phases before, want in all but one", waiting, n)
		}
	}
}
