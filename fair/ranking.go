package fair

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A ranking has pools in the order of their keys, for orders in which the key of a pool is the same in
// all classes. A pool is there if it can be served in some class. One place in the order serves all
// classes, so that a task that starts or ends moves its pools once, however many classes they have.
//
// The pools stand in blocks, and each block knows the classes in which some pool of it can be served.
// With n pools, a move takes O(log n + n/limit + limit), and so does first.
type ranking struct {
	blocks []block
	keys   []poolKey  // by id, of those that are there
	in     []classSet // by id; empty for those that are not there
	count  []int      // by class: how many can be served
	spare  [][]ranked // lists of blocks that have gone, empty
}

// A block is a part of a ranking. It is never empty.
type block struct {
	list    []ranked // by key
	classes classSet // of all of them
}

type ranked struct {
	key poolKey
	id  uint32
}

const limit = 64 // pools in a block

// A classSet is a set of classes.
type classSet [sojourn.MaxClasses / 64]uint64

func (s *classSet) has(c sojourn.Class) bool { return s[c>>6]>>(c&63)&1 != 0 }
func (s *classSet) add(c sojourn.Class)      { s[c>>6] |= 1 << (c & 63) }
func (s *classSet) remove(c sojourn.Class)   { s[c>>6] &^= 1 << (c & 63) }
func (s *classSet) empty() bool              { return *s == classSet{} }

func (s *classSet) addAll(o *classSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// has reports whether a pool is there for a class.
func (r *ranking) has(c sojourn.Class, id uint32) bool { return int(id) < len(r.in) && r.in[id].has(c) }

// contains reports whether a pool is there for any class.
func (r *ranking) contains(id uint32) bool { return int(id) < len(r.in) && !r.in[id].empty() }

// any reports whether a pool is there for a class. No pool is in a nil ranking.
func (r *ranking) any(c sojourn.Class) bool {
	return r != nil && int(c) < len(r.count) && r.count[c] > 0
}

// set puts a pool there for a class, with a key that holds for all classes from now on.
func (r *ranking) set(c sojourn.Class, id uint32, key poolKey) {
	r.move(id, key)
	if r.has(c, id) {
		return
	}
	for int(id) >= len(r.in) {
		r.in, r.keys = append(r.in, classSet{}), append(r.keys, poolKey{})
	}
	for int(c) >= len(r.count) {
		r.count = append(r.count, 0)
	}
	r.count[c]++
	if r.in[id].empty() {
		r.in[id].add(c)
		r.keys[id] = key
		r.insert(id, key)
		return
	}
	r.in[id].add(c)
	b, _ := r.find(key)
	r.blocks[b].classes.add(c)
}

// move gives a pool another key, if it is there.
func (r *ranking) move(id uint32, key poolKey) {
	if int(id) >= len(r.in) || r.in[id].empty() || r.keys[id] == key {
		return
	}
	r.drop(r.keys[id])
	r.keys[id] = key
	r.insert(id, key)
}

// remove takes a pool away for a class, if it is there.
func (r *ranking) remove(c sojourn.Class, id uint32) {
	if !r.has(c, id) {
		return
	}
	r.count[c]--
	r.in[id].remove(c)
	if r.in[id].empty() {
		r.drop(r.keys[id])
		return
	}
	b, _ := r.find(r.keys[id])
	r.sum(b)
}

// first returns the pool with the least key of those that are there for a class; false if there is none.
func (r *ranking) first(c sojourn.Class) (id uint32, key poolKey, ok bool) {
	if !r.any(c) {
		return 0, key, false
	}
	for b := range r.blocks {
		if !r.blocks[b].classes.has(c) {
			continue
		}
		for _, e := range r.blocks[b].list {
			if r.in[e.id].has(c) {
				return e.id, e.key, true
			}
		}
	}
	panic("fair: a pool that can be served is in no block")
}

// after returns the pool with the least key after another one, of those that are there for a class; false if there is none.
func (r *ranking) after(c sojourn.Class, last poolKey) (id uint32, key poolKey, ok bool) {
	if !r.any(c) {
		return 0, key, false
	}
	for b, i := r.find(last); b < len(r.blocks); b, i = b+1, 0 {
		if !r.blocks[b].classes.has(c) {
			continue
		}
		for _, e := range r.blocks[b].list[i:] {
			if r.in[e.id].has(c) && lessPool(last, e.key) {
				return e.id, e.key, true
			}
		}
	}
	return 0, key, false
}

// find returns the block in which a key is, or to which it belongs, and where in that block. There
// must be a block.
func (r *ranking) find(key poolKey) (b, i int) {
	low, high := 0, len(r.blocks)-1 // the block is one of these
	for low < high {
		mid := (low + high) / 2
		if list := r.blocks[mid].list; lessPool(list[len(list)-1].key, key) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	list := r.blocks[low].list
	from, to := 0, len(list)
	for from < to {
		mid := (from + to) / 2
		if lessPool(list[mid].key, key) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return low, from
}

// insert puts a pool where its key belongs. A block that is full becomes two.
func (r *ranking) insert(id uint32, key poolKey) {
	if len(r.blocks) == 0 {
		r.blocks = append(r.blocks, block{list: r.list()})
	}
	b, i := r.find(key)
	if full := &r.blocks[b]; len(full.list) == limit {
		upper := block{list: append(r.list(), full.list[limit/2:]...)}
		full.list = full.list[:limit/2]
		r.blocks = slices.Insert(r.blocks, b+1, upper)
		r.sum(b)
		r.sum(b + 1)
		if i > limit/2 {
			b, i = b+1, i-limit/2
		}
	}
	to := &r.blocks[b]
	to.list = slices.Insert(to.list, i, ranked{key, id})
	to.classes.addAll(&r.in[id])
}

// drop takes the pool with a key away. A block that becomes small joins the one after it.
func (r *ranking) drop(key poolKey) {
	b, i := r.find(key)
	from := &r.blocks[b]
	from.list = slices.Delete(from.list, i, i+1)
	switch {
	case len(from.list) == 0:
		r.discard(b)
		return
	case b+1 < len(r.blocks) && len(from.list)+len(r.blocks[b+1].list) <= limit/2:
		from.list = append(from.list, r.blocks[b+1].list...)
		r.discard(b + 1)
	}
	r.sum(b)
}

// list returns an empty list for a new block.
func (r *ranking) list() []ranked {
	n := len(r.spare)
	if n == 0 {
		return make([]ranked, 0, limit)
	}
	list := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return list
}

// discard takes a block away, and keeps its list.
func (r *ranking) discard(b int) {
	r.spare = append(r.spare, r.blocks[b].list[:0])
	r.blocks = slices.Delete(r.blocks, b, b+1)
}

// sum computes the classes of a block anew.
func (r *ranking) sum(b int) {
	of := &r.blocks[b]
	of.classes = classSet{}
	for i := range of.list {
		of.classes.addAll(&r.in[of.list[i].id])
	}
}
