package slack

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A node has items or other nodes below it, in order. What a look at the nodes below reads comes first:
// it takes three lines of the cache.
type node[T any] struct {
	wait line // to be added to the values of all items below; lowest, up and down include it
	known[T]

	parent *node[T]
	kids   []*node[T] // nil in a leaf
	items  []*Item[T] // nil in others
}

// What a node knows about the items below it.
type known[T any] struct {
	weight wide.Uint128 // sum of the weights
	ranks  uint64       // bits of the ranks of the ready items
	work   uint64       // the work of least, kept here because least lies elsewhere in memory
	least  *Item[T]     // the ready item with the least work, among equals the first; or nil
	low    *Item[T]     // the item that constrains others with the least value, among equals the first; or nil
	tag    vclock.Tag   // the tag of low, kept here because low lies elsewhere in memory
	lowest num          // the value of low, without the lines that wait in parent and above

	// Invariant: low stays right, here and in all nodes below, as long as no more heat
	// than up is added to all items, and no more than down is removed.
	up, down uint64

	from key // the least key
}

const (
	// fanout is how many items or nodes a node has below it at most. BenchmarkJob at
	// 1,000 jobs takes a few percent less time with 8 than with 16, and 40 % less than
	// with 32.
	fanout = 8
	// forever is more heat than the weights of 250 jobs. The heat that waits in all
	// nodes of a path together fits into an int64.
	forever = 1 << 56
)

// A line is the function h*F + a.
//
// add keeps h small enough for the sum of a few nodes. The compiler keeps a line of
// four words in registers.
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

// below returns the index of the only node below n that can contain a key.
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

// push passes the line that waits in n to the level below.
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

// waiting returns the sum of the lines that wait in n and above.
func (n *node[T]) waiting() (sum line) {
	for ; n != nil; n = n.parent {
		sum = sum.add(n.wait)
	}
	return sum
}

// tallyUp calls tally for n and all nodes above.
func (n *node[T]) tallyUp() {
	for ; n != nil; n = n.parent {
		n.tally()
	}
}

// tally recomputes what n knows about the items below.
func (n *node[T]) tally() {
	wait := n.wait
	n.wait = line{}
	if n.kids != nil {
		n.tallyKids()
	} else {
		n.tallyItems()
	}
	n.add(wait)
}

// tallyKids and tallyItems do so without the line that waits in n. The compiler keeps sums in
// registers if they are variables.
func (n *node[T]) tallyKids() {
	var (
		weight     wide.Uint128
		ranks      uint64
		least, low *node[T]
		up, down   = uint64(forever), uint64(forever)
	)
	for _, kid := range n.kids {
		weight = weight.Add(kid.weight)
		ranks |= kid.ranks
		if kid.least != nil && (least == nil || kid.work < least.work) {
			least = kid
		}
		if kid.low != nil {
			up, down = min(up, kid.up), min(down, kid.down)
			if low == nil || kid.lowest.less(low.lowest) {
				low = kid
			}
		}
	}
	n.weight, n.ranks, n.up, n.down = weight, ranks, up, down
	n.least, n.work, n.low = nil, 0, nil
	if len(n.kids) > 0 {
		n.from = n.kids[0].from
	}
	if least != nil {
		n.least, n.work = least.least, least.work
	}
	if low == nil {
		return
	}
	n.low, n.tag, n.lowest = low.low, low.tag, low.lowest
	for _, kid := range n.kids {
		if kid.low != nil && kid.tag != low.tag {
			n.compare(&kid.lowest, &kid.tag)
		}
	}
}

func (n *node[T]) tallyItems() {
	var (
		weight     wide.Uint128
		ranks      uint64
		least, low *Item[T]
	)
	for _, it := range n.items {
		weight = weight.Add(wide.From64(it.weight))
		if it.state == Ready {
			ranks |= it.rank
			if least == nil || it.work < least.work {
				least = it
			}
		}
		if it.constrains() && (low == nil || it.s.less(low.s)) {
			low = it
		}
	}
	n.weight, n.ranks, n.up, n.down = weight, ranks, forever, forever
	n.least, n.work, n.low = least, 0, low
	if len(n.items) > 0 {
		n.from = n.items[0].key
	}
	if least != nil {
		n.work = least.work
	}
	if low == nil {
		return
	}
	n.tag, n.lowest = low.tag, low.s
	for _, it := range n.items {
		if it.constrains() && it.tag != low.tag {
			n.compare(&it.s, &it.tag)
		}
	}
}

// compare limits up and down so that an item with this value and another tag than low does not
// become low.
func (n *node[T]) compare(value *num, tag *vclock.Tag) {
	gap := value.sub(n.lowest) // not negative
	if tag.Less(n.tag) {       // it is before low, so it becomes low even if the values are equal
		n.up = quotient(gap.sub(num{lo: 1}), n.tag.Sub(*tag), n.up)
	} else {
		n.down = quotient(gap, tag.Sub(n.tag), n.down)
	}
}

// rankUp brings ranks up to date in n and all nodes above, after the rank of an item in n has
// changed.
func (n *node[T]) rankUp() {
	for ; n != nil; n = n.parent {
		var ranks uint64
		for _, kid := range n.kids {
			ranks |= kid.ranks
		}
		for _, it := range n.items {
			if it.state == Ready {
				ranks |= it.rank
			}
		}
		if ranks == n.ranks {
			return
		}
		n.ranks = ranks
	}
}

// ahead iterates over the nodes that hold all items before those of n, from back to
// front.
func (n *node[T]) ahead(yield func(*node[T]) bool) {
	for ; n.parent != nil; n = n.parent {
		for i := slices.Index(n.parent.kids, n) - 1; i >= 0; i-- {
			if !yield(n.parent.kids[i]) {
				return
			}
		}
	}
}

// all iterates over the items below n in order, and reports whether it reached the end.
func (n *node[T]) all(yield func(*Item[T]) bool) bool {
	for _, kid := range n.kids {
		if !kid.all(yield) {
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
