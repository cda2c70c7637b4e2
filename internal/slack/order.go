package slack

import (
	"iter"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

// An order holds the items of V in the order of (F, sequence), each with a value
// S. Between two items it can add a line in F to all values.
type order[T any] struct {
	items []*Item[T]
}

// A place is what an order keeps in an item.
type place[T any] struct {
	s num
}

func (o *order[T]) len() int { return len(o.items) }

func (o *order[T]) first() *Item[T] { return o.items[0] }

// index returns the number of items before k.
func (o *order[T]) index(k key) int {
	return sort.Search(len(o.items), func(i int) bool { return !o.items[i].key.less(k) })
}

func (o *order[T]) insert(it *Item[T], value num) {
	it.s = value
	o.items = slices.Insert(o.items, o.index(it.key), it)
}

func (o *order[T]) remove(it *Item[T]) {
	k := o.index(it.key)
	o.items = slices.Delete(o.items, k, k+1)
}

// update takes note that the work or the state of an item has changed.
func (o *order[T]) update(it *Item[T]) {}

// value returns S of an item.
func (o *order[T]) value(it *Item[T]) num { return it.s }

// add adds h*F + a to the values of all items strictly between lo and hi.
func (o *order[T]) add(lo, hi key, h, a num) {
	for _, it := range o.items[o.index(lo):o.index(hi)] {
		if it.key != lo {
			it.s = it.s.add(h.mul(fromWide(it.tag))).add(a)
		}
	}
}

// addTo adds a to the value of one item.
func (o *order[T]) addTo(it *Item[T], a num) { it.s = it.s.add(a) }

// before returns the last item before k, or nil, and the sum of the weights of
// all of them.
func (o *order[T]) before(k key) (pred *Item[T], weight wide.Uint128) {
	for _, it := range o.items[:o.index(k)] {
		pred, weight = it, weight.Add(wide.From64(it.weight))
	}
	return pred, weight
}

// leastCompletable returns the ready item with the least work, among equals the
// first, such that no item before it that constrains others has a value minus
// base below that work; nil if there is none.
func (o *order[T]) leastCompletable(base num) (best *Item[T]) {
	least := num{hi: 1<<63 - 1} // of the values so far, minus base
	for _, it := range o.items {
		if it.state == Ready && (best == nil || it.work < best.work) && !least.less(work(it.work)) {
			best = it
		}
		if it.constrains() && it.s.sub(base).less(least) {
			least = it.s.sub(base)
		}
	}
	return best
}

// guard returns, of the items before it that constrain others, the one with the
// least value, among equals the first; nil if there is none.
func (o *order[T]) guard(it *Item[T]) (least *Item[T]) {
	for _, other := range o.items[:o.index(it.key)] {
		if other.constrains() && (least == nil || other.s.less(least.s)) {
			least = other
		}
	}
	return least
}

// firstReady returns the first item that is ready, or nil.
func (o *order[T]) firstReady() *Item[T] {
	for _, it := range o.items {
		if it.state == Ready {
			return it
		}
	}
	return nil
}

func (o *order[T]) all() iter.Seq[*Item[T]] { return slices.Values(o.items) }
