package queue

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// Ready holds the items that have something to start, for each class of slots, the least
// key first. Use it if neither [Jobs] nor [Phases] fits: it knows nothing about jobs. Small
// integers name items, such as the handles of jobs. The same number may be filed for
// several classes. An item with nothing to start is not in it and costs nothing. Set and
// Remove take O(log n) for n items of the class, all other methods O(1).
//
// An item is filed at a level, from 0 to [reserve.Levels] - 1. The level is 0 unless
// SetLevel gives another one. FirstUpTo and AnyUpTo leave out items at higher levels; the
// other methods ignore levels. Items at level 0 pay nothing for the other levels.
//
// The zero Ready cannot be used: make one with [NewReady].
type Ready[K any] struct {
	less  func(a, b K) bool
	heaps []*heap.Heap[K] // by class: level 0; nil where the class was never used

	// By class: the levels from 1, where level l has number l-1; nil if none was ever used.
	// Invariant: an item is here or in heaps, and not in both.
	above []*heap.Levels[K]
}

// NewReady returns an empty Ready, ordered by less, a strict total order.
func NewReady[K any](less func(a, b K) bool) Ready[K] { return Ready[K]{less: less} }

// Set files an item for class c at level 0. If it is filed already, Set changes its key and
// moves it to level 0.
func (q *Ready[K]) Set(c sojourn.Class, id uint32, key K) { q.SetLevel(c, id, 0, key) }

// SetLevel files an item for class c at a level, or changes its key and its level.
func (q *Ready[K]) SetLevel(c sojourn.Class, id uint32, level int, key K) {
	above := q.higher(c)
	if level > 0 {
		if above == nil {
			above = heap.NewLevels(reserve.Levels-1, q.less)
			for int(c) >= len(q.above) {
				q.above = append(q.above, nil)
			}
			q.above[c] = above
		}
		if h := q.lowest(c); h != nil {
			h.Remove(id)
		}
		above.Set(id, level-1, key)
		return
	}
	if above != nil {
		above.Remove(id)
	}
	for int(c) >= len(q.heaps) {
		q.heaps = append(q.heaps, nil)
	}
	if q.heaps[c] == nil {
		q.heaps[c] = heap.New(q.less)
	}
	q.heaps[c].Set(id, key)
}

// lowest returns the items of class c at level 0; nil if there never was one.
func (q *Ready[K]) lowest(c sojourn.Class) *heap.Heap[K] {
	if int(c) >= len(q.heaps) {
		return nil
	}
	return q.heaps[c]
}

// higher returns the items of class c above level 0; nil if there never was one.
func (q *Ready[K]) higher(c sojourn.Class) *heap.Levels[K] {
	if int(c) >= len(q.above) {
		return nil
	}
	return q.above[c]
}

// Remove removes an item from class c, if it is there.
func (q *Ready[K]) Remove(c sojourn.Class, id uint32) {
	if h := q.lowest(c); h != nil {
		h.Remove(id)
	}
	if h := q.higher(c); h != nil {
		h.Remove(id)
	}
}

// Contains reports whether an item is filed for class c.
func (q *Ready[K]) Contains(c sojourn.Class, id uint32) bool {
	_, ok := q.Level(c, id)
	return ok
}

// Level returns the level at which an item is filed for class c; false if it is not.
func (q *Ready[K]) Level(c sojourn.Class, id uint32) (int, bool) {
	if h := q.lowest(c); h != nil && h.Contains(id) {
		return 0, true
	}
	if h := q.higher(c); h != nil {
		if level, ok := h.Level(id); ok {
			return level + 1, true
		}
	}
	return 0, false
}

// move moves an item of class c to another level. The item keeps its key.
func (q *Ready[K]) move(c sojourn.Class, id uint32, level int) {
	if h := q.lowest(c); h != nil && h.Contains(id) {
		key, _ := h.Key(id)
		q.SetLevel(c, id, level, key)
	} else {
		q.SetLevel(c, id, level, q.higher(c).Key(id))
	}
}

// First returns the item of class c with the least key, and the key; false if
// there is none.
func (q *Ready[K]) First(c sojourn.Class) (id uint32, key K, ok bool) {
	id, key, _, ok = q.FirstUpTo(c, reserve.Levels-1)
	return id, key, ok
}

// FirstUpTo returns the item of class c with the least key among those at most at the given
// level, with its key and its level; false if there is none.
func (q *Ready[K]) FirstUpTo(c sojourn.Class, level int) (id uint32, key K, at int, ok bool) {
	if level < 0 {
		return 0, key, 0, false
	}
	if h := q.lowest(c); h != nil {
		if id, ok = h.Min(); ok {
			key, _ = h.MinKey()
		}
	}
	if h := q.higher(c); h != nil && level > 0 {
		if i, k, l, found := h.MinUpTo(level - 1); found && (!ok || q.less(k, key)) {
			return i, k, l + 1, true
		}
	}
	return id, key, 0, ok
}

// Any reports whether anything is filed for class c.
func (q *Ready[K]) Any(c sojourn.Class) bool { return q.AnyUpTo(c, reserve.Levels-1) }

// AnyUpTo reports whether anything is filed for class c at most at the given level.
func (q *Ready[K]) AnyUpTo(c sojourn.Class, level int) bool {
	if h := q.lowest(c); h != nil && level >= 0 && h.Len() > 0 {
		return true
	}
	h := q.higher(c)
	return h != nil && level > 0 && h.AnyUpTo(level-1)
}

// All iterates over the items of class c, in no useful order. Do not file or
// remove any meanwhile.
func (q *Ready[K]) All(c sojourn.Class) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		on := true
		each := func(id uint32, _ K) bool { on = yield(id); return on }
		if h := q.lowest(c); h != nil {
			h.All()(each)
		}
		if h := q.higher(c); h != nil && on {
			h.All(each)
		}
	}
}
