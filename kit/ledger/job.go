package ledger

import (
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// A Job is the account of one live job. Only the ledger writes it, except Data.
type Job[J any] struct {
	Data J // the policy's data
	job
}

// A job is a [Job] without the policy's data.
type job struct {
	id     sojourn.JobID // of spec
	spec   *sojourn.Job
	phases []Phase
	sides  []Side // one for each class of the phases, in the order in which they appear
	more   *more  // nil for most jobs

	seq, weight uint64
	handle      uint32

	left      int32 // tasks that are not finished: the sum over the phases of Tasks - Done
	running   int32 // live attempts: the sum over the phases, and over the sides
	heldTasks int32
	limit     int32 // most live attempts at a time, by Spec().Parallelism; math.MaxInt32 if any number
	cancelled bool

	// The account of the only phase of a job, and of its only side. Collecting garbage costs by the object, so most jobs
	// are one.
	onePhase [1]Phase
	oneSide  [1]Side
}

// more is what few jobs have.
type more struct {
	tries map[task]uint32 // attempts so far, if the bitmaps do not imply the number
	held  []bitset.Set    // by phase: tasks that may not start for now; nil while there are none
	feeds [][]int         // by phase: those that wait for it; nil if each waits for the one before at most
	unmet []int32         // by phase: how many of its Needs are not finished; nil as feeds is
	early []bitset.Set    // by side: what is startable of the phases below its first, perhaps with some others; nil if nothing ever was

	works []time.Duration // by phase: the sum of the estimates; nil until a phase grows

	turned int32 // the phase, counted from 1, that the latest event has made whole, or no longer whole; 0 if none
}

// get returns all of it; nil has nothing.
func (m *more) get() more {
	if m == nil {
		return more{}
	}
	return *m
}

// try returns the number of attempts at a task so far, if the bitmaps do not imply it.
func (m *more) try(t task) (n uint32, ok bool) {
	if m != nil { // get would copy all
		n, ok = m.tries[t]
	}
	return n, ok
}

// extend returns what few jobs have, to write to it.
func extend(j *job) *more {
	if j.more == nil {
		j.more = new(more)
	}
	return j.more
}

// Spec returns the description of the job, the latest one if it was revised. It belongs
// to the driver: do not change it.
func (j *job) Spec() *sojourn.Job { return j.spec }

// Seq returns the number of the job in the order of arrival, from 1. Every order ends in
// it.
func (j *job) Seq() uint64 { return j.seq }

// Handle returns a small number, from 0, that is unique among live jobs. Policies use it
// as an index of arrays and heaps. A handle is reused after its job has ended.
func (j *job) Handle() uint32 { return j.handle }

// Weight returns the WeightUnits of the description, in 2^-16.
func (j *job) Weight() uint64 { return j.weight }

// NumPhases returns the number of phases.
func (j *job) NumPhases() int { return len(j.phases) }

// Phase returns the account of a phase, from 0 as in the description.
func (j *job) Phase(i int) *Phase { return &j.phases[i] }

// NumSides returns how many classes of slots the phases use.
func (j *job) NumSides() int { return len(j.sides) }

// Side returns the part of the job on one class of slots. Sides are in the order in which
// their classes appear among the phases.
func (j *job) Side(i int) *Side { return &j.sides[i] }

// Left returns the number of tasks that are not finished.
func (j *job) Left() int { return int(j.left) }

// Running returns the number of live attempts.
func (j *job) Running() int { return int(j.running) }

// Bounded reports whether [sojourn.Job.Parallelism] bounds how many tasks of the job run at a time. An event about any task
// of such a job, and any start, may then change what all its phases can start.
func (j *job) Bounded() bool { return j.limit != math.MaxInt32 }

// Room returns how many more tasks may run now by [sojourn.Job.Parallelism]; math.MaxInt32 if any number.
func (j *job) Room() int {
	if !j.Bounded() {
		return math.MaxInt32
	}
	return int(max(0, j.limit-j.running))
}

// addRunning counts attempts at a phase that have started or ended.
func (j *job) addRunning(p *Phase, side *Side, by int32) {
	p.running += by
	side.running += by
	j.running += by
	if j.Bounded() {
		j.updateRoom()
	}
}

// updateRoom brings the sides up to date, after the number of live attempts or the limit has changed.
func (j *job) updateRoom() {
	room := int32(j.Room())
	for i := range j.sides {
		j.sides[i].room = room
	}
}

// Startable returns how many tasks of a phase may start now: those that are pending if the phase is ready, but no more
// than there is room for.
func (j *job) Startable(phase int) int {
	p := &j.phases[phase]
	if !p.ready {
		return 0
	}
	return int(min(int32(p.pending.Len()), j.sides[p.side].room))
}

// Held returns the number of tasks that are held.
func (j *job) Held() int { return int(j.heldTasks) }

// IsHeld reports whether a task is held.
func (j *job) IsHeld(phase int, index uint32) bool {
	return j.heldTasks > 0 && j.more.held[phase].Has(int(index))
}

// NextHeld returns the lowest held task of a phase from index on; false if there is none.
func (j *job) NextHeld(phase int, index uint32) (uint32, bool) {
	if j.heldTasks == 0 {
		return 0, false
	}
	i := j.more.held[phase].Next(int(index))
	return uint32(max(i, 0)), i >= 0
}

// LastAttempt returns the number of the last attempt at a task that is not running; 0 if there
// was none. The attempts that [sojourn.TaskHeld], [sojourn.TaskReady] and [sojourn.TaskAdopted]
// told of count. The number of one that runs is that of its [Attempt].
func (j *job) LastAttempt(phase int, index uint32) uint32 {
	if n, ok := j.more.try(task{uint16(phase), index}); ok {
		return n
	}
	if j.phases[phase].IsDone(index) {
		return 1 // it finished at the first one
	}
	return 0
}

// tried iterates over the tasks that have a number of attempts of their own, by phase and then by index, with this
// number. It may be 0. A finished task that is not among them had one attempt, any other one that does not run had
// none. It takes O(n log n) for n such tasks.
func (j *job) tried() iter.Seq2[sojourn.TaskID, uint32] {
	return func(yield func(t sojourn.TaskID, attempts uint32) bool) {
		tries := j.more.get().tries
		for _, t := range slices.SortedFunc(maps.Keys(tries), task.compare) {
			if !yield(sojourn.TaskID{Job: j.id, Phase: t.phase, Index: t.index}, tries[t]) {
				return
			}
		}
	}
}

// Cancelled reports whether the job only waits for its live attempts.
func (j *job) Cancelled() bool { return j.cancelled }

// ended reports whether nothing is left to do for j.
func (j *job) ended() bool {
	return j.running == 0 && (j.left == 0 && !j.spec.Open || j.cancelled)
}

// SideOf returns the part of j that runs on class c, or nil.
func (j *job) SideOf(c sojourn.Class) *Side {
	for i := range j.sides {
		if j.sides[i].class == c {
			return &j.sides[i]
		}
	}
	return nil
}

// AppendFed appends the phases that may start, or no longer may, by the latest event if it is about a task of the given
// phase; some that it has not changed may be among them. The events of a job append so many phases as its phases wait
// for, and one for each event (TestAppendFedIsSparing).
func (j *job) AppendFed(dst []int, phase int) []int {
	if m := j.more; m != nil && m.turned == int32(phase)+1 {
		return append(dst, m.feeds[phase]...)
	}
	if phase+1 < len(j.phases) && j.spec.Phases[phase+1].Needs == nil {
		return append(dst, phase+1)
	}
	return dst
}

// NextPhase returns the first ready phase of a side that has a pending task. There
// must be one.
func (j *job) NextPhase(s *Side) int {
	if !s.early && j.phases[s.first].startable(s) {
		return int(s.first)
	}
	return j.nextPhase(s)
}

// nextPhase never lowers s.first, so that all its calls together pass each phase once (TestNextPhaseIsSparing).
func (j *job) nextPhase(s *Side) int {
	if s.early {
		early := &j.more.early[s.number]
		for i := early.Min(); i >= 0; i = early.Min() {
			if j.phases[i].startable(s) {
				return i
			}
			early.Remove(i)
		}
		s.early = false
	}
	for !j.phases[s.first].startable(s) {
		s.first++
	}
	return int(s.first)
}

// offer notes that a phase of a side may have become startable.
func (j *job) offer(s *Side, phase int) {
	if phase >= int(s.first) {
		return
	}
	m := extend(j)
	if m.early == nil {
		m.early = make([]bitset.Set, len(j.sides))
	}
	m.early[s.number].Add(phase)
	s.early = true
}

// startable reports whether a phase is of a side, ready, and has a pending task.
func (p *Phase) startable(s *Side) bool { return p.side == s.number && p.ready && p.pending.Len() > 0 }

// task names a task within a job.
type task struct {
	phase uint16
	index uint32
}

// A Phase is the account of one phase. Its tasks are pending, held, running or done; a
// task in none of the other sets is running.
type Phase struct {
	pending  bitset.Set // tasks that wait for a slot
	finished bitset.Set
	running  int32
	side     uint16
	ready    bool
}

// Side returns the index, for [Job.Side], of the side that the phase belongs to.
func (p *Phase) Side() int { return int(p.side) }

// Ready reports whether enough tasks of the phases that it waits for have finished. No phase of
// a cancelled job is ready.
func (p *Phase) Ready() bool { return p.ready }

// Done returns the number of finished tasks.
func (p *Phase) Done() int { return p.finished.Len() }

// Running returns the number of live attempts.
func (p *Phase) Running() int { return int(p.running) }

// Pending returns the number of tasks that wait for a slot and are not held.
func (p *Phase) Pending() int { return p.pending.Len() }

// FirstPending returns the lowest task that Pending counts; false if there is none.
func (p *Phase) FirstPending() (uint32, bool) {
	i := p.pending.Min()
	return uint32(max(i, 0)), i >= 0
}

// IsPending reports whether a task waits for a slot and is not held.
func (p *Phase) IsPending(index uint32) bool { return p.pending.Has(int(index)) }

// nextPending returns the lowest task from index on that Pending counts; false if there is none.
func (p *Phase) nextPending(index uint32) (uint32, bool) {
	i := p.pending.Next(int(index))
	return uint32(max(i, 0)), i >= 0
}

// nextDone returns the lowest finished task from index on; false if there is none.
func (p *Phase) nextDone(index uint32) (uint32, bool) {
	i := p.finished.Next(int(index))
	return uint32(max(i, 0)), i >= 0
}

// IsDone reports whether a task has finished.
func (p *Phase) IsDone(index uint32) bool { return p.finished.Has(int(index)) }

// A Side is the part of a job that runs on slots of one class.
type Side struct {
	started   int
	running   int32
	startable int32  // pending tasks of ready phases
	room      int32  // Room of the job
	first     int32  // no phase of the side below first has anything startable, but for those in more.early; it never decreases
	number    uint16 // its place among the sides of the job
	class     sojourn.Class
	early     bool // more.early has phases of the side
}

// Class returns the class of slot.
func (s *Side) Class() sojourn.Class { return s.class }

// Running returns the number of live attempts.
func (s *Side) Running() int { return int(s.running) }

// Startable returns the number of tasks that may start now: the pending ones of ready phases, but no more than
// there is room for by [sojourn.Job.Parallelism]. If it is 0, the job has nothing for a slot of the class.
func (s *Side) Startable() int { return int(min(s.startable, s.room)) }

// Pending returns the number of pending tasks of ready phases, also while there is no room for them.
func (s *Side) Pending() int { return int(s.startable) }

// Started returns the number of attempts so far, without those that were refused, preempted or lost
// with their slot.
func (s *Side) Started() int { return s.started }
