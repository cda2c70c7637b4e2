package slack

import "iter"

// LeastCompletable returns the item to serve; false if there is none. Late items
// go before all others. Among the others it is the ready item with the least w
// that is completable (see [System.Completable]); among equals the first in V.
// The system remembers the answer until something changes: asking again costs
// nothing.
func (s *System[T]) LeastCompletable() (*Item[T], bool) {
	if !s.chosen {
		s.choice, s.chosen = s.late.first(), true
		switch {
		case s.choice == nil:
			s.choice = s.v.leastCompletable(s.base)
		case s.choice.state != Ready:
			s.choice = nil
		}
	}
	return s.choice, s.choice != nil
}

// First returns the first ready item in the order of V, late ones before all
// others. The Fair Sojourn Protocol serves this item. It reports false if there
// is none.
func (s *System[T]) First() (*Item[T], bool) {
	it := s.late.firstReady()
	if it == nil {
		it = s.v.firstReady()
	}
	return it, it != nil
}

// FirstRanked returns the first ready item of this rank in the order of V, without the late ones.
// It reports false if there is none.
func (s *System[T]) FirstRanked(rank int) (*Item[T], bool) {
	it := s.v.firstRanked(1 << rank)
	return it, it != nil
}

// Guard returns the item with the least slack among the items before it in V
// that are not drained, among equals the first. This guard would be late if the
// item were served too long. Guard reports false if there is none.
//
// If late items come before it that are not drained, the guard is the last of
// them.
func (s *System[T]) Guard(it *Item[T]) (*Item[T], bool) {
	guard := s.late.guard(it)
	if guard == nil && !it.Late() {
		guard, _ = s.v.guard(it)
	}
	return guard, guard != nil
}

// Completable reports whether the item could be served to its end without
// interruption before any item ahead of it in V becomes late, if nothing else
// arrived. That is, none of the items j ahead of it that are not drained is late,
// and s_j >= w for all of them.
func (s *System[T]) Completable(it *Item[T]) bool {
	return s.spares(it, work(it.work))
}

// Protected reports whether no item that goes before this one in V and has
// something to start is in danger. That is, none of the items j before it that are
// not drained is late, and s_j >= 0 for all of them. A task that jumps the queue
// must wait for this.
func (s *System[T]) Protected(it *Item[T]) bool {
	return s.spares(it, num{})
}

// spares reports whether none of the items before this one that are not drained is late or has a
// slack below need.
func (s *System[T]) spares(it *Item[T], need num) bool {
	if s.late.guard(it) != nil {
		return false
	}
	if it.Late() {
		return true
	}
	_, endangered := s.v.endangered(it, s.base, need)
	return !endangered
}

// Slack returns s of the item in slot-nanoseconds, equation (6), rounded to a
// float64 for display. For a late item it takes time in proportion to the number
// of late items.
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
// of their virtual completion, then the others in the order of V. Do not change
// the system meanwhile.
func (s *System[T]) All() iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) {
		for it := range s.late.all {
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
	if it.Late() {
		return s.late.slack(it)
	}
	return s.v.value(it).sub(s.base)
}
