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
	in = append(in, entry[K]{})
	p.fix(in, len(in)-1, key, id)
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
		p.fix(from, i, e.key, e.id)
	}
	return from
}

// fix fills the hole at index i with an item: it moves the hole towards the root, or else
// towards the leaves, until the item fits.
func (p *places[K]) fix(in []entry[K], i int, key K, id uint32) {
	hole := i
	for hole > 0 {
		parent := (hole - 1) / 2
		if !p.less(key, in[parent].key) {
			break
		}
		in[hole] = in[parent]
		p.pos[in[hole].id] = uint32(hole + 1)
		hole = parent
	}
	if hole == i {
		for 2*hole+1 < len(in) {
			least := 2*hole + 1
			if right := least + 1; right < len(in) && p.less(in[right].key, in[least].key) {
				least = right
			}
			if !p.less(in[least].key, key) {
				break
			}
			in[hole] = in[least]
			p.pos[in[hole].id] = uint32(hole + 1)
			hole = least
		}
	}
	in[hole] = entry[K]{key, id}
	p.pos[id] = uint32(hole + 1)
}
