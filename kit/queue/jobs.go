package queue

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// JobOrder says how jobs are ranked.
type JobOrder[J, K any] struct {
	// Key returns the key of a job.
	Key func(j *ledger.Job[J]) K

	// SideKey, unless nil, returns the key of a job for the slots of one class. It is called
	// only if the job has something to start there. Key then only says how AppendRanking
	// ranks jobs.
	SideKey func(j *ledger.Job[J], side *ledger.Side) K

	// Less is a strict total order of keys: let it compare [ledger.Job.Seq] last.
	Less func(a, b K) bool

	// Prefix, unless nil, returns the beginning of a key, as two words: if Less(a, b), then Prefix(a) <= Prefix(b). A queue compares keys by these pairs, and calls Less only for keys that have the same. This is faster,
	// and changes nothing else. With Group, it has to be so for keys of one group only. For a key of 64-bit numbers
	// that Less compares one after the other, return the first two.
	Prefix func(K) (hi, lo uint64)

	// Grows, unless nil, says that keys may grow while time passes; they never shrink. It reports whether the key of a job for
	// the slots of one class may have grown since it was filed. The queue then holds the key of some earlier instant, which is
	// a lower bound. Assign updates the first entry until the first entry needs no update; its key is then the least.
	Grows func(j *ledger.Job[J], side *ledger.Side) bool

	// Group, unless nil, returns a number from 0 on for a key. Use it for keys that grow at different
	// rates while time passes, with the rate as the group: the keys of one group keep their order until
	// they are filed anew, and only where Less compares keys of two groups may the result depend on the
	// time. A decision compares the firsts of all groups. Group and Grows exclude each other: they say in two ways how
	// keys change, and NewJobs panics if both are set.
	Group func(K) int

	// Level, unless nil, returns the level of a reserve at which a job is filed for the
	// slots of one class. It is called only if the job has something to start there. A job
	// is filed with the level that it has at its latest event or assignment. This level is
	// part of the state.
	Level func(j *ledger.Job[J], side *ledger.Side) int

	// Reserve says how many slots are kept free for low levels. It has no effect without
	// Level.
	Reserve reserve.Options

	// Due, unless nil, bounds what the reserve counts, if it is [reserve.Options.Counted]. It reports whether the turn
	// of a key has come: nothing that comes later is before it. A task is then started out of turn only if the
	// first job of the order was due and might not start, and slots that are so held count as free only for the first job,
	// while it is due. Without it, all jobs are due, and such slots count as free for all.
	Due func(K) bool

	// IgnoreLocality makes a job start its tasks in the order of their numbers. Without it
	// the task whose input is closest to the slot starts first: see package locality.
	IgnoreLocality bool

	// Supports says which features of package sojourn the policy knows. The queue knows
	// Needs, Held and attempts of held tasks. Name those with which Key and the other
	// functions here are right.
	Supports sojourn.Features
}

// Jobs ranks whole jobs by a key: a free slot goes to the job with the least key among
// those that have a startable task of the slot's class.
type Jobs[J, K any] struct {
	Queue[J, K]

	order JobOrder[J, K]
}

// NewJobs returns an empty queue.
func NewJobs[J, K any](order JobOrder[J, K]) *Jobs[J, K] {
	if order.Group != nil && order.Grows != nil {
		panic("queue: JobOrder has Group and Grows, which exclude each other")
	}
	q := &Jobs[J, K]{order: order, Queue: Queue[J, K]{less: order.Less, ready: newFiling(order.Less, order.Prefix, order.Group)}}
	q.Ledger.Supports = order.Supports
	if !order.IgnoreLocality {
		q.inputs = locality.New(&q.Ledger)
	}
	if order.Level != nil {
		q.reserve = reserve.New(&q.Ledger, order.Reserve)
	}
	q.head, q.due = q.least, order.Due
	q.rank = func(j *ledger.Job[J]) (K, bool) { return order.Key(j), true }
	q.file = q.Update
	q.items = func(j *ledger.Job[J], item func(sojourn.Class, uint32)) {
		for i := range j.NumSides() {
			item(j.Side(i).Class(), j.Handle())
		}
	}
	return q
}

// File updates the place of the job that an event concerns.
func (q *Jobs[J, K]) File(_ *sojourn.Event, c ledger.Change[J]) {
	if c.Job != nil {
		q.Update(c.Job)
	}
}

// Update updates the place of j. Call it if the key of j may have changed without an event
// about j. If keys may grow, the passing of time needs no call.
func (q *Jobs[J, K]) Update(j *ledger.Job[J]) {
	if q.taken == j {
		q.taken = nil
	}
	for i := range j.NumSides() {
		q.updateSide(j, j.Side(i))
	}
}

func (q *Jobs[J, K]) updateSide(j *ledger.Job[J], side *ledger.Side) {
	if side.Startable() == 0 {
		q.ready.Remove(side.Class(), j.Handle())
		return
	}
	level := 0
	if q.order.Level != nil {
		level = q.order.Level(j, side)
	}
	q.ready.SetLevel(side.Class(), j.Handle(), level, q.key(j, side))
}

// key returns the key of a job for the slots of one class.
func (q *Jobs[J, K]) key(j *ledger.Job[J], side *ledger.Side) K {
	if q.order.SideKey != nil {
		return q.order.SideKey(j, side)
	}
	return q.order.Key(j)
}

// UpdateLevel updates the levels of j alone. It does what Update does, for less, if the key of j is as it was
// when j was last filed.
func (q *Jobs[J, K]) UpdateLevel(j *ledger.Job[J]) {
	for i := range j.NumSides() {
		side := j.Side(i)
		if at, filed := q.ready.Level(side.Class(), j.Handle()); filed {
			if level := q.order.Level(j, side); level != at {
				q.ready.move(side.Class(), j.Handle(), level)
			}
		}
	}
}

// Assign gives a free slot to the first job that has a task for it and may start it. It
// reports false if there is none. The job keeps its key: use Take if an assignment changes
// keys.
func (q *Jobs[J, K]) Assign(id sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	q.mustBeFiled()
	s := q.Ledger.Free(id)
	h, key, inTurn, ok := q.choose(s.Class)
	if !ok {
		return a, false
	}
	j := q.Ledger.ByHandle(h)
	side := j.SideOf(s.Class)
	a = q.take(j, side, s)
	if j.Room() == 0 {
		q.Update(j)
	} else if side.Startable() == 0 {
		q.ready.Remove(s.Class, h)
	} else if q.order.Level != nil {
		q.ready.SetLevel(s.Class, h, q.order.Level(j, side), key)
	}
	q.started(s, inTurn)
	return a, true
}

// Take is Assign for policies in which an assignment changes keys. It returns the job, nil if
// there is none, and does not file it: bring what its key depends on up to date, and call
// Update. Until then the next event, assignment or Seek panics (TestTakeWithoutUpdate).
func (q *Jobs[J, K]) Take(id sojourn.SlotID) (j *ledger.Job[J], a sojourn.Assignment) {
	q.mustBeFiled()
	s := q.Ledger.Free(id)
	h, _, inTurn, ok := q.choose(s.Class)
	if !ok {
		return nil, a
	}
	j = q.Ledger.ByHandle(h)
	a = q.take(j, j.SideOf(s.Class), s)
	q.started(s, inTurn)
	q.taken = j
	return j, a
}

// Near returns how far a slot is from the closest input of the tasks that a job would start there next;
// [sojourn.AnyNode] if they have none.
func (q *Jobs[J, K]) Near(j *ledger.Job[J], side *ledger.Side, s sojourn.Slot) sojourn.Locality {
	pick, _ := q.inputs.Find(j, j.NextPhase(side), s, sojourn.Remote)
	return pick.Locality
}

// TakeOf is Take of a job that the policy has chosen, whatever its key and its level. The job must
// have something to start on that slot. The reserve takes it to be the turn of the job.
func (q *Jobs[J, K]) TakeOf(j *ledger.Job[J], id sojourn.SlotID) sojourn.Assignment {
	q.mustBeFiled()
	s := q.Ledger.Free(id)
	a := q.take(j, j.SideOf(s.Class), s)
	q.started(s, true)
	q.taken = j
	return a
}

// least returns the first job for a class up to a level, its key, and its level.
func (q *Jobs[J, K]) least(c sojourn.Class, highest int) (h uint32, key K, level int, ok bool) {
	for {
		h, key, level, ok = q.ready.FirstUpTo(c, highest)
		if !ok || q.order.Grows == nil {
			return h, key, level, ok
		}
		j := q.Ledger.ByHandle(h)
		side := j.SideOf(c)
		if !q.order.Grows(j, side) {
			return h, key, level, true
		}
		now := q.key(j, side)
		if !q.less(key, now) {
			return h, key, level, true
		}
		q.ready.SetLevel(c, h, level, now)
	}
}

// take assigns a startable task of a side to a free slot. There must be one.
func (q *Jobs[J, K]) take(j *ledger.Job[J], side *ledger.Side, s sojourn.Slot) (a sojourn.Assignment) {
	phase := j.NextPhase(side)
	if q.inputs == nil || q.inputs.Empty() {
		a = q.Ledger.TakePhase(j, phase, s.ID)
		return a
	}
	pick, _ := q.inputs.Find(j, phase, s, sojourn.Remote)
	a = q.inputs.Take(j, phase, pick, s.ID)
	return a
}
