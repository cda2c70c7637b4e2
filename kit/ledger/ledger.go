// Package ledger keeps the account of slots, nodes, jobs and attempts that every policy
// needs, and finds events that do not fit it. Use it in every policy. A policy that ranks
// jobs or phases by a key gets it with kit/queue.
//
// Tier: kit.
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
// Only what touches the policy's data is generic. The rest, most of the code, is compiled once
// and not once for each policy in each package that imports one.
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
// a map. Jobs are found by ID fastest if their IDs lie next to one another. Jobs that have ended take no memory, but for 64 of them, which are
// used again: a policy lets go of a [Job] in the event that ends it.
package ledger

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// A Ledger is the account of one cluster. J is the policy's data about a job. The zero Ledger
// is empty and ready.
type Ledger[J any] struct {
	// Supports says which features the policy knows. Set it before the first event, and after a
	// reset. Check refuses events that use others.
	Supports sojourn.Features

	cluster
	own  heap.Table[*Job[J]] // by handle: the jobs of cluster, whose job they contain
	gone []*Job[J]           // at most mostGone jobs that have ended, whose memory the next ones take
}

// mostGone is how many ended jobs are kept to be used again. They may keep large descriptions from being collected, and few are enough
// where jobs come about as fast as they end.
const mostGone = 64

// An Attempt is a live attempt at a task.
type Attempt[J any] struct {
	Job    *Job[J]
	Task   sojourn.TaskID
	Number uint32
	Start  sojourn.Time // when it was assigned or adopted
}

// Job returns a live job, or nil.
func (l *Ledger[J]) Job(id sojourn.JobID) *Job[J] { return l.whole(l.jobs.find(id)) }

// whole returns the live job that contains j; nil for nil.
func (l *Ledger[J]) whole(j *job) *Job[J] {
	if j == nil {
		return nil
	}
	return *l.own.At(j.handle)
}

// ByHandle returns the live job with that handle.
func (l *Ledger[J]) ByHandle(h uint32) *Job[J] { return *l.own.At(h) }

// Next returns the live job with the least handle from h on; false if there is none.
func (l *Ledger[J]) Next(h uint32) (*Job[J], bool) {
	for ; int64(h) < int64(l.own.Len()); h++ {
		if j := *l.own.At(h); j != nil {
			return j, true
		}
	}
	return nil, false
}

// AppendJobs appends the live jobs that are not cancelled, in the order of their handles.
func (l *Ledger[J]) AppendJobs(dst []*Job[J]) []*Job[J] {
	for _, j := range l.own.All() {
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
	listed := make([]bool, l.own.Len())
	list := func(j *Job[J]) {
		if !listed[j.handle] {
			listed[j.handle] = true
			dst = append(dst, j.id)
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
		for _, j := range l.own.All() {
			if j != nil && !yield(j) {
				return
			}
		}
	}
}

// Attempt returns the live attempt on a slot.
func (l *Ledger[J]) Attempt(id sojourn.SlotID) (Attempt[J], bool) {
	s := l.slots.at(id)
	if s == nil || s.holder == 0 {
		return Attempt[J]{}, false
	}
	j := *l.own.At(s.holder - 1)
	t := sojourn.TaskID{Job: j.id, Phase: s.phase, Index: s.index}
	return Attempt[J]{j, t, s.attempt, s.start}, true
}

// Attempts iterates over the busy slots and their attempts, by ID of the slot. It visits every
// slot.
func (l *Ledger[J]) Attempts() iter.Seq2[sojourn.Slot, Attempt[J]] {
	return func(yield func(sojourn.Slot, Attempt[J]) bool) {
		for s := range l.slots.all() {
			if a, ok := l.Attempt(s.ID); ok && !yield(s.Slot, a) {
				return
			}
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
func (l *Ledger[J]) TakePhase(j *Job[J], phase int, id sojourn.SlotID) (a sojourn.Assignment) {
	l.take(&j.job, phase, uint32(j.phases[phase].pending.Min()), id, &a)
	return a
}

// TakeTask assigns a pending task of a ready phase to a free slot.
func (l *Ledger[J]) TakeTask(j *Job[J], phase int, index uint32, id sojourn.SlotID) (a sojourn.Assignment) {
	l.take(&j.job, phase, index, id, &a)
	return a
}
