package queue

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// Ready is what has something to start, for each class of slot, the least key first. Use
// it where neither [Jobs] nor [Phases] fits: it knows nothing of jobs. Items are named by
// small integers, such as the handles of jobs, and the same number may be there for several
// classes. What has nothing to start is not in it and costs nothing. Set and Remove take
// O(log n) for n items of the class, all else O(1).
//
// The zero Ready cannot be used: make one with [NewReady].
type Ready[K any] struct {
	less  func(a, b K) bool
	heaps []*heap.Heap[K] // by class; nil where the class was never used
}

// NewReady returns an empty Ready, ordered by less, a strict total order.
func NewReady[K any](less func(a, b K) bool) Ready[K] { return Ready[K]{less: less} }

// Set files an item for class c, or changes its key.
func (q *Ready[K]) Set(c sojourn.Class, id uint32, key K) {
	for int(c) >= len(q.heaps) {
		q.heaps = append(q.heaps, nil)
	}
	if q.heaps[c] == nil {
		q.heaps[c] = heap.New(q.less)
	}
	q.heaps[c].Set(id, key)
}

// Remove takes an item out of those of class c, if it is there.
func (q *Ready[K]) Remove(c sojourn.Class, id uint32) {
	if int(c) < len(q.heaps) && q.heaps[c] != nil {
		q.heaps[c].Remove(id)
	}
}

// Contains reports whether an item is filed for class c.
func (q *Ready[K]) Contains(c sojourn.Class, id uint32) bool {
	return int(c) < len(q.heaps) && q.heaps[c] != nil && q.heaps[c].Contains(id)
}

// First returns the item of class c with the least key, and the key; false if
// there is none.
func (q *Ready[K]) First(c sojourn.Class) (id uint32, key K, ok bool) {
	if int(c) >= len(q.heaps) || q.heaps[c] == nil {
		return 0, key, false
	}
	if id, ok = q.heaps[c].Min(); ok {
		key, _ = q.heaps[c].MinKey()
	}
	return id, key, ok
}

// Any reports whether anything is filed for class c.
func (q *Ready[K]) Any(c sojourn.Class) bool {
	return int(c) < len(q.heaps) && q.heaps[c] != nil && q.heaps[c].Len() > 0
}

// All iterates over the items of class c, in no useful order. Do not file or
// remove any meanwhile.
func (q *Ready[K]) All(c sojourn.Class) iter.Seq[uint32] {
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
