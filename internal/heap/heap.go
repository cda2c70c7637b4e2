// Package heap provides an indexed priority queue: a binary min-heap whose items
// are named by small integers, so that the key of any item can be changed.
//
// Keys are stored in the heap itself, and an array holds the position of each
// item, so that a comparison follows no pointer and nothing is allocated except
// to grow the two arrays. Two children a node were faster than four or eight in
// the benchmark of this package, by a tenth up to 100,000 items: a comparison is
// a call, and costs more than the memory that a flatter heap saves.
//
// The order must be a strict total order on the keys that are in the heap at one
// time: end it in a sequence number. Otherwise which of two equal items comes
// first depends on the history of the heap.
package heap

import "iter"

// A Heap holds items, each named by an ID and having a key. Memory is
// proportional to the largest ID, so IDs should be reused. Use [New] to make one.
type Heap[K any] struct {
	less    func(a, b K) bool
	entries []entry[K]
	pos     []uint32 // pos[id] is one more than the index of id in entries, 0 if it is not in the heap
}

type entry[K any] struct {
	key K
	id  uint32
}

// New returns an empty heap ordered by less, a strict total order.
func New[K any](less func(a, b K) bool) *Heap[K] { return &Heap[K]{less: less} }

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

// Contains reports whether id is in the heap.
func (h *Heap[K]) Contains(id uint32) bool {
	return int64(id) < int64(len(h.pos)) && h.pos[id] != 0
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
	if int64(id) >= int64(len(h.pos)) {
		grown := make([]uint32, max(int(id)+1, 2*len(h.pos)))
		copy(grown, h.pos)
		h.pos = grown
	}
	e := entry[K]{key, id}
	i := int(h.pos[id]) - 1
	if i < 0 {
		h.entries = append(h.entries, e)
		h.up(len(h.entries)-1, e)
		return
	}
	h.fix(i, e)
}

// Remove takes id out of the heap, and reports whether it was there.
func (h *Heap[K]) Remove(id uint32) bool {
	if !h.Contains(id) {
		return false
	}
	i, last := int(h.pos[id])-1, len(h.entries)-1
	e := h.entries[last]
	h.entries[last] = entry[K]{}
	h.entries = h.entries[:last]
	h.pos[id] = 0
	if i < last {
		h.fix(i, e)
	}
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

// fix fills the hole at index i with e, wherever that leads.
func (h *Heap[K]) fix(i int, e entry[K]) {
	if i > 0 && h.less(e.key, h.entries[(i-1)/2].key) {
		h.up(i, e)
	} else {
		h.down(i, e)
	}
}

// up moves the hole at index i towards the root until e fits.
func (h *Heap[K]) up(i int, e entry[K]) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(e.key, h.entries[parent].key) {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, e)
}

// down moves the hole at index i towards the leaves until e fits.
func (h *Heap[K]) down(i int, e entry[K]) {
	n := len(h.entries)
	for 2*i+1 < n {
		least := 2*i + 1
		if right := least + 1; right < n && h.less(h.entries[right].key, h.entries[least].key) {
			least = right
		}
		if !h.less(h.entries[least].key, e.key) {
			break
		}
		h.put(i, h.entries[least])
		i = least
	}
	h.put(i, e)
}

func (h *Heap[K]) put(i int, e entry[K]) {
	h.entries[i] = e
	h.pos[e.id] = uint32(i + 1)
}
