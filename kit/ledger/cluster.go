package ledger

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
)

// A cluster is a [Ledger] without the policy's data about jobs, and without the features that the
// policy knows.
type cluster struct {
	now   sojourn.Time
	jobs  jobs
	slots slots
}

// Now returns the instant of the latest event.
func (l *cluster) Now() sojourn.Time { return l.now }

// Live returns the number of live jobs, cancelled ones included.
func (l *cluster) Live() int { return l.jobs.live() }

// Alone reports whether at most one job is live. It returns how many tasks the phase has that the job starts next on
// slots of class c, finished ones included; 0 if it has nothing to start there.
func (l *cluster) Alone(c sojourn.Class) (tasks int, alone bool) {
	switch l.Live() {
	case 0:
		return 0, true
	case 1:
		j := *l.jobs.table.At(uint32(l.jobs.sum))
		side := j.SideOf(c)
		if side == nil || side.Startable() == 0 {
			return 0, true
		}
		return j.spec.Phases[j.NextPhase(side)].Tasks, true
	}
	return 0, false
}

// Capacity returns the number of slots of a class, retiring ones included.
func (l *cluster) Capacity(c sojourn.Class) int {
	if int(c) >= len(l.slots.classes) {
		return 0
	}
	return l.slots.classes[c].capacity
}

// FreeSlot returns the free slot of class c with the least ID.
func (l *cluster) FreeSlot(c sojourn.Class) (sojourn.SlotID, bool) {
	if int(c) >= len(l.slots.classes) {
		return 0, false
	}
	id := l.slots.classes[c].free.Min()
	return sojourn.SlotID(max(id, 0)), id >= 0
}

// FreeSlots returns the number of free slots of class c.
func (l *cluster) FreeSlots(c sojourn.Class) int {
	if int(c) >= len(l.slots.classes) {
		return 0
	}
	return l.slots.classes[c].free.Len()
}

// NextFree returns the free slot of class c with the least ID that is at least
// from.
func (l *cluster) NextFree(c sojourn.Class, from sojourn.SlotID) (sojourn.SlotID, bool) {
	if int(c) >= len(l.slots.classes) {
		return 0, false
	}
	id := l.slots.classes[c].free.Next(int(from))
	return sojourn.SlotID(max(id, 0)), id >= 0
}

// Rack returns the rack of a node that has slots or is down; 0 if it is unknown.
func (l *cluster) Rack(n sojourn.NodeID) sojourn.RackID { return l.slots.nodes[n].rack }

// Down reports whether the data of a node cannot be read.
func (l *cluster) Down(n sojourn.NodeID) bool { return l.slots.nodes[n].down }

// Free returns the slot that Assign is called with. It panics with a [*sojourn.SlotError] if
// the slot is unknown, retiring or busy.
func (l *cluster) Free(id sojourn.SlotID) sojourn.Slot {
	s := l.slots.at(id)
	switch {
	case s == nil || s.state == absent || s.state == retiring:
		panic(&sojourn.SlotError{Slot: id})
	case s.state == busy:
		panic(&sojourn.SlotError{Slot: id, Busy: true})
	}
	return s.Slot
}

// Retiring reports whether a slot is busy and will leave with its attempt.
func (l *cluster) Retiring(id sojourn.SlotID) bool {
	s := l.slots.at(id)
	return s != nil && s.state == retiring
}

// Pinned reports whether the attempt on a slot may not be killed: see [sojourn.TaskPinned].
func (l *cluster) Pinned(id sojourn.SlotID) bool {
	_, pinned := l.slots.pinned[id]
	return pinned
}

// Busy returns a slot that runs something, retiring or not; false if it runs nothing or does
// not exist.
func (l *cluster) Busy(id sojourn.SlotID) (sojourn.Slot, bool) {
	s := l.slots.at(id)
	if s == nil || s.holder == 0 {
		return sojourn.Slot{}, false
	}
	return s.Slot, true
}

// Slots iterates over the slots, retiring ones included, by ID.
func (l *cluster) Slots() iter.Seq[sojourn.Slot] {
	return func(yield func(sojourn.Slot) bool) {
		for s := range l.slots.all() {
			if !yield(s.Slot) {
				return
			}
		}
	}
}

// AppendDown appends the nodes whose data cannot be read, by ID. Each entry is a slot with the
// node and its rack, as in a NodeDown event.
func (l *cluster) AppendDown(dst []sojourn.Slot) []sojourn.Slot {
	for _, id := range l.slots.nodes.sorted() {
		if n := l.slots.nodes[id]; n.down {
			dst = append(dst, sojourn.Slot{Node: id, Rack: n.rack})
		}
	}
	return dst
}

// take puts a pending task on a free slot, and says in a what was assigned.
func (l *cluster) take(j *job, phase int, index uint32, id sojourn.SlotID, a *sojourn.Assignment) {
	number := uint32(1)
	if j.more != nil {
		t := task{uint16(phase), index}
		if n, ok := j.more.tries[t]; ok {
			number = n + 1
			j.more.tries[t] = number
		}
	}
	l.start(j, phase, index, number, id)
	a.Task.Job, a.Task.Phase, a.Task.Index, a.Attempt, a.Slot = j.id, uint16(phase), index, number, id
}

// start puts a pending task on a free slot, as an attempt with that number.
func (l *cluster) start(j *job, phase int, index, number uint32, id sojourn.SlotID) {
	j.stand()
	p := &j.phases[phase]
	side := &j.sides[p.side]
	p.pending.Remove(int(index))
	side.started++
	j.addRunning(p, side, 1)
	if p.ready {
		side.startable--
	}
	s := l.slots.at(id)
	s.holder, s.phase, s.index, s.attempt, s.start, s.state = j.handle+1, uint16(phase), index, number, l.now, busy
	l.slots.classes[s.Class].free.Remove(int(id))
}
