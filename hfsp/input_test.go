package hfsp_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// drain runs all that is left, a second a task, and fails if that does not end.
func (s stage) drain(at float64, running ...sojourn.Assignment) {
	s.t.Helper()
	for range 1000 {
		for c := sojourn.Class(0); c < 2; c++ {
			for {
				slot, ok := s.p.Seek(c)
				if !ok {
					break
				}
				a, ok := s.p.Assign(slot)
				if !ok {
					s.t.Fatalf("Seek names slot %d, and Assign declines it", slot)
				}
				running = append(running, a)
			}
		}
		if len(running) == 0 {
			break
		}
		at++
		s.finish(at, running[0])
		running = running[1:]
	}
	if live := s.p.AppendRanking(nil); len(live) > 0 {
		s.t.Errorf("jobs %v are left", live)
	}
}

// Without estimates, with some of 0, and with absurd ones, all jobs are served, and
// those that say nothing absurd are not served last for it.
func TestEstimatesAbsentZeroAbsurd(t *testing.T) {
	const absurd = math.MaxInt64 / 8 * time.Nanosecond
	s := stage{t, exact(hfsp.Options{TrainingTasks: 2, TrainingSlots: ptr(1)})}
	s.slots(0, 0)
	s.arrive(0, 1, sojourn.Phase{Tasks: 8, Estimate: absurd})
	s.arrive(0, 2, sojourn.Phase{Tasks: 8})
	s.arrive(0, 3, sojourn.Phase{Tasks: 3, Estimates: []time.Duration{0, time.Second, 0}})
	s.arrive(0, 4, sojourn.Phase{Tasks: 3, Estimates: []time.Duration{1, 1, 1}})
	for id, stage := range map[sojourn.JobID]string{1: "known", 2: "training", 3: "training", 4: "known"} {
		s.want(id, "stage", stage)
	}
	s.assign(0, 3) // training
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	s.assign(1, 4)
	s.slots(0, 2)
	s.drain(0, sojourn.Assignment{Task: sojourn.TaskID{Job: 3}, Attempt: 1, Slot: 0}, sojourn.Assignment{Task: sojourn.TaskID{Job: 4}, Attempt: 1, Slot: 1})

	// Sums that no Duration holds are limited, not wrapped around.
	s = stage{t, newWith(hfsp.Options{TrainingTasks: 1, DefaultTaskTime: math.MaxInt64, Xi: 1e9})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(sojourn.MaxTasks, 0))
	s.arrive(0, 2, tasks(3, 0))
	s.want(1, "S_i", float64(math.MaxInt64)/1e9)
	a := s.assign(0, 1)
	s.observe(1, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Service: math.MaxInt64})
	s.want(1, "s", float64(math.MaxInt64/sojourn.MaxTasks)/1e9)
}

// A report of less service than an earlier one is old, and changes nothing; one of
// less progress after more service is believed.
func TestProgressGoesBackwards(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 1})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(4, 0))
	a := s.assign(0, 1)
	report := func(at float64, service time.Duration, progress uint16) {
		s.observe(at, sojourn.Event{Kind: sojourn.TaskProgress, Task: a.Task, Attempt: a.Attempt, Service: service * time.Second, Progress: progress})
	}
	report(30, 30, 5000)
	report(40, 20, 9000) // overtaken by the one before
	report(50, 50, 2500)
	report(55, 45, 9000) // and so was this one
	s.observe(59.5, sojourn.Event{Kind: sojourn.Tick})
	s.want(1, "stage", "training")
	s.observe(60, sojourn.Event{Kind: sojourn.Tick})
	s.want(1, "s", 200.0)
	report(70, 70, 1000) // too late: S_f is set once
	s.want(1, "s", 200.0)
	s.drain(70, a)
}

// Progress beyond 1 is refused, and changes nothing. Progress of 1 before the end is
// taken at its word.
func TestProgressBeyondOne(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 1})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(4, 0))
	a := s.assign(0, 1)
	before, err := s.p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	ev := sojourn.Event{Kind: sojourn.TaskProgress, At: 70 * second, Task: a.Task, Attempt: a.Attempt, Progress: sojourn.MaxProgress + 1}
	if err := s.p.Observe(ev); !errors.Is(err, sojourn.ErrInvalidEvent) {
		t.Errorf("Observe(%v) = %v, want ErrInvalidEvent", ev, err)
	}
	after, _ := s.p.AppendBinary(nil)
	if string(before) != string(after) {
		t.Error("a refused event changed something")
	}
	s.progress(80, a, 1)
	s.want(1, "s", 80.0)
	s.drain(80, a)
}

// Without any report of progress a training task is a sample when it ends, and holds its
// training slot until then.
func TestNoProgressReports(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 1, TrainingSlots: ptr(1)})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(4, 0))
	a := s.assign(0, 1)
	if at, ok := s.p.NextWake(); !ok || at != 60*second {
		t.Errorf("NextWake() = %v, %v, want 1m0s", at, ok)
	}
	s.want(1, "training_slots", "1 of 1 held")
	s.observe(60, sojourn.Event{Kind: sojourn.Tick})
	s.want(1, "training_slots", "1 of 1 held")
	s.want(1, "stage", "training")
	s.finish(300, a)
	s.want(1, "S_f", 900.0)
	s.drain(300)
}

// A training task that is lost, killed or refused gives its training slot back once,
// and another one is trained in its place, with priority.
func TestTrainingTaskIsLostKilledRefused(t *testing.T) {
	for _, tc := range []sojourn.Event{
		{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost},
		{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
		{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask},
		{Kind: sojourn.TaskRefused},
	} {
		s := stage{t, newWith(hfsp.Options{TrainingTasks: 2, TrainingSlots: ptr(2)})}
		s.slots(0, 0, 1, 2)
		s.arrive(0, 1, tasks(1, 0)) // tiny
		s.arrive(0, 2, tasks(4, 0))
		a, b := s.assign(0, 2), s.assign(1, 2)
		s.want(2, "training_slots", "2 of 2 held")
		tc.Task, tc.Attempt, tc.Slot = a.Task, a.Attempt, sojourn.Slot{ID: a.Slot}
		s.observe(5, tc)
		s.want(2, "training_slots", "1 of 2 held")
		s.want(2, "training", "0 of 2 tasks known, 1 running")
		if a = s.assign(2, 2); a.Task.Index != 0 || a.Attempt != 2 {
			t.Errorf("%v: attempt %d at task %v is trained next, want attempt 2 at task 0", tc.Kind, a.Attempt, a.Task)
		}
		s.finish(10, b)
		s.finish(25, a)
		s.want(2, "s", 15.0)
		s.drain(25)
	}
}

// A phase whose training tasks fail by their own fault again and again loses the
// priority, not its turn.
func TestTrainingTasksThatAlwaysFail(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 2, TrainingSlots: ptr(1)})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(4, 0))
	s.arrive(0, 2, tasks(1, 0))
	s.end(1, sojourn.TaskFailed, s.assign(0, 1))
	s.end(2, sojourn.TaskFailed, s.assign(0, 1))
	s.want(1, "training_priority", "lost after 2 failures")
	s.finish(3, s.assign(0, 2))
	s.finish(4, s.assign(0, 1))
	s.finish(5, s.assign(0, 1))
	s.want(1, "stage", "trained")
	s.drain(5)
}

// When all slots are lost, with what runs there, ageing stops; when they return, it
// goes on, and so do all jobs.
func TestAllSlotsLostAndReturned(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 2, DefaultTaskTime: 10 * time.Second})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(4, 0))
	s.arrive(0, 2, tasks(1, 0))
	a, b := s.assign(0, 1), s.assign(1, 2)
	for i, a := range []sojourn.Assignment{a, b} {
		s.observe(5, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
		s.observe(5, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	}
	s.want(1, "v", 30.0)
	s.want(1, "training_slots", "0 of 0 held")
	s.observe(1000, sojourn.Event{Kind: sojourn.Tick})
	s.want(1, "v", 30.0)
	s.slots(1000, 0)
	s.observe(1001, sojourn.Event{Kind: sojourn.Tick})
	s.want(1, "v", 29.0)
	s.drain(1001)
}

// The description of a job grows, shrinks and gains estimates while it is trained.
func TestRevisions(t *testing.T) {
	s := stage{t, exact(hfsp.Options{TrainingTasks: 3})}
	s.slots(0, 0)
	revise := func(at float64, ph sojourn.Phase) {
		s.observe(at, sojourn.Event{Kind: sojourn.JobRevised, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{ph}}})
	}
	s.arrive(0, 1, tasks(2, 0))
	s.want(1, "stage", "tiny")
	revise(0, tasks(5, 0))
	s.want(1, "stage", "training")
	s.want(1, "v", 300.0)
	a := s.assign(0, 1)
	revise(1, tasks(6, 0))
	s.want(1, "v", 359.0)
	revise(2, tasks(2, 0))
	s.want(1, "stage", "tiny")
	revise(2, tasks(6, 7))
	s.want(1, "stage", "known")
	s.drain(2, a)
}

func TestOptionsOutOfRange(t *testing.T) {
	for name, opts := range map[string]hfsp.Options{
		"t":                 {TrainingTasks: -1},
		"T":                 {TrainingSlots: ptr(-1)},
		"delta":             {Delta: -1},
		"xi below 1":        {Xi: 0.5},
		"xi NaN":            {Xi: math.NaN()},
		"xi infinite":       {Xi: math.Inf(1)},
		"default task time": {DefaultTaskTime: -1},
		"late":              {Late: 3},
		"preemption":        {Preemption: 3},
		"kill fraction":     {KillFraction: -0.1},
		"kill fraction NaN": {KillFraction: math.NaN()},
		"early slots":       {EarlySlots: ptr(-1)},
		"early delay":       {EarlyDelay: -1},
		"node delay":        {NodeDelay: -1},
		"rack delay":        {RackDelay: -1},
		"estimator":         {Estimator: func() hfsp.Estimator { return nil }},
	} {
		if p, err := hfsp.New(opts); err == nil || p != nil {
			t.Errorf("%s: New = %v, %v, want an error", name, p, err)
		}
	}
}

// Work to be done again is more work; and the time that a task waits for the phase
// before is none.
func TestLostOutputAndLateInput(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 1, TrainingSlots: ptr(2), EarlySlots: ptr(9)})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(2, 0), sojourn.Phase{Tasks: 3, After: 1})
	first := s.assign(0, 1)
	s.finish(10, first)
	s.want(1, "v", 0.0) // 20 s of S_i = 120 less 2*10 s of ageing and 100 of the estimate
	second, early := s.assign(0, 1), s.assign(1, 1)
	if early.Task.Phase != 1 {
		second, early = early, second
	}
	s.observe(20, sojourn.Event{Kind: sojourn.OutputLost, Task: first.Task, Attempt: first.Attempt})
	s.finish(100, second)
	again := s.assign(second.Slot, 1)
	s.finish(110, again)
	s.finish(117, early)
	attrs, _ := s.p.Explain(1)
	if text := attrs[len(attrs)-1].String(); !strings.Contains(text, "s=7 ") {
		t.Errorf("Explain = %v, want s=7 in it: the task waited until 110", text)
	}
}

// A task whose output is lost is done again: v grows by the time of one task.
func TestLostOutputIsWork(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 1})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(20, 0), tasks(1, 0))
	first := s.assign(0, 1)
	s.finish(10, first)
	s.want(1, "v", 180.0) // 1200 of S_i less 2*10 of ageing and 1000 of the estimate
	s.observe(10, sojourn.Event{Kind: sojourn.OutputLost, Task: first.Task, Attempt: first.Attempt})
	s.want(1, "v", 190.0)
}

// A size that was wrong is forgotten with its job, whether that finishes, fails or is
// cancelled: from then on it ages by what it took and was not given yet, here of 4 s.
// Reference: docs/theory/hfsp.md, departures.
func TestAbsurdSizeGoesWithItsJob(t *testing.T) {
	cancel := sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}}
	for how, leave := range map[string]func(stage, sojourn.Assignment){
		"finished":  func(s stage, a sojourn.Assignment) { s.finish(4, a) },
		"cancelled": func(s stage, a sojourn.Assignment) { s.observe(4, cancel) },
		"cancelled after a failure": func(s stage, a sojourn.Assignment) {
			s.end(4, sojourn.TaskFailed, a)
			s.observe(4, cancel)
		},
	} {
		for _, opts := range []hfsp.Options{{}, {Late: vqueue.LateFirst}} {
			for _, tc := range []struct {
				estimate   float64
				at4, at9   float64 // v of the other job
				whatIsLeft string
			}{
				{1e9, 98, 95, "2 s, until 8"},
				{4, 98, 95, "2 s, until 8"},
				{1, 97, 94.5, "3 s, until 10"},
			} {
				s := stage{t, exact(opts)}
				s.slots(0, 0)
				s.arrive(0, 1, tasks(1, tc.estimate))
				a := s.assign(0, 1)
				s.arrive(0, 2, tasks(10, 10))
				leave(s, a)
				if got := s.told(2, "v"); got != tc.at4 {
					t.Errorf("%s, %+v, said to take %gs: at 4 v = %v, want %v", how, opts, tc.estimate, got, tc.at4)
				}
				s.observe(9, sojourn.Event{Kind: sojourn.Tick})
				if got := s.told(2, "v"); got != tc.at9 {
					t.Errorf("%s, %+v, said to take %gs: at 9 v = %v, want %v: %s was left", how, opts, tc.estimate, got, tc.at9, tc.whatIsLeft)
				}
			}
		}
	}
}

// A late phase owes what it took beyond what it was given, and not beyond its size: work
// that is done again makes that larger, and nothing is given for it. It owes nothing for
// what was taken from it. All of it is said, and charged when the phase leaves; job 2 is
// there only to age beside it.
// Reference: package comment, guarantees.
func TestLatePhaseOwesWhatItWasNotGiven(t *testing.T) {
	s := stage{t, exact(hfsp.Options{})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(2, 1), tasks(1, 0)) // of 2 s, and tiny
	s.finish(3, s.assign(0, 1))
	s.want(1, "late", true)
	s.want(1, "owed", 1.0) // 3 s taken, 2 given
	s.observe(3, sojourn.Event{Kind: sojourn.OutputLost, Task: sojourn.TaskID{Job: 1}, Attempt: 1})
	s.want(1, "late", true)
	s.want(1, "owed", 1.0) // although its size is 3 s now
	a := s.assign(0, 1)
	s.observe(5, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	s.want(1, "owed", 1.0)
	s.end(7, sojourn.TaskFailed, s.assign(0, 1))
	s.want(1, "owed", 3.0) // by its own fault
	s.finish(8, s.assign(0, 1))
	a = s.assign(0, 1)
	s.arrive(8, 2, tasks(10, 10))
	s.finish(10, a) // 8 s taken, 2 given: 6 s to go, of 8 that pass until 22
	s.want(2, "v", 98.0)
	for _, tc := range []struct{ at, v float64 }{{20, 93}, {22, 92}, {24, 90}} {
		s.observe(tc.at, sojourn.Event{Kind: sojourn.Tick})
		if got := s.told(2, "v"); got != tc.v {
			t.Errorf("at %v v = %v, want %v", tc.at, got, tc.v)
		}
	}
}

// What is trained in vain is not: an early phase has no priority, and takes no training
// slots from those of which something can be learnt.
// Reference: docs/theory/hfsp.md, departures.
func TestEarlyTasksHoldNoTrainingSlots(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{TrainingTasks: 2, TrainingSlots: ptr(1), EarlySlots: ptr(9)})}
	s.slots(0, 0, 1, 2)
	s.arrive(0, 1, sojourn.Phase{Tasks: 2, Class: 1}, sojourn.Phase{Tasks: 3, After: 1})
	s.observe(0, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 9, Class: 1}})
	s.finish(1, s.assign(9, 1))
	last := s.assign(9, 1)
	early := s.assign(0, 1)
	s.arrive(2, 2, tasks(20, 0))
	s.want(2, "training_slots", "0 of 1 held")
	s.assign(1, 2) // for training, although job 1 is smaller
	s.want(2, "training_slots", "1 of 1 held")
	s.assign(2, 1)
	s.finish(3, last)
	s.finish(8, early)
	attrs, _ := s.p.Explain(1)
	if text := attrs[len(attrs)-1].String(); !strings.Contains(text, "1 of 2 tasks known, 1 running") {
		t.Errorf("Explain = %v, want the early tasks to be samples since 3", text)
	}
}

// Explain tells how close to its inputs a phase wants to be, and how long that lasts: at
// an instant while time counts, as it does while a slot is free, or else how much is left.
func TestExplainsTheWaitForLocality(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{NodeDelay: 5 * time.Second, RackDelay: 10 * time.Second, Late: vqueue.LateFirst})}
	s.observe(0, sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 1, Rack: 1}}) // what rack it is on
	s.observe(0, sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: 1, Rack: 1}})
	s.node(0, 0, 2, 2)
	s.node(0, 1, 1, 1)
	s.arrive(0, 9, tasks(1, 0))
	busy := s.assign(0, 9)
	s.arrive(0, 1, sojourn.Phase{Tasks: 3, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}, {1}, {1}})})
	s.assign(1, 1)
	const node = "takes only slots on the nodes of its inputs and those that all others decline, " // nothing of it has finished there
	s.want(1, "locality", node+"for 5s more in which a slot is free")
	s.finish(3, busy)
	s.want(1, "locality", node+"until 8s")
	s.arrive(3, 2, sojourn.Phase{Tasks: 1})
	s.assign(0, 2) // in its stead: the time goes on
	s.want(1, "locality", node+"until 8s")
	s.want(2, "locality", nil)
	s.observe(8, sojourn.Event{Kind: sojourn.Tick})
	s.want(1, "locality", "takes only slots on the racks of its inputs and those that all others decline, until 18s")
	s.observe(18, sojourn.Event{Kind: sojourn.Tick})
	s.want(1, "locality", nil)
}

// Explain tells who goes first, and who only for being trained; and why a phase in
// training has no priority.
func TestExplainsWhoIsTrainedFirst(t *testing.T) {
	s := stage{t, exact(hfsp.Options{TrainingTasks: 2, TrainingSlots: ptr(1)})}
	s.slots(0, 0, 1)
	s.arrive(0, 1, tasks(1, 0)) // tiny: nobody goes before it but for training
	s.arrive(0, 2, tasks(5, 0))
	s.arrive(0, 3, tasks(6, 0))
	rank := func(id sojourn.JobID, rank, training int64, first uint64) {
		t.Helper()
		s.want(id, "rank", rank)
		if got, _ := s.told(id, "for_training").(int64); got != training {
			t.Errorf("%d phases go before job %d for training, want %d", got, id, training)
		}
		if got, _ := s.told(id, "waits_for").(uint64); got != first {
			t.Errorf("job %d waits for job %d, want %d", id, got, first)
		}
	}
	rank(1, 2, 2, 2)
	rank(2, 0, 0, 0)
	rank(3, 1, 0, 2)
	s.arrive(0, 4, tasks(9, 100))
	rank(4, 3, 0, 2) // it would come after job 2 anyway
	s.want(3, "training_priority", nil)
	s.assign(0, 2)
	rank(1, 0, 0, 0) // the one training slot is held
	rank(2, 1, 0, 1)
	rank(3, 2, 0, 1)
	s.want(3, "training_slots", "1 of 1 held")
	s.want(3, "training_priority", "waits for a training slot")
	s.assign(1, 1)
	s.observe(1, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}})
	s.assign(2, 2)
	s.want(2, "training_priority", nil) // both its tasks run
}

// A job that was adopted says so, and what is not known of it; also after the policy
// was restored.
func TestExplainsAdoption(t *testing.T) {
	s := stage{t, newWith(hfsp.Options{})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(1, 0))
	s.observe(7, sojourn.Event{Kind: sojourn.JobAdopted, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{tasks(9, 0)}}})
	void := func(p *hfsp.Policy, id sojourn.JobID) string {
		attrs, _ := p.Explain(id)
		for _, a := range attrs {
			if a.Key == "void" {
				return a.Value.String()
			}
		}
		return ""
	}
	saved, err := s.p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	restored := newWith(hfsp.Options{})
	if err := restored.UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*hfsp.Policy{s.p, restored} {
		if got := void(p, 1); got != "" {
			t.Errorf("void of job 1 = %q, want nothing: it arrived", got)
		}
		const want = "the job was adopted at 7s: it has aged since then, and what it was served before is not known"
		if got := void(p, 2); got != want {
			t.Errorf("void of job 2 = %q, want %q", got, want)
		}
	}
}

// Who has nothing to start waits for nobody, though others come before it.
func TestWhoRunsAllItsTasksWaitsForNobody(t *testing.T) {
	s := stage{t, exact(hfsp.Options{})}
	s.slots(0, 0)
	s.arrive(0, 1, tasks(2, 10))
	s.assign(0, 1)
	s.arrive(1, 2, tasks(1, 1))
	s.want(1, "rank", int64(1))
	s.want(1, "waits_for", uint64(2))
	s.slots(1, 1)
	s.assign(1, 2)
	s.arrive(1, 3, tasks(1, 1))
	s.slots(1, 2)
	s.observe(1, sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 3}})
	s.assign(2, 1)
	s.observe(1, sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: 3}})
	s.want(1, "rank", int64(1))
	s.want(1, "waits_for", nil)
}
