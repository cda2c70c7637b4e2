package heap

// Places are what arrays that are heaps share: the order, and where each item is. An item is
// in one array at a time.
type places[K any] struct {
	less func(a, b K) bool
	pos  []uint32 // pos[id] is one more than the index of id in its array, 0 if it is in none
}

// Contains reports whether id is in the heap.
func (p *places[K]) Contains(id uint32) bool {
	return uint64(id) < uint64(len(p.pos)) && p.pos[id] != 0
}

// insert puts id, which is in no array, into one.
func (p *places[K]) insert(in []entry[K], id uint32, key K) []entry[K] {
	if uint64(id) >= uint64(len(p.pos)) {
		grown := make([]uint32, max(int(id)+1, 2*len(p.pos)))
		copy(grown, p.pos)
		p.pos = grown
	}
	in = append(in, entry[K]{id: id})
	p.rise(in, len(in)-1, key)
	return in
}

// remove takes id out of the array in which it is.
func (p *places[K]) remove(from []entry[K], id uint32) []entry[K] {
	i, last := int(p.pos[id])-1, len(from)-1
	e := from[last]
	from[last] = entry[K]{}
	from = from[:last]
	p.pos[id] = 0
	if i < last {
		from[i].id = e.id
		p.fix(from, i, e.key)
	}
	return from
}

// fix gives the item at index i a key, and moves it to where it belongs.
func (p *places[K]) fix(in []entry[K], i int, key K) {
	switch e := &in[i]; {
	case i > 0 && p.less(key, in[(i-1)/2].key):
		p.rise(in, i, key)
	case p.less(e.key, key):
		p.sink(in, i, key)
	default: // the key is no greater than that of an item which belonged here
		e.key = key
		p.pos[e.id] = uint32(i + 1)
	}
}

// rise moves the item at index i towards the root until its key fits there.
func (p *places[K]) rise(in []entry[K], i int, key K) {
	id := in[i].id
	for i > 0 {
		parent := (i - 1) / 2
		if !p.less(key, in[parent].key) {
			break
		}
		in[i] = in[parent]
		p.pos[in[i].id] = uint32(i + 1)
		i = parent
	}
	in[i] = entry[K]{key, id}
	p.pos[id] = uint32(i + 1)
}

// near is how many levels an item sinks before it is taken to belong close to the leaves.
const near = 2

// sink moves the item at index i towards the leaves until its key fits there. Few items belong
// in between: what has sunk by near levels goes down to a leaf with one comparison a level, and
// rises from there.
func (p *places[K]) sink(in []entry[K], i int, key K) {
	id, levels := in[i].id, 0
	for ; 2*i+1 < len(in); levels++ {
		least := 2*i + 1
		if right := least + 1; right < len(in) && p.less(in[right].key, in[least].key) {
			least = right
		}
		if levels < near && !p.less(in[least].key, key) {
			break
		}
		in[i] = in[least]
		p.pos[in[i].id] = uint32(i + 1)
		i = least
	}
	if levels > near {
		in[i].id = id
		p.rise(in, i, key)
		return
	}
	in[i] = entry[K]{key, id}
	p.pos[id] = uint32(i + 1)
}
