// Package ledger keeps the account of slots, nodes, jobs and attempts that every policy
// needs, and finds events that do not fit it. Use it in every policy. A policy that ranks
// jobs or phases by a key gets it with kit/queue.
//
//	if err := p.ledger.Check(&ev); err != nil { // in Observe
//		return err
//	}
//	c := p.ledger.Apply(&ev)                    // c.Job is the job that the event concerns
//	...
//	class := p.ledger.Free(slot).Class          // in Assign
//	j := p.next(class)                          // a job with something to start
//	return p.ledger.Take(j, j.SideOf(class), slot), true
//
// [Ledger.Check] changes nothing and [Ledger.Apply] cannot fail. A policy that refuses an event
// does so in between. So an event is applied completely or not at all, even if a wrapper has to
// ask several policies.
//
// The comment on [sojourn.EventKind] has a figure of the states of a task: pending, held,
// running and done. Check finds an event that has no arrow from the state of its task. The
// ledger stores the sets of pending and done tasks of a [Phase], and the held tasks of a job.
//
// A [Side] is the part of a job that runs on one class of slots. Only the ledger writes its
// counters. A policy keeps its own data about a job in [Job].Data, or in arrays indexed by
// [Job.Handle].
//
// # Cost
//
// Reports about attempts find their job through the slot table, without a map.
// Apply and Take take constant time for all task events, apart from the bitmaps
// of package bitset, and allocate nothing until an attempt fails. JobRevised looks at
// tasks that were held or failed, and at all tasks if they have inputs. No method
// visits idle jobs and idle slots. A task takes two bits. In phases of more than 4,096
// tasks, a block of 4,096 tasks takes memory only once one of them was started, held
// or finished; Take and Apply then allocate some 600 bytes. Only tasks that were
// attempted more than once, held, or reported done without an attempt have an entry in
// a map. A job that has ended takes no memory.
package ledger

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
)

// A Ledger is the account of one cluster. J is the policy's data about a job. The zero Ledger
// is empty and ready.
type Ledger[J any] struct {
	now   sojourn.Time
	jobs  jobs[J]
	slots slots[J]
}

// An Attempt is a live attempt at a task.
type Attempt[J any] struct {
	Job    *Job[J]
	Task   sojourn.TaskID
	Number uint32
	Start  sojourn.Time // when it was assigned or adopted
}

// Now returns the instant of the latest event.
func (l *Ledger[J]) Now() sojourn.Time { return l.now }

// Live returns the number of live jobs, cancelled ones included.
func (l *Ledger[J]) Live() int { return len(l.jobs.byID) }

// Job returns a live job, or nil.
func (l *Ledger[J]) Job(id sojourn.JobID) *Job[J] { return l.jobs.byID[id] }

// ByHandle returns the live job with that handle.
func (l *Ledger[J]) ByHandle(h uint32) *Job[J] { return l.jobs.table[h] }

// AppendJobs appends the live jobs that are not cancelled, in the order of their handles.
func (l *Ledger[J]) AppendJobs(dst []*Job[J]) []*Job[J] {
	for _, j := range l.jobs.table {
		if j != nil && !j.cancelled {
			dst = append(dst, j)
		}
	}
	return dst
}

// AppendRanking appends the IDs of the live jobs that are not cancelled. First come the
// jobs that rank lists, each at its first place, then the others by handle. rank must
// list live jobs only.
func (l *Ledger[J]) AppendRanking(dst []sojourn.JobID, rank func(list func(*Job[J]))) []sojourn.JobID {
	listed := make([]bool, len(l.jobs.table))
	list := func(j *Job[J]) {
		if !listed[j.handle] {
			listed[j.handle] = true
			dst = append(dst, j.spec.ID)
		}
	}
	rank(list)
	for _, j := range l.AppendJobs(nil) {
		list(j)
	}
	return dst
}

// All iterates over the live jobs, cancelled ones included, in the order of their
// handles.
func (l *Ledger[J]) All() iter.Seq[*Job[J]] {
	return func(yield func(*Job[J]) bool) {
		for _, j := range l.jobs.table {
			if j != nil && !yield(j) {
				return
			}
		}
	}
}

// Capacity returns the number of slots of a class, retiring ones included.
func (l *Ledger[J]) Capacity(c sojourn.Class) int {
	if int(c) >= len(l.slots.classes) {
		return 0
	}
	return l.slots.classes[c].capacity
}

// FreeSlot returns the free slot of class c with the least ID.
func (l *Ledger[J]) FreeSlot(c sojourn.Class) (sojourn.SlotID, bool) {
	if int(c) >= len(l.slots.classes) {
		return 0, false
	}
	id := l.slots.classes[c].free.Min()
	return sojourn.SlotID(max(id, 0)), id >= 0
}

// FreeSlots returns the number of free slots of class c.
func (l *Ledger[J]) FreeSlots(c sojourn.Class) int {
	if int(c) >= len(l.slots.classes) {
		return 0
	}
	return l.slots.classes[c].free.Len()
}

// NextFree returns the free slot of class c with the least ID that is at least
// from.
func (l *Ledger[J]) NextFree(c sojourn.Class, from sojourn.SlotID) (sojourn.SlotID, bool) {
	if int(c) >= len(l.slots.classes) {
		return 0, false
	}
	id := l.slots.classes[c].free.Next(int(from))
	return sojourn.SlotID(max(id, 0)), id >= 0
}

// Rack returns the rack of a node that has slots or is down; 0 if it is unknown.
func (l *Ledger[J]) Rack(n sojourn.NodeID) sojourn.RackID { return l.slots.nodes[n].rack }

// Down reports whether the data of a node cannot be read.
func (l *Ledger[J]) Down(n sojourn.NodeID) bool { return l.slots.nodes[n].down }

// Free returns the slot that Assign is called with. It panics with a [*sojourn.SlotError] if
// the slot is unknown, retiring or busy.
func (l *Ledger[J]) Free(id sojourn.SlotID) sojourn.Slot {
	s := l.slots.at(id)
	switch {
	case s == nil || s.state == absent || s.state == retiring:
		panic(&sojourn.SlotError{Slot: id})
	case s.state == busy:
		panic(&sojourn.SlotError{Slot: id, Busy: true})
	}
	return s.whole(id)
}

// Retiring reports whether a slot is busy and will leave with its attempt.
func (l *Ledger[J]) Retiring(id sojourn.SlotID) bool {
	s := l.slots.at(id)
	return s != nil && s.state == retiring
}

// Busy returns a slot that runs something, retiring or not; false if it runs nothing or does
// not exist.
func (l *Ledger[J]) Busy(id sojourn.SlotID) (sojourn.Slot, bool) {
	s := l.slots.at(id)
	if s == nil || s.job == nil {
		return sojourn.Slot{}, false
	}
	return s.whole(id), true
}

// Attempt returns the live attempt on a slot.
func (l *Ledger[J]) Attempt(id sojourn.SlotID) (Attempt[J], bool) {
	s := l.slots.at(id)
	if s == nil || s.job == nil {
		return Attempt[J]{}, false
	}
	t := sojourn.TaskID{Job: s.job.spec.ID, Phase: s.phase, Index: s.index}
	return Attempt[J]{s.job, t, s.attempt, s.start}, true
}

// Attempts iterates over the busy slots and their attempts, by ID of the slot. It visits every
// slot.
func (l *Ledger[J]) Attempts() iter.Seq2[sojourn.Slot, Attempt[J]] {
	return func(yield func(sojourn.Slot, Attempt[J]) bool) {
		for id, s := range l.slots.all() {
			if a, ok := l.Attempt(id); ok && !yield(s.whole(id), a) {
				return
			}
		}
	}
}

// AppendFree appends the free slots of class c, by ID. It visits every slot.
func (l *Ledger[J]) AppendFree(dst []sojourn.Slot, c sojourn.Class) []sojourn.Slot {
	for id, s := range l.slots.all() {
		if s.state == free && s.class == c {
			dst = append(dst, s.whole(id))
		}
	}
	return dst
}

// AppendDown appends the nodes whose data cannot be read, by ID. Each entry is a slot with the
// node and its rack, as in a NodeDown event.
func (l *Ledger[J]) AppendDown(dst []sojourn.Slot) []sojourn.Slot {
	for _, id := range l.slots.nodes.sorted() {
		if n := l.slots.nodes[id]; n.down {
			dst = append(dst, sojourn.Slot{Node: id, Rack: n.rack})
		}
	}
	return dst
}

// Take assigns to a free slot the lowest startable task of the first phase of a
// side that has one. There must be one.
func (l *Ledger[J]) Take(j *Job[J], s *Side, id sojourn.SlotID) sojourn.Assignment {
	return l.TakePhase(j, j.NextPhase(s), id)
}

// TakePhase assigns to a free slot the lowest pending task of a ready phase.
// There must be one.
func (l *Ledger[J]) TakePhase(j *Job[J], phase int, id sojourn.SlotID) sojourn.Assignment {
	return l.TakeTask(j, phase, uint32(j.phases[phase].pending.Min()), id)
}

// TakeTask assigns a pending task of a ready phase to a free slot.
func (l *Ledger[J]) TakeTask(j *Job[J], phase int, index uint32, id sojourn.SlotID) sojourn.Assignment {
	number := uint32(1)
	if j.tries != nil {
		t := task{uint16(phase), index}
		if n, ok := j.tries[t]; ok {
			number = n + 1
			j.tries[t] = number
		}
	}
	l.start(j, phase, index, number, id)
	return sojourn.Assignment{
		Task:    sojourn.TaskID{Job: j.spec.ID, Phase: uint16(phase), Index: index},
		Attempt: number,
		Slot:    id,
	}
}

// start puts a pending task on a free slot.
func (l *Ledger[J]) start(j *Job[J], phase int, index, number uint32, id sojourn.SlotID) {
	p := &j.phases[phase]
	side := &j.sides[p.side]
	p.pending.Remove(int(index))
	p.running++
	side.running++
	side.started++
	j.running++
	if p.ready {
		side.startable--
	}
	s := l.slots.at(id)
	s.job, s.phase, s.index, s.attempt, s.start, s.state = j, uint16(phase), index, number, l.now, busy
	l.slots.classes[s.class].free.Remove(int(id))
}
