package heap

import "math/bits"

// MaxLevels is how many levels a [Levels] may have.
const MaxLevels = 32

// Levels is a heap whose items are filed at levels, from 0: its least item is that of the
// levels up to one that the caller names. It is one array a level, and one table of positions
// for all of them, since an item is at one level at a time. Levels that were never used cost
// nothing. Use [NewLevels] to make one.
//
// Set and Remove take O(log n) for n items, MinUpTo O(levels).
type Levels[K any] struct {
	places[K]
	parts []array      // by level, as far as any was used
	used  uint32       // bit l is set while something is at level l
	level Table[uint8] // by ID, of what is in the heap; those beyond its end are at level 0
}

// NewLevels returns an empty heap ordered by less, a strict total order. prefix may be nil.
func NewLevels[K any](less func(a, b K) bool, prefix func(K) (hi, lo uint64)) *Levels[K] {
	return &Levels[K]{places: places[K]{less: less, prefix: prefix}}
}

// AnyUpTo reports whether anything is at a level up to that one.
func (h *Levels[K]) AnyUpTo(level int) bool { return h.used<<(MaxLevels-1-level) != 0 }

// Set files id at a level with a key, wherever it was before.
func (h *Levels[K]) Set(id uint32, level int, key K) {
	if level != h.at(id) {
		h.Remove(id)
		h.level.Grow(int(id) + 1)
		*h.level.At(id) = uint8(level)
	}
	if h.Contains(id) {
		h.fix(&h.parts[level], *h.pos.At(id)-1, key)
		return
	}
	for level >= len(h.parts) {
		h.parts = append(h.parts, array{})
	}
	h.insert(&h.parts[level], id, key)
	h.used |= 1 << level
}

// Len returns the number of items.
func (h *Levels[K]) Len() (n int) {
	for l := range h.parts {
		n += int(h.parts[l].n)
	}
	return n
}

// at returns the level of id, if id is in the heap.
func (h *Levels[K]) at(id uint32) int {
	if uint64(id) >= uint64(h.level.Len()) {
		return 0
	}
	return int(*h.level.At(id))
}

// Remove takes id out of the heap, and reports whether it was there.
func (h *Levels[K]) Remove(id uint32) bool {
	if !h.Contains(id) {
		return false
	}
	level := h.at(id)
	h.remove(&h.parts[level], id)
	if h.parts[level].n == 0 {
		h.used &^= 1 << level
	}
	return true
}

// MinUpTo returns the item with the least key of the levels up to that one, the key, and
// where it is filed; false if there is none.
func (h *Levels[K]) MinUpTo(level int) (id uint32, key K, at int, ok bool) {
	rest := h.used & (2<<level - 1)
	if rest == 0 {
		return 0, key, 0, false
	}
	at = bits.TrailingZeros32(rest)
	least := h.first(&h.parts[at])
	for rest &= rest - 1; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest)
		if e := h.first(&h.parts[l]); h.before(e, least) {
			least, at = e, l
		}
	}
	return least.id, h.key(least.id), at, true
}

// Least returns the item with the least key; false if there is none. It takes less than MinUpTo.
func (h *Levels[K]) Least() (id uint32, ok bool) {
	if h.used == 1 {
		return h.first(&h.parts[0]).id, true
	}
	id, _, _, ok = h.MinUpTo(MaxLevels - 1)
	return id, ok
}

// Level returns where id is filed; false if it is not in the heap.
func (h *Levels[K]) Level(id uint32) (level int, ok bool) {
	if !h.Contains(id) {
		return 0, false
	}
	return h.at(id), true
}

// Key returns the key of id, which must be in the heap.
func (h *Levels[K]) Key(id uint32) K { return h.key(id) }

// Walk calls visit with the least item of a level and its key, and, where it returns true, with the items right below that one, of which none is less.
// The heap must not be changed meanwhile.
func (h *Levels[K]) Walk(level int, visit func(id uint32, key K) bool) {
	if level < len(h.parts) {
		h.walk(&h.parts[level], 0, visit)
	}
}

func (p *places[K]) walk(in *array, i uint32, visit func(id uint32, key K) bool) {
	if i >= in.n {
		return
	}
	if id := p.at(in, i).id; visit(id, p.key(id)) {
		for below := arity*i + 1; below <= arity*(i+1); below++ {
			p.walk(in, below, visit)
		}
	}
}

// All calls yield with the items, in an order that depends only on the calls made so far,
// until it returns false. The heap must not be changed meanwhile.
func (h *Levels[K]) All(yield func(id uint32, key K) bool) {
	for l := range h.parts {
		for i := range h.parts[l].n {
			if id := h.places.at(&h.parts[l], i).id; !yield(id, h.key(id)) {
				return
			}
		}
	}
}
