// Package heap provides an indexed priority queue: a min-heap with four items below each one. Small
// integers name the items, so that the key of any item can be changed.
//
// A prefix is the beginning of a key, as two words: if key a is less than key b, then prefix(a) <= prefix(b). The first word, and 27 bits of the second one, are stored in the heap itself, and most comparisons need
// nothing else. Only where these are the same, the order is called, and reads keys that are stored by item. Without a
// prefix this is so for all keys. Nothing is allocated except to grow the arrays, which they do by
// pages.
//
// The order must be a strict total order on the keys that are in the heap at one
// time: let it compare a sequence number last. Otherwise the history of the heap
// decides which of two equal items comes first.
package heap

import "iter"

// A Heap holds items, each named by an ID and having a key. Memory is
// proportional to the largest ID, so IDs should be reused. Use [New] to make one.
type Heap[K any] struct {
	places[K]
	array array
}

// New returns an empty heap ordered by less, a strict total order. prefix may be nil.
func New[K any](less func(a, b K) bool, prefix func(K) (hi, lo uint64)) *Heap[K] {
	return &Heap[K]{places: places[K]{less: less, prefix: prefix}}
}

// Len returns the number of items.
func (h *Heap[K]) Len() int { return int(h.array.n) }

// Min returns the item with the least key; false if the heap is empty.
func (h *Heap[K]) Min() (id uint32, ok bool) {
	if h.array.n == 0 {
		return 0, false
	}
	return h.first(&h.array).id, true
}

// MinKey returns the least key; false if the heap is empty.
func (h *Heap[K]) MinKey() (key K, ok bool) {
	if h.array.n == 0 {
		return key, false
	}
	return h.key(h.first(&h.array).id), true
}

// Key returns the key of id; false if id is not in the heap.
func (h *Heap[K]) Key(id uint32) (key K, ok bool) {
	if !h.Contains(id) {
		return key, false
	}
	return h.key(id), true
}

// Set gives id a key: it is inserted, or moved to where the new key belongs.
func (h *Heap[K]) Set(id uint32, key K) {
	if h.Contains(id) {
		h.fix(&h.array, *h.pos.At(id)-1, key)
	} else {
		h.insert(&h.array, id, key)
	}
}

// Remove takes id out of the heap, and reports whether it was there.
func (h *Heap[K]) Remove(id uint32) bool {
	if !h.Contains(id) {
		return false
	}
	h.remove(&h.array, id)
	return true
}

// All iterates over the items and their keys, in an order that depends only on
// the calls made so far. The heap must not be changed meanwhile.
func (h *Heap[K]) All() iter.Seq2[uint32, K] {
	return func(yield func(uint32, K) bool) {
		for i := range h.array.n {
			if id := h.at(&h.array, i).id; !yield(id, h.key(id)) {
				return
			}
		}
	}
}

// A Cursor goes through a heap, the least key first. The heap must not be changed
// meanwhile.
type Cursor[K any] struct {
	heap *Heap[K]
	last int      // index of the latest item; -1 before the first one
	next *Heap[K] // of indices into at: the children of the items that came, unless they came
	at   []int
}

// Cursor returns a cursor before the first item. The first k items cost O(k log k).
func (h *Heap[K]) Cursor() Cursor[K] { return Cursor[K]{heap: h, last: -1} }

// Next returns the next item and its key; false if there is none.
func (c *Cursor[K]) Next() (id uint32, key K, ok bool) {
	in := &c.heap.array
	switch {
	case c.last >= 0:
		if c.next == nil {
			c.next = New(c.heap.less, c.heap.prefix)
		}
		for child := arity*c.last + 1; child <= arity*(c.last+1) && child < c.heap.Len(); child++ {
			c.next.Set(uint32(len(c.at)), c.heap.key(c.heap.at(in, uint32(child)).id))
			c.at = append(c.at, child)
		}
		least, ok := c.next.Min()
		if !ok {
			return 0, key, false
		}
		c.next.Remove(least)
		c.last = c.at[least]
	case in.n == 0:
		return 0, key, false
	default:
		c.last = 0
	}
	id = c.heap.at(in, uint32(c.last)).id
	return id, c.heap.key(id), true
}
