package slack

import (
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

// An order holds the items of V in the order of their keys, each with a value S. It
// adds lines h*F + a to the values of all items before a place. It is a B+ tree: a
// path from the root is short, and the compared values lie close together.
//
// Lines are lazy: they wait in nodes above their items. The value of an item is its own s
// plus the lines that wait above it, at its F.
//
// Each node knows which of its items has the least value. Adding a constant does
// not change which item this is. Adding h*F can change it: items farther back have
// larger F and rise faster. The sum of such h is called heat. A node also knows
// how much heat it can take until another item may have the least value, and does
// not look again before that: a kinetic tournament [Basch, Guibas and Hershberger,
// Data Structures for Mobile Data, 1999].
//
// Four items that constrain others, in nodes of two:
//
//	                      wait 0, low a 10, up 0, down 1
//	                     /                              \
//	wait 2F-15, low a 10, up forever, down 1      wait 0, low d 58, up 0, down forever
//	       |                     |                       |                    |
//	   a: F 10, s 5         b: F 12, s 4            c: F 20, s 60        d: F 31, s 58
//
// The value of a is 5 + 2*10-15 = 10, that of b is 4 + 2*12-15 = 13. If heat is removed, b
// falls faster than a: removing 1 is allowed, which leaves 0 and 1, but not removing 2.
// Added heat only moves them apart. On the right any added heat makes c the lowest, since d
// rises faster. The root must look again when a node below must. So its up and down are at
// most theirs, and at most the heat that makes d lower than a: 48 / 21, rounded down.
type order[T any] struct {
	root  *node[T]
	n     int
	spare [2]*node[T] // nodes that are not in use, linked by parent: leaves, others
}

// A place is the order's data in an item.
type place[T any] struct {
	s    num // S, without the lines that wait in leaf and above
	leaf *node[T]
}

func (o *order[T]) len() int { return o.n }

// first returns the first item. There must be one.
func (o *order[T]) first() *Item[T] {
	n := o.root
	for n.kids != nil {
		n = n.kids[0]
	}
	return n.items[0]
}

// last returns the last item. There must be one.
func (o *order[T]) last() *Item[T] {
	n := o.root
	for n.kids != nil {
		n = n.kids[len(n.kids)-1]
	}
	return n.items[len(n.items)-1]
}

// A spot is where a key belongs.
type spot[T any] struct {
	leaf   *node[T]     // nil if the order is empty
	i      int          // index in leaf
	wait   line         // the lines that wait in leaf and above
	weight wide.Uint128 // sum of the weights of all items before the key
}

// pred returns the last item before a key that is not in the order, and its value, or nil. It is
// in the same leaf, since the first key of a leaf is at most any other that belongs there, but in
// the first leaf of all.
func (p spot[T]) pred() (it *Item[T], value num) {
	if p.i == 0 {
		return nil, num{}
	}
	it = p.leaf.items[p.i-1]
	return it, it.s.add(p.wait.at(it.tag))
}

// insert adds an item with its value at its spot.
func (o *order[T]) insert(it *Item[T], value num, at spot[T]) {
	leaf := at.leaf
	if leaf == nil {
		leaf = o.node(true)
		o.root = leaf
	}
	it.s, it.leaf = value.sub(at.wait.at(it.tag)), leaf
	leaf.items = slices.Insert(leaf.items, at.i, it)
	o.n++
	o.split(leaf, it)
	leaf.tallyUp()
}

// remove removes an item, and adds a line to the values of all items before it.
func (o *order[T]) remove(it *Item[T], l line) {
	leaf := it.leaf
	it.addAhead(l)
	it.leaf = nil
	i := slices.Index(leaf.items, it)
	leaf.items = slices.Delete(leaf.items, i, i+1)
	o.n--
	o.join(leaf)
}

// addAhead adds a line to the values of all items before this one. The caller must call tallyUp for
// the leaf.
func (it *Item[T]) addAhead(l line) {
	for _, other := range it.leaf.items {
		if other == it {
			break
		}
		other.s = other.s.add(l.at(other.tag))
	}
	for n := range it.leaf.ahead {
		n.add(l)
	}
}

// update records that the state of an item has changed.
func (o *order[T]) update(it *Item[T]) {
	for n := it.leaf; n != nil; n = n.parent {
		old := n.known
		if n.tally(); n.known == old {
			return // then nodes above do not change either
		}
	}
}

// value returns S of an item.
func (o *order[T]) value(it *Item[T]) num {
	return it.s.add(it.leaf.waiting().at(it.tag))
}

// addBefore adds a line to the values of all items before k, and returns the spot of k. The
// caller must insert an item there, or call tallyUp for the leaf.
func (o *order[T]) addBefore(k key, l line) (at spot[T]) {
	n := o.root
	if n == nil {
		return at
	}
	for at.wait = n.wait; n.kids != nil; at.wait = at.wait.add(n.wait) {
		i := n.below(k)
		for _, kid := range n.kids[:i] {
			kid.add(l)
			at.weight = at.weight.Add(kid.weight)
		}
		n = n.kids[i]
	}
	for _, it := range n.items {
		if !it.key.less(k) {
			break
		}
		it.s = it.s.add(l.at(it.tag))
		at.weight = at.weight.Add(wide.From64(it.weight))
		at.i++
	}
	at.leaf = n
	return at
}

// leastCompletable returns the ready item with the least work, among equals the
// first, such that no item before it that constrains others has a value minus
// base below that work; nil if there is none.
//
// If an item before the one with the least work has less slack than that work, it also
// blocks all items behind it, since they have no less work.
func (o *order[T]) leastCompletable(base num) *Item[T] {
	if o.root == nil {
		return nil
	}
	it := o.root.least
	for it != nil {
		guard, ok := o.endangered(it, base, work(it.work))
		if !ok {
			break
		}
		it = o.leastUpTo(guard)
	}
	return it
}

// endangered returns the guard of an item if its value minus base is below need. It reports false
// if that is not so or there is no guard.
func (o *order[T]) endangered(it *Item[T], base, need num) (*Item[T], bool) {
	if o.root.low == nil || !o.root.lowest.sub(base).less(need) {
		return nil, false // nobody is, before the item or behind it
	}
	guard, value := o.guard(it)
	return guard, guard != nil && value.sub(base).less(need)
}

// leastUpTo returns the ready item with the least work among the items up to this one,
// among equals the first; nil if there is none.
func (o *order[T]) leastUpTo(it *Item[T]) (least *Item[T]) {
	for _, other := range it.leaf.items {
		if other.state == Ready && (least == nil || other.work < least.work) {
			least = other
		}
		if other == it {
			break
		}
	}
	for n := range it.leaf.ahead {
		if n.least != nil && (least == nil || n.work <= least.work) {
			least = n.least // it is before what was the least so far
		}
	}
	return least
}

// guard returns the item with the least value among the items before it that constrain
// others, among equals the first, and that value; nil if there is none.
func (o *order[T]) guard(it *Item[T]) (least *Item[T], value num) {
	wait := it.leaf.waiting() // it could change which value is the least
	for _, other := range it.leaf.items {
		if other == it {
			break
		}
		if other.constrains() {
			if s := other.s.add(wait.at(other.tag)); least == nil || s.less(value) {
				least, value = other, s
			}
		}
	}
	for n := it.leaf; n.parent != nil; n = n.parent {
		wait = wait.add(n.wait.neg())
		for i := slices.Index(n.parent.kids, n) - 1; i >= 0; i-- {
			if kid := n.parent.kids[i]; kid.low != nil {
				if s := kid.lowest.add(wait.at(kid.tag)); least == nil || !value.less(s) {
					least, value = kid.low, s // it is before what was the least so far
				}
			}
		}
	}
	return least, value
}

// firstReady returns the first item that is ready, or nil.
func (o *order[T]) firstReady() *Item[T] {
	if o.root == nil || o.root.least == nil {
		return nil
	}
	n := o.root
	for n.kids != nil {
		n = n.kids[slices.IndexFunc(n.kids, func(kid *node[T]) bool { return kid.least != nil })]
	}
	return n.items[slices.IndexFunc(n.items, func(it *Item[T]) bool { return it.state == Ready })]
}

// firstRanked returns the first ready item with this rank, or nil.
func (o *order[T]) firstRanked(rank uint64) *Item[T] {
	if o.root == nil || o.root.ranks&rank == 0 {
		return nil
	}
	n := o.root
	for n.kids != nil {
		n = n.kids[slices.IndexFunc(n.kids, func(kid *node[T]) bool { return kid.ranks&rank != 0 })]
	}
	return n.items[slices.IndexFunc(n.items, func(it *Item[T]) bool { return it.state == Ready && it.rank == rank })]
}

// all iterates over the items in order.
func (o *order[T]) all() iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) {
		if o.root != nil {
			o.root.all(yield)
		}
	}
}
