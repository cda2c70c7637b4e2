package vqueue

import (
	"iter"
	"slices"

	"github.com/google/btree"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A Mark says that an item belongs to a set of the caller's choice. The caller can go
// through such a set in the order of service from both ends.
type Mark uint8

// marks is the number of marks, which are 0 and 1.
const marks = 2

// SetReady says whether the item has something to start now.
func (q *Queue[T]) SetReady(it *Item[T], ready bool) {
	if ready != it.ready {
		q.delist(it)
		it.ready = ready
		q.enlist(it)
	}
}

// SetLevel files an item at a level of a reserve, from 0 to [reserve.Levels] - 1. The
// level of an item that arrives is 0.
func (q *Queue[T]) SetLevel(it *Item[T], level int) {
	if level == int(it.level) {
		return
	}
	for level >= len(q.ready) {
		q.ready = append(q.ready, newSet[T]())
	}
	q.delist(it)
	it.level = uint8(level)
	q.enlist(it)
}

// SetMark adds an item to a set, or removes it. A finished item is in none.
func (q *Queue[T]) SetMark(it *Item[T], m Mark, on bool) {
	if on != it.marks[m] {
		q.delist(it)
		it.marks[m] = on
		q.enlist(it)
	}
}

// SetRunning says how many tasks of the item are running. It matters only under
// [LateShare].
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
func (q *Queue[T]) First() (*Item[T], bool) { return q.FirstUpTo(len(q.ready) - 1) }

// FirstUpTo returns the first of these items among those at most at the given level;
// false if there is none.
func (q *Queue[T]) FirstUpTo(level int) (first *Item[T], ok bool) {
	for l := range min(level+1, len(q.ready)) {
		if it, found := q.ready[l].first(); found && (!ok || q.Before(it, first)) {
			first, ok = it, true
		}
	}
	return first, ok
}

// NextUpTo returns the first of the items of FirstUpTo that come after an item, which is not finished.
func (q *Queue[T]) NextUpTo(level int, after *Item[T]) (next *Item[T], ok bool) {
	for l := range min(level+1, len(q.ready)) {
		if it, found := q.ready[l].firstAfter(after, q.shares(after)); found && (!ok || q.Before(it, next)) {
			next, ok = it, true
		}
	}
	return next, ok
}

// FirstMarked returns the first item of a set in the order of service; false if there is
// none.
func (q *Queue[T]) FirstMarked(m Mark) (*Item[T], bool) { return q.marked[m].first() }

// LastMarked returns the last item of a set in the order of service; false if there is
// none. Unless before is nil, it considers only items that come before that one.
func (q *Queue[T]) LastMarked(m Mark, before *Item[T]) (last *Item[T], ok bool) {
	if before == nil { // the usual case, at every event
		return q.marked[m].last()
	}
	return q.marked[m].lastBefore(before, q.shares(before))
}

// Marked iterates over the items of a set, in the order of service. Do not change the
// queue meanwhile.
func (q *Queue[T]) Marked(m Mark) iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) { q.marked[m].all(yield) }
}

// All iterates over the items that are not finished, ready or not, in the order of
// service. Do not change the queue meanwhile.
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

// Before reports whether a comes before b in the order of service. Neither is finished.
func (q *Queue[T]) Before(a, b *Item[T]) bool {
	if q.shares(a) && q.shares(b) {
		return a.share().less(b.share())
	}
	return a.entry().less(b.entry())
}

// shares reports whether an item shares its service with other late items.
func (q *Queue[T]) shares(it *Item[T]) bool { return q.mode == LateShare && it.Late() }

// enlist puts an item into the sets that it belongs to.
func (q *Queue[T]) enlist(it *Item[T]) {
	if it.finished {
		return
	}
	if it.ready {
		q.ready[it.level].insert(it, q.shares(it))
	}
	for m, on := range it.marks {
		if on {
			q.marked[m].insert(it, q.shares(it))
		}
	}
}

// delist undoes enlist. Fields that determine the place of an item may change only
// between delist and enlist.
func (q *Queue[T]) delist(it *Item[T]) {
	if it.finished {
		return
	}
	if it.ready {
		q.ready[it.level].remove(it, q.shares(it))
	}
	for m, on := range it.marks {
		if on {
			q.marked[m].remove(it, q.shares(it))
		}
	}
}

// A set is a set of items in the order of service: first the items that share, which
// are the late ones under LateShare, and then the others.
type set[T any] struct {
	sharing *btree.BTreeG[share[T]]
	others  *btree.BTreeG[entry[T]]
}

func newSet[T any]() set[T] {
	return set[T]{btree.NewG(degree, share[T].less), btree.NewG(degree, entry[T].less)}
}

func (s *set[T]) insert(it *Item[T], shares bool) {
	if shares {
		s.sharing.ReplaceOrInsert(it.share())
	} else {
		s.others.ReplaceOrInsert(it.entry())
	}
}

func (s *set[T]) remove(it *Item[T], shares bool) {
	if shares {
		s.sharing.Delete(it.share())
	} else {
		s.others.Delete(it.entry())
	}
}

func (s *set[T]) first() (*Item[T], bool) {
	if e, ok := s.sharing.Min(); ok {
		return e.it, true
	}
	e, ok := s.others.Min()
	return e.it, ok
}

func (s *set[T]) last() (*Item[T], bool) {
	if e, ok := s.others.Max(); ok {
		return e.it, true
	}
	e, ok := s.sharing.Max()
	return e.it, ok
}

// lastBefore returns the last item of the set before another item, which need not be in
// the set. shares says whether that item shares.
func (s *set[T]) lastBefore(before *Item[T], shares bool) (last *Item[T], ok bool) {
	find := func(it *Item[T]) bool {
		if it != before {
			last, ok = it, true
		}
		return !ok
	}
	if shares {
		s.sharing.DescendLessOrEqual(before.share(), func(e share[T]) bool { return find(e.it) })
		return last, ok
	}
	s.others.DescendLessOrEqual(before.entry(), func(e entry[T]) bool { return find(e.it) })
	if !ok { // none of the others is before it, but all that share are
		e, ok := s.sharing.Max()
		return e.it, ok
	}
	return last, true
}

// firstAfter returns the first item of the set after another item, which need not be in the set.
// shares says whether that item shares.
func (s *set[T]) firstAfter(after *Item[T], shares bool) (first *Item[T], ok bool) {
	find := func(it *Item[T]) bool {
		if it != after {
			first, ok = it, true
		}
		return !ok
	}
	if !shares {
		s.others.AscendGreaterOrEqual(after.entry(), func(e entry[T]) bool { return find(e.it) })
		return first, ok
	}
	s.sharing.AscendGreaterOrEqual(after.share(), func(e share[T]) bool { return find(e.it) })
	if !ok { // none of those that share is after it, but all others are
		e, ok := s.others.Min()
		return e.it, ok
	}
	return first, true
}

func (s *set[T]) all(yield func(*Item[T]) bool) {
	on := true
	s.sharing.Ascend(func(e share[T]) bool { on = yield(e.it); return on })
	if on {
		s.others.Ascend(func(e entry[T]) bool { return yield(e.it) })
	}
}

// An entry is an item in a tree in the order of service under LateFirst. This is the
// order of tag and sequence, since the tag of late items is 0. It has only the upper
// digits of the tag: the compiler keeps structs of four words in registers, but not of
// five.
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
