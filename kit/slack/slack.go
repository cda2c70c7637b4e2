package slack

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A State says what an item has to start.
type State uint8

const (
	// Drained items have nothing to start: their tasks run, or cannot run yet. They
	// are not chosen and hold nobody back.
	Drained State = iota
	// Blocked items have something to start that must wait, for example for a nearer
	// slot. They are not chosen, but nobody may endanger them.
	Blocked
	// Ready items may be chosen.
	Ready
)

// A System is the slack system of one virtual cluster. Use [New] to make one.
type System[T any] struct {
	clock vclock.Clock // of V
	seq   uint64       // the latest sequence number given to an arrival or a virtual completion

	v    order[T] // V: the items that are not virtually complete, really finished or not
	base num      // s of an item in V is its S minus base

	late lates[T]

	choice *Item[T] // the answer of LeastCompletable, if chosen
	chosen bool

	ids  uint32     // number of items ever made: IDs below it are given
	free []*Item[T] // the items among them that are not in use
}

// An Item is a job, or a phase of one, in a [System]. It belongs to the system
// that returned it, and must not be used any more after Finish.
type Item[T any] struct {
	Value T // belongs to the caller

	key             // its place in V
	work     uint64 // w in slot-nanoseconds
	weight   uint64 // in units of 2^-16
	running  uint64
	rank     uint64 // 1<<rank, 0 if it has none
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

// ID returns a small number that is unique among the items in use. Callers index
// arrays and heaps by it.
func (it *Item[T]) ID() uint32 { return it.id }

// A Place is where an item stands in V. It can be compared without a look at the item.
type Place struct{ key key }

// Place returns the place of the item. It changes when the item is revised, and when it becomes late, which
// Advance tells: the order stays the same then.
func (it *Item[T]) Place() Place { return Place{it.key} }

// Before reports whether the item of this place goes before that of another.
func (p Place) Before(other Place) bool { return p.key.less(other.key) }

// Prefix returns two words that are in the order of places. Places whose words are the same may differ.
func (p Place) Prefix() (hi, lo uint64) { return p.key.tag.Hi, p.key.tag.Mid }

// constrains reports whether others must wait for the item.
func (it *Item[T]) constrains() bool { return it.state != Drained }

// A key is a place in the order of V.
type key struct {
	tag vclock.Tag // F, the virtual time of the virtual completion; 0 afterwards
	seq uint64     // sequence of the arrival, then of the virtual completion
}

func (a key) less(b key) bool {
	if a.tag != b.tag {
		return a.tag.Less(b.tag)
	}
	return a.seq < b.seq
}

// New returns an empty system of no slots at time 0. Mode says how late items are
// served among themselves; [vqueue.LateDefault] is LateFirst.
func New[T any](mode vqueue.Late) *System[T] {
	return &System[T]{late: newLates[T](mode)}
}

// Len returns the number of items in V, really finished or not, without the late
// ones: m in the paper.
func (s *System[T]) Len() int { return s.v.len() }

// SetCapacity sets the number of slots of the virtual cluster, from the current
// instant on. It changes the rate at which v and s fall, and no order. With 0
// slots they stand still.
func (s *System[T]) SetCapacity(slots int) { s.clock.SetSlots(slots) }

// Advance moves to instant t, equation (8). It ages V by wall time, whichever
// items are served meanwhile and whether slots idle or not. The caller reports
// service by [System.Serve]. For each item that completes virtually and is not
// really finished, Advance calls late with the item and the instant of its
// completion, rounded up. Calls are in the order of completion, equal ones in the
// order of arrival. late may be nil and must not change the system. Advance
// panics if t is in the past.
func (s *System[T]) Advance(t sojourn.Time, late func(*Item[T], sojourn.Time)) {
	done := s.clock.Pass(t)
	if done.IsZero() {
		return
	}
	s.chosen = false
	s.base = s.base.add(fromWide(done)) // (9), before any service is reported
	s.clock.Complete(s.head, func(at sojourn.Time) {
		head := s.v.first()
		s.v.remove(head, line{})
		if head.finished {
			s.recycle(head)
			return
		}
		s.addLate(head)
		if late != nil {
			late(head, at)
		}
	})
	if s.v.len() == 0 {
		s.base = num{} // virtual time starts from zero
	}
}

// head returns the tag and the weight of the first item in V; false if there is none.
func (s *System[T]) head() (tag vclock.Tag, weight uint64, ok bool) {
	if s.v.len() == 0 {
		return vclock.Tag{}, 0, false
	}
	head := s.v.first()
	return head.tag, head.weight, true
}

// Arrive adds an item at the current instant, without running tasks.
// Its work is in slot-nanoseconds, at most 2^63; its weight in units of 2^-16,
// from 1 to 2^48 (see [sojourn.Job.WeightUnits]). An item without work is late at
// once. The state is as in SetState.
func (s *System[T]) Arrive(v T, work, weight uint64, state State) *Item[T] {
	vclock.Check(work, weight)
	it := s.alloc()
	it.Value, it.seq, it.work, it.weight, it.state = v, s.nextSeq(), work, weight, state
	s.chosen = false
	s.enter(it, vclock.Units(work), vclock.MaxTag)
	return it
}

// Serve records that done slot-nanoseconds of the item's work were done,
// equations (7) and (9). It ignores what exceeds the work: the estimate was too
// small, and w stays 0 until it is revised.
func (s *System[T]) Serve(it *Item[T], done uint64) {
	done = min(done, it.work)
	if done == 0 {
		return
	}
	s.chosen = false
	s.addWork(it, it.work-done)
}

// SetWork replaces w, the real work that an item has left. It does not change
// what the item has left in V. If w falls, it acts like Serve. If w grows,
// because lost work has to be done again, it acts in the opposite way.
func (s *System[T]) SetWork(it *Item[T], work uint64) {
	vclock.Check(work, it.weight)
	if work != it.work {
		s.chosen = false
		s.addWork(it, work)
	}
}

// Revise replaces w, the real work that an item has left, which was was, and the weight: equations (11) to (17).
// The virtual work that the item has left changes by as much, but not below 0 nor above 2^63, so
// the item keeps its age. The same holds for a late item, whose v is 0: if its work grows, it
// returns to V with v equal to the growth, behind items that tie. If w is not was, Revise sets it to was first, as SetWork does.
func (s *System[T]) Revise(it *Item[T], was, work, weight uint64) {
	vclock.Check(was, weight)
	vclock.Check(work, weight)
	if it.finished {
		panic("slack: item is finished")
	}
	if work == was && weight == it.weight {
		s.SetWork(it, work)
		return
	}
	s.chosen = false
	if it.Late() && work > was {
		s.addWork(it, 0)
		s.late.remove(it)
		it.work, it.weight, it.seq = work, weight, s.nextSeq()
		s.enter(it, vclock.Units(work-was), vclock.MaxTag)
		return
	}
	if it.Late() {
		s.addWork(it, work)
		it.weight = weight
		s.late.update(it)
		return
	}
	left, tag, stays := s.clock.Revise(it.tag, was, work, it.weight, weight)
	if stays {
		s.move(it, was, work, tag)
		return
	}
	s.addWork(it, was)
	s.leave(it)
	it.work, it.weight = work, weight
	s.enter(it, left, tag)
}

// Finish records that an item is really finished, or cancelled: it is not
// served again and constrains nobody (s = infinity in the paper). It remains in V
// with its v until it is virtually complete. The caller must not use the item any
// more.
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
		s.late.remove(it)
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
		s.late.update(it)
		return
	}
	s.v.update(it)
}

// Ranks is how many ranks there are.
const Ranks = 64

// SetRank gives the item a rank, at least 0 and below Ranks, or none if it is negative. Ranks change
// no order: they are for [System.FirstRanked]. An item comes without one, and [System.Save]
// does not keep it.
func (s *System[T]) SetRank(it *Item[T], rank int) {
	if rank >= Ranks {
		panic("slack: rank out of range")
	}
	bit := uint64(0)
	if rank >= 0 {
		bit = 1 << rank
	}
	if bit == it.rank {
		return
	}
	it.rank = bit
	if it.state == Ready {
		it.leaf.rankUp() // a late item is in no leaf
	}
}

// State returns what was set by SetState.
func (it *Item[T]) State() State { return it.state }

// SetRunning says how many tasks of the item are running. It matters only under
// [vqueue.LateShare].
func (s *System[T]) SetRunning(it *Item[T], tasks int) {
	it.running = uint64(tasks)
	if it.Late() && s.late.mode == vqueue.LateShare {
		s.chosen = false
		s.late.update(it)
	}
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
	s.ids++
	return &Item[T]{id: s.ids - 1}
}

func (s *System[T]) recycle(it *Item[T]) {
	*it = Item[T]{id: it.id}
	s.free = append(s.free, it)
}
