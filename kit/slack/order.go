package slack

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// An order holds the items of V in the order of their keys, each with a value S,
// and adds lines h*F + a to the values of all items on a side of a place. It is a
// B+ tree, so that a path from the root is short and what is compared lies close
// together; lines wait in the nodes above the items that they are for.
//
// Each node knows which of its items has the least value. Adding a constant does
// not change that. Adding h*F does: items farther back have larger F and rise
// faster. So a node also knows how much heat, the sum of such h, it can take until
// that may change, and looks again no earlier: a kinetic tournament [Basch, Guibas
// and Hershberger, Data Structures for Mobile Data, 1999].
type order[T any] struct {
	root  *node[T]
	n     int
	spare [2]*node[T] // nodes that are not in use, linked by parent: leaves, others
}

// A place is what an order keeps in an item.
type place[T any] struct {
	s    num // S, without the lines that wait in leaf and above
	leaf *node[T]
}

// A node has items or other nodes below it, in order.
type node[T any] struct {
	parent *node[T]
	kids   []*node[T] // nil in a leaf
	items  []*Item[T] // nil in others

	wait line // to be added to all values below; part of lowest already

	known[T]
}

// What a node knows of what is below it.
type known[T any] struct {
	from   key          // the least key
	weight wide.Uint128 // sum of the weights
	least  *Item[T]     // the ready item with the least work, among equals the first; or nil
	low    *Item[T]     // the item that constrains others with the least value, among equals the first; or nil
	tag    vclock.Tag   // that of low, which lies elsewhere in memory
	lowest num          // its value, without the lines that wait in parent and above

	// How much heat may come to, and how much may go from, all items together while
	// low stays right, here and in all nodes below.
	up, down uint64
}

const (
	// fanout is how many items or nodes a node has below it at most. BenchmarkJob at
	// 1,000 jobs takes a few percent less time with 8 than with 16, and 40 % less than
	// with 32.
	fanout = 8
	// forever is more heat than the weights of 250 jobs. What waits in all nodes of a
	// path together fits into an int64.
	forever = 1 << 56
)

// A line is the function h*F + a.
//
// h is within what a few nodes are allowed to keep; see add. A line of four words is
// kept in registers.
type line struct {
	h int64
	a num
}

func constant(a num) line { return line{a: a} }

func (l line) at(tag vclock.Tag) num {
	if l.h == 0 {
		return l.a
	}
	return fromWide(tag).times(l.h).add(l.a)
}

func (l line) add(m line) line { return line{l.h + m.h, l.a.add(m.a)} }
func (l line) neg() line       { return line{-l.h, l.a.neg()} }

func (o *order[T]) len() int { return o.n }

// first returns the first item. There must be one.
func (o *order[T]) first() *Item[T] {
	n := o.root
	for n.kids != nil {
		n = n.kids[0]
	}
	return n.items[0]
}

// insert adds an item with its value.
func (o *order[T]) insert(it *Item[T], value num) {
	if o.root == nil {
		o.root = o.node(true)
	}
	leaf := o.open(it.key)
	it.s, it.leaf = value, leaf
	i := 0
	for i < len(leaf.items) && leaf.items[i].key.less(it.key) {
		i++
	}
	leaf.items = slices.Insert(leaf.items, i, it)
	o.n++
	o.split(leaf)
	pull(leaf)
}

// remove takes an item out.
func (o *order[T]) remove(it *Item[T]) {
	leaf := it.leaf
	leaf.open()
	it.leaf = nil
	i := slices.Index(leaf.items, it)
	leaf.items = slices.Delete(leaf.items, i, i+1)
	o.n--
	o.join(leaf)
}

// update records that the state of an item has changed.
func (o *order[T]) update(it *Item[T]) {
	it.leaf.open()
	for n := it.leaf; n != nil; n = n.parent {
		old := n.known
		if n.tally(); n.known == old {
			return // and so are those above
		}
	}
}

// value returns S of an item.
func (o *order[T]) value(it *Item[T]) num {
	s := it.s
	for n := it.leaf; n != nil; n = n.parent {
		s = s.add(n.wait.at(it.tag))
	}
	return s
}

// add adds a line to the values of all items before k. It returns the leaf in which
// k belongs, with no line waiting in it or above: what these nodes know must be
// brought up to date by pull.
func (o *order[T]) add(k key, l line) *node[T] {
	n := o.root
	if n == nil {
		return nil
	}
	for n.push(); n.kids != nil; n.push() {
		i := n.below(k)
		for _, kid := range n.kids[:i] {
			kid.add(l)
		}
		n = n.kids[i]
	}
	for _, it := range n.items {
		if !it.key.less(k) {
			break
		}
		it.s = it.s.add(l.at(it.tag))
	}
	return n
}

// before returns the last item before k, or nil, and the sum of the weights of
// all of them.
func (o *order[T]) before(k key) (pred *Item[T], weight wide.Uint128) {
	n := o.root
	if n == nil {
		return nil, weight
	}
	for n.kids != nil {
		i := n.below(k)
		for _, kid := range n.kids[:i] {
			weight = weight.Add(kid.weight)
		}
		n = n.kids[i]
	}
	for _, it := range n.items {
		if !it.key.less(k) {
			break
		}
		pred, weight = it, weight.Add(wide.From64(it.weight))
	}
	return pred, weight
}

// leastCompletable returns the ready item with the least work, among equals the
// first, such that no item before it that constrains others has a value minus
// base below that work; nil if there is none.
//
// If somebody before the one with the least work has less slack than that, it is in the
// way of all behind it: they have no less work.
func (o *order[T]) leastCompletable(base num) *Item[T] {
	if o.root == nil {
		return nil
	}
	it := o.root.least
	for it != nil {
		guard, value := o.guard(it)
		if guard == nil || !value.sub(base).less(work(it.work)) {
			break
		}
		it = o.leastUpTo(guard)
	}
	return it
}

// leastUpTo returns, of the items up to this one, the ready one with the least work, among
// equals the first; nil if there is none.
func (o *order[T]) leastUpTo(it *Item[T]) (least *Item[T]) {
	for _, other := range it.leaf.items {
		if other.state == Ready && (least == nil || other.work < least.work) {
			least = other
		}
		if other == it {
			break
		}
	}
	for n := it.leaf; n.parent != nil; n = n.parent {
		for i := slices.Index(n.parent.kids, n) - 1; i >= 0; i-- {
			if kid := n.parent.kids[i]; kid.least != nil && (least == nil || kid.least.work <= least.work) {
				least = kid.least // it is before what was the least so far
			}
		}
	}
	return least
}

// guard returns, of the items before it that constrain others, the one with the
// least value, among equals the first; nil if there is none.
func (o *order[T]) guard(it *Item[T]) (least *Item[T], value num) {
	it.leaf.open() // lines that wait above could change which value is the least
	for _, other := range it.leaf.items {
		if other == it {
			break
		}
		if other.constrains() && (least == nil || other.s.less(value)) {
			least, value = other, other.s
		}
	}
	for n := it.leaf; n.parent != nil; n = n.parent {
		for i := slices.Index(n.parent.kids, n) - 1; i >= 0; i-- {
			if kid := n.parent.kids[i]; kid.low != nil && (least == nil || !value.less(kid.lowest)) {
				least, value = kid.low, kid.lowest // it is before what was the least so far
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

// all iterates over the items in order.
func (o *order[T]) all() iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) {
		if o.root != nil {
			o.root.each(yield)
		}
	}
}

func (n *node[T]) each(yield func(*Item[T]) bool) bool {
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	for _, it := range n.items {
		if !yield(it) {
			return false
		}
	}
	return true
}

// below returns the index of the node below n in which a key is, if it is anywhere.
func (n *node[T]) below(k key) int {
	i := len(n.kids) - 1
	for i > 0 && k.less(n.kids[i].from) {
		i--
	}
	return i
}

// add adds a line to all values below n.
func (n *node[T]) add(l line) {
	if l == (line{}) {
		return
	}
	n.wait = n.wait.add(l)
	if n.low == nil {
		if n.wait.h > forever || n.wait.h < -forever {
			n.push() // before it does not fit
		}
		return
	}
	n.lowest = n.lowest.add(l.at(n.tag))
	switch heat := l.h; {
	case heat >= 0 && uint64(heat) <= n.up:
		n.up -= uint64(heat)
		n.down = min(n.down+uint64(heat), forever)
	case heat < 0 && uint64(-heat) <= n.down:
		n.down -= uint64(-heat)
		n.up = min(n.up+uint64(-heat), forever)
	default:
		n.push()
		n.tally()
	}
}

// push hands on the line that waits in n.
func (n *node[T]) push() {
	if n.wait == (line{}) {
		return
	}
	for _, kid := range n.kids {
		kid.add(n.wait)
	}
	for _, it := range n.items {
		it.s = it.s.add(n.wait.at(it.tag))
	}
	n.wait = line{}
}

// open hands on the lines that wait in n and above.
func (n *node[T]) open() {
	if n.parent != nil {
		n.parent.open()
	}
	n.push()
}

// open returns the leaf in which k belongs, with no line waiting above its items.
func (o *order[T]) open(k key) *node[T] {
	n := o.root
	for n.push(); n.kids != nil; n.push() {
		n = n.kids[n.below(k)]
	}
	return n
}

// pull brings n and all above up to date, where no line waits.
func pull[T any](n *node[T]) {
	for ; n != nil; n = n.parent {
		n.tally()
	}
}

// tally brings what n knows of what is below up to date. No line may wait in n.
func (n *node[T]) tally() {
	n.weight, n.least, n.low = wide.Uint128{}, nil, nil
	n.up, n.down = forever, forever
	switch {
	case len(n.kids) > 0:
		n.from = n.kids[0].from
		for _, kid := range n.kids {
			n.weight = n.weight.Add(kid.weight)
			if kid.least != nil && (n.least == nil || kid.least.work < n.least.work) {
				n.least = kid.least
			}
			if kid.low == nil {
				continue
			}
			n.up, n.down = min(n.up, kid.up), min(n.down, kid.down)
			if n.low == nil || kid.lowest.less(n.lowest) {
				n.low, n.tag, n.lowest = kid.low, kid.tag, kid.lowest
			}
		}
		for _, kid := range n.kids {
			if kid.low != nil && kid.low != n.low {
				n.compare(kid.lowest, kid.tag)
			}
		}
	case len(n.items) > 0:
		n.from = n.items[0].key
		for _, it := range n.items {
			n.weight = n.weight.Add(wide.From64(it.weight))
			if it.state == Ready && (n.least == nil || it.work < n.least.work) {
				n.least = it
			}
			if it.constrains() && (n.low == nil || it.s.less(n.lowest)) {
				n.low, n.tag, n.lowest = it, it.tag, it.s
			}
		}
		for _, it := range n.items {
			if it.constrains() && it != n.low {
				n.compare(it.s, it.tag)
			}
		}
	}
}

// compare limits up and down so that the item with this value and tag, which is
// not low, does not become it.
func (n *node[T]) compare(value num, tag vclock.Tag) {
	gap := value.sub(n.lowest) // not negative
	switch {
	case tag.Less(n.tag): // it is before low, and becomes it also if they are equal
		n.up = quotient(gap.sub(num{lo: 1}), n.tag.Sub(tag), n.up)
	case n.tag.Less(tag):
		n.down = quotient(gap, tag.Sub(n.tag), n.down)
	}
}

// quotient returns x/y rounded down, or one less, or limit if that is less. x is not
// negative, and y is not 0. It divides by the upper 64 bits of y, rounded up.
func quotient(x num, y wide.Uint192, limit uint64) uint64 {
	var over uint64 // the digit of x above hi
	for y.Hi == 0 {
		if over != 0 {
			return limit // x/y is above 2^64
		}
		over, x.hi, x.mid, x.lo = x.hi, x.mid, x.lo, 0
		y.Hi, y.Mid, y.Lo = y.Mid, y.Lo, 0
	}
	n := uint(bits.LeadingZeros64(y.Hi))
	by := (y.Hi<<n | y.Mid>>(64-n)) + 1
	hi, lo := over<<n|x.hi>>(64-n), x.hi<<n|x.mid>>(64-n)
	if by == 0 { // 2^64
		return min(hi, limit)
	}
	if most, least := bits.Mul64(by, limit); over>>(64-n) != 0 || hi > most || hi == most && lo >= least {
		return limit
	}
	q, _ := bits.Div64(hi, lo, by)
	return q
}

// node returns an empty node.
func (o *order[T]) node(leaf bool) *node[T] {
	list := &o.spare[1]
	if leaf {
		list = &o.spare[0]
	}
	if n := *list; n != nil {
		*list, n.parent = n.parent, nil
		return n
	}
	if leaf {
		return &node[T]{items: make([]*Item[T], 0, fanout+1)}
	}
	return &node[T]{kids: make([]*node[T], 0, fanout+1)}
}

// drop records that an empty node is not in use any more.
func (o *order[T]) drop(n *node[T]) {
	list := &o.spare[1]
	if n.items != nil {
		list = &o.spare[0]
	}
	*n = node[T]{parent: *list, kids: n.kids, items: n.items}
	*list = n
}

// size returns how many items or nodes are below.
func (n *node[T]) size() int { return len(n.kids) + len(n.items) }

// split divides n and those above it that have too much below them.
func (o *order[T]) split(n *node[T]) {
	for ; n != nil && n.size() > fanout; n = n.parent {
		next := o.node(n.items != nil)
		next.take(n, n.size()/2)
		next.tally()
		if n.parent == nil {
			o.root = o.node(false)
			n.parent = o.root
			o.root.kids = append(o.root.kids, n)
		}
		n.tally()
		next.parent = n.parent
		i := slices.Index(n.parent.kids, n)
		n.parent.kids = slices.Insert(n.parent.kids, i+1, next)
	}
}

// take moves what is below other, from index i on, to the end of n. No line may
// wait in either.
func (n *node[T]) take(other *node[T], i int) {
	for k := i; k < len(other.kids); k++ {
		other.kids[k].parent = n
		n.kids = append(n.kids, other.kids[k])
	}
	for k := i; k < len(other.items); k++ {
		other.items[k].leaf = n
		n.items = append(n.items, other.items[k])
	}
	if other.kids != nil {
		clear(other.kids[i:])
		other.kids = other.kids[:i]
	} else {
		clear(other.items[i:])
		other.items = other.items[:i]
	}
}

// join brings n, which has lost an item, and all above up to date. On the way it
// unites nodes that have little below them with one beside. No line may wait in n
// or above.
func (o *order[T]) join(n *node[T]) {
	for parent := n.parent; parent != nil; n, parent = parent, parent.parent {
		kids := parent.kids
		i := slices.Index(kids, n)
		if n.size() > 0 {
			if n.size() <= fanout/4 && len(kids) > 1 {
				i = max(i, 1)
				if left, right := kids[i-1], kids[i]; left.size()+right.size() <= fanout*3/4 {
					left.push()
					right.push()
					left.take(right, 0)
					n = left
				}
			}
			n.tally()
		}
		if kids[i].size() == 0 {
			o.drop(kids[i])
			parent.kids = slices.Delete(kids, i, i+1)
		}
	}
	n.tally()
	for o.root != nil && o.root.kids != nil && len(o.root.kids) < 2 {
		old := o.root
		o.root = nil
		for _, kid := range old.kids {
			o.root, kid.parent = kid, nil
		}
		old.kids = old.kids[:0]
		o.drop(old)
	}
}
