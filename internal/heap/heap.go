// Package heap provides an indexed priority queue: a binary min-heap whose items
// are named by small integers, so that the key of any item can be changed.
//
// Keys are stored in the heap itself, and an array holds the position of each
// item, so that a comparison follows no pointer and nothing is allocated except
// to grow the two arrays. In the benchmark of this package, two children for
// each node are faster than four or eight, by a tenth up to 100,000 items. A
// comparison is a call, and costs more than the memory accesses that a flatter
// heap saves.
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
	entries []entry[K]
}

type entry[K any] struct {
	key K
	id  uint32
}

// New returns an empty heap ordered by less, a strict total order.
func New[K any](less func(a, b K) bool) *Heap[K] { return &Heap[K]{places: places[K]{less: less}} }

// Len returns the number of items.
func (h *Heap[K]) Len() int { return len(h.entries) }

// Min returns the item with the least key; false if the heap is empty.
func (h *Heap[K]) Min() (id uint32, ok bool) {
	if len(h.entries) == 0 {
		return 0, false
	}
	return h.entries[0].id, true
}

// MinKey returns the least key; false if the heap is empty.
func (h *Heap[K]) MinKey() (key K, ok bool) {
	if len(h.entries) == 0 {
		return key, false
	}
	return h.entries[0].key, true
}

// Key returns the key of id; false if id is not in the heap.
func (h *Heap[K]) Key(id uint32) (key K, ok bool) {
	if !h.Contains(id) {
		return key, false
	}
	return h.entries[h.pos[id]-1].key, true
}

// Set gives id a key: it is inserted, or moved to where the new key belongs.
func (h *Heap[K]) Set(id uint32, key K) {
	if h.Contains(id) {
		h.fix(h.entries, int(h.pos[id])-1, key)
	} else {
		h.entries = h.insert(h.entries, id, key)
	}
}

// Remove takes id out of the heap, and reports whether it was there.
func (h *Heap[K]) Remove(id uint32) bool {
	if !h.Contains(id) {
		return false
	}
	h.entries = h.remove(h.entries, id)
	return true
}

// All iterates over the items and their keys, in an order that depends only on
// the calls made so far. The heap must not be changed meanwhile.
func (h *Heap[K]) All() iter.Seq2[uint32, K] {
	return func(yield func(uint32, K) bool) {
		for i := range h.entries {
			if e := &h.entries[i]; !yield(e.id, e.key) {
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
	entries := c.heap.entries
	switch {
	case c.last >= 0:
		if c.next == nil {
			c.next = New(c.heap.less)
		}
		for child := 2*c.last + 1; child <= 2*c.last+2 && child < len(entries); child++ {
			c.next.Set(uint32(len(c.at)), entries[child].key)
			c.at = append(c.at, child)
		}
		least, ok := c.next.Min()
		if !ok {
			return 0, key, false
		}
		c.next.Remove(least)
		c.last = c.at[least]
	case len(entries) == 0:
		return 0, key, false
	default:
		c.last = 0
	}
	return entries[c.last].id, entries[c.last].key, true
}
