package heap

import "math/bits"

// arity is how many items are right below one. With four, an item that sinks reads half as many lines of memory as
// with two.
const arity = 4

// Places are what arrays that are heaps share: the order, the keys, and where each item is. An item is
// in one array at a time.
type places[K any] struct {
	less   func(a, b K) bool
	prefix func(K) (hi, lo uint64) // nil if nothing is known
	keys   Table[K]                // by ID, of those that are in an array; zero for others
	pos    Table[uint32]           // by ID: one more than the index in its array, 0 if it is in none
}

// An array is a heap. The four items below each one are a block, and lie in one line of memory of 64 bytes, if the
// allocator begins a page at one.
type array struct {
	blocks Table[[arity]entry] // the first item is the last one of block 0, and those below item i are block i+1
	n      uint32
}

// An entry is an item in an array. It has what its key begins with: the first word of the prefix, and what squeeze
// makes of the second.
type entry struct {
	hi uint64
	lo uint32
	id uint32
}

// squeeze returns half a word for a word, and never a greater one for a lesser word: the 27 bits from the highest
// one on, and where that is.
func squeeze(x uint64) uint32 {
	low := max(bits.Len64(x), 27) - 27
	return uint32(low)<<26 + uint32(x>>low)
}

// at returns the place of the item at index i of an array. It is a method of places, as others here, because the compiler does
// not inline plain functions where another package makes an instance of a generic type.
func (p *places[K]) at(in *array, i uint32) *entry {
	i += arity - 1
	return &in.blocks.At(i / arity)[i%arity]
}

// first returns the place of the first item of an array that has one.
func (p *places[K]) first(in *array) *entry { return &in.blocks.first[0][arity-1] }

// Contains reports whether id is in the heap.
func (p *places[K]) Contains(id uint32) bool {
	return uint64(id) < uint64(p.pos.Len()) && *p.pos.At(id) != 0
}

// key returns the key of an item that is in an array.
func (p *places[K]) key(id uint32) K { return *p.keys.At(id) }

// entry returns the entry of an item with its key.
func (p *places[K]) entry(id uint32, key K) entry {
	if p.prefix == nil {
		return entry{id: id}
	}
	hi, lo := p.prefix(key)
	return entry{hi, squeeze(lo), id}
}

// before reports whether one item comes before another one.
func (p *places[K]) before(a, b *entry) bool {
	return a.hi < b.hi || a.hi == b.hi && (a.lo < b.lo || a.lo == b.lo && p.less(p.key(a.id), p.key(b.id)))
}

// sooner returns 1 if the prefix of a is less than that of b, else 0, and whether they differ. It has no branch, since
// nobody could predict it.
func (p *places[K]) sooner(a, b *entry) (by int, differ bool) {
	lo, borrow := bits.Sub64(uint64(a.lo), uint64(b.lo), 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	return int(borrow), hi|lo != 0
}

// insert puts id, which is in no array, into one.
func (p *places[K]) insert(in *array, id uint32, key K) {
	if uint64(id) >= uint64(p.pos.Len()) {
		p.pos.Grow(int(id) + 1)
		p.keys.Grow(int(id) + 1)
	}
	*p.keys.At(id) = key
	in.n++
	in.blocks.Grow(int(in.n+arity-2)/arity + 1)
	p.rise(in, in.n-1, p.entry(id, key))
}

// remove takes id out of the array in which it is.
func (p *places[K]) remove(from *array, id uint32) {
	pos := p.pos.At(id)
	i := *pos - 1
	gone := *p.at(from, i)
	from.n--
	if e := *p.at(from, from.n); i < from.n {
		if p.before(&e, &gone) {
			p.rise(from, i, e)
		} else {
			p.sink(from, i, e)
		}
	}
	var none K
	*pos, *p.keys.At(id) = 0, none
}

// fix gives the item at index i a key, and moves it to where it belongs.
func (p *places[K]) fix(in *array, i uint32, key K) {
	was := p.at(in, i)
	e := p.entry(was.id, key)
	up, down := e.hi < was.hi, e.hi > was.hi
	if !up && !down {
		up, down = e.lo < was.lo, e.lo > was.lo
	}
	old := p.keys.At(was.id)
	if !up && !down {
		up, down = p.less(key, *old), p.less(*old, key)
	}
	*old = key
	if up {
		p.rise(in, i, e)
	} else if down {
		p.sink(in, i, e)
	}
}

// rise puts an item at index i, or at the index of what is above it and comes later.
func (p *places[K]) rise(in *array, i uint32, e entry) {
	hole := p.at(in, i)
	for i > 0 {
		parent := (i - 1) / arity
		above := p.at(in, parent)
		if e.hi > above.hi || e.hi == above.hi && !p.before(&e, above) {
			break
		}
		*hole = *above
		*p.pos.At(above.id) = i + 1
		hole, i = above, parent
	}
	*hole = e
	*p.pos.At(e.id) = i + 1
}

// sink puts an item at index i, or at the index of what is below it and comes sooner.
func (p *places[K]) sink(in *array, i uint32, e entry) {
	hole := p.at(in, i)
	for at := arity*i + 1; at < in.n; at = arity*i + 1 {
		below, first := in.blocks.At(i+1), 0
		if in.n-at >= arity {
			left, x := p.sooner(&below[1], &below[0])
			right, y := p.sooner(&below[3], &below[2])
			right += 2
			change, z := p.sooner(&below[right&3], &below[left&3])
			if first = left ^ (left^right)&-change; !(x && y && z) {
				first = p.least(below[:])
			}
		} else {
			first = p.least(below[:in.n-at])
		}
		next := &below[first&3]
		if e.hi < next.hi || e.hi == next.hi && p.before(&e, next) {
			break
		}
		*hole = *next
		*p.pos.At(next.id) = i + 1
		hole, i = next, at+uint32(first)
	}
	*hole = e
	*p.pos.At(e.id) = i + 1
}

// least returns the index of the first of some items.
func (p *places[K]) least(of []entry) (first int) {
	for i := range of {
		if i > 0 && p.before(&of[i], &of[first]) {
			first = i
		}
	}
	return first
}
