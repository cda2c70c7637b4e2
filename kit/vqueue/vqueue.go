package vqueue

import (
	"iter"
	"slices"

	"github.com/google/btree"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// Late says how late items are served: those that are virtually complete and
// not really finished. They always go before the others.
type Late uint8

const (
	// LateFirst serves late items one after the other, in the order of their
	// virtual completion. With exact sizes it keeps the bound on lateness.
	LateFirst Late = iota
	// LateShare serves the late item that has the fewest tasks running per unit of
	// weight; among equals, the one that was virtually complete first. With
	// estimated sizes it keeps a large job whose size was underestimated from
	// blocking the others [Dell'Amico, Carra and Michiardi, PSBS, 2016].
	LateShare
)

// degree of the trees. From 16 to 64 they take about the same time; wider nodes
// allocate less as items come and go.
const degree = 32

// A Queue holds items in virtual processor sharing. Use [New] to make one.
//
// Advance costs O(log n) per virtual completion, First and NextCompletion the
// way to the leftmost leaf, everything else that changes an order O(log n). Items
// that are not ready cost First nothing.
type Queue[T any] struct {
	mode  Late
	clock vclock.Clock // of the items in virtual
	seq   uint64       // the latest sequence number of an arrival or a virtual completion

	virtual *btree.BTreeG[entry[T]] // not virtually complete, really finished or not; tags above g
	late    *btree.BTreeG[entry[T]] // late
	ready   *btree.BTreeG[entry[T]] // ready, and not in sharing
	sharing *btree.BTreeG[share[T]] // ready and late, under LateShare
	marked  [Marks]marked[T]
}

// A Mark says that an item belongs to a set of the caller's choice, which can be gone
// through in the order of service from both ends.
type Mark uint8

// Marks is the number of marks, which are 0 and 1.
const Marks = 2

// marked are the items of a set, as ready and sharing are those that are ready.
type marked[T any] struct {
	others  *btree.BTreeG[entry[T]]
	sharing *btree.BTreeG[share[T]]
}

// An Item is a job, or a phase of one, in a [Queue]. It may be used with the
// queue it came from only.
type Item[T any] struct {
	Value T // belongs to the caller

	tag      vclock.Tag // of its virtual completion; 0 from then on
	seq      uint64     // sequence of its arrival; once virtually complete, of that
	work     uint64
	weight   uint64
	running  uint64
	ready    bool
	finished bool
	marks    [Marks]bool
}

// Late reports whether the item is virtually complete.
func (it *Item[T]) Late() bool { return it.tag.IsZero() }

// Finished reports whether the item is really finished.
func (it *Item[T]) Finished() bool { return it.finished }

// Work returns the item's work, as the queue was told last.
func (it *Item[T]) Work() uint64 { return it.work }

// Weight returns the item's weight, as the queue was told last.
func (it *Item[T]) Weight() uint64 { return it.weight }

// Ready reports what [Queue.SetReady] set.
func (it *Item[T]) Ready() bool { return it.ready }

// Running returns what [Queue.SetRunning] set.
func (it *Item[T]) Running() int { return int(it.running) }

// An entry is an item in a tree in the order of service under LateFirst, which is
// that of tag and sequence since the tag of late items is 0. It has the upper digits of
// the tag only: the compiler keeps structs of four words in registers, and not of five.
type entry[T any] struct {
	hi, mid uint64 // of the tag, hi raised by 1; 0 if the item is late
	seq     uint64
	it      *Item[T]
}

func (a entry[T]) less(b entry[T]) bool {
	switch {
	case a.hi != b.hi:
		return a.hi < b.hi
	case a.mid != b.mid:
		return a.mid < b.mid
	case a.hi != 0 && a.it.tag.Lo != b.it.tag.Lo:
		return a.it.tag.Lo < b.it.tag.Lo
	}
	return a.seq < b.seq
}

func (it *Item[T]) entry() entry[T] {
	if it.Late() {
		return entry[T]{seq: it.seq, it: it}
	}
	return entry[T]{it.tag.Hi + 1, it.tag.Mid, it.seq, it}
}

// A share is a late item in a tree in the order of service under LateShare.
type share[T any] struct {
	running, weight uint64
	seq             uint64
	it              *Item[T]
}

func (a share[T]) less(b share[T]) bool {
	// a.running/a.weight against b.running/b.weight
	if c := wide.Mul64(a.running, b.weight).Cmp(wide.Mul64(b.running, a.weight)); c != 0 {
		return c < 0
	}
	return a.seq < b.seq
}

func (it *Item[T]) share() share[T] { return share[T]{it.running, it.weight, it.seq, it} }

// New returns an empty queue of no slots at time 0.
func New[T any](mode Late) *Queue[T] {
	q := &Queue[T]{
		mode:    mode,
		virtual: btree.NewG(degree, entry[T].less),
		late:    btree.NewG(degree, entry[T].less),
		ready:   btree.NewG(degree, entry[T].less),
		sharing: btree.NewG(degree, share[T].less),
	}
	for m := range q.marked {
		q.marked[m] = marked[T]{btree.NewG(degree, entry[T].less), btree.NewG(degree, share[T].less)}
	}
	return q
}

// SetCapacity sets the number of slots of the virtual cluster, from the current
// instant on. With 0 slots virtual time stands still.
func (q *Queue[T]) SetCapacity(slots int) { q.clock.SetSlots(slots) }

// Advance moves to instant t. It calls done, unless nil, for each item that
// completes virtually, really finished or not, in the order of completion and
// among equals of arrival, with the instant of its completion rounded up; done
// may not change the queue. Advance panics if t is in the past.
func (q *Queue[T]) Advance(t sojourn.Time, done func(*Item[T], sojourn.Time)) {
	if q.clock.Pass(t).IsZero() {
		return
	}
	for head, ok := q.virtual.Min(); ok; head, ok = q.virtual.Min() {
		at, complete := q.clock.Reach(head.it.tag, head.it.weight)
		if !complete {
			return
		}
		q.virtual.DeleteMin()
		q.delist(head.it)
		q.complete(head.it)
		q.enlist(head.it)
		if done != nil {
			done(head.it, at)
		}
	}
}

// NextCompletion returns the instant, rounded up, of the next virtual completion
// if nothing happens before. It reports false if there is none within the range
// of [sojourn.Time].
func (q *Queue[T]) NextCompletion() (sojourn.Time, bool) {
	head, ok := q.virtual.Min()
	if !ok {
		return 0, false
	}
	return q.clock.Next(head.it.tag)
}

// Arrive adds an item at the current instant, not ready and without running
// tasks. Its work is in slot-nanoseconds, at most 2^63; its weight in units of
// 2^-16, from 1 to 2^48 (see [sojourn.Job.WeightUnits]). An item without work is
// late at once.
func (q *Queue[T]) Arrive(v T, work, weight uint64) *Item[T] {
	check(work, weight)
	it := &Item[T]{Value: v, seq: q.next(), work: work, weight: weight}
	q.enter(it, vclock.Units(work))
	return it
}

// Revise replaces the work and the weight of an item. It keeps its age: the
// virtual work that it has left changes by as much as the work does, but not
// below 0 nor above 2^63. An item that is late stays late, also if its work grows: it is overdue
// as it is. A finished item is not changed.
func (q *Queue[T]) Revise(it *Item[T], work, weight uint64) {
	check(work, weight)
	if it.finished {
		return
	}
	q.delist(it)
	if it.Late() {
		it.work, it.weight = work, weight
		q.enlist(it)
		return
	}
	left := q.clock.Revise(it.tag, it.weight, it.work, work)
	if it.work = work; work == 0 {
		left = wide.Uint192{} // whatever rounding up has left
	}
	if weight == it.weight && !left.IsZero() {
		q.virtual.Delete(it.entry())
		it.tag = q.clock.Move(left, weight)
		q.virtual.ReplaceOrInsert(it.entry())
	} else {
		q.leave(it)
		it.weight = weight
		q.enter(it, left)
	}
	q.enlist(it)
}

// Reset sets the virtual work that an item has left, in slot-nanoseconds, at most
// work, whatever it was: an item that is late is not late any more, unless left is 0.
// Later revisions count from work. A finished item is not changed, nor is one that is
// late and has nothing left.
func (q *Queue[T]) Reset(it *Item[T], left, work uint64) {
	check(work, it.weight)
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
	q.enter(it, vclock.Units(left))
	q.enlist(it)
}

// Finish records that an item is really finished, or cancelled: it is not
// served again. It remains in the virtual cluster until it is virtually complete.
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

// SetReady says whether the item has something to start now.
func (q *Queue[T]) SetReady(it *Item[T], ready bool) {
	if ready != it.ready {
		q.delist(it)
		it.ready = ready
		q.enlist(it)
	}
}

// SetMark puts an item into a set, or takes it out. A finished item is in none.
func (q *Queue[T]) SetMark(it *Item[T], m Mark, on bool) {
	if on != it.marks[m] {
		q.delist(it)
		it.marks[m] = on
		q.enlist(it)
	}
}

// Marked iterates over the items of a set, in the order of service. The queue must not
// be changed meanwhile.
func (q *Queue[T]) Marked(m Mark) iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) {
		on := true
		q.marked[m].sharing.Ascend(func(s share[T]) bool { on = yield(s.it); return on })
		if on {
			q.marked[m].others.Ascend(func(e entry[T]) bool { return yield(e.it) })
		}
	}
}

// FirstMarked returns the first item of a set in the order of service; false if there is
// none.
func (q *Queue[T]) FirstMarked(m Mark) (*Item[T], bool) {
	if s, ok := q.marked[m].sharing.Min(); ok {
		return s.it, true
	}
	e, ok := q.marked[m].others.Min()
	return e.it, ok
}

// LastMarked returns the last item of a set in the order of service, of those that come
// before another, unless that is nil; false if there is none.
func (q *Queue[T]) LastMarked(m Mark, before *Item[T]) (last *Item[T], ok bool) {
	set := &q.marked[m]
	if before == nil { // asked at every event
		if e, ok := set.others.Max(); ok {
			return e.it, true
		}
		s, ok := set.sharing.Max()
		return s.it, ok
	}
	return q.lastMarked(set, before)
}

func (q *Queue[T]) lastMarked(set *marked[T], before *Item[T]) (last *Item[T], ok bool) {
	find := func(it *Item[T]) bool {
		if it != before {
			last, ok = it, true
		}
		return !ok
	}
	shares := func(s share[T]) bool { return find(s.it) }
	if q.shares(before) {
		set.sharing.DescendLessOrEqual(before.share(), shares)
		return last, ok
	}
	set.others.DescendLessOrEqual(before.entry(), func(e entry[T]) bool { return find(e.it) })
	if !ok {
		set.sharing.Descend(shares)
	}
	return last, ok
}

// Before reports whether a comes before b in the order of service. Neither is finished.
func (q *Queue[T]) Before(a, b *Item[T]) bool {
	if q.shares(a) && q.shares(b) {
		return a.share().less(b.share())
	}
	return a.entry().less(b.entry())
}

// SetRunning says how many tasks of the item are running. It matters to
// [LateShare] only.
func (q *Queue[T]) SetRunning(it *Item[T], tasks int) {
	if q.mode != LateShare || !it.Late() {
		it.running = uint64(tasks)
		return
	}
	q.delist(it)
	it.running = uint64(tasks)
	q.enlist(it)
}

// First returns the first item in the order of service that is ready and not
// finished; false if there is none.
func (q *Queue[T]) First() (*Item[T], bool) {
	if s, ok := q.sharing.Min(); ok {
		return s.it, true
	}
	e, ok := q.ready.Min()
	return e.it, ok
}

// All iterates over the items that are not finished, ready or not, in the order
// of service. The queue must not be changed meanwhile.
func (q *Queue[T]) All() iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) {
		late := make([]*Item[T], 0, q.late.Len())
		q.late.Ascend(func(e entry[T]) bool {
			late = append(late, e.it)
			return true
		})
		if q.mode == LateShare {
			slices.SortFunc(late, func(a, b *Item[T]) int {
				if a.share().less(b.share()) {
					return -1
				}
				return 1
			})
		}
		for _, it := range late {
			if !yield(it) {
				return
			}
		}
		q.virtual.Ascend(func(e entry[T]) bool { return e.it.finished || yield(e.it) })
	}
}

// Remaining returns the virtual work that the item has left, in slot-nanoseconds,
// rounded up.
func (q *Queue[T]) Remaining(it *Item[T]) uint64 {
	if it.Late() {
		return 0
	}
	return q.clock.Remaining(it.tag, it.weight)
}

// enter puts an item with so many units of work left into the virtual cluster.
func (q *Queue[T]) enter(it *Item[T], left wide.Uint192) {
	if left.IsZero() {
		q.complete(it)
		return
	}
	it.tag = q.clock.Enter(left, it.weight)
	q.virtual.ReplaceOrInsert(it.entry())
}

// leave takes an item out of the virtual cluster before it is virtually complete.
func (q *Queue[T]) leave(it *Item[T]) {
	q.virtual.Delete(it.entry())
	q.clock.Leave(it.weight)
}

// complete makes an item, which is not in virtual any more, virtually complete.
func (q *Queue[T]) complete(it *Item[T]) {
	it.tag, it.seq = vclock.Tag{}, q.next()
	if !it.finished {
		q.late.ReplaceOrInsert(it.entry())
	}
}

// shares reports whether an item is one of those that are served together.
func (q *Queue[T]) shares(it *Item[T]) bool { return q.mode == LateShare && it.Late() }

// enlist puts an item among those that First chooses from, and into the sets that it is
// marked for, if it belongs there.
func (q *Queue[T]) enlist(it *Item[T]) {
	if it.finished {
		return
	}
	if it.ready {
		if q.shares(it) {
			q.sharing.ReplaceOrInsert(it.share())
		} else {
			q.ready.ReplaceOrInsert(it.entry())
		}
	}
	for m, on := range it.marks {
		switch {
		case !on:
		case q.shares(it):
			q.marked[m].sharing.ReplaceOrInsert(it.share())
		default:
			q.marked[m].others.ReplaceOrInsert(it.entry())
		}
	}
}

// delist undoes enlist. What the place of an item depends on may be changed only
// between delist and enlist.
func (q *Queue[T]) delist(it *Item[T]) {
	if it.finished {
		return
	}
	if it.ready {
		if q.shares(it) {
			q.sharing.Delete(it.share())
		} else {
			q.ready.Delete(it.entry())
		}
	}
	for m, on := range it.marks {
		switch {
		case !on:
		case q.shares(it):
			q.marked[m].sharing.Delete(it.share())
		default:
			q.marked[m].others.Delete(it.entry())
		}
	}
}

func (q *Queue[T]) next() uint64 {
	q.seq++
	return q.seq
}

func check(work, weight uint64) {
	if work > vclock.MaxWork || weight == 0 || weight > vclock.MaxWeight {
		panic("vqueue: work or weight out of range")
	}
}
