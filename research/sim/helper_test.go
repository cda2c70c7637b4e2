package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

const s = time.Second

// job returns a job that arrives at a number of seconds. Each phase is a list of task
// times in seconds, of any class, behind a barrier.
func job(id sojourn.JobID, at float64, phases ...[]float64) *sim.Job {
	j := &sim.Job{Job: sojourn.Job{ID: id}, At: sojourn.Time(at * 1e9)}
	for _, list := range phases {
		j.Phases = append(j.Phases, sojourn.Phase{Tasks: len(list)})
		j.AnyClass = append(j.AnyClass, true)
		var times sim.Times
		for _, x := range list {
			times.List = append(times.List, time.Duration(x*1e9))
		}
		j.Times = append(j.Times, times)
	}
	return j
}

// setClass gives a phase of j a class of its own.
func setClass(j *sim.Job, p int, class sojourn.Class) {
	j.Phases[p].Class, j.AnyClass[p] = class, false
}

// uniform returns a cluster of one node with n slots for any class.
func uniform(n int) sim.Cluster {
	return sim.Cluster{Uniform: true, Nodes: []sim.Node{{Name: "n1", Slots: []int{n}}}}
}

// mapReduce returns a cluster of nodes with m map and r reduce slots each.
func mapReduce(nodes, m, r int) (c sim.Cluster) {
	for i := range nodes {
		c.Nodes = append(c.Nodes, sim.Node{Name: fmt.Sprint("n", i+1), Slots: []int{m, r}})
	}
	return c
}

// A story collects what happens in a run.
type story struct {
	lines    []string // everything the policy was told and answered
	attempts []sim.TaskRecord
	jobs     []sim.JobRecord
}

// watch adds hooks to cfg that write into the story.
func (st *story) watch(cfg *sim.Config) {
	cfg.Hooks = sim.Hooks{
		Event: func(ev sojourn.Event, err error) {
			line := ev.String()
			if err != nil {
				line += " -> " + err.Error()
			}
			st.lines = append(st.lines, line)
		},
		Assigned: func(id sojourn.SlotID, a sojourn.Assignment, ok bool) {
			if ok {
				st.lines = append(st.lines, fmt.Sprintf("slot %d <- %v attempt %d", id, a.Task, a.Attempt))
			}
		},
		Attempt: func(r *sim.TaskRecord) { st.attempts = append(st.attempts, *r) },
		Job:     func(r *sim.JobRecord) { st.jobs = append(st.jobs, *r) },
	}
}

// gantt lists the attempts in the order of their ends: task, slot, start, end, and the
// outcome if it did not finish.
func (st *story) gantt() string {
	var b strings.Builder
	for _, a := range st.attempts {
		fmt.Fprintf(&b, "%v slot %d %v-%v", a.Task, a.Slot, a.Start, a.End)
		if a.Outcome != sim.Finished {
			fmt.Fprintf(&b, " %v", a.Outcome)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// run runs cfg, which must work, and returns the story.
func run(t testing.TB, cfg sim.Config) (*sim.Result, *story) {
	t.Helper()
	st := new(story)
	st.watch(&cfg)
	r, err := sim.Run(context.Background(), cfg)
	if err != nil {
		t.Fatalf("Run: %v\nafter:\n%s", err, strings.Join(st.lines, "\n"))
	}
	return r, st
}

// checkGantt compares the attempts of a run with a literal schedule.
func checkGantt(t *testing.T, st *story, want string) {
	t.Helper()
	want = strings.ReplaceAll(strings.TrimLeft(want, "\n"), "\t", "")
	if got := st.gantt(); got != want {
		t.Errorf("attempts:\n%swant:\n%s", got, want)
	}
}

// A table is a policy that keeps everything in plain lists. It starts the task that pick
// chooses among all tasks that may start, which come in the order of arrival, phase and
// index.
type table struct {
	pick  func(tasks []sojourn.TaskID) int // -1 declines
	jobs  []*entry
	slots map[sojourn.SlotID]sojourn.Slot
	now   sojourn.Time
}

type entry struct {
	spec  *sojourn.Job
	state [][]byte // p pending, r running, f finished
	tries [][]uint32
}

func newTable(pick func([]sojourn.TaskID) int) *table {
	return &table{pick: pick, slots: map[sojourn.SlotID]sojourn.Slot{}}
}

func first([]sojourn.TaskID) int      { return 0 }
func last(tasks []sojourn.TaskID) int { return len(tasks) - 1 }

// open reports whether tasks of a phase may start.
func (e *entry) open(ph int) bool {
	return mayStart(e.spec, ph, func(k int) int { return strings.Count(string(e.state[k]), "f") })
}

// mayStart reports whether tasks of phase p may start when so many tasks of each phase have
// finished.
func mayStart(spec *sojourn.Job, p int, finished func(phase int) int) bool {
	for _, k := range spec.Phases[p].Needs {
		if finished(k) < spec.Phases[k].Tasks {
			return false
		}
	}
	after := spec.Phases[p].After
	if p == 0 || spec.Phases[p].Needs != nil || after == sojourn.NoBarrier {
		return true
	}
	if after == 0 {
		after = spec.Phases[p-1].Tasks
	}
	return finished(p-1) >= after
}

// reads lists the phases whose output phase p reads.
func reads(spec *sojourn.Job, p int) []int {
	switch ph := &spec.Phases[p]; {
	case ph.Needs != nil:
		return ph.Needs
	case p == 0 || ph.After == sojourn.NoBarrier:
		return nil
	}
	return []int{p - 1}
}

// drawNeeds lets phases of some jobs say what they need.
func drawNeeds(t *rapid.T, jobs []*sim.Job) {
	for _, j := range jobs {
		for p := range j.Phases {
			if !rapid.Bool().Draw(t, "needs") {
				continue
			}
			j.Phases[p].Needs, j.Phases[p].After = []int{}, 0
			for k := range p {
				if rapid.Bool().Draw(t, "this one") {
					j.Phases[p].Needs = append(j.Phases[p].Needs, k)
				}
			}
		}
	}
}

func (p *table) Supports() sojourn.Features { return sojourn.FeatureNeeds }

func (p *table) find(id sojourn.JobID) *entry {
	for _, e := range p.jobs {
		if e.spec.ID == id {
			return e
		}
	}
	return nil
}

func (p *table) Observe(ev sojourn.Event) error {
	if ev.At < p.now {
		return &sojourn.EventError{Event: ev, Err: sojourn.ErrTimeReversed}
	}
	p.now = ev.At
	move := func(from, to byte) error {
		e := p.find(ev.Task.Job)
		if e == nil {
			return &sojourn.EventError{Event: ev, Err: sojourn.ErrUnknownJob}
		}
		if e.state[ev.Task.Phase][ev.Task.Index] != from || e.tries[ev.Task.Phase][ev.Task.Index] != ev.Attempt {
			return &sojourn.EventError{Event: ev, Err: sojourn.ErrStaleAttempt}
		}
		e.state[ev.Task.Phase][ev.Task.Index] = to
		if !strings.ContainsAny(fmt.Sprintf("%s", e.state), "pr") {
			p.jobs = slices.DeleteFunc(p.jobs, func(o *entry) bool { return o == e })
		}
		return nil
	}
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.slots[ev.Slot.ID] = ev.Slot
	case sojourn.SlotRemoved:
		if _, ok := p.slots[ev.Slot.ID]; !ok {
			return &sojourn.EventError{Event: ev, Err: sojourn.ErrUnknownSlot}
		}
		delete(p.slots, ev.Slot.ID)
	case sojourn.JobArrived:
		e := &entry{spec: ev.Job}
		for _, ph := range ev.Job.Phases {
			e.state = append(e.state, []byte(strings.Repeat("p", ph.Tasks)))
			e.tries = append(e.tries, make([]uint32, ph.Tasks))
		}
		p.jobs = append(p.jobs, e)
	case sojourn.TaskFinished:
		return move('r', 'f')
	case sojourn.TaskFailed, sojourn.TaskRefused:
		return move('r', 'p')
	case sojourn.OutputLost:
		return move('f', 'p')
	}
	return nil
}

func (p *table) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	slot, ok := p.slots[id]
	if !ok {
		panic(fmt.Sprintf("no slot %d", id))
	}
	var tasks []sojourn.TaskID
	for _, e := range p.jobs {
		for ph := range e.state {
			if e.spec.Phases[ph].Class != slot.Class || !e.open(ph) {
				continue
			}
			for i, state := range e.state[ph] {
				if state == 'p' {
					tasks = append(tasks, sojourn.TaskID{Job: e.spec.ID, Phase: uint16(ph), Index: uint32(i)})
				}
			}
		}
	}
	if len(tasks) == 0 {
		return sojourn.Assignment{}, false
	}
	i := p.pick(tasks)
	if i < 0 {
		return sojourn.Assignment{}, false
	}
	t := tasks[i]
	e := p.find(t.Job)
	e.state[t.Phase][t.Index] = 'r'
	e.tries[t.Phase][t.Index]++
	return sojourn.Assignment{Task: t, Attempt: e.tries[t.Phase][t.Index], Slot: id}, true
}

// asPolicyError returns the PolicyError in err, or nil.
func asPolicyError(err error) *sim.PolicyError {
	var pe *sim.PolicyError
	if errors.As(err, &pe) {
		return pe
	}
	return nil
}
