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
// The zero Ready cannot be used: make one with [NewReady].
type Ready[K any] struct {
	less    func(a, b K) bool
	prefix  func(K) (hi, lo uint64)
	classes []*heap.Levels[K] // by class; nil where the class was never used
}

// NewReady returns an empty Ready, ordered by less, a strict total order.
func NewReady[K any](less func(a, b K) bool) Ready[K] { return NewPrefixedReady(less, nil) }

// NewPrefixedReady is [NewReady] for keys that begin with a number: see [JobOrder.Prefix].
func NewPrefixedReady[K any](less func(a, b K) bool, prefix func(K) (hi, lo uint64)) Ready[K] {
	return Ready[K]{less: less, prefix: prefix}
}

// Set files an item for class c, or changes its key.
func (q *Ready[K]) Set(c sojourn.Class, id uint32, key K) { q.setLevel(c, id, 0, key) }

// setLevel files an item for class c at a level, or changes its key and its level.
func (q *Ready[K]) setLevel(c sojourn.Class, id uint32, level int, key K) {
	h := q.of(c)
	if h == nil {
		h = q.begin(c)
	}
	h.Set(id, level, key)
}

// of returns what is filed for class c; nil if nothing ever was.
func (q *Ready[K]) of(c sojourn.Class) *heap.Levels[K] {
	if int(c) >= len(q.classes) {
		return nil
	}
	return q.classes[c]
}

// begin makes room for what is to be filed for class c, the first time.
func (q *Ready[K]) begin(c sojourn.Class) *heap.Levels[K] {
	for int(c) >= len(q.classes) {
		q.classes = append(q.classes, nil)
	}
	q.classes[c] = heap.NewLevels(q.less, q.prefix)
	return q.classes[c]
}

// Remove removes an item from class c, if it is there.
func (q *Ready[K]) Remove(c sojourn.Class, id uint32) {
	if h := q.of(c); h != nil {
		h.Remove(id)
	}
}

// Contains reports whether an item is filed for class c.
func (q *Ready[K]) Contains(c sojourn.Class, id uint32) bool {
	h := q.of(c)
	return h != nil && h.Contains(id)
}

// len returns how many items are filed for class c.
func (q *Ready[K]) len(c sojourn.Class) int {
	if h := q.of(c); h != nil {
		return h.Len()
	}
	return 0
}

// level returns the level at which an item is filed for class c; false if it is not.
func (q *Ready[K]) level(c sojourn.Class, id uint32) (int, bool) {
	if h := q.of(c); h != nil {
		return h.Level(id)
	}
	return 0, false
}

// move moves an item of class c to another level. The item keeps its key.
func (q *Ready[K]) move(c sojourn.Class, id uint32, level int) {
	h := q.of(c)
	h.Set(id, level, h.Key(id))
}

// First returns the item of class c with the least key, and the key; false if
// there is none.
func (q *Ready[K]) First(c sojourn.Class) (id uint32, key K, ok bool) {
	id, key, _, ok = q.firstUpTo(c, reserve.Levels-1)
	return id, key, ok
}

// firstUpTo returns the item of class c with the least key among those at most at the given
// level, with its key and its level; false if there is none.
func (q *Ready[K]) firstUpTo(c sojourn.Class, level int) (id uint32, key K, at int, ok bool) {
	if h := q.of(c); h != nil && level >= 0 {
		return h.MinUpTo(level)
	}
	return 0, key, 0, false
}

// Any reports whether anything is filed for class c.
func (q *Ready[K]) Any(c sojourn.Class) bool { return q.anyUpTo(c, reserve.Levels-1) }

// anyUpTo reports whether anything is filed for class c at most at the given level.
func (q *Ready[K]) anyUpTo(c sojourn.Class, level int) bool {
	h := q.of(c)
	return h != nil && level >= 0 && h.AnyUpTo(level)
}

// All iterates over the items of class c, in no useful order. Do not file or
// remove any meanwhile.
func (q *Ready[K]) All(c sojourn.Class) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if h := q.of(c); h != nil {
			h.All(func(id uint32, _ K) bool { return yield(id) })
		}
	}
}
