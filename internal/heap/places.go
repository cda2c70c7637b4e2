package heap

// Places are what arrays that are heaps share: the order, the keys, and where each item is. An item is
// in one array at a time.
type places[K any] struct {
	less   func(a, b K) bool
	prefix func(K) (hi, lo uint64) // nil if nothing is known
	keys   []K                     // by ID, of those that are in an array; zero for others
	pos    []uint32                // pos[id] is one more than the index of id in its array, 0 if it is in none
}

// An entry is an item in an array. It begins with what its key begins with.
type entry struct {
	hi, lo uint64
	id     uint32
}

// Contains reports whether id is in the heap.
func (p *places[K]) Contains(id uint32) bool {
	return uint64(id) < uint64(len(p.pos)) && p.pos[id] != 0
}

// entry returns the entry of an item with its key, and stores the key.
func (p *places[K]) entry(id uint32, key K) entry {
	p.keys[id] = key
	if p.prefix == nil {
		return entry{id: id}
	}
	hi, lo := p.prefix(key)
	return entry{hi, lo, id}
}

// decide reports whether an item comes before another one that has the same prefix.
func (p *places[K]) decide(a, b uint32) bool { return p.less(p.keys[a], p.keys[b]) }

// insert puts id, which is in no array, into one.
func (p *places[K]) insert(in []entry, id uint32, key K) []entry {
	if n := len(p.pos); uint64(id) >= uint64(n) {
		more := max(int(id)+1, 2*n) - n
		p.pos, p.keys = append(p.pos, make([]uint32, more)...), append(p.keys, make([]K, more)...)
	}
	in = append(in, entry{})
	p.rise(in, len(in)-1, p.entry(id, key))
	return in
}

// remove takes id out of the array in which it is.
func (p *places[K]) remove(from []entry, id uint32) []entry {
	i, last := int(p.pos[id])-1, len(from)-1
	gone, e := from[i], from[last]
	from = from[:last]
	if i < last {
		if e.hi < gone.hi || e.hi == gone.hi && (e.lo < gone.lo || e.lo == gone.lo && p.decide(e.id, id)) {
			p.rise(from, i, e)
		} else {
			p.sink(from, i, e)
		}
	}
	var none K
	p.pos[id], p.keys[id] = 0, none
	return from
}

// fix gives the item at index i a key, and moves it to where it belongs.
func (p *places[K]) fix(in []entry, i int, key K) {
	was := in[i]
	old := p.keys[was.id]
	switch e := p.entry(was.id, key); {
	case e.hi < was.hi || e.hi == was.hi && (e.lo < was.lo || e.lo == was.lo && p.less(key, old)):
		p.rise(in, i, e)
	case e.hi > was.hi || e.lo > was.lo || p.less(old, key):
		p.sink(in, i, e)
	}
}

// rise puts an item at index i, or at the index of what is above it and comes later.
func (p *places[K]) rise(in []entry, i int, e entry) {
	pos := p.pos
	for i > 0 {
		parent := (i - 1) / 2
		above := &in[parent]
		if e.hi > above.hi || e.hi == above.hi && (e.lo > above.lo || e.lo == above.lo && !p.decide(e.id, above.id)) {
			break
		}
		in[i] = *above
		pos[above.id] = uint32(i + 1)
		i = parent
	}
	in[i] = e
	pos[e.id] = uint32(i + 1)
}

// near is how many levels an item sinks before it is taken to belong close to the leaves.
const near = 2

// sink moves the item at index i towards the leaves until it fits there. Few items belong
// in between: what has sunk by near levels goes down to a leaf with one comparison a level, and
// rises from there.
func (p *places[K]) sink(in []entry, i int, e entry) {
	pos, levels := p.pos, 0
	for at := 2*i + 1; at < len(in); at = 2*i + 1 {
		least := &in[at]
		if at+1 < len(in) {
			right := &in[at+1]
			if right.hi < least.hi || right.hi == least.hi && (right.lo < least.lo || right.lo == least.lo && p.decide(right.id, least.id)) {
				at, least = at+1, right
			}
		}
		if levels < near && (e.hi < least.hi || e.hi == least.hi && (e.lo < least.lo || e.lo == least.lo && p.decide(e.id, least.id))) {
			break
		}
		in[i] = *least
		pos[least.id] = uint32(i + 1)
		i = at
		levels++
	}
	if levels > near {
		p.rise(in, i, e)
		return
	}
	in[i] = e
	pos[e.id] = uint32(i + 1)
}
