// Package ready has what could start now, by class of slots.
package ready

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// A Queue holds the items that have something to start, for each class of slots, the least
// key first. It knows nothing about jobs. Small
// integers name items, such as the handles of jobs. The same number may be filed for
// several classes. An item with nothing to start is not in it and costs nothing. Set and
// Remove take O(log n) for n items of the class, all other methods O(1).
//
// An item is filed at a level, from 0 to [reserve.Levels] - 1. FirstUpTo and AnyUpTo leave out items at higher levels; the
// other methods ignore levels. Items at level 0 pay nothing for the other levels.
//
// The zero Queue cannot be used: make one with [New].
type Queue[K any] struct {
	less    func(a, b K) bool
	prefix  func(K) (hi, lo uint64)
	classes []*heap.Levels[K] // by class; nil where the class was never used
}

// New returns an empty Queue, ordered by less, a strict total order. prefix, unless nil, returns the beginning of a key, as two
// words: if less(a, b), then prefix(a) <= prefix(b).
func New[K any](less func(a, b K) bool, prefix func(K) (hi, lo uint64)) Queue[K] {
	return Queue[K]{less: less, prefix: prefix}
}

// Set files an item for class c at level 0, or changes its key and moves it there.
func (q *Queue[K]) Set(c sojourn.Class, id uint32, key K) { q.SetLevel(c, id, 0, key) }

// SetLevel files an item for class c at a level, or changes its key and its level.
func (q *Queue[K]) SetLevel(c sojourn.Class, id uint32, level int, key K) {
	h := q.of(c)
	if h == nil {
		h = q.begin(c)
	}
	h.Set(id, level, key)
}

// of returns what is filed for class c; nil if nothing ever was.
func (q *Queue[K]) of(c sojourn.Class) *heap.Levels[K] {
	if int(c) >= len(q.classes) {
		return nil
	}
	return q.classes[c]
}

// begin makes room for what is to be filed for class c, the first time.
func (q *Queue[K]) begin(c sojourn.Class) *heap.Levels[K] {
	for int(c) >= len(q.classes) {
		q.classes = append(q.classes, nil)
	}
	q.classes[c] = heap.NewLevels(q.less, q.prefix)
	return q.classes[c]
}

// Remove removes an item from class c, if it is there.
func (q *Queue[K]) Remove(c sojourn.Class, id uint32) {
	if h := q.of(c); h != nil {
		h.Remove(id)
	}
}

// Contains reports whether an item is filed for class c.
func (q *Queue[K]) Contains(c sojourn.Class, id uint32) bool {
	h := q.of(c)
	return h != nil && h.Contains(id)
}

// Len returns how many items are filed for class c.
func (q *Queue[K]) Len(c sojourn.Class) int {
	if h := q.of(c); h != nil {
		return h.Len()
	}
	return 0
}

// Level returns the level at which an item is filed for class c; false if it is not.
func (q *Queue[K]) Level(c sojourn.Class, id uint32) (int, bool) {
	if h := q.of(c); h != nil {
		return h.Level(id)
	}
	return 0, false
}

// Move moves an item of class c to another level. The item keeps its key.
func (q *Queue[K]) Move(c sojourn.Class, id uint32, level int) {
	h := q.of(c)
	h.Set(id, level, h.Key(id))
}

// First returns the item of class c with the least key, and the key; false if
// there is none.
func (q *Queue[K]) First(c sojourn.Class) (id uint32, key K, ok bool) {
	id, key, _, ok = q.FirstUpTo(c, reserve.Levels-1)
	return id, key, ok
}

// Least returns the item of class c with the least key; false if there is none. It takes less than First.
func (q *Queue[K]) Least(c sojourn.Class) (id uint32, ok bool) {
	if h := q.of(c); h != nil {
		return h.Least()
	}
	return 0, false
}

// FirstUpTo returns the item of class c with the least key among those at most at the given
// level, with its key and its level; false if there is none.
func (q *Queue[K]) FirstUpTo(c sojourn.Class, level int) (id uint32, key K, at int, ok bool) {
	if h := q.of(c); h != nil && level >= 0 {
		return h.MinUpTo(level)
	}
	return 0, key, 0, false
}

// Any reports whether anything is filed for class c.
func (q *Queue[K]) Any(c sojourn.Class) bool { return q.AnyUpTo(c, reserve.Levels-1) }

// AnyUpTo reports whether anything is filed for class c at most at the given level.
func (q *Queue[K]) AnyUpTo(c sojourn.Class, level int) bool {
	h := q.of(c)
	return h != nil && level >= 0 && h.AnyUpTo(level)
}

// Walk calls visit with the least item of class c at level 0 and its key, and, where it returns true, with others, of which none is less. Do not
// file or remove any meanwhile.
func (q *Queue[K]) Walk(c sojourn.Class, visit func(id uint32, key K) bool) {
	if h := q.of(c); h != nil {
		h.Walk(0, visit)
	}
}

// All iterates over the items of class c, in no useful order. Do not file or
// remove any meanwhile.
func (q *Queue[K]) All(c sojourn.Class) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if h := q.of(c); h != nil {
			h.All(func(id uint32, _ K) bool { return yield(id) })
		}
	}
}
