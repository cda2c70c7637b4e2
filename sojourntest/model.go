package sojourntest

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A model is the simplest account of a cluster that can judge a policy. It is
// written from the documentation of package sojourn and deliberately shares no
// code with the accounts of policies: it searches lists and counts every time.
type model struct {
	o     *Options
	now   sojourn.Time
	slots []*modelSlot // in the order in which they were added
	jobs  []*modelJob  // the live ones, in the order of arrival
	down  map[sojourn.NodeID]bool
	racks map[sojourn.NodeID]sojourn.RackID // the known racks, other than 0, of nodes that are down or have slots
	pools map[string]*sojourn.Pool          // what was told of pools
}

type modelSlot struct {
	sojourn.Slot
	retiring bool
	task     *modelTask // that runs on it, nil if it is free
}

type modelJob struct {
	spec      *sojourn.Job
	cancelled bool
	released  bool           // its release time has come and it is the first of its sequence, or was before
	tasks     [][]*modelTask // by phase and index
	bypassed  int            // how often it was passed over since one of its tasks ran
}

type modelTask struct {
	id       sojourn.TaskID
	state    taskState
	attempts uint32 // the number of the latest attempt, 0 before the first
	pinned   bool   // it runs and may not be killed
}

type taskState uint8

const (
	pending taskState = iota
	held
	running
	done
)

func (m *model) slot(id sojourn.SlotID) *modelSlot {
	for _, s := range m.slots {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (m *model) job(id sojourn.JobID) *modelJob {
	for _, j := range m.jobs {
		if j.spec.ID == id {
			return j
		}
	}
	return nil
}

// task returns a task of a live job, or nil.
func (m *model) task(id sojourn.TaskID) *modelTask {
	j := m.job(id.Job)
	if j == nil || int(id.Phase) >= len(j.tasks) || uint64(id.Index) >= uint64(len(j.tasks[id.Phase])) {
		return nil
	}
	return j.tasks[id.Phase][id.Index]
}

// slotOf returns the slot that a task runs on, or nil.
func (m *model) slotOf(t *modelTask) *modelSlot {
	for _, s := range m.slots {
		if s.task == t {
			return s
		}
	}
	return nil
}

// free returns the IDs of the free slots, sorted.
func (m *model) free() (ids []sojourn.SlotID) {
	for _, s := range m.slots {
		if s.task == nil {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// busy returns the slots with a live attempt.
func (m *model) busy() (list []*modelSlot) {
	for _, s := range m.slots {
		if s.task != nil {
			list = append(list, s)
		}
	}
	return list
}

// each calls f for all tasks of live jobs.
func (m *model) each(f func(*modelJob, *modelTask)) {
	for _, j := range m.jobs {
		for _, phase := range j.tasks {
			for _, t := range phase {
				f(j, t)
			}
		}
	}
}

func (j *modelJob) count(phase int, s taskState) (n int) {
	for _, t := range j.tasks[phase] {
		if t.state == s {
			n++
		}
	}
	return n
}

// runs returns how many tasks of j run.
func (j *modelJob) runs() (n int) {
	for i := range j.tasks {
		n += j.count(i, running)
	}
	return n
}

// open reports whether enough tasks of the phases before have finished for tasks
// of a phase to start.
func (j *modelJob) open(phase int) bool {
	if needs := j.spec.Phases[phase].Needs; needs != nil {
		for _, k := range needs {
			if j.count(k, done) < len(j.tasks[k]) {
				return false
			}
		}
		return true
	}
	if phase == 0 {
		return true
	}
	switch after := j.spec.Phases[phase].After; {
	case after == sojourn.NoBarrier:
		return true
	case after == 0, j.spec.Parallelism > 0: // what would wait in its slot takes no place of what it waits for
		return j.count(phase-1, done) == len(j.tasks[phase-1])
	default:
		return j.count(phase-1, done) >= after
	}
}

// why returns why a task may not start on a slot of class c, or "".
func (m *model) why(t *modelTask, c sojourn.Class) string {
	j := m.job(t.id.Job)
	switch {
	case j.cancelled:
		return "its job is cancelled"
	case t.state == held:
		return "it is held"
	case t.state == running:
		return "it runs already"
	case t.state == done:
		return "it is done"
	case j.spec.Phases[t.id.Phase].Class != c:
		return "its phase is of another class than the slot"
	case !j.released:
		return "its release time has not come, or an earlier job of its sequence has not ended"
	case !j.open(int(t.id.Phase)):
		return "too few tasks of the phases that its phase waits for have finished"
	case j.spec.Parallelism > 0 && uint64(j.runs()) >= uint64(j.spec.Parallelism):
		return fmt.Sprintf("as many tasks of its job run as may run at a time: %d", j.spec.Parallelism)
	}
	return m.whyPool(j, c)
}

// whyPool returns why no task of j may start on a slot of class c, because of what was told of its pool, or "".
func (m *model) whyPool(j *modelJob, c sojourn.Class) string {
	p := m.pools[j.spec.Pool]
	if p == nil {
		return ""
	}
	tasks, jobs := 0, 0
	for _, k := range m.jobs {
		if k.spec.Pool == p.Name && k.runs() > 0 {
			jobs++
			for i := range k.tasks {
				if k.spec.Phases[i].Class == c {
					tasks += k.count(i, running)
				}
			}
		}
	}
	switch limit := p.Max[c]; {
	case p.Paused:
		return "its pool is paused"
	case limit > 0 && tasks >= limit:
		return fmt.Sprintf("its pool runs %d tasks, and may run %d", tasks, limit)
	case p.MaxJobs > 0 && j.runs() == 0 && jobs >= p.MaxJobs:
		return fmt.Sprintf("its pool runs %d jobs, and may run %d", jobs, p.MaxJobs)
	}
	return ""
}

// startable returns a task that may start on a slot of class c, or nil.
func (m *model) startable(c sojourn.Class) (found *modelTask) {
	m.each(func(_ *modelJob, t *modelTask) {
		if found == nil && m.why(t, c) == "" {
			found = t
		}
	})
	return found
}

// outranks returns a task of a job of greater priority than that of t that may start on a slot of class c, or nil.
func (m *model) outranks(t *modelTask, c sojourn.Class) (found *modelTask) {
	own := m.job(t.id.Job).spec.Priority
	m.each(func(j *modelJob, other *modelTask) {
		if j.spec.Priority > own && m.why(other, c) == "" {
			found = other
		}
	})
	return found
}

// nextRelease returns the earliest instant that a job waits for which is not held back by another one.
func (m *model) nextRelease() (at sojourn.Time, ok bool) {
	for i, j := range m.jobs {
		if t := j.spec.Release; t > m.now && !j.released && m.first(i) && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// first reports whether no job that arrived before the i-th live one is of its sequence.
func (m *model) first(i int) bool {
	name := m.jobs[i].spec.Sequence
	return name == "" || !slices.ContainsFunc(m.jobs[:i], func(j *modelJob) bool { return j.spec.Sequence == name })
}

// unserved returns a free slot and a task that may start on it, if there are any.
func (m *model) unserved() (*modelSlot, *modelTask) {
	for _, s := range m.slots {
		if s.task == nil {
			if t := m.startable(s.Class); t != nil {
				return s, t
			}
		}
	}
	return nil, nil
}

// apply applies an event that check finds to fit.
func (m *model) apply(ev *sojourn.Event) {
	m.now = ev.At
	switch ev.Kind {
	case sojourn.SlotAdded:
		m.say(ev.Slot)
		if s := m.slot(ev.Slot.ID); s != nil {
			s.retiring = false
			break
		}
		m.slots = append(m.slots, &modelSlot{Slot: ev.Slot})
	case sojourn.SlotRemoved:
		s := m.slot(ev.Slot.ID)
		if s.retiring = true; s.task == nil {
			m.dropSlot(s)
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		m.say(ev.Slot)
		m.down[ev.Slot.Node] = ev.Kind == sojourn.NodeDown
		m.forgetRack(ev.Slot.Node)
	case sojourn.JobArrived, sojourn.JobAdopted:
		j := &modelJob{tasks: make([][]*modelTask, len(ev.Job.Phases))}
		m.jobs = append(m.jobs, j)
		j.describe(ev.Job)
	case sojourn.JobRevised:
		m.job(ev.Job.ID).describe(ev.Job)
	case sojourn.JobCancelled:
		m.job(ev.Job.ID).cancelled = true
	case sojourn.TaskHeld, sojourn.TaskReady:
		t := m.task(ev.Task)
		if t.state = held; ev.Kind == sojourn.TaskReady {
			t.state = pending
		}
		if ev.Attempt > 0 {
			t.attempts = ev.Attempt
		}
	case sojourn.PoolChanged:
		if m.pools == nil {
			m.pools = map[string]*sojourn.Pool{}
		}
		m.pools[ev.Pool.Name] = ev.Pool
	case sojourn.TaskDone:
		t := m.task(ev.Task)
		t.state = done
	case sojourn.OutputLost:
		t := m.task(ev.Task)
		t.state = pending
	case sojourn.TaskAdopted:
		m.start(m.task(ev.Task), ev.Slot.ID, ev.Attempt)
		m.job(ev.Task.Job).released = true
	case sojourn.TaskPinned:
		m.task(ev.Task).pinned = true
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		t := m.task(ev.Task)
		s := m.slotOf(t)
		t.pinned = false
		if s.task = nil; s.retiring {
			m.dropSlot(s)
		}
		if t.state = pending; ev.Kind == sojourn.TaskFinished {
			t.state = done
		}
	}
	m.jobs = slices.DeleteFunc(m.jobs, (*modelJob).ended)
	for i, j := range m.jobs {
		j.released = j.released || m.first(i) && j.spec.Release <= m.now
	}
}

// start puts a task on a slot.
func (m *model) start(t *modelTask, s sojourn.SlotID, attempt uint32) {
	t.state, t.attempts = running, attempt
	m.slot(s).task = t
}

// describe applies a new description of j.
func (j *modelJob) describe(spec *sojourn.Job) {
	j.spec = spec
	for i := range spec.Phases {
		n := spec.Phases[i].Tasks
		for k := len(j.tasks[i]); k < n; k++ {
			id := sojourn.TaskID{Job: spec.ID, Phase: uint16(i), Index: uint32(k)}
			t := &modelTask{id: id}
			if spec.Phases[i].Held {
				t.state = held
			}
			j.tasks[i] = append(j.tasks[i], t)
		}
		j.tasks[i] = j.tasks[i][:n:n]
	}
}

// ended reports whether j has left.
func (j *modelJob) ended() bool { return (!j.spec.Open || j.cancelled) && j.idle() }

// doneButOpen returns a job that has not ended only because it is open; nil if there is none.
func (m *model) doneButOpen() *modelJob {
	i := slices.IndexFunc(m.jobs, func(j *modelJob) bool { return j.spec.Open && j.idle() })
	if i < 0 {
		return nil
	}
	return m.jobs[i]
}

// idle reports whether nothing is left to do for j.
func (j *modelJob) idle() bool {
	for i := range j.tasks {
		if j.count(i, running) > 0 || !j.cancelled && j.count(i, done) < len(j.tasks[i]) {
			return false
		}
	}
	return true
}

func (m *model) say(s sojourn.Slot) {
	if s.Node != 0 && s.Rack != 0 {
		m.racks[s.Node] = s.Rack
	}
}

func (m *model) dropSlot(s *modelSlot) {
	m.slots = slices.DeleteFunc(m.slots, func(other *modelSlot) bool { return other == s })
	m.forgetRack(s.Node)
}

// forgetRack forgets the rack of a node that is up and has no slots.
func (m *model) forgetRack(n sojourn.NodeID) {
	if !m.down[n] && !slices.ContainsFunc(m.slots, func(s *modelSlot) bool { return s.Node == n }) {
		delete(m.racks, n)
	}
}
