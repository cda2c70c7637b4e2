package vqueue

import (
	"iter"
	"math"
	"slices"

	"github.com/google/btree"

	"github.com/sojourn-sched/sojourn"
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

// unit is the number of units of work in a slot-nanosecond.
const unit = 1 << 32

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
	slots uint64
	now   sojourn.Time
	seq   uint64 // the next sequence number, for arrivals and virtual completions

	g      wide.Uint128 // virtual time; 0 while the queue is virtually empty
	carry  wide.Uint128 // units of work done and not yet in g; below weight, or 0
	weight wide.Uint128 // sum of the weights in virtual

	virtual *btree.BTreeG[entry[T]] // not virtually complete, really finished or not; tags above g
	late    *btree.BTreeG[entry[T]] // late
	ready   *btree.BTreeG[entry[T]] // ready, and not in sharing
	sharing *btree.BTreeG[share[T]] // ready and late, under LateShare
}

// An Item is a job, or a phase of one, in a [Queue]. It may be used with the
// queue it came from only.
type Item[T any] struct {
	Value T // belongs to the caller

	tag      wide.Uint128 // virtual time of its virtual completion; 0 from then on
	seq      uint64       // sequence of its arrival; once virtually complete, of that
	work     uint64
	weight   uint64
	running  uint64
	ready    bool
	finished bool
}

// Late reports whether the item is virtually complete.
func (it *Item[T]) Late() bool { return it.tag.IsZero() }

// An entry is an item in a tree in the order of service under LateFirst, which is
// that of tag and sequence since the tag of late items is 0.
type entry[T any] struct {
	tag wide.Uint128
	seq uint64
	it  *Item[T]
}

func (a entry[T]) less(b entry[T]) bool {
	if a.tag != b.tag {
		return a.tag.Less(b.tag)
	}
	return a.seq < b.seq
}

func (it *Item[T]) entry() entry[T] { return entry[T]{it.tag, it.seq, it} }

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
	return &Queue[T]{
		mode:    mode,
		virtual: btree.NewG(degree, entry[T].less),
		late:    btree.NewG(degree, entry[T].less),
		ready:   btree.NewG(degree, entry[T].less),
		sharing: btree.NewG(degree, share[T].less),
	}
}

// SetCapacity sets the number of slots of the virtual cluster, from the current
// instant on. With 0 slots virtual time stands still.
func (q *Queue[T]) SetCapacity(slots int) {
	if slots < 0 {
		panic("vqueue: negative capacity")
	}
	q.slots = uint64(slots)
}

// Advance moves to instant t. It calls done, unless nil, for each item that
// completes virtually, really finished or not, in the order of completion and
// among equals of arrival, with the instant of its completion rounded up; done
// may not change the queue. Advance panics if t is in the past.
func (q *Queue[T]) Advance(t sojourn.Time, done func(*Item[T], sojourn.Time)) {
	if t < q.now {
		panic("vqueue: time runs backwards")
	}
	if t == q.now {
		return
	}
	budget := q.carry.Add(q.capacity(t))
	q.now = t
	for !q.weight.IsZero() {
		head, _ := q.virtual.Min()
		need := head.tag.Sub(q.g)
		gain, rest := budget.QuoRem(q.weight)
		if gain.Less(need) {
			q.g, q.carry = q.g.Add(gain), rest
			return
		}
		budget = budget.Sub(need.Mul(q.weight))
		q.g, q.carry = head.tag, wide.Uint128{}
		q.virtual.DeleteMin()
		q.weight = q.weight.Sub(wide.From64(head.it.weight))
		q.delist(head.it)
		q.complete(head.it)
		q.enlist(head.it)
		if done != nil {
			since, _ := budget.QuoRem(wide.Mul64(q.slots, unit))
			done(head.it, t-sojourn.Time(since.Lo))
		}
	}
	q.g = wide.Uint128{}
}

// NextCompletion returns the instant, rounded up, of the next virtual completion
// if nothing happens before. It reports false if there is none within the range
// of [sojourn.Time].
func (q *Queue[T]) NextCompletion() (sojourn.Time, bool) {
	head, ok := q.virtual.Min()
	if !ok || q.slots == 0 {
		return 0, false
	}
	need := head.tag.Sub(q.g)
	if most, _ := q.carry.Add(q.capacity(math.MaxInt64)).QuoRem(q.weight); most.Less(need) {
		return 0, false
	}
	wait := ceilDiv(need.Mul(q.weight).Sub(q.carry), wide.Mul64(q.slots, unit))
	return q.now + sojourn.Time(wait.Lo), true
}

// Arrive adds an item at the current instant, not ready and without running
// tasks. Its work is in slot-nanoseconds, at most 2^63; its weight in units of
// 2^-16, from 1 to 2^48 (see [sojourn.Job.WeightUnits]). An item without work is
// late at once.
func (q *Queue[T]) Arrive(v T, work, weight uint64) *Item[T] {
	check(work, weight)
	it := &Item[T]{Value: v, seq: q.next(), work: work, weight: weight}
	q.enter(it, wide.Mul64(work, unit))
	return it
}

// Revise replaces the work and the weight of an item. It keeps its age: the
// virtual work that it has left changes by as much as the work does, but not
// below 0. An item that is late stays late, also if its work grows: it is overdue
// as it is. A finished item is not changed.
func (q *Queue[T]) Revise(it *Item[T], work, weight uint64) {
	check(work, weight)
	if it.finished {
		return
	}
	left, old := q.left(it).Add(wide.Mul64(work, unit)), wide.Mul64(it.work, unit)
	if left.Less(old) {
		left = old
	}
	left = left.Sub(old)
	q.delist(it)
	switch {
	case it.Late():
		it.weight = weight
	case weight == it.weight && !left.IsZero():
		q.virtual.Delete(it.entry())
		it.tag = q.g.Add(ceilDiv(left, wide.From64(weight)))
		q.virtual.ReplaceOrInsert(it.entry())
	default:
		q.leave(it)
		it.weight = weight
		q.enter(it, left)
	}
	it.work = work
	q.enlist(it)
}

// Reset sets the virtual work that an item has left, in slot-nanoseconds, at most
// 2^63, whatever it was: an item that is late is not late any more, unless left is 0.
// Later revisions count from work. A finished item is not changed, nor is one that is
// late and has nothing left.
func (q *Queue[T]) Reset(it *Item[T], left, work uint64) {
	check(left, it.weight)
	check(work, it.weight)
	if it.finished {
		return
	}
	it.work = work
	if it.Late() && left == 0 {
		return
	}
	q.delist(it)
	if it.Late() {
		q.late.Delete(it.entry())
	} else {
		q.leave(it)
	}
	q.enter(it, wide.Mul64(left, unit))
	q.enlist(it)
}

// Finish takes note that an item is really finished, or cancelled: it is not
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
	left := q.left(it)
	if !left.IsZero() {
		share, _ := q.carry.MulU64(it.weight).QuoRem(q.weight)
		left = left.Sub(share)
	}
	return ceilDiv(left, wide.From64(unit)).Lo
}

// capacity returns the units of work that are done from now until t.
func (q *Queue[T]) capacity(t sojourn.Time) wide.Uint128 {
	return wide.Mul64(uint64(t-q.now), q.slots).Shl(32)
}

// left returns the units of work that it has left, its share of the carry not
// deducted.
func (q *Queue[T]) left(it *Item[T]) wide.Uint128 {
	if it.Late() {
		return wide.Uint128{}
	}
	return it.tag.Sub(q.g).MulU64(it.weight)
}

// enter puts an item with so many units of work left into the virtual cluster.
func (q *Queue[T]) enter(it *Item[T], left wide.Uint128) {
	if left.IsZero() {
		q.complete(it)
		return
	}
	it.tag = q.g.Add(ceilDiv(left, wide.From64(it.weight)))
	if !q.carry.IsZero() {
		it.tag = it.tag.Add(wide.From64(1)) // the part of the carry that the item will get is not its own
	}
	q.weight = q.weight.Add(wide.From64(it.weight))
	q.virtual.ReplaceOrInsert(it.entry())
}

// leave takes an item out of the virtual cluster before it is virtually complete,
// together with its share of the carry, rounded up: virtual time with the carry
// counted in does not move on for the others.
func (q *Queue[T]) leave(it *Item[T]) {
	q.virtual.Delete(it.entry())
	q.carry = q.carry.Sub(ceilDiv(q.carry.MulU64(it.weight), q.weight))
	q.weight = q.weight.Sub(wide.From64(it.weight))
	if q.weight.IsZero() {
		q.g = wide.Uint128{}
	}
}

// complete makes an item, which is not in virtual any more, virtually complete.
func (q *Queue[T]) complete(it *Item[T]) {
	it.tag, it.seq = wide.Uint128{}, q.next()
	if !it.finished {
		q.late.ReplaceOrInsert(it.entry())
	}
}

// enlist puts an item among those that First chooses from, if it belongs there.
func (q *Queue[T]) enlist(it *Item[T]) {
	switch {
	case !it.ready || it.finished:
	case q.mode == LateShare && it.Late():
		q.sharing.ReplaceOrInsert(it.share())
	default:
		q.ready.ReplaceOrInsert(it.entry())
	}
}

// delist undoes enlist. What the place of an item depends on may be changed only
// between delist and enlist.
func (q *Queue[T]) delist(it *Item[T]) {
	switch {
	case !it.ready || it.finished:
	case q.mode == LateShare && it.Late():
		q.sharing.Delete(it.share())
	default:
		q.ready.Delete(it.entry())
	}
}

func (q *Queue[T]) next() uint64 {
	q.seq++
	return q.seq
}

func check(work, weight uint64) {
	if work > 1<<63 || weight == 0 || weight > 1<<48 {
		panic("vqueue: work or weight out of range")
	}
}

// ceilDiv returns x/y, rounded up.
func ceilDiv(x, y wide.Uint128) wide.Uint128 {
	q, r := x.QuoRem(y)
	if !r.IsZero() {
		q = q.Add(wide.From64(1))
	}
	return q
}
