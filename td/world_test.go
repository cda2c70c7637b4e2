package td_test

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/td"
)

// A world is the plainest account of a cluster: lists and linear searches. It makes up
// events that fit; sojourntest tests events that do not.
type world struct {
	fatalf func(format string, args ...any)
	p      *td.Policy
	now    sojourn.Time
	slots  []*slot // by ID
	jobs   []*job  // live, by arrival
	down   map[sojourn.NodeID]bool
	seq    int
	oracle *oracle // nil if assignments are not predicted
	step   int     // of the latest assignment, as the oracle has it

	history []string // for messages
}

type slot struct {
	sojourn.Slot
	job      *job // nil: free
	task     sojourn.TaskID
	attempt  uint32
	start    sojourn.Time
	retiring bool
	last     *job // the job whose map task ended here last, since the slot was last free
}

type job struct {
	spec      *sojourn.Job
	seq       int
	state     [][]string // by phase and task: pending, held, running, done
	tries     map[sojourn.TaskID]uint32
	cancelled bool

	// The oracle's part.
	status int
	demand int
	since  sojourn.Time
	sum    time.Duration
	runs   int
}

func newWorld(opts td.Options, fatalf func(string, ...any)) *world {
	w := &world{fatalf: fatalf, p: newWith(opts), down: map[sojourn.NodeID]bool{}}
	if !opts.AsPrinted {
		w.oracle = newOracle(w, opts)
	}
	return w
}

// observe reports an event that has to fit.
func (w *world) observe(ev sojourn.Event) {
	if !w.try(ev) {
		w.fatalf("%s\nObserve(%v) was refused", w.story(), ev)
	}
}

func (w *world) story() string {
	s := "history:\n"
	for _, line := range w.history {
		s += line + "\n"
	}
	return s
}

// try reports an event, and whether the policy took it.
func (w *world) try(ev sojourn.Event) bool {
	if ev.At < w.now {
		ev.At = w.now
	}
	if w.p.Observe(ev) != nil {
		return false
	}
	w.history = append(w.history, ev.String())
	w.now = ev.At
	w.apply(ev)
	if err := td.Verify(w.p); err != nil {
		w.fatalf("%s\nafter %v: %v", w.story(), ev, err)
	}
	return true
}

func (w *world) slot(id sojourn.SlotID) *slot {
	for _, s := range w.slots {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (w *world) job(id sojourn.JobID) *job {
	for _, j := range w.jobs {
		if j.spec.ID == id {
			return j
		}
	}
	return nil
}

func (w *world) apply(ev sojourn.Event) {
	switch ev.Kind {
	case sojourn.SlotAdded:
		if s := w.slot(ev.Slot.ID); s != nil {
			s.retiring = false
			break
		}
		i, _ := slices.BinarySearchFunc(w.slots, ev.Slot.ID, func(s *slot, id sojourn.SlotID) int { return int(s.ID) - int(id) })
		w.slots = slices.Insert(w.slots, i, &slot{Slot: ev.Slot})
	case sojourn.SlotRemoved:
		if s := w.slot(ev.Slot.ID); s.job != nil {
			s.retiring = true
		} else {
			w.drop(s)
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		w.down[ev.Slot.Node] = ev.Kind == sojourn.NodeDown
	case sojourn.JobArrived, sojourn.JobAdopted:
		w.seq++
		j := &job{spec: ev.Job, seq: w.seq, tries: map[sojourn.TaskID]uint32{}}
		for _, ph := range ev.Job.Phases {
			j.state = append(j.state, slices.Repeat([]string{"pending"}, ph.Tasks))
		}
		w.jobs = append(w.jobs, j)
	case sojourn.JobRevised:
		j := w.job(ev.Job.ID)
		j.spec = ev.Job
		if w.oracle != nil {
			w.oracle.revised(j)
		}
	case sojourn.JobCancelled:
		j := w.job(ev.Job.ID)
		j.cancelled = true
	case sojourn.TaskHeld:
		w.set(ev.Task, "held")
	case sojourn.TaskReady, sojourn.OutputLost:
		w.set(ev.Task, "pending")
	case sojourn.TaskDone:
		w.set(ev.Task, "done")
	case sojourn.TaskAdopted:
		w.start(ev.Slot.ID, ev.Task, ev.Attempt)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		w.end(ev)
	}
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool {
		return w.running(j) == 0 && (j.cancelled || !slices.ContainsFunc(j.state, func(p []string) bool {
			return slices.ContainsFunc(p, func(s string) bool { return s != "done" })
		}))
	})
	if w.oracle != nil {
		w.oracle.age()
		w.oracle.compare()
	}
}

func (w *world) set(t sojourn.TaskID, state string) { w.job(t.Job).state[t.Phase][t.Index] = state }

func (w *world) drop(s *slot) {
	w.slots = slices.DeleteFunc(w.slots, func(k *slot) bool { return k == s })
}

func (w *world) start(id sojourn.SlotID, t sojourn.TaskID, attempt uint32) {
	s, j := w.slot(id), w.job(t.Job)
	s.job, s.task, s.attempt, s.start, s.last = j, t, attempt, w.now, nil
	j.state[t.Phase][t.Index] = "running"
	j.tries[t] = attempt
}

func (w *world) end(ev sojourn.Event) {
	s := w.slot(ev.Slot.ID)
	j := s.job
	j.state[s.task.Phase][s.task.Index] = "pending"
	if ev.Kind == sojourn.TaskFinished {
		j.state[s.task.Phase][s.task.Index] = "done"
		if s.task.Phase == 0 && w.isLocal(j, s.task, s.Node) {
			service := ev.Service
			if service == 0 {
				service = w.now.Sub(s.start)
			}
			j.sum += service / time.Microsecond
			j.runs++
		}
	}
	if ev.Kind != sojourn.TaskRefused && s.task.Phase == 0 {
		s.last = j
	}
	s.job = nil
	if s.retiring {
		w.drop(s)
	}
}

// isLocal reports whether a task has its input on a node, or has none.
func (w *world) isLocal(j *job, t sojourn.TaskID, n sojourn.NodeID) bool {
	inputs := j.spec.Phases[t.Phase].Inputs.Of(int(t.Index))
	return len(inputs) == 0 || slices.Contains(inputs, n)
}

// running returns how many attempts of j are live.
func (w *world) running(j *job) (n int) {
	for _, s := range w.slots {
		if s.job == j {
			n++
		}
	}
	return n
}

// count returns how many tasks of a phase are in a state.
func (j *job) count(phase int, state string) (n int) {
	if j.cancelled && (state == "pending" || state == "held") {
		return 0
	}
	for _, s := range j.state[phase] {
		if s == state {
			n++
		}
	}
	return n
}

// ready reports whether a phase may start.
func (j *job) ready(phase int) bool {
	return !j.cancelled && (phase == 0 || j.count(phase-1, "done") >= j.spec.Threshold(phase))
}

// startable returns the pending tasks of a phase that may start.
// full reports whether as many tasks of j run as may run at a time.
func (j *job) full() bool {
	n := 0
	for i := range j.state {
		n += j.count(i, "running")
	}
	return j.spec.Parallelism > 0 && int64(n) >= int64(j.spec.Parallelism)
}

func (j *job) startable(phase int) (list []uint32) {
	if !j.ready(phase) {
		return nil
	}
	for i, s := range j.state[phase] {
		if s == "pending" {
			list = append(list, uint32(i))
		}
	}
	return list
}

// offer offers a free slot, and reports whether it got a task. The oracle has to agree.
func (w *world) offer(s *slot) (sojourn.Assignment, bool) {
	var want choice
	if w.oracle != nil {
		want = w.oracle.request(s)
	}
	a, ok := w.p.Assign(s.ID)
	if w.oracle != nil {
		got := choice{task: a.Task, source: a.Source, locality: a.Locality, ok: ok, step: want.step}
		if got != want {
			w.fatalf("%s\nAssign(%d on node %d) at %v = %+v, want %+v", w.story(), s.ID, s.Node, w.now, got, want)
		}
	}
	if !ok {
		return a, false
	}
	w.history = append(w.history, "Assign "+a.Task.String())
	w.step = want.step
	w.start(s.ID, a.Task, a.Attempt)
	if w.oracle != nil {
		w.oracle.assigned(want)
		w.oracle.age()
		w.oracle.compare()
	}
	if err := td.Verify(w.p); err != nil {
		w.fatalf("%s\nafter %+v: %v", w.story(), a, err)
	}
	return a, true
}
