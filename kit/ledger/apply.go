package ledger

import (
	"maps"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// A Change says what an event did to the account.
type Change[J any] struct {
	// Job is the job that the event concerns, nil for events about slots, nodes
	// and time.
	Job *Job[J]

	// Ended says that the job has left the account: all its tasks are finished, or
	// it is cancelled and its last attempt has ended. Its handle may be given to
	// the next job that arrives.
	Ended bool

	// Slot is the slot that the event concerns, whole, if any.
	Slot sojourn.Slot

	// SlotGone says that the slot has left the account.
	SlotGone bool

	// Start is when the attempt started that the event ends.
	Start sojourn.Time
}

// Apply applies an event that [Ledger.Check] found to fit.
func (l *Ledger[J]) Apply(ev *sojourn.Event) (c Change[J]) {
	l.now = ev.At
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		c = l.end(ev)
	case sojourn.TaskProgress:
		s := l.slot(ev.Slot.ID)
		c.Job, c.Slot, c.Start = s.job, s.whole(ev.Slot.ID), s.start
	case sojourn.SlotAdded:
		c.Slot = ev.Slot
		l.addSlot(ev.Slot)
	case sojourn.SlotRemoved:
		s := l.slot(ev.Slot.ID)
		c.Slot = s.whole(ev.Slot.ID)
		if s.state == busy {
			s.state = retiring
		} else {
			c.SlotGone = true
			l.dropSlot(ev.Slot.ID, s)
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		c.Slot = ev.Slot
		n := l.nodes[ev.Slot.Node]
		n.down = ev.Kind == sojourn.NodeDown
		l.setNode(ev.Slot.Node, n, ev.Slot.Rack)
	case sojourn.JobArrived, sojourn.JobAdopted:
		c.Job = l.arrive(ev.Job)
	case sojourn.JobRevised:
		c.Job = l.jobs[ev.Job.ID]
		c.Job.revise(ev.Job)
	case sojourn.JobCancelled:
		c.Job = l.jobs[ev.Job.ID]
		c.Job.cancel()
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost:
		c.Job = l.jobs[ev.Task.Job]
		c.Job.move(ev)
	case sojourn.TaskAdopted:
		c.Job = l.jobs[ev.Task.Job]
		s := l.slot(ev.Slot.ID)
		c.Slot = s.whole(ev.Slot.ID)
		t := task{ev.Task.Phase, ev.Task.Index}
		if _, counted := c.Job.tries[t]; counted || ev.Attempt > 1 {
			c.Job.setTries(t, ev.Attempt)
		}
		l.start(c.Job, int(ev.Task.Phase), ev.Task.Index, ev.Attempt, ev.Slot.ID)
	}
	if c.Job != nil && c.Job.Ended() {
		c.Ended = true
		delete(l.jobs, c.Job.Spec.ID)
		l.table[c.Job.Handle] = nil
		l.spare = append(l.spare, c.Job.Handle)
	}
	return c
}

func (s *slot[J]) whole(id sojourn.SlotID) sojourn.Slot {
	return sojourn.Slot{ID: id, Node: s.node, Rack: s.rack, Class: s.class}
}

// end takes a live attempt off its slot.
func (l *Ledger[J]) end(ev *sojourn.Event) Change[J] {
	s := l.slot(ev.Slot.ID)
	j := s.job
	c := Change[J]{Job: j, Slot: s.whole(ev.Slot.ID), Start: s.start}
	p := &j.Phases[s.phase]
	p.Running--
	j.Sides[p.Side].Running--
	j.Running--
	switch {
	case ev.Kind == sojourn.TaskFinished:
		j.finish(int(s.phase), s.index)
	case !j.Cancelled:
		if ev.Kind == sojourn.TaskRefused {
			j.Sides[p.Side].Started--
		}
		j.setTries(task{s.phase, s.index}, s.attempt)
		j.requeue(int(s.phase), s.index)
	}
	s.job = nil
	if s.state == retiring {
		c.SlotGone = true
		l.dropSlot(ev.Slot.ID, s)
	} else {
		s.state = free
		l.classes[s.class].free.Add(int(ev.Slot.ID))
	}
	return c
}

func (l *Ledger[J]) addSlot(add sojourn.Slot) {
	if s := l.slot(add.ID); s != nil && s.state == retiring {
		s.state = busy
		return
	}
	l.newSlot(add)
	n := l.nodes[add.Node]
	n.slots++
	l.setNode(add.Node, n, add.Rack)
}

// newSlot makes the entry of a free slot, and counts it for its class but not for
// its node.
func (l *Ledger[J]) newSlot(add sojourn.Slot) *slot[J] {
	page := int(add.ID / pageSize)
	for page >= len(l.slots) {
		l.slots = append(l.slots, nil)
	}
	if l.slots[page] == nil {
		l.slots[page] = new(slotPage[J])
	}
	for int(add.Class) >= len(l.classes) {
		l.classes = append(l.classes, class{})
	}
	s := &l.slots[page][add.ID%pageSize]
	*s = slot[J]{node: add.Node, rack: add.Rack, class: add.Class, state: free}
	l.classes[add.Class].capacity++
	l.classes[add.Class].free.Add(int(add.ID))
	return s
}

func (l *Ledger[J]) dropSlot(id sojourn.SlotID, s *slot[J]) {
	s.state = absent
	l.classes[s.class].capacity--
	l.classes[s.class].free.Remove(int(id))
	n := l.nodes[s.node]
	n.slots--
	l.setNode(s.node, n, s.rack)
}

// setNode stores what is known of a node, and forgets a node that is up and has
// no slots.
func (l *Ledger[J]) setNode(id sojourn.NodeID, n node, rack sojourn.RackID) {
	if id == 0 {
		return
	}
	if rack != 0 {
		n.rack = rack
	}
	if n.slots == 0 && !n.down {
		delete(l.nodes, id)
		return
	}
	if l.nodes == nil {
		l.nodes = make(map[sojourn.NodeID]node)
	}
	l.nodes[id] = n
}

func (l *Ledger[J]) arrive(spec *sojourn.Job) *Job[J] {
	l.seq++
	j := newJob[J](spec, l.seq)
	if n := len(l.spare); n > 0 {
		j.Handle = l.spare[n-1]
		l.spare = l.spare[:n-1]
		l.table[j.Handle] = j
	} else {
		j.Handle = uint32(len(l.table))
		l.table = append(l.table, j)
	}
	for i := range j.Phases {
		j.updateReady(i)
	}
	if l.jobs == nil {
		l.jobs = make(map[sojourn.JobID]*Job[J])
	}
	l.jobs[spec.ID] = j
	return j
}

// newJob returns a job without a handle of which nothing is ready.
func newJob[J any](spec *sojourn.Job, seq uint64) *Job[J] {
	j := &Job[J]{Spec: spec, Seq: seq, Weight: spec.WeightUnits(), Phases: make([]Phase, len(spec.Phases))}
	sides := 0
	var seen [4]uint64
	for i := range spec.Phases {
		c := spec.Phases[i].Class
		if seen[c>>6]&(1<<(c&63)) == 0 {
			seen[c>>6] |= 1 << (c & 63)
			sides++
		}
	}
	j.Sides = make([]Side, 0, sides)
	for i := range spec.Phases {
		p := &j.Phases[i]
		n := spec.Phases[i].Tasks
		p.Side = j.side(spec.Phases[i].Class)
		p.pending, p.done = bitset.Full(n), bitset.Sized(n)
		j.Left += n
	}
	return j
}

// side returns the index of the side of class c, and makes one if needed.
func (j *Job[J]) side(c sojourn.Class) int {
	for i := range j.Sides {
		if j.Sides[i].Class == c {
			return i
		}
	}
	j.Sides = append(j.Sides, Side{Class: c})
	return len(j.Sides) - 1
}

// updateReady recomputes whether phase i may start, after its threshold or the
// number of finished tasks of the phase before has changed.
func (j *Job[J]) updateReady(i int) {
	if i >= len(j.Phases) || j.Cancelled {
		return
	}
	p := &j.Phases[i]
	ready := i == 0 || j.Phases[i-1].Done >= j.Spec.Threshold(i)
	if ready == p.Ready {
		return
	}
	p.Ready = ready
	side := &j.Sides[p.Side]
	if ready {
		side.Startable += p.pending.Len()
		side.first = min(side.first, i)
	} else {
		side.Startable -= p.pending.Len()
	}
}

// requeue makes a task pending.
func (j *Job[J]) requeue(phase int, index uint32) {
	p := &j.Phases[phase]
	p.pending.Add(int(index))
	if p.Ready {
		side := &j.Sides[p.Side]
		side.Startable++
		side.first = min(side.first, phase)
	}
}

// unqueue takes a task out of the pending ones.
func (j *Job[J]) unqueue(phase int, index uint32) {
	p := &j.Phases[phase]
	p.pending.Remove(int(index))
	if p.Ready {
		j.Sides[p.Side].Startable--
	}
}

// finish counts a task, which is neither pending nor held any more, as done.
func (j *Job[J]) finish(phase int, index uint32) {
	p := &j.Phases[phase]
	p.done.Add(int(index))
	p.Done++
	j.Left--
	j.updateReady(phase + 1)
}

func (j *Job[J]) setTries(t task, n uint32) {
	if j.tries == nil {
		j.tries = make(map[task]uint32)
	}
	j.tries[t] = n
}

// move applies the events that change the state of a task without an attempt.
func (j *Job[J]) move(ev *sojourn.Event) {
	phase, index := int(ev.Task.Phase), ev.Task.Index
	t := task{ev.Task.Phase, index}
	switch ev.Kind {
	case sojourn.TaskHeld:
		j.unqueue(phase, index)
		if j.held == nil {
			j.held = make(map[task]struct{})
		}
		j.held[t] = struct{}{}
	case sojourn.TaskReady:
		delete(j.held, t)
		j.requeue(phase, index)
	case sojourn.TaskDone:
		if j.Phases[phase].IsPending(index) {
			j.unqueue(phase, index)
		}
		delete(j.held, t)
		if _, ok := j.tries[t]; !ok {
			j.setTries(t, 0)
		}
		j.finish(phase, index)
	case sojourn.OutputLost:
		p := &j.Phases[phase]
		p.done.Remove(int(index))
		p.Done--
		j.Left++
		j.setTries(t, ev.Attempt)
		j.requeue(phase, index)
		j.updateReady(phase + 1)
	}
}

// cancel drops all pending tasks. The maps go too: nothing of a cancelled job is
// tried again.
func (j *Job[J]) cancel() {
	j.Cancelled = true
	for i := range j.Phases {
		j.Phases[i].Ready = false
		j.Phases[i].pending = bitset.Set{}
	}
	for i := range j.Sides {
		j.Sides[i].Startable = 0
	}
	j.tries, j.held = nil, nil
}

// revise takes over a new description.
func (j *Job[J]) revise(spec *sojourn.Job) {
	old := j.Spec
	j.Spec, j.Weight = spec, spec.WeightUnits()
	for i := range spec.Phases {
		p := &j.Phases[i]
		was, is := old.Phases[i].Tasks, spec.Phases[i].Tasks
		before := p.pending.Len()
		p.pending.AddRange(was, is)
		p.pending.RemoveFrom(is)
		maps.DeleteFunc(j.tries, func(t task, _ uint32) bool { // of one that was done without an attempt, and lost
			return int(t.phase) == i && int64(t.index) >= int64(is)
		})
		j.Left += is - was
		if p.Ready {
			side := &j.Sides[p.Side]
			side.Startable += p.pending.Len() - before
			side.first = min(side.first, i)
		}
	}
	for i := range j.Phases {
		j.updateReady(i)
	}
}
