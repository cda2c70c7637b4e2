package slack

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A State says what an item has to start.
type State uint8

const (
	// Drained items have nothing to start: all is running, or cannot run yet. They
	// are not chosen and hold nobody back.
	Drained State = iota
	// Blocked items have something to start that must wait, for a nearer slot say.
	// They are not chosen, but nobody may endanger them.
	Blocked
	// Ready items may be chosen.
	Ready
)

// A System is the slack system of one virtual cluster. Use [New] to make one.
type System[T any] struct {
	mode  vqueue.Late
	clock vclock.Clock // of V
	seq   uint64       // the latest sequence number given to an arrival or a virtual completion

	v    order[T] // V: the items that are not virtually complete, really finished or not
	base num      // s of an item in V is its S minus base

	first, last *Item[T]            // late items in the order of their virtual completion
	late        *heap.Heap[lateKey] // those of them that are not drained, in the order of service
	lateWork    num                 // sum of the real work left of late items, in units

	choice *Item[T] // the answer of LeastCompletable, if chosen
	chosen bool

	items []*Item[T] // by ID
	free  []*Item[T] // those of them that are not in use
}

// An Item is a job, or a phase of one, in a [System]. It belongs to the system
// that returned it, and must not be used any more after Finish.
type Item[T any] struct {
	Value T // belongs to the caller

	key             // its place in V
	work     uint64 // w in slot-nanoseconds
	weight   uint64 // in units of 2^-16
	running  uint64
	state    State
	finished bool

	id         uint32
	prev, next *Item[T] // the late items before and after it
	place[T]
}

// Work returns w, the real work that the item has left, in slot-nanoseconds.
func (it *Item[T]) Work() uint64 { return it.work }

// Weight returns the weight in units of 2^-16.
func (it *Item[T]) Weight() uint64 { return it.weight }

// Running returns what was set by [System.SetRunning].
func (it *Item[T]) Running() int { return int(it.running) }

// Late reports whether the item is virtually complete.
func (it *Item[T]) Late() bool { return it.tag.IsZero() }

// ID returns a small number, unique among the items in use: callers keep arrays
// and heaps by it.
func (it *Item[T]) ID() uint32 { return it.id }

// Before reports whether the item goes before other in V. Which of two items does
// changes by Revise only.
func (it *Item[T]) Before(other *Item[T]) bool { return it.key.less(other.key) }

// A key is a place in the order of V.
type key struct {
	tag vclock.Tag // F, the virtual time of the virtual completion; 0 once it has come
	seq uint64     // sequence of the arrival; once virtually complete, of that
}

func (a key) less(b key) bool {
	if a.tag != b.tag {
		return a.tag.Less(b.tag)
	}
	return a.seq < b.seq
}

// constrains reports whether others must wait for the item.
func (it *Item[T]) constrains() bool { return it.state != Drained }

// A lateKey is the place of a late item in the order of service.
type lateKey struct {
	blocked         bool
	running, weight uint64
	seq             uint64
}

// New returns an empty system of no slots at time 0. Mode says how late items are
// served among themselves.
func New[T any](mode vqueue.Late) *System[T] {
	s := &System[T]{mode: mode}
	switch mode {
	case vqueue.LateFirst:
		s.late = heap.New(func(a, b lateKey) bool { return a.seq < b.seq })
	case vqueue.LateShare:
		s.late = heap.New(func(a, b lateKey) bool {
			if a.blocked != b.blocked {
				return b.blocked
			}
			// a.running/a.weight against b.running/b.weight
			if c := wide.Mul64(a.running, b.weight).Cmp(wide.Mul64(b.running, a.weight)); c != 0 {
				return c < 0
			}
			return a.seq < b.seq
		})
	default:
		panic("slack: unknown order of late items")
	}
	return s
}

// Len returns the number of items in V, really finished or not, without the late
// ones: m in the paper.
func (s *System[T]) Len() int { return s.v.len() }

// SetCapacity sets the number of slots of the virtual cluster, from the current
// instant on. It changes the rate at which v and s fall, and no order. With 0
// slots they stand still.
func (s *System[T]) SetCapacity(slots int) { s.clock.SetSlots(slots) }

// Advance moves to instant t, equation (8): it ages V by wall time, whoever is
// served meanwhile and whether slots idle or not. What is served must be reported
// by [System.Serve]. It calls late, unless nil, for each item that completes
// virtually and is not really finished, in the order of completion and among
// equals of arrival, with the instant of its completion rounded up; late may not
// change the system. Advance panics if t is in the past.
func (s *System[T]) Advance(t sojourn.Time, late func(*Item[T], sojourn.Time)) {
	done := s.clock.Pass(t)
	if done.IsZero() {
		return
	}
	s.chosen = false
	s.base = s.base.add(fromWide(done)) // (9): nothing done for anybody so far
	for s.v.len() > 0 {
		head := s.v.first()
		at, complete := s.clock.Reach(head.tag, head.weight)
		if !complete {
			return
		}
		s.v.remove(head)
		if head.finished {
			s.recycle(head)
			continue
		}
		s.addLate(head)
		if late != nil {
			late(head, at)
		}
	}
	s.base = num{} // virtual time starts anew
}

// NextCompletion returns the instant, rounded up, of the next virtual completion
// if nothing happens before. It reports false if there is none within the range
// of [sojourn.Time].
func (s *System[T]) NextCompletion() (sojourn.Time, bool) {
	if s.v.len() == 0 {
		return 0, false
	}
	return s.clock.Next(s.v.first().tag)
}

// Arrive adds an item at the current instant, drained and without running tasks.
// Its work is in slot-nanoseconds, at most 2^63; its weight in units of 2^-16,
// from 1 to 2^48 (see [sojourn.Job.WeightUnits]). An item without work is late at
// once.
func (s *System[T]) Arrive(v T, work, weight uint64) *Item[T] {
	check(work, weight)
	it := s.alloc()
	it.Value, it.seq, it.work, it.weight = v, s.nextSeq(), work, weight
	s.chosen = false
	s.enter(it, vclock.Units(work))
	return it
}

// Serve records that so many slot-nanoseconds of the item's work were done,
// equations (7) and (9). What exceeds its work is ignored: the estimate was too
// small, and w stays 0 until it is revised.
func (s *System[T]) Serve(it *Item[T], done uint64) {
	done = min(done, it.work)
	if done == 0 {
		return
	}
	s.chosen = false
	s.addWork(it, it.work-done)
}

// SetWork replaces w, the real work that an item has left, and leaves what it has
// left in V: like Serve where w falls, and the opposite where work was lost that
// has to be done again.
func (s *System[T]) SetWork(it *Item[T], work uint64) {
	check(work, it.weight)
	if work != it.work {
		s.chosen = false
		s.addWork(it, work)
	}
}

// Revise replaces w, the real work that an item has left, and the weight: the
// equations (11) to (17). The virtual work that it has left changes by as much,
// but not below 0 nor above 2^63, so that it keeps its age. The same holds for an item that is late,
// whose v is 0: if its work grows it is back in V with as much, behind those that tie.
func (s *System[T]) Revise(it *Item[T], work, weight uint64) {
	check(work, weight)
	if it.finished {
		panic("slack: item is finished")
	}
	if work == it.work && weight == it.weight {
		return
	}
	s.chosen = false
	if it.Late() && work > it.work {
		grown := work - it.work
		s.addWork(it, 0)
		s.late.Remove(it.id)
		s.unlink(it)
		it.work, it.weight, it.seq = work, weight, s.nextSeq()
		s.enter(it, vclock.Units(grown))
		return
	}
	if it.Late() {
		s.addWork(it, work)
		it.weight = weight
		s.queueLate(it)
		return
	}
	left := s.clock.Revise(it.tag, it.weight, it.work, work)
	if weight == it.weight && !left.IsZero() {
		s.move(it, work, s.clock.Move(left, weight))
		return
	}
	s.leave(it)
	it.work, it.weight = work, weight
	s.enter(it, left)
}

// Finish records that an item is really finished, or cancelled: it is not
// served again and constrains nobody (s = infinity in the paper). It remains in V
// with its v until it is virtually complete. The item must not be used any more.
func (s *System[T]) Finish(it *Item[T]) {
	if it.finished {
		panic("slack: item is finished")
	}
	s.chosen = false
	it.state, it.finished = Drained, true
	it.Value = *new(T)
	left := it.work
	s.addWork(it, 0)
	if it.Late() {
		s.late.Remove(it.id)
		s.unlink(it)
		s.recycle(it)
	} else if left == 0 {
		s.v.update(it)
	}
}

// SetState says what the item has to start.
func (s *System[T]) SetState(it *Item[T], state State) {
	if state == it.state {
		return
	}
	s.chosen = false
	it.state = state
	if it.Late() {
		s.queueLate(it)
		return
	}
	s.v.update(it)
}

// State returns what was set by SetState.
func (it *Item[T]) State() State { return it.state }

// SetRunning says how many tasks of the item are running. It matters to
// [vqueue.LateShare] only.
func (s *System[T]) SetRunning(it *Item[T], tasks int) {
	it.running = uint64(tasks)
	if s.mode == vqueue.LateShare && it.Late() {
		s.chosen = false
		s.queueLate(it)
	}
}

// LeastCompletable returns the item to serve; false if there is none. Late items
// go before all others. Among the others it is the ready one with the least w of
// those that are completable (see [System.Completable]); among equals the first
// in V. The answer is kept until something changes: asking again costs nothing.
func (s *System[T]) LeastCompletable() (*Item[T], bool) {
	if !s.chosen {
		s.choice, s.chosen = nil, true
		if id, ok := s.late.Min(); !ok {
			s.choice = s.v.leastCompletable(s.base)
		} else if it := s.items[id]; it.state == Ready {
			s.choice = it
		}
	}
	return s.choice, s.choice != nil
}

// First returns the first item in the order of V that is ready, late ones before
// all others: what the Fair Sojourn Protocol serves. It reports false if there is
// none.
func (s *System[T]) First() (*Item[T], bool) {
	if id, ok := s.late.Min(); ok && s.items[id].state == Ready {
		return s.items[id], true
	}
	for it := s.first; it != nil; it = it.next { // a blocked one is in front
		if it.state == Ready {
			return it, true
		}
	}
	it := s.v.firstReady()
	return it, it != nil
}

// Guard returns, of the items before it in V that are not drained, the one with
// the least slack, among equals the first: the one that would be late if it were
// served too long. It reports false if there is none.
//
// A late item that is not drained is the guard of all that come behind it: the
// last such late item.
func (s *System[T]) Guard(it *Item[T]) (*Item[T], bool) {
	last := s.last
	if it.Late() {
		if s.mode == vqueue.LateShare {
			return nil, false
		}
		last = it.prev
	}
	if s.late.Len() > 0 {
		for ; last != nil; last = last.prev {
			if last.constrains() {
				return last, true
			}
		}
	}
	if it.Late() {
		return nil, false
	}
	guard, _ := s.v.guard(it)
	return guard, guard != nil
}

// Completable reports whether serving the item to its end without interruption
// would make nobody late who goes before it in V, if nothing else arrived:
// s_j >= w for all items j before it that are not drained, none of which is late.
func (s *System[T]) Completable(it *Item[T]) bool {
	guard, ok := s.Guard(it)
	return !ok || !guard.Late() && !s.slack(guard).less(work(it.work))
}

// Protected reports whether nobody who goes before the item in V and has
// something to start is in danger: s_j >= 0 for all items j before it that are not
// drained, none of which is late. This is what a task that jumps the queue must
// wait for.
func (s *System[T]) Protected(it *Item[T]) bool {
	guard, ok := s.Guard(it)
	return !ok || !guard.Late() && !s.slack(guard).isNegative()
}

// Slack returns s of the item in slot-nanoseconds, equation (6), rounded to a
// float64 for display. It costs the number of late items if it is late.
func (s *System[T]) Slack(it *Item[T]) float64 { return s.slack(it).float() }

// Virtual returns v of the item: the virtual work that it has left, in
// slot-nanoseconds, rounded up.
func (s *System[T]) Virtual(it *Item[T]) uint64 {
	if it.Late() {
		return 0
	}
	return s.clock.Remaining(it.tag, it.weight)
}

// All iterates over the items that are not finished: the late ones in the order
// of their virtual completion, then the others in the order of V. The system must
// not be changed meanwhile.
func (s *System[T]) All() iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) {
		for it := s.first; it != nil; it = it.next {
			if !yield(it) {
				return
			}
		}
		for it := range s.v.all() {
			if !it.finished && !yield(it) {
				return
			}
		}
	}
}

// slack returns s of the item in units.
func (s *System[T]) slack(it *Item[T]) num {
	if !it.Late() {
		return s.v.value(it).sub(s.base)
	}
	var sum num
	for ; it != nil; it = it.prev {
		sum = sum.sub(work(it.work))
	}
	return sum
}

// virtual returns the units of virtual work that an item in V has left, its share of
// the carry not deducted.
func (s *System[T]) virtual(it *Item[T]) num { return fromWide(s.clock.Left(it.tag, it.weight)) }

// share returns the rule of arrival as a line: phi v_j/phi_j for each j, where phi is the
// weight of an item.
func (s *System[T]) share(it *Item[T]) line {
	phi := int64(it.weight)
	g, _ := s.clock.State()
	return line{phi, fromWide(g).times(-phi)}
}

// addWork sets w of an item and changes s of it and of all behind it by as much
// as w falls, equations (7) and (9).
func (s *System[T]) addWork(it *Item[T], left uint64) {
	fall := work(it.work).sub(work(left))
	it.work = left
	s.base = s.base.sub(fall) // for all, then back for those before it
	if it.Late() {
		s.lateWork = s.lateWork.sub(fall)
		return
	}
	pull(s.v.add(it.key, constant(fall.neg())))
}

// enter puts an item with so many units of virtual work left into V: the rule of
// arrival. Items before it gain phi v_j/phi_j. Items behind it gain v - w, which
// is the rounding of v.
func (s *System[T]) enter(it *Item[T], left wide.Uint192) {
	if left.IsZero() {
		s.base = s.base.add(work(it.work)) // it goes before all others
		s.addLate(it)
		return
	}
	it.tag = s.clock.Enter(left, it.weight)
	s.add(it.key, s.share(it), s.virtual(it).sub(work(it.work)))
	s.insert(it)
}

// move gives an item in V another tag and other work, with the weight as it is.
func (s *System[T]) move(it *Item[T], left uint64, tag vclock.Tag) {
	v, w, share := s.virtual(it), work(it.work), s.share(it)
	from, to := it.key, key{tag, it.seq}
	s.v.remove(it)
	it.key, it.work = to, left
	newV, newW := s.virtual(it), work(left)
	behind := newV.sub(v).sub(newW.sub(w)) // both places
	if from.less(to) {
		between := share.add(constant(w.sub(v))) // (14)
		pull(s.v.add(from, between.neg()))
		s.add(to, between, behind)
	} else {
		between := constant(newV.sub(newW)).add(share.neg()) // (16)
		pull(s.add(from, between, behind))
		s.v.add(to, between.neg())
	}
	s.insert(it) // (15), (17)
}

// add adds a line to S of all items before k and a constant to that of the others.
func (s *System[T]) add(k key, before line, behind num) *node[T] {
	s.base = s.base.sub(behind)
	return s.v.add(k, before.add(constant(behind.neg())))
}

// insert puts an item into V whose effect on the others has been accounted for.
// Its own s follows from that of the item before it:
//
//	s_i - s_{i-1} = (phi_i + ... + phi_m) (F_i - F_{i-1}) - w_i.
func (s *System[T]) insert(it *Item[T]) {
	pred, before := s.v.before(it.key)
	var value num
	if pred != nil {
		behind := s.clock.Weight().Sub(before)
		value = s.v.value(pred).add(fromWide(it.tag.Sub(pred.tag)).timesWide(behind))
	} else {
		g, carry := s.clock.State()
		value = fromWide(it.tag.Sub(g)).timesWide(s.clock.Weight()).sub(fromWide(carry)).sub(s.lateWork).add(s.base)
	}
	s.v.insert(it, value.sub(work(it.work)))
}

// leave undoes enter, before the item is virtually complete. The clock was brought up to
// date at this instant.
func (s *System[T]) leave(it *Item[T]) {
	v, share := s.virtual(it), s.share(it)
	s.v.remove(it)
	pull(s.add(it.key, share.neg(), work(it.work).sub(v)))
	s.base = s.base.sub(fromWide(s.clock.Leave(it.weight)))
	if s.v.len() == 0 {
		s.base = num{} // virtual time starts anew
	}
}

// addLate adds an item to the late ones. Its work is part of s of all in V.
func (s *System[T]) addLate(it *Item[T]) {
	it.key = key{seq: s.nextSeq()}
	s.link(it)
}

// link puts a late item behind all late ones.
func (s *System[T]) link(it *Item[T]) {
	it.prev, it.next = s.last, nil
	if s.last == nil {
		s.first = it
	} else {
		s.last.next = it
	}
	s.last = it
	s.lateWork = s.lateWork.add(work(it.work))
	s.queueLate(it)
}

func (s *System[T]) unlink(it *Item[T]) {
	if it.prev == nil {
		s.first = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		s.last = it.prev
	} else {
		it.next.prev = it.prev
	}
}

// queueLate brings the place of a late item in the order of service up to date.
func (s *System[T]) queueLate(it *Item[T]) {
	if !it.constrains() {
		s.late.Remove(it.id)
		return
	}
	s.late.Set(it.id, lateKey{it.state == Blocked, it.running, it.weight, it.seq})
}

func (s *System[T]) nextSeq() uint64 {
	s.seq++
	return s.seq
}

// alloc returns an item that is not in use.
func (s *System[T]) alloc() *Item[T] {
	if n := len(s.free); n > 0 {
		it := s.free[n-1]
		s.free = s.free[:n-1]
		return it
	}
	it := &Item[T]{id: uint32(len(s.items))}
	s.items = append(s.items, it)
	return it
}

func (s *System[T]) recycle(it *Item[T]) {
	*it = Item[T]{id: it.id}
	s.free = append(s.free, it)
}

func check(work, weight uint64) {
	if work > vclock.MaxWork || weight == 0 || weight > vclock.MaxWeight {
		panic("slack: work or weight out of range")
	}
}
