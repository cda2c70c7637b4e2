package td_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/td"
)

// Tasks without inputs are local everywhere and make no node hot.
func TestNoInputs(t *testing.T) {
	s := newStage(t, td.Options{Theta: 1, HotPolicy: td.Strict}, 2, 2)
	s.arriveWith(1, 4, sojourn.Phase{Tasks: 4, Estimate: time.Second})
	if n := s.fill(1, 2) + s.fill(2, 2); n != 4 {
		t.Errorf("%d of 4 slots started a task", n)
	}
	if got := s.int(1, "hot_spots"); got != 0 {
		t.Errorf("%d hot spots, want none", got)
	}
}

// A node that was never mentioned can be read from: nodes are up unless reported down.
func TestInputsOnUnknownNodes(t *testing.T) {
	s := newStage(t, td.Options{}, 1)
	s.arrive(1, 1, time.Second, 77)
	s.want("slot on node 1", s.assign(100), "1/0/0<77")
}

// A task that has lost all its replicas has no source. The driver finds one, and the task
// comes after those that can be read.
func TestInputsOnLostNodes(t *testing.T) {
	for _, policy := range []td.HotPolicy{td.Relaxed, td.Strict} {
		s := newStage(t, td.Options{HotPolicy: policy, Theta: 1}, 4)
		s.arrive(1, 4, time.Second, 7, 8, 7)
		s.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 7}})
		s.want("first slot", s.assign(100), "1/0/1<8")
		s.want("second slot", s.assign(101), "1/0/0<0")
		s.observe(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: 7}})
		s.want("third slot", s.assign(102), "1/0/2<7")
	}
}

// If a replica is lost, the task is read from the other replica, and R drops.
func TestOneReplicaLost(t *testing.T) {
	s := newStage(t, td.Options{}, 0, 0, 0, 2)
	s.arriveWith(1, 2, sojourn.Phase{Tasks: 2, Estimate: time.Second,
		Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1, 2}, {2, 3}})})
	s.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 2}})
	s.want("first slot", s.assign(400), "1/0/0<1")
	s.want("second slot", s.assign(401), "1/0/1<3")
}

// The tasks of a lost node come back, even to a senile job. The job stays senile and is
// served first.
func TestLostNodeOfASenileJob(t *testing.T) {
	s := newStage(t, td.Options{}, 1, 1)
	s.arrive(1, 2, time.Second, 1, 2)
	s.arrive(2, 2, time.Second, nodes(9, 2)...)
	s.assign(100)
	s.assign(200)
	s.want("status", s.status(1), "senile")
	s.end(100, sojourn.TaskFailed, 0)
	s.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 100}})
	s.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 1}})
	s.want("status", s.status(1), "senile")
	s.finish(200)
	s.want("next slot", s.assign(200), "1/0/0<0")
}

// A job without a demand asks for 12 % of its tasks, but at least 5 % and at most 35 % of
// the slots. Options can change these numbers.
func TestDemandZero(t *testing.T) {
	for _, tc := range []struct {
		opts        td.Options
		tasks, want int
	}{
		{td.Options{}, 100, 12}, {td.Options{}, 10, 5}, {td.Options{}, 3, 3}, {td.Options{}, 1000, 35},
		{td.Options{Demand: 7}, 1000, 7}, {td.Options{Demand: 7}, 2, 2}, {td.Options{Demand: 700}, 1000, 100},
	} {
		s := newStage(t, tc.opts, 100)
		s.arrive(1, 0, time.Second, nodes(tc.tasks, 0)...)
		if got := s.int(1, "demand"); got != tc.want {
			t.Errorf("%+v: demand of %d tasks = %d, want %d", tc.opts, tc.tasks, got, tc.want)
		}
	}
}

// A demand above the cluster is cut down. As printed, Formula (3) would never let the job
// grow up. The demand follows the cluster until the job is promoted.
func TestDemandAboveTheCluster(t *testing.T) {
	s := newStage(t, td.Options{L: 1}, 3)
	s.arrive(1, math.MaxInt32, time.Second, nodes(9, 0)...)
	if got := s.int(1, "demand"); got != 3 {
		t.Errorf("demand = %d, want 3", got)
	}
	s.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 102}})
	if got := s.int(1, "demand"); got != 2 {
		t.Errorf("demand = %d, want 2", got)
	}
	s.assign(100)
	s.want("status", s.status(1), "teenaged")
	s.assign(101)
	s.want("status", s.status(1), "adult")
	s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 102, Node: 1}})
	if got := s.int(1, "demand"); got != 2 {
		t.Errorf("demand = %d, want 2: it is settled", got)
	}
}

// A job can be cancelled in every status. Its slots count in Osen until its attempts end,
// nothing else of it counts, and the jobs behind it get the slots.
func TestCancelledInEveryStatus(t *testing.T) {
	build := map[string]func(*stage){
		"waiting": func(s *stage) { s.arrive(1, 4, time.Second, nodes(9, 1)...) },
		"infantile": func(s *stage) {
			s.arrive(9, 3, time.Second, nodes(3, 1)...)
			s.arrive(1, 4, time.Second, nodes(9, 1)...)
			s.fill(1, 4)
		},
		"teenaged": func(s *stage) { s.arrive(1, 4, time.Second, nodes(9, 1)...); s.assign(100) },
		"adult":    func(s *stage) { s.arrive(1, 2, time.Second, nodes(9, 1)...); s.assign(100); s.assign(101) },
		"senile":   func(s *stage) { s.arrive(1, 2, time.Second, nodes(2, 1)...); s.assign(100); s.assign(101) },
	}
	for _, status := range statusNames {
		t.Run(status, func(t *testing.T) {
			s := newStage(t, td.Options{L: 1}, 4)
			build[status](s)
			s.want("status", s.status(1), status)
			s.arrive(2, 4, time.Second, nodes(20, 1)...)
			s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
			s.fill(1, 4)
			for id, a := range s.run {
				if a.Task.Job != 2 {
					s.finish(id)
				}
			}
			if _, live := s.p.Explain(1); live {
				t.Error("job 1 is live although its last attempt has ended")
			}
			s.fill(1, 4)
			if got := s.int(2, "occupied"); got != 4 {
				t.Errorf("the job behind it holds %d slots, want 4", got)
			}
			if got := s.int(2, "Osen"); got != 0 {
				t.Errorf("Osen = %d, want 0", got)
			}
		})
	}
}

// Theta 0 means the default of 4, or of 1 with SelfTune. Otherwise no node could ever be
// read from.
func TestThetaZero(t *testing.T) {
	for _, tc := range []struct {
		tune bool
		want int
	}{{false, 4}, {true, 1}} {
		s := newStage(t, td.Options{HotPolicy: td.Strict, SelfTune: tc.tune}, 0, 6)
		s.arrive(1, 6, time.Second, nodes(9, 1)...)
		if n := s.fill(2, 6); n != tc.want {
			t.Errorf("SelfTune %v: %d reads of one node at a time, want %d", tc.tune, n, tc.want)
		}
	}
	if _, err := td.New(td.Options{Theta: -1}); err == nil {
		t.Error("New(Theta: -1) = nil, want an error")
	}
}

// While the clock stands still, no tuple is overdue and no job is late, but slots are
// given, statuses change, and jobs end.
func TestClockStandsStill(t *testing.T) {
	for _, opts := range []td.Options{{}, {SelfTune: true}, {Theta: 1, SplitTime: math.MaxInt64}} {
		s := newStage(t, opts, 2, 2)
		s.now = math.MaxInt64 // and time can go no further
		for id := range sojourn.JobID(5) {
			s.arrive(id+1, 3, time.Second, append(nodes(4, 1), nodes(3, 7)...)...)
		}
		done := 0
		for s.fill(1, 2)+s.fill(2, 2) > 0 {
			for id := range s.run {
				s.finish(id)
				done++
			}
		}
		if done != 5*7 {
			t.Errorf("%+v: %d tasks ended, want 35", opts, done)
		}
	}
}

// With Strict and a clock that stands still, slots wait for an instant that is named.
func TestClockStandsStillStrict(t *testing.T) {
	s := newStage(t, td.Options{Theta: 1, HotPolicy: td.Strict, SplitTime: time.Second}, 0, 2)
	s.arrive(1, 2, time.Second, nodes(2, 1)...)
	s.want("first slot", s.assign(200), "1/0/0<1")
	for range 3 {
		s.want("second slot", s.assign(201), "nothing")
		if at, ok := s.p.NextWake(); !ok || at != sojourn.Time(time.Second) {
			t.Errorf("NextWake = %v, %v, want 1s", at, ok)
		}
		if _, ok := s.p.Seek(0); ok {
			t.Error("Seek names a slot that Assign declines")
		}
		s.observe(sojourn.Event{Kind: sojourn.Tick})
	}
}

// Bad options are refused, each by its name.
func TestBadOptions(t *testing.T) {
	bad := map[string][]td.Options{
		"L":               {{L: -0.1}, {L: 1.1}, {L: math.NaN()}, {L: math.Inf(1)}},
		"H":               {{H: 0.9}, {H: -1}, {H: 1025}, {H: math.NaN()}},
		"Theta":           {{Theta: -1}},
		"SplitTime":       {{SplitTime: -1}},
		"SplitSize":       {{SplitSize: -1}},
		"Bandwidth":       {{Bandwidth: -1}, {Bandwidth: math.NaN()}, {Bandwidth: math.Inf(1)}},
		"HotPolicy":       {{HotPolicy: 2}},
		"MaxCoScheduled":  {{MaxCoScheduled: -1}},
		"DefaultTaskTime": {{DefaultTaskTime: -1}},
		"SelfTune":        {{SelfTune: true, AsPrinted: true}},
	}
	if math.MaxInt > math.MaxInt32 { // with 32 bits, no int is too large
		bad["Theta"] = append(bad["Theta"], td.Options{Theta: math.MaxInt})
	}
	for name, opts := range bad {
		for _, o := range opts {
			if _, err := td.New(o); err == nil || !strings.HasPrefix(err.Error(), "td: "+name) {
				t.Errorf("New(%+v) = %v, want an error about %s", o, err, name)
			}
		}
	}
}

// A job that the account cannot take is refused. A job that is there already is refused
// too.
func TestBadJobs(t *testing.T) {
	s := newStage(t, td.Options{}, 1)
	s.arrive(1, 1, time.Second, 1)
	for _, tc := range []struct {
		job  *sojourn.Job
		want error
	}{
		{&sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}, sojourn.ErrDuplicateJob},
		{&sojourn.Job{ID: 2}, sojourn.ErrInvalidJob},
	} {
		if err := s.p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: tc.job}); !errors.Is(err, tc.want) {
			t.Errorf("Observe = %v, want %v", err, tc.want)
		}
		if err := s.p.Admit(tc.job); !errors.Is(err, tc.want) {
			t.Errorf("Admit = %v, want %v", err, tc.want)
		}
	}
}

// The mean time of tasks is the measured time of tasks close to their input. Without one
// it is the job's estimate, else the time in the options, else a minute.
func TestTaskTimes(t *testing.T) {
	s := newStage(t, td.Options{DefaultTaskTime: 8 * time.Second}, 1, 3)
	job := func(s *stage, id sojourn.JobID, estimate time.Duration) {
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Name: "3", Phases: []sojourn.Phase{
			{Tasks: 4, Estimate: estimate, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1}, {1}, {1}, {1}})}}}})
	}
	job(s, 1, 16*time.Second)
	job(s, 2, 0)
	byDefault := newStage(t, td.Options{}, 1)
	job(byDefault, 1, 0)
	if got := attr(byDefault.p, 1, "amt").Float64(); got != 58.720256 {
		t.Errorf("by default amt = %v, want a minute", got)
	}
	for id, want := range map[sojourn.JobID]float64{1: 15.728640, 2: 7.864320} { // to five bits, in microseconds
		if got := attr(s.p, id, "amt").Float64(); got != want {
			t.Errorf("amt of job %d = %v, want %v", id, got, want)
		}
	}
	s.want("a remote slot", s.assign(200), "1/0/0<1")
	s.want("a local slot", s.assign(100), "1/0/1<1")
	s.end(200, sojourn.TaskFinished, time.Minute)
	if got := attr(s.p, 1, "amt").Float64(); got != 15.728640 {
		t.Errorf("amt = %v after a remote task, want it as before", got)
	}
	s.end(100, sojourn.TaskFinished, time.Second)
	if got := attr(s.p, 1, "amt").Float64(); got != 0.983040 {
		t.Errorf("amt = %v after a local task of 1 s, want 0.98304", got)
	}
}

// Reduces go first, by arrival, once the last map task of their job has finished. If they
// may start earlier, they go last until then.
func TestReduces(t *testing.T) {
	s := newStage(t, td.Options{}, 2)
	for id := range sojourn.JobID(3) {
		after := 0
		if id == 0 {
			after = 1
		}
		s.arriveWith(id+1, 1, sojourn.Phase{Tasks: 2, Estimate: time.Second}, sojourn.Phase{Tasks: 1, Estimate: time.Second, After: after})
	}
	var got []string
	for range 9 {
		s.fill(1, 2)
		for id := sojourn.SlotID(100); id < 102; id++ {
			if a, ok := s.run[id]; ok {
				got = append(got, a.Task.String())
				s.finish(id)
			}
		}
	}
	// Two slots, job 3 waits. The reduce of job 1 could start after its first map task.
	if want := "[1/0/0 2/0/0 1/0/1 2/0/1 1/1/0 2/1/0 3/0/0 3/0/1 3/1/0]"; fmt.Sprint(got) != want {
		t.Errorf("order %v, want %v", got, want)
	}
}

// Explain tells the status, the bounds, what a job holds, and why it waits.
func TestExplain(t *testing.T) {
	s := newStage(t, td.Options{L: 0.5, H: 1.5}, 4)
	s.arrive(1, 4, time.Second, nodes(9, 1)...)
	s.arrive(2, 2, time.Second, nodes(9, 1)...)
	s.arrive(3, 3, time.Second, nodes(9, 1)...)
	s.arrive(4, 2, time.Second, nodes(9, 1)...)
	why := func(id sojourn.JobID) string { return attr(s.p, id, "td").String() }
	s.assign(100)
	s.want("status", s.status(1), "teenaged")
	s.want("job 1", why(1), "is below its floor: gets the next slot for which it has a task that is not at a hot spot")
	s.want("job 2", why(2), "not co-scheduled: Osen + D = 4, which has to be below T = 4")
	s.assign(101)
	s.want("job 1", why(1), "gets slots close to its inputs, or remote ones in the order of falling amt")
	for key, want := range map[string]int{"demand": 4, "floor": 2, "occupied": 2, "remain": 7, "T": 4, "D": 4, "Osen": 0, "hot_spots": 0} {
		if got := s.int(1, key); got != want {
			t.Errorf("%s = %d, want %d", key, got, want)
		}
	}
	if got := fmt.Sprint(s.p.AppendRanking(nil)); got != "[1 2 3 4]" {
		t.Errorf("AppendRanking = %v, want [1 2 3 4]", got)
	}
	s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
	s.finish(100)
	s.finish(101)
	s.assign(102)
	s.want("status", s.status(2), "adult")
	s.want("job 3", why(3), "runs on what others leave: Osen + D + demand = 5, which may be at most T = 4")
	s.want("job 4", why(4), "job 3 is infantile and has to grow up first")
}

// If a job has no map task to start for the first time, Explain tells the state of what
// is left of it.
func TestExplainOfWhatIsLeft(t *testing.T) {
	s := newStage(t, td.Options{}, 3)
	s.arriveWith(1, 3, sojourn.Phase{Tasks: 3, Estimate: time.Second}, sojourn.Phase{Tasks: 4, Estimate: time.Second, After: 1})
	why := func(id sojourn.JobID) string { return attr(s.p, id, "td").String() }
	s.fill(1, 3)
	s.want("all maps running", attr(s.p, 1, "td").String(), "<nil>")
	s.end(100, sojourn.TaskFailed, 0)
	s.want("a map failed", why(1), "its map tasks, which came back or were added, go first, by arrival")
	s.want("the slot", s.assign(100), "1/0/0<0")
	s.finish(100)
	s.want("a map finished", why(1), "its reduces go last until its last map task has finished")
	s.finish(101)
	s.finish(102)
	s.want("the maps finished", why(1), "its reduces go first, by arrival")
	s.fill(1, 3)
	s.want("a reduce left", why(1), "its reduces go first, by arrival")
	s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
	s.want("cancelled", attr(s.p, 1, "td").String(), "<nil>")
}

// UPDATE runs with a slot that gets a task. Until then, Explain says that a job is about
// to move on, and not that it has to wait for a state that it has already reached.
func TestExplainBeforeTheNextSlot(t *testing.T) {
	s := newStage(t, td.Options{L: 0.5, H: 1.5, MaxCoScheduled: 1}, 4)
	s.arrive(1, 2, time.Second, nodes(9, 1)...)
	s.arrive(2, 1, time.Second, nodes(9, 1)...)
	why := func(id sojourn.JobID) string { return attr(s.p, id, "td").String() }
	s.want("job 1", why(1), "its turn comes with the next slots, by arrival: Osen + D = 0 is below T = 4")
	s.assign(100)
	s.want("job 2", why(2), "runs on what others leave: no more than MaxCoScheduled = 1 may be co-scheduled")
	s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
	s.want("status", s.status(2), "infantile")
	s.want("job 2", why(2), "grows up with the next slot that gets a task")
	s.assign(101)
	s.want("status", s.status(2), "adult")
}

// With Strict, Seek finds the slot that has a local task behind many slots that have
// none. It does not search for a source again for each of these.
func TestSeekPastHotSpots(t *testing.T) {
	s := newStage(t, td.Options{HotPolicy: td.Strict, Theta: 1}, 50, 1)
	s.arrive(1, 1, time.Second, nodes(9, 2)...)
	s.want("first slot", s.assign(100), "1/0/0<2")
	asked := td.CountCool(s.p)
	if id, ok := s.p.Seek(0); id != 200 || !ok {
		t.Errorf("Seek = %d, %v, want 200", id, ok)
	}
	s.want("slot on node 2", s.assign(200), "1/0/1<2")
	if id, ok := s.p.Seek(0); ok {
		t.Errorf("Seek = %d, want none", id)
	}
	if *asked > 20 {
		t.Errorf("asked %d times whether node 2 is cool", *asked)
	}
}

// With Strict, a slot may wait although the input of a job in the queue is on its own
// node. Only jobs that have left the queue may run, and their sources are hot. With
// Relaxed, the slot reads from there. A job leaves the queue once no job before it could
// start anything.
func TestStrictSlotWaitsForCoScheduled(t *testing.T) {
	for _, policy := range []td.HotPolicy{td.Relaxed, td.Strict} {
		s := newStage(t, td.Options{HotPolicy: policy, Theta: 1, SplitTime: time.Second}, 2)
		s.arrive(1, 2, time.Second, nodes(3, 9)...)
		s.arrive(2, 1, time.Second, 1)
		s.want("first slot", s.assign(100), "1/0/0<9")
		want := "1/0/1<9"
		if policy == td.Strict {
			want = "nothing"
		}
		s.want("second slot", s.assign(101), want)
		s.want("job 2", s.status(2), "waiting")
		if policy == td.Relaxed {
			continue
		}
		for i := range uint32(2) {
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Index: i + 1}})
		}
		s.want("second slot, when nothing of job 1 may start", s.assign(101), "2/0/0<1")
	}
}

// Seek also finds tasks that came back to a senile job.
func TestSeekPastHotSpotsForRequeued(t *testing.T) {
	s := newStage(t, td.Options{HotPolicy: td.Strict, Theta: 1}, 3, 1)
	s.arrive(1, 1, time.Second, nodes(2, 2)...)
	s.want("first slot", s.assign(100), "1/0/0<2")
	s.want("slot on node 2", s.assign(200), "1/0/1<2")
	s.end(200, sojourn.TaskFailed, 0)
	s.want("status", s.status(1), "senile")
	if id, ok := s.p.Seek(0); id != 200 || !ok {
		t.Errorf("Seek = %d, %v, want 200", id, ok)
	}
}

// The hot queue grows with the reads, and forgets all tuples that are overdue.
func TestManyTuples(t *testing.T) {
	s := newStage(t, td.Options{Theta: 2, SplitTime: time.Second}, 0, 300)
	at := make([]sojourn.NodeID, 300)
	for i := range at {
		at[i] = sojourn.NodeID(10 + i%100)
	}
	s.arrive(1, 300, time.Second, at...)
	if n := s.fill(2, 150); n != 150 {
		t.Fatalf("%d of 150 slots started a task", n)
	}
	s.now = sojourn.Time(time.Second)
	s.fill(2, 300)
	if got := s.int(1, "hot_spots"); got != 100 {
		t.Errorf("%d hot spots after 300 reads of 100 nodes, want 100", got)
	}
	s.now = sojourn.Time(3 * time.Second)
	s.observe(sojourn.Event{Kind: sojourn.Tick})
	if got := s.int(1, "hot_spots"); got != 0 {
		t.Errorf("%d hot spots, want none", got)
	}
}

func TestHotPolicyText(t *testing.T) {
	for _, want := range []td.HotPolicy{td.Relaxed, td.Strict} {
		var got td.HotPolicy
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Errorf("UnmarshalText(%v) = %v, %v", want, got, err)
		}
	}
	var h td.HotPolicy
	if err := h.UnmarshalText([]byte("lukewarm")); err == nil {
		t.Error("UnmarshalText(lukewarm) = nil, want an error")
	}
}
