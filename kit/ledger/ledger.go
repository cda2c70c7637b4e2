// Package ledger keeps the account of slots, nodes, jobs and attempts that every
// policy needs, and finds the events that do not fit it.
//
// A policy embeds a [Ledger]. In Observe it calls [Ledger.Check], which is pure,
// decides whether it wants to refuse, and calls [Ledger.Apply], which cannot
// fail: an event is therefore applied whole or not at all, also by a wrapper
// that has other parties to ask in between. In Assign it picks a [Side], which
// is the part of a job that runs on one class of slot, and calls [Ledger.Take].
//
// # Cost
//
// Reports about attempts find their job through the slot table, without a map.
// Apply and Take take constant time for all task events, apart from the bitmaps
// of package bitset, and allocate nothing until an attempt fails. JobRevised looks
// at what was held or failed, and at all tasks if they have inputs. Idle jobs and
// idle slots are not visited. What is kept of a task is two bits, in phases of more
// than 4,096 tasks only once one of the 4,096 around it was started, held or finished:
// so often, Take and Apply allocate some 600 bytes. Only tasks that
// were attempted more than once, held, or reported done without an attempt have
// an entry in a map. Nothing is kept of a job that has ended.
package ledger

import (
	"fmt"
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// A Ledger is the account of one cluster. J is what the policy keeps of each
// job. The zero Ledger is empty and ready.
type Ledger[J any] struct {
	now   sojourn.Time
	seq   uint64
	jobs  map[sojourn.JobID]*Job[J]
	table []*Job[J] // by handle; nil where the handle is free
	spare []uint32  // free handles, the next one last

	slots   []*slotPage[J] // slot id is slots[id/pageSize][id%pageSize]
	classes []class        // by sojourn.Class, as far as any was seen
	nodes   map[sojourn.NodeID]node
}

// A Job is the account of one live job.
type Job[J any] struct {
	Spec   *sojourn.Job
	Seq    uint64 // order of arrival, from 1: the last resort of every order
	Handle uint32 // a small number, unique among live jobs: policies keep arrays and heaps by it
	Weight uint64 // Spec.WeightUnits()

	Phases []Phase
	Sides  []Side // one for each class of the phases, in the order in which they appear

	Left      int  // tasks that are not finished
	Running   int  // live attempts
	Cancelled bool // only waits for its live attempts

	Data J // the policy's own

	tries map[task]uint32   // attempts so far, where that is not what the bitmaps tell
	held  map[task]struct{} // tasks that may not start for now
}

// task names a task within a job.
type task struct {
	phase uint16
	index uint32
}

// A Phase is the account of one phase. Its tasks are pending, held, running or
// done; those in none of the first three sets are running.
type Phase struct {
	Side    int  // index in Job.Sides
	Ready   bool // enough tasks of the phase before have finished
	Done    int  // finished tasks
	Running int  // live attempts

	pending bitset.Set // tasks that wait for a slot
	done    bitset.Set
}

// Pending returns the number of tasks that wait for a slot and are not held.
func (p *Phase) Pending() int { return p.pending.Len() }

// FirstPending returns the lowest of those tasks; false if there is none.
func (p *Phase) FirstPending() (uint32, bool) {
	i := p.pending.Min()
	return uint32(max(i, 0)), i >= 0
}

// IsPending reports whether a task waits for a slot and is not held.
func (p *Phase) IsPending(index uint32) bool { return p.pending.Has(int(index)) }

// IsDone reports whether a task has finished.
func (p *Phase) IsDone(index uint32) bool { return p.done.Has(int(index)) }

// A Side is the part of a job that runs on slots of one class.
type Side struct {
	Class     sojourn.Class
	Running   int // live attempts
	Startable int // pending tasks of ready phases
	Started   int // attempts so far, without those that were refused

	first int // no phase of the side below first has anything startable
}

// An Attempt is a live attempt at a task.
type Attempt[J any] struct {
	Job    *Job[J]
	Task   sojourn.TaskID
	Number uint32
	Start  sojourn.Time // when it was assigned or adopted
}

type slotState uint8

const (
	absent slotState = iota
	free
	busy
	retiring // busy, and leaves with its attempt
)

type slot[J any] struct {
	job     *Job[J] // of the live attempt, if any
	start   sojourn.Time
	node    sojourn.NodeID
	rack    sojourn.RackID
	index   uint32
	attempt uint32
	phase   uint16
	class   sojourn.Class
	state   slotState
}

const pageSize = 256

type slotPage[J any] [pageSize]slot[J]

type class struct {
	capacity int // slots that are not absent
	free     bitset.Set
}

type node struct {
	rack  sojourn.RackID
	slots int
	down  bool
}

// Now returns the instant of the latest event.
func (l *Ledger[J]) Now() sojourn.Time { return l.now }

// Live returns the number of live jobs, cancelled ones included.
func (l *Ledger[J]) Live() int { return len(l.jobs) }

// Job returns a live job, or nil.
func (l *Ledger[J]) Job(id sojourn.JobID) *Job[J] { return l.jobs[id] }

// ByHandle returns the live job with that handle.
func (l *Ledger[J]) ByHandle(h uint32) *Job[J] { return l.table[h] }

// AppendJobs appends the live jobs that are not cancelled, in no useful but a
// determined order: that of their handles.
func (l *Ledger[J]) AppendJobs(dst []*Job[J]) []*Job[J] {
	for _, j := range l.table {
		if j != nil && !j.Cancelled {
			dst = append(dst, j)
		}
	}
	return dst
}

// AppendRanking appends the IDs of the live jobs that are not cancelled: those that
// rank lists, each where it is listed first, and then the others by handle. rank may list
// no job that is not live.
func (l *Ledger[J]) AppendRanking(dst []sojourn.JobID, rank func(list func(*Job[J]))) []sojourn.JobID {
	listed := make([]bool, len(l.table))
	list := func(j *Job[J]) {
		if !listed[j.Handle] {
			listed[j.Handle] = true
			dst = append(dst, j.Spec.ID)
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
		for _, j := range l.table {
			if j != nil && !yield(j) {
				return
			}
		}
	}
}

// Capacity returns the number of slots of a class, retiring ones included.
func (l *Ledger[J]) Capacity(c sojourn.Class) int {
	if int(c) >= len(l.classes) {
		return 0
	}
	return l.classes[c].capacity
}

// FreeSlot returns the free slot of class c with the least ID.
func (l *Ledger[J]) FreeSlot(c sojourn.Class) (sojourn.SlotID, bool) {
	if int(c) >= len(l.classes) {
		return 0, false
	}
	id := l.classes[c].free.Min()
	return sojourn.SlotID(max(id, 0)), id >= 0
}

// FreeSlots returns the number of free slots of class c.
func (l *Ledger[J]) FreeSlots(c sojourn.Class) int {
	if int(c) >= len(l.classes) {
		return 0
	}
	return l.classes[c].free.Len()
}

// NextFree returns the free slot of class c with the least ID that is at least
// from.
func (l *Ledger[J]) NextFree(c sojourn.Class, from sojourn.SlotID) (sojourn.SlotID, bool) {
	if int(c) >= len(l.classes) {
		return 0, false
	}
	id := l.classes[c].free.Next(int(from))
	return sojourn.SlotID(max(id, 0)), id >= 0
}

// Rack returns the rack of a node that has slots or is down; 0 if it is unknown.
func (l *Ledger[J]) Rack(n sojourn.NodeID) sojourn.RackID { return l.nodes[n].rack }

// Down reports whether the data of a node cannot be read.
func (l *Ledger[J]) Down(n sojourn.NodeID) bool { return l.nodes[n].down }

// slot returns the entry of a slot, or nil if there never was one.
func (l *Ledger[J]) slot(id sojourn.SlotID) *slot[J] {
	page := int(id / pageSize)
	if page >= len(l.slots) || l.slots[page] == nil {
		return nil
	}
	return &l.slots[page][id%pageSize]
}

// Free returns a slot that Assign was asked about. It panics if the slot is
// unknown, retiring or busy.
func (l *Ledger[J]) Free(id sojourn.SlotID) sojourn.Slot {
	s := l.slot(id)
	switch {
	case s == nil || s.state == absent || s.state == retiring:
		panic(fmt.Sprintf("sojourn: Assign of unknown slot %d", id))
	case s.state == busy:
		panic(fmt.Sprintf("sojourn: Assign of slot %d, which is busy", id))
	}
	return sojourn.Slot{ID: id, Node: s.node, Rack: s.rack, Class: s.class}
}

// Retiring reports whether a slot is busy and leaves with its attempt.
func (l *Ledger[J]) Retiring(id sojourn.SlotID) bool {
	s := l.slot(id)
	return s != nil && s.state == retiring
}

// Attempt returns the live attempt on a slot.
func (l *Ledger[J]) Attempt(id sojourn.SlotID) (Attempt[J], bool) {
	s := l.slot(id)
	if s == nil || s.job == nil {
		return Attempt[J]{}, false
	}
	t := sojourn.TaskID{Job: s.job.Spec.ID, Phase: s.phase, Index: s.index}
	return Attempt[J]{s.job, t, s.attempt, s.start}, true
}

// SideOf returns the part of j that runs on class c, or nil.
func (j *Job[J]) SideOf(c sojourn.Class) *Side {
	for i := range j.Sides {
		if j.Sides[i].Class == c {
			return &j.Sides[i]
		}
	}
	return nil
}

// Ended reports whether nothing is left to do for j.
func (j *Job[J]) Ended() bool { return j.Running == 0 && (j.Left == 0 || j.Cancelled) }

// NextPhase returns the first phase of a side that has a startable task. There
// must be one.
func (j *Job[J]) NextPhase(s *Side) int {
	for ; ; s.first++ {
		p := &j.Phases[s.first]
		if p.Ready && p.pending.Len() > 0 && &j.Sides[p.Side] == s {
			return s.first
		}
	}
}

// Take assigns to a free slot the lowest startable task of the first phase of a
// side that has one. There must be one.
func (l *Ledger[J]) Take(j *Job[J], s *Side, id sojourn.SlotID) sojourn.Assignment {
	return l.TakePhase(j, j.NextPhase(s), id)
}

// TakePhase assigns to a free slot the lowest pending task of a ready phase.
// There must be one.
func (l *Ledger[J]) TakePhase(j *Job[J], phase int, id sojourn.SlotID) sojourn.Assignment {
	return l.TakeTask(j, phase, uint32(j.Phases[phase].pending.Min()), id)
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
		Task:    sojourn.TaskID{Job: j.Spec.ID, Phase: uint16(phase), Index: index},
		Attempt: number,
		Slot:    id,
	}
}

// start puts a pending task on a free slot.
func (l *Ledger[J]) start(j *Job[J], phase int, index, number uint32, id sojourn.SlotID) {
	p := &j.Phases[phase]
	side := &j.Sides[p.Side]
	p.pending.Remove(int(index))
	p.Running++
	side.Running++
	side.Started++
	j.Running++
	if p.Ready {
		side.Startable--
	}
	s := l.slot(id)
	s.job, s.phase, s.index, s.attempt, s.start, s.state = j, uint16(phase), index, number, l.now, busy
	l.classes[s.class].free.Remove(int(id))
}
