package heap

// Groups is a heap like [Levels], for keys whose order may change while time passes, but not within a
// group. It is one array for each group and level in use, and MinUpTo compares the least keys of these:
// only this comparison may depend on the time. Use [NewGroups] to make one.
//
// Set and Remove take O(log n) for n items, MinUpTo O(groups in use). A nil *Groups is empty, and all but
// Set may be called.
type Groups[K any] struct {
	places[K]
	group func(K) int   // from 0
	parts []part        // those that were ever needed at one time
	used  []uint32      // the indices of those that hold something, in an order without meaning
	spare []uint32      // the indices of the others
	at    Table[uint32] // by ID, of what is in the heap: the index in parts
	index [][]uint32    // by level and group: one more than the index in parts, 0 if nothing is there
}

// A part holds the items of one group at one level.
type part struct {
	group, level int
	place        int // in used
	array        array
}

// NewGroups returns an empty heap. The order is a strict total order at any instant. group returns the
// group of a key. Keys of one group keep their order. prefix may be nil; it only has to fit to the order within a group.
func NewGroups[K any](less func(a, b K) bool, prefix func(K) (hi, lo uint64), group func(K) int) *Groups[K] {
	return &Groups[K]{places: places[K]{less: less, prefix: prefix}, group: group}
}

// Contains reports whether id is in the heap.
func (h *Groups[K]) Contains(id uint32) bool { return h != nil && h.places.Contains(id) }

// live returns the indices of the parts that hold something.
func (h *Groups[K]) live() []uint32 {
	if h == nil {
		return nil
	}
	return h.used
}

// Set files id at a level with a key, wherever it was before.
func (h *Groups[K]) Set(id uint32, level int, key K) {
	group := h.group(key)
	if h.Contains(id) {
		if p := &h.parts[*h.at.At(id)]; p.group == group && p.level == level {
			h.fix(&p.array, *h.pos.At(id)-1, key)
			return
		}
		h.Remove(id)
	}
	i := h.find(group, level)
	h.insert(&h.parts[i].array, id, key)
	h.at.Grow(int(id) + 1)
	*h.at.At(id) = i
}

// find returns the index of the part of a group and a level, which it begins to use if need be.
func (h *Groups[K]) find(group, level int) uint32 {
	for level >= len(h.index) {
		h.index = append(h.index, nil)
	}
	if n := group + 1 - len(h.index[level]); n > 0 {
		h.index[level] = append(h.index[level], make([]uint32, n)...)
	}
	at := &h.index[level][group]
	if *at > 0 {
		return *at - 1
	}
	i := uint32(len(h.parts))
	if n := len(h.spare); n > 0 {
		i, h.spare = h.spare[n-1], h.spare[:n-1]
	} else {
		h.parts = append(h.parts, part{})
	}
	p := &h.parts[i]
	p.group, p.level, p.place = group, level, len(h.used)
	h.used = append(h.used, i)
	*at = i + 1
	return i
}

// Remove takes id out of the heap, and reports whether it was there.
func (h *Groups[K]) Remove(id uint32) bool {
	if !h.Contains(id) {
		return false
	}
	i := *h.at.At(id)
	p := &h.parts[i]
	h.remove(&p.array, id)
	if p.array.n > 0 {
		return true
	}
	h.index[p.level][p.group] = 0
	last := h.used[len(h.used)-1]
	h.used[p.place], h.parts[last].place = last, p.place
	h.used = h.used[:len(h.used)-1]
	h.spare = append(h.spare, i)
	return true
}

// Len returns the number of items.
func (h *Groups[K]) Len() (n int) {
	for _, i := range h.live() {
		n += int(h.parts[i].array.n)
	}
	return n
}

// AnyUpTo reports whether anything is at a level up to that one.
func (h *Groups[K]) AnyUpTo(level int) bool {
	for _, i := range h.live() {
		if h.parts[i].level <= level {
			return true
		}
	}
	return false
}

// MinUpTo returns the item with the least key of the levels up to that one, the key, and its level;
// false if there is none.
func (h *Groups[K]) MinUpTo(level int) (id uint32, key K, at int, ok bool) {
	for _, i := range h.live() {
		p := &h.parts[i]
		if first := h.first(&p.array).id; p.level <= level && (!ok || h.less(h.key(first), h.key(id))) {
			id, at, ok = first, p.level, true
		}
	}
	if !ok {
		return 0, key, 0, false
	}
	return id, h.key(id), at, true
}

// Level returns where id is filed; false if it is not in the heap.
func (h *Groups[K]) Level(id uint32) (level int, ok bool) {
	if !h.Contains(id) {
		return 0, false
	}
	return h.parts[*h.at.At(id)].level, true
}

// Key returns the key of id, which must be in the heap.
func (h *Groups[K]) Key(id uint32) K { return h.key(id) }

// All calls yield with the items, in an order that depends only on the calls made so far,
// until it returns false. The heap must not be changed meanwhile.
func (h *Groups[K]) All(yield func(id uint32, key K) bool) {
	for _, i := range h.live() {
		in := &h.parts[i].array
		for k := range in.n {
			if id := h.places.at(in, k).id; !yield(id, h.key(id)) {
				return
			}
		}
	}
}
