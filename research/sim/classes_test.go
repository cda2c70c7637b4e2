package sim_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
	"pgregory.net/rapid"
)

// drawClasses draws 1 to 6 classes of slot, the last of which may be 255.
func drawClasses(t *rapid.T) []sojourn.Class {
	var classes []sojourn.Class
	for i := range rapid.IntRange(1, 6).Draw(t, "classes") {
		classes = append(classes, sojourn.Class(i))
	}
	if rapid.IntRange(0, 3).Draw(t, "class 255") == 0 {
		classes[len(classes)-1] = math.MaxUint8
	}
	return classes
}

// drawNodes draws nodes with slots of some classes. Each class has at least one slot.
func drawNodes(t *rapid.T, classes []sojourn.Class, most int) (c sim.Cluster) {
	for i := range rapid.IntRange(1, most).Draw(t, "nodes") {
		slots := make([]int, 1+int(slices.Max(classes)))
		for _, class := range classes {
			slots[class] = rapid.IntRange(0, 2).Draw(t, "slots")
			if i == 0 {
				slots[class]++
			}
		}
		c.Nodes = append(c.Nodes, sim.Node{Slots: slots})
	}
	return c
}

// spread gives each phase of each job one of the classes.
func spread(t *rapid.T, classes []sojourn.Class, jobs []*sim.Job) {
	for _, j := range jobs {
		for p := range j.Phases {
			setClass(j, p, rapid.SampledFrom(classes).Draw(t, "class"))
		}
	}
}

// An account of a run, in plain maps: which task holds which slot, and the state of each
// task. It takes the classes from the configuration, and all else from what the run
// tells.
type account struct {
	t        *rapid.T
	slots    []sojourn.Class // by SlotID, as the nodes list them
	jobs     map[sojourn.JobID]*sim.Job
	present  map[sojourn.SlotID]bool
	holds    map[sojourn.SlotID]sojourn.TaskID
	state    map[sojourn.TaskID]string // "", running or finished
	live     map[sojourn.JobID]bool
	now      sojourn.Time
	first    sojourn.Time
	last     sojourn.Time          // last finish of a job
	held     map[sojourn.Class]int // slot-nanoseconds since the first arrival
	offered  map[sojourn.Class]int
	atLast   map[sojourn.Class][2]int // held and offered at the last finish
	idle     map[sojourn.Class]int
	finished int
}

func newAccount(t *rapid.T, c *sim.Cluster, jobs []*sim.Job) *account {
	a := &account{
		t: t, jobs: map[sojourn.JobID]*sim.Job{}, present: map[sojourn.SlotID]bool{},
		holds: map[sojourn.SlotID]sojourn.TaskID{}, state: map[sojourn.TaskID]string{}, live: map[sojourn.JobID]bool{},
		held: map[sojourn.Class]int{}, offered: map[sojourn.Class]int{}, idle: map[sojourn.Class]int{}, atLast: map[sojourn.Class][2]int{},
		first: jobs[0].At,
	}
	for _, n := range c.Nodes {
		for class, count := range n.Slots {
			a.slots = append(a.slots, slices.Repeat([]sojourn.Class{sojourn.Class(class)}, count)...)
		}
	}
	for _, j := range jobs {
		a.jobs[j.ID] = j
	}
	return a
}

// classOf returns the class that a phase runs on.
func (a *account) classOf(id sojourn.JobID, phase int) sojourn.Class {
	j := a.jobs[id]
	switch {
	case !j.AnyClass[phase]:
		return j.Phases[phase].Class
	case phase == 0:
		return 0
	}
	return 1
}

// count returns how many tasks of a phase are in a state.
func (a *account) count(id sojourn.JobID, phase int, state string) int {
	n := 0
	for i := range a.jobs[id].Phases[phase].Tasks {
		if a.state[sojourn.TaskID{Job: id, Phase: uint16(phase), Index: uint32(i)}] == state {
			n++
		}
	}
	return n
}

// open reports whether tasks of a phase may start.
func (a *account) open(id sojourn.JobID, phase int) bool {
	after := a.jobs[id].Phases[phase].After
	if phase == 0 || after == sojourn.NoBarrier {
		return true
	}
	if after == 0 {
		after = a.jobs[id].Phases[phase-1].Tasks
	}
	return a.count(id, phase-1, "finished") >= after
}

// pass adds up what slots did until an instant.
func (a *account) pass(to sojourn.Time) {
	d := int(to - max(a.now, a.first))
	a.now = to
	if d <= 0 {
		return
	}
	free := map[sojourn.Class]int{}
	for id := range a.present {
		a.offered[a.slots[id]] += d
		if _, busy := a.holds[id]; busy {
			a.held[a.slots[id]] += d
		} else {
			free[a.slots[id]]++
		}
	}
	pending := map[sojourn.Class]int{}
	for id := range a.live {
		for p := range a.jobs[id].Phases {
			if a.open(id, p) {
				pending[a.classOf(id, p)] += a.count(id, p, "")
			}
		}
	}
	for class, n := range free {
		a.idle[class] += d * min(n, pending[class])
	}
}

func (a *account) assigned(id sojourn.SlotID, as sojourn.Assignment, ok bool) {
	if !ok {
		return
	}
	_, busy := a.holds[id]
	switch {
	case !a.present[id] || busy:
		a.t.Errorf("at %v: %v on slot %d, which is not free", a.now, as.Task, id)
	case a.state[as.Task] != "":
		a.t.Errorf("at %v: task %v starts, and is %s", a.now, as.Task, a.state[as.Task])
	case a.classOf(as.Task.Job, int(as.Task.Phase)) != a.slots[id]:
		a.t.Errorf("at %v: task %v runs on a slot of class %d", a.now, as.Task, a.slots[id])
	case !a.open(as.Task.Job, int(as.Task.Phase)):
		a.t.Errorf("at %v: task %v starts before the phase before it has come so far", a.now, as.Task)
	}
	a.holds[id], a.state[as.Task] = as.Task, "running"
}

func (a *account) event(ev sojourn.Event, err error) {
	a.pass(ev.At)
	switch {
	case ev.Kind == sojourn.JobArrived && err != nil:
		if !errors.Is(err, sojourn.ErrRejected) && !errors.Is(err, sojourn.ErrUnsupported) {
			a.t.Errorf("%v: %v", ev, err)
		}
	case err != nil:
		a.t.Errorf("%v was refused: %v", ev, err)
	case ev.Kind == sojourn.JobArrived:
		a.live[ev.Job.ID] = true
	case ev.Kind == sojourn.SlotAdded:
		if a.present[ev.Slot.ID] || ev.Slot.Class != a.slots[ev.Slot.ID] {
			a.t.Errorf("%v is there, or should be of class %d", ev, a.slots[ev.Slot.ID])
		}
		a.present[ev.Slot.ID] = true
	case ev.Kind == sojourn.SlotRemoved:
		delete(a.present, ev.Slot.ID)
	case ev.Kind == sojourn.OutputLost:
		a.state[ev.Task] = ""
	case ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed || ev.Kind == sojourn.TaskRefused:
		if task, busy := a.holds[ev.Slot.ID]; !busy || task != ev.Task {
			a.t.Errorf("%v: the slot holds %v", ev, task)
		}
		delete(a.holds, ev.Slot.ID)
		a.state[ev.Task] = ""
		if ev.Kind == sojourn.TaskFinished {
			a.taskFinished(ev.Task)
		}
	}
}

func (a *account) taskFinished(task sojourn.TaskID) {
	a.state[task] = "finished"
	for p, ph := range a.jobs[task.Job].Phases {
		if a.count(task.Job, p, "finished") < ph.Tasks {
			return
		}
	}
	delete(a.live, task.Job)
	a.finished++
	a.last = a.now
	for _, class := range a.slots {
		a.atLast[class] = [2]int{a.held[class], a.offered[class]}
	}
}

// check compares the result of the run with the account.
func (a *account) check(r *sim.Result) {
	classes := 1 + int(slices.Max(a.slots))
	if len(r.Utilisation) != classes || len(r.Idle) != classes {
		a.t.Fatalf("utilisation of %d classes and idle slots of %d, want %d", len(r.Utilisation), len(r.Idle), classes)
	}
	for class := range classes {
		used, want := a.atLast[sojourn.Class(class)], 0.0
		if used[1] > 0 {
			want = float64(used[0]) / float64(used[1])
		}
		if r.Utilisation[class] != want {
			a.t.Errorf("utilisation of class %d = %v, want %v of %v", class, r.Utilisation[class], used[0], used[1])
		}
		if want := float64(a.idle[sojourn.Class(class)]) / 1e9; r.Unfinished == 0 && r.Idle[class] != want {
			a.t.Errorf("idle slots of class %d: %v s, want %v", class, r.Idle[class], want)
		}
	}
	if r.Finished != a.finished || r.Finished > 0 && r.Makespan != a.last.Sub(a.first) {
		a.t.Errorf("%d jobs finished in %v, want %d in %v", r.Finished, r.Makespan, a.finished, a.last.Sub(a.first))
	}
}

// Slots run one attempt at a time, tasks run on slots of their class, and the result
// agrees with the events for each class, under every policy and with any classes. A
// policy that cannot schedule a job has to say so. Each run is made under some of the
// policies; each policy has about 30 runs in all.
func TestClassesUnderEveryPolicy(t *testing.T) {
	subjects := []func() sojourn.Policy{
		constructors.FIFO.With(fifo.Options{}),
		pooled.Fair.With(fair.Options{}),
		constructors.SRPT.With(baseline.SRPTOptions{}),
		constructors.FSP.With(baseline.FSPOptions{}),
		constructors.LAS.With(baseline.LASOptions{}),
		constructors.Deadline.With(baseline.DeadlineConstraintOptions{}),
		constructors.Local.With(baseline.LocalOptions{}),
		constructors.HUWF.With(baseline.ListOptions{}),
		constructors.HFSP.With(hfsp.Options{}),
		constructors.PFSP.With(pfsp.Options{}),
		constructors.RTMR.With(rtmr.Options{}),
		constructors.TD.With(td.Options{}),
		constructors.MarS.With(mars.Options{}),
		constructors.LeastWork.With(leastwork.Options{}),
	}
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawClassRun(t)
		one := rapid.IntRange(0, len(subjects)-1).Draw(t, "policy")
		for i := range 4 {
			cfg.Policy = subjects[(one+3*i)%len(subjects)]()
			a := newAccount(t, &cfg.Cluster, jobs)
			cfg.Hooks.Event, cfg.Hooks.Assigned = a.event, a.assigned
			r, err := sim.Run(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			a.check(r)
		}
	})
}

// drawClassRun draws a run without a policy, in whole milliseconds. A phase may need a
// class that the cluster does not have.
func drawClassRun(t *rapid.T) (sim.Config, []*sim.Job) {
	_, jobs := drawWorkload(t, func(t *rapid.T, p int) int {
		return rapid.SampledFrom([]int{0, 0, sojourn.NoBarrier, 1}).Draw(t, "after")
	})
	classes := drawClasses(t)
	cfg := sim.Config{Cluster: drawNodes(t, classes, 3), Jobs: sim.Jobs(jobs...), Seed: rapid.Uint64().Draw(t, "seed"), Preempt: true}
	if rapid.IntRange(0, 3).Draw(t, "class left out") == 0 {
		classes = append(classes, rapid.SampledFrom([]sojourn.Class{7, 255}).Draw(t, "class"))
	}
	spread(t, classes, jobs)
	for _, j := range jobs {
		if j.AnyClass[0] = rapid.IntRange(0, 4).Draw(t, "any class") == 0; j.AnyClass[0] {
			j.Phases[0].Class = 0
		}
		if rapid.Bool().Draw(t, "deadline") {
			j.Deadline = j.At.Add(time.Duration(rapid.IntRange(1, 500).Draw(t, "slack")) * time.Millisecond)
		}
	}
	if rapid.Bool().Draw(t, "faults") {
		cfg.Faults = sim.Faults{Task: 0.2, Refuse: 0.2}
	}
	if rapid.Bool().Draw(t, "failing node") {
		at := sojourn.Time(0)
		for i := range 2 * rapid.IntRange(1, 3).Draw(t, "failures") {
			at = at.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "gap")) * time.Millisecond)
			cfg.Faults.Script = append(cfg.Faults.Script, sim.NodeFault{At: at, Node: 1, Up: i%2 == 1})
		}
		cfg.Faults.LoseOutput = rapid.Bool().Draw(t, "lose output")
	}
	return cfg, jobs
}
