package vqueue

import (
	"github.com/google/btree"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// degree of the trees. Degrees from 16 to 64 take about the same time; wider nodes allocate
// less when items come and go.
const degree = 32

// A Queue holds items in virtual processor sharing. Use [New] to make one.
//
// Advance costs O(log n) for each virtual completion. First and NextCompletion
// cost the way to the leftmost leaf. Every other method that changes an order
// costs O(log n). Items that are not ready cost First nothing.
type Queue[T any] struct {
	mode  Late
	clock vclock.Clock // of the items in virtual
	seq   uint64       // the latest sequence number of an arrival or a virtual completion

	virtual *btree.BTreeG[entry[T]] // not virtually complete, really finished or not
	late    *btree.BTreeG[entry[T]] // virtually complete and not finished

	// Invariant: an item that is not finished is in ready, in the set of its level, if and
	// only if its flag ready is set; the same holds for the sets of marked. Finished items
	// are in none.
	ready  []set[T] // by level, from 0, of which there is always one
	marked [marks]set[T]
}

// An Item is a job, or a phase of one, in a [Queue]. It may be used only with the queue
// that returned it.
type Item[T any] struct {
	Value T // belongs to the caller

	tag      vclock.Tag // of its virtual completion; 0 afterwards
	seq      uint64     // sequence of its arrival, then of its virtual completion
	work     uint64
	weight   uint64
	running  uint64
	ready    bool
	finished bool
	level    uint8
	marks    [marks]bool
}

// Late reports whether the item is virtually complete.
func (it *Item[T]) Late() bool { return it.tag.IsZero() }

// Finished reports whether the item is really finished.
func (it *Item[T]) Finished() bool { return it.finished }

// Work returns the item's work, as last set.
func (it *Item[T]) Work() uint64 { return it.work }

// Weight returns the item's weight, as last set.
func (it *Item[T]) Weight() uint64 { return it.weight }

// Ready reports what [Queue.SetReady] set.
func (it *Item[T]) Ready() bool { return it.ready }

// Level returns what [Queue.SetLevel] set.
func (it *Item[T]) Level() int { return int(it.level) }

// Running returns what [Queue.SetRunning] set.
func (it *Item[T]) Running() int { return int(it.running) }

// New returns an empty queue of no slots at time 0. [LateDefault] is LateFirst.
func New[T any](mode Late) *Queue[T] {
	q := &Queue[T]{
		mode:    mode,
		virtual: btree.NewG(degree, entry[T].less),
		late:    btree.NewG(degree, entry[T].less),
		ready:   []set[T]{newSet[T]()},
	}
	for m := range q.marked {
		q.marked[m] = newSet[T]()
	}
	return q
}

// SetCapacity sets the number of slots of the virtual cluster, from the current
// instant on. With 0 slots virtual time stands still.
func (q *Queue[T]) SetCapacity(slots int) { q.clock.SetSlots(slots) }

// Advance moves to instant t. For each item that completes virtually, really
// finished or not, it calls done with the item and the instant of its
// completion, rounded up. Calls are in the order of completion, equal ones in
// the order of arrival. done may be nil and must not change the queue. Advance
// panics if t is in the past.
func (q *Queue[T]) Advance(t sojourn.Time, done func(*Item[T], sojourn.Time)) {
	if q.clock.Pass(t).IsZero() {
		return
	}
	q.clock.Complete(q.head, func(at sojourn.Time) {
		head, _ := q.virtual.DeleteMin()
		q.delist(head.it)
		q.complete(head.it)
		q.enlist(head.it)
		if done != nil {
			done(head.it, at)
		}
	})
}

// NextCompletion returns the instant, rounded up, of the next virtual completion
// if nothing happens before. It reports false if there is none within the range
// of [sojourn.Time].
func (q *Queue[T]) NextCompletion() (sojourn.Time, bool) {
	tag, _, ok := q.head()
	if !ok {
		return 0, false
	}
	return q.clock.Next(tag)
}

// head returns the tag and the weight of the item that completes virtually first; false
// if there is none.
func (q *Queue[T]) head() (tag vclock.Tag, weight uint64, ok bool) {
	if e, ok := q.virtual.Min(); ok {
		return e.it.tag, e.it.weight, true
	}
	return vclock.Tag{}, 0, false
}

// Arrive adds an item at the current instant, not ready and without running
// tasks. Its work is in slot-nanoseconds, at most 2^63; its weight in units of
// 2^-16, from 1 to 2^48 (see [sojourn.Job.WeightUnits]). An item without work is
// late at once.
func (q *Queue[T]) Arrive(v T, work, weight uint64) *Item[T] {
	vclock.Check(work, weight)
	it := &Item[T]{Value: v, seq: q.next(), work: work, weight: weight}
	q.enter(it, vclock.Units(work), vclock.MaxTag)
	return it
}

// Revise replaces the work and the weight of an item. The item keeps its age: the virtual work
// that it has left changes by as much as the work does, but not below 0 nor above 2^63. A late
// item stays late even if its work grows, since it is overdue already. A finished item is not
// changed.
func (q *Queue[T]) Revise(it *Item[T], work, weight uint64) {
	vclock.Check(work, weight)
	if it.finished {
		return
	}
	q.delist(it)
	if it.Late() {
		it.work, it.weight = work, weight
		q.enlist(it)
		return
	}
	left, tag, stays := q.clock.Revise(it.tag, it.work, work, it.weight, weight)
	if it.work = work; work == 0 {
		left, stays = wide.Uint192{}, false // rounding up may have left something
	}
	if stays {
		q.virtual.Delete(it.entry())
		it.tag = tag
		q.virtual.ReplaceOrInsert(it.entry())
	} else {
		q.leave(it)
		it.weight = weight
		q.enter(it, left, tag)
	}
	q.enlist(it)
}

// Reset sets the work of an item, and the virtual work that it has left, in
// slot-nanoseconds, at most work. A late item is no longer late, unless left is 0.
// Later revisions count from work. A finished item is not changed, nor is a late one
// if left is 0.
func (q *Queue[T]) Reset(it *Item[T], left, work uint64) {
	vclock.Check(work, it.weight)
	if left > work {
		panic("vqueue: more is left than there is work")
	}
	if it.finished {
		return
	}
	if it.Late() && left == 0 {
		it.work = work
		return
	}
	q.delist(it)
	if it.Late() {
		q.late.Delete(it.entry())
	} else {
		q.leave(it)
	}
	it.work = work
	q.enter(it, vclock.Units(left), vclock.MaxTag)
	q.enlist(it)
}

// Finish records that an item is really finished, or cancelled. The item is not served again.
// It remains in the virtual cluster until it is virtually complete.
func (q *Queue[T]) Finish(it *Item[T]) {
	if it.finished {
		return
	}
	q.delist(it)
	if it.Late() {
		q.late.Delete(it.entry())
	}
	it.finished = true
}

// Remaining returns the virtual work that the item has left, in slot-nanoseconds,
// rounded up.
func (q *Queue[T]) Remaining(it *Item[T]) uint64 {
	if it.Late() {
		return 0
	}
	return q.clock.Remaining(it.tag, it.weight)
}

// enter puts an item with the given units of work left into the virtual cluster.
func (q *Queue[T]) enter(it *Item[T], left wide.Uint192, latest vclock.Tag) {
	if left.IsZero() {
		q.complete(it)
		return
	}
	it.tag = q.clock.Enter(left, it.weight, latest)
	q.virtual.ReplaceOrInsert(it.entry())
}

// leave removes an item from the virtual cluster before it is virtually complete.
func (q *Queue[T]) leave(it *Item[T]) {
	q.virtual.Delete(it.entry())
	q.clock.Leave(it.weight)
}

// complete makes an item virtually complete. The item is no longer in virtual.
func (q *Queue[T]) complete(it *Item[T]) {
	it.tag, it.seq = vclock.Tag{}, q.next()
	if !it.finished {
		q.late.ReplaceOrInsert(it.entry())
	}
}

func (q *Queue[T]) next() uint64 {
	q.seq++
	return q.seq
}
