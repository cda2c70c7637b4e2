// Package ready keeps, for each class of slot, what has something to start,
// the least key first. What has nothing to start is not in the queue and costs
// nothing.
package ready

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// A Queue is a set of indexed heaps, one for each class. Items are named by small
// integers, such as the handles of jobs; the same number may be in the heaps of
// several classes.
type Queue[K any] struct {
	less  func(a, b K) bool
	heaps []*heap.Heap[K] // by class; nil where the class was never used
}

// New returns an empty queue ordered by less, a strict total order.
func New[K any](less func(a, b K) bool) Queue[K] { return Queue[K]{less: less} }

// Set puts an item into the queue of class c, or changes its key.
func (q *Queue[K]) Set(c sojourn.Class, id uint32, key K) {
	for int(c) >= len(q.heaps) {
		q.heaps = append(q.heaps, nil)
	}
	if q.heaps[c] == nil {
		q.heaps[c] = heap.New(q.less)
	}
	q.heaps[c].Set(id, key)
}

// Remove takes an item out of the queue of class c, if it is there.
func (q *Queue[K]) Remove(c sojourn.Class, id uint32) {
	if int(c) < len(q.heaps) && q.heaps[c] != nil {
		q.heaps[c].Remove(id)
	}
}

// Contains reports whether an item is in the queue of class c.
func (q *Queue[K]) Contains(c sojourn.Class, id uint32) bool {
	return int(c) < len(q.heaps) && q.heaps[c] != nil && q.heaps[c].Contains(id)
}

// First returns the item of class c with the least key, and the key; false if
// there is none.
func (q *Queue[K]) First(c sojourn.Class) (id uint32, key K, ok bool) {
	if int(c) >= len(q.heaps) || q.heaps[c] == nil {
		return 0, key, false
	}
	if id, ok = q.heaps[c].Min(); ok {
		key, _ = q.heaps[c].MinKey()
	}
	return id, key, ok
}

// Any reports whether the queue of class c holds anything.
func (q *Queue[K]) Any(c sojourn.Class) bool {
	return int(c) < len(q.heaps) && q.heaps[c] != nil && q.heaps[c].Len() > 0
}

// All iterates over the items of class c, in no useful order. The queue must not
// be changed meanwhile.
func (q *Queue[K]) All(c sojourn.Class) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if int(c) >= len(q.heaps) || q.heaps[c] == nil {
			return
		}
		for id := range q.heaps[c].All() {
			if !yield(id) {
				return
			}
		}
	}
}
