package heap

import "math/bits"

// MaxLevels is how many levels a [Levels] may have.
const MaxLevels = 32

// Levels is a heap whose items are filed at levels, from 0: its least item is that of the
// levels up to one that the caller names. It is one heap a level, and one table of positions
// for all of them, since an item is at one level at a time. Use [NewLevels] to make one.
//
// Set and Remove take O(log n) for n items, MinUpTo O(levels).
type Levels[K any] struct {
	parts []Heap[K] // by level; they borrow pos while they are used
	pos   []uint32  // as in Heap
	level []uint8   // by ID; right while pos is not 0
	used  uint32    // bit l is set while something is at level l
}

// NewLevels returns an empty heap of so many levels ordered by less, a strict total order.
func NewLevels[K any](levels int, less func(a, b K) bool) *Levels[K] {
	h := &Levels[K]{parts: make([]Heap[K], levels)}
	for l := range h.parts {
		h.parts[l].less = less
	}
	return h
}

// AnyUpTo reports whether anything is at a level up to that one.
func (h *Levels[K]) AnyUpTo(level int) bool { return h.used<<(MaxLevels-1-level) != 0 }

// Contains reports whether id is in the heap.
func (h *Levels[K]) Contains(id uint32) bool {
	return int64(id) < int64(len(h.pos)) && h.pos[id] != 0
}

// Set files id at a level with a key, wherever it was before.
func (h *Levels[K]) Set(id uint32, level int, key K) {
	if h.Contains(id) && int(h.level[id]) != level {
		h.Remove(id)
	}
	p := &h.parts[level]
	p.pos = h.pos
	p.Set(id, key)
	h.pos, p.pos = p.pos, nil
	if len(h.level) < len(h.pos) {
		h.level = append(h.level, make([]uint8, len(h.pos)-len(h.level))...)
	}
	h.level[id] = uint8(level)
	h.used |= 1 << level
}

// Remove takes id out of the heap, and reports whether it was there.
func (h *Levels[K]) Remove(id uint32) bool {
	if !h.Contains(id) {
		return false
	}
	level := h.level[id]
	p := &h.parts[level]
	p.pos = h.pos
	p.Remove(id)
	p.pos = nil
	if p.Len() == 0 {
		h.used &^= 1 << level
	}
	return true
}

// MinUpTo returns the item with the least key of the levels up to that one, the key, and
// where it is filed; false if there is none.
func (h *Levels[K]) MinUpTo(level int) (id uint32, key K, at int, ok bool) {
	for rest := h.used & (2<<level - 1); rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest)
		if e := &h.parts[l].entries[0]; !ok || h.parts[l].less(e.key, key) {
			id, key, at, ok = e.id, e.key, l, true
		}
	}
	return id, key, at, ok
}

// Level returns where id is filed; false if it is not in the heap.
func (h *Levels[K]) Level(id uint32) (level int, ok bool) {
	if !h.Contains(id) {
		return 0, false
	}
	return int(h.level[id]), true
}

// Key returns the key of id, which must be in the heap.
func (h *Levels[K]) Key(id uint32) K { return h.parts[h.level[id]].entries[h.pos[id]-1].key }

// All calls yield with the items, in an order that depends only on the calls made so far,
// until it returns false. The heap must not be changed meanwhile.
func (h *Levels[K]) All(yield func(id uint32, key K) bool) {
	for l := range h.parts {
		for _, e := range h.parts[l].entries {
			if !yield(e.id, e.key) {
				return
			}
		}
	}
}
