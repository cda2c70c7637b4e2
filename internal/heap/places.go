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
	keys   []K                     // by ID, of those that are in an array; zero for others
	pos    []uint32                // pos[id] is one more than the index of id in its array, 0 if it is in none
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

// Contains reports whether id is in the heap.
func (p *places[K]) Contains(id uint32) bool {
	return uint64(id) < uint64(len(p.pos)) && p.pos[id] != 0
}

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
	return a.hi < b.hi || a.hi == b.hi && (a.lo < b.lo || a.lo == b.lo && p.less(p.keys[a.id], p.keys[b.id]))
}

// sooner returns 1 if the prefix of a is less than that of b, else 0, and whether they differ. It has no branch, since
// nobody could predict it. It is a method because the compiler does not inline plain functions where another package
// makes an instance of a generic type.
func (p *places[K]) sooner(a, b *entry) (by int, differ bool) {
	lo, borrow := bits.Sub64(uint64(a.lo), uint64(b.lo), 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	return int(borrow), hi|lo != 0
}

// insert puts id, which is in no array, into one.
func (p *places[K]) insert(in []entry, id uint32, key K) []entry {
	if n := len(p.pos); uint64(id) >= uint64(n) {
		more := max(int(id)+1, 2*n) - n
		p.pos, p.keys = append(p.pos, make([]uint32, more)...), append(p.keys, make([]K, more)...)
	}
	p.keys[id] = key
	if len(in) == cap(in) {
		in = grow(in)
	}
	in = in[:len(in)+1]
	p.rise(in, len(in)-1, p.entry(id, key))
	return in
}

// grow returns an array with more room. The four items below each one lie in one line of memory of 64 bytes, if the
// allocator begins a large array at one.
func grow(in []entry) []entry {
	const ahead = arity - 1
	n := max(len(in)+ahead, arity)
	more := make([]entry, 2*n)[ahead:]
	copy(more, in)
	return more[:len(in)]
}

// remove takes id out of the array in which it is.
func (p *places[K]) remove(from []entry, id uint32) []entry {
	i, last := int(p.pos[id])-1, len(from)-1
	gone, e := from[i], from[last]
	from = from[:last]
	if i < last {
		if p.before(&e, &gone) {
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
	e := p.entry(was.id, key)
	up, down := e.hi < was.hi, e.hi > was.hi
	if !up && !down {
		up, down = e.lo < was.lo, e.lo > was.lo
	}
	if old := &p.keys[was.id]; !up && !down {
		up, down = p.less(key, *old), p.less(*old, key)
	}
	p.keys[was.id] = key
	if up {
		p.rise(in, i, e)
	} else if down {
		p.sink(in, i, e)
	}
}

// rise puts an item at index i, or at the index of what is above it and comes later.
func (p *places[K]) rise(in []entry, i int, e entry) {
	pos := p.pos
	for i > 0 {
		parent := (i - 1) / arity
		above := &in[parent]
		if e.hi > above.hi || e.hi == above.hi && !p.before(&e, above) {
			break
		}
		in[i] = *above
		pos[above.id] = uint32(i + 1)
		i = parent
	}
	in[i] = e
	pos[e.id] = uint32(i + 1)
}

// sink puts an item at index i, or at the index of what is below it and comes sooner.
func (p *places[K]) sink(in []entry, i int, e entry) {
	pos := p.pos
	for at := arity*i + 1; at < len(in); at = arity*i + 1 {
		rest, first := in[at:], 0
		if len(rest) >= arity {
			below := (*[arity]entry)(rest)
			left, x := p.sooner(&below[1], &below[0])
			right, y := p.sooner(&below[3], &below[2])
			right += 2
			change, z := p.sooner(&below[right&3], &below[left&3])
			if first = left ^ (left^right)&-change; !(x && y && z) {
				first = p.least(below[:])
			}
		} else {
			first = p.least(rest)
		}
		next := &in[at+first]
		if e.hi < next.hi || e.hi == next.hi && p.before(&e, next) {
			break
		}
		in[i] = *next
		pos[next.id] = uint32(i + 1)
		i = at + first
	}
	in[i] = e
	pos[e.id] = uint32(i + 1)
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
