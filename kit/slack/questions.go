package slack

import "iter"

// LeastCompletable returns the item to serve; false if there is none. Late items
// go before all others. Among the others it is the ready one with the least w of
// those that are completable (see [System.Completable]); among equals the first
// in V. The answer is kept until something changes: asking again costs nothing.
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

// First returns the first item in the order of V that is ready, late ones before
// all others: what the Fair Sojourn Protocol serves. It reports false if there is
// none.
func (s *System[T]) First() (*Item[T], bool) {
	it := s.late.firstReady()
	if it == nil {
		it = s.v.firstReady()
	}
	return it, it != nil
}

// Guard returns, of the items before it in V that are not drained, the one with
// the least slack, among equals the first: the one that would be late if it were
// served too long. It reports false if there is none.
//
// A late item that is not drained is the guard of all that come behind it: the
// last such late item.
func (s *System[T]) Guard(it *Item[T]) (*Item[T], bool) {
	guard := s.late.guard(it)
	if guard == nil && !it.Late() {
		guard, _ = s.v.guard(it)
	}
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
