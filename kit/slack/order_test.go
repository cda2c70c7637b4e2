package slack

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A list is an order as a sorted slice in which every value is written down.
type list []*listed

type listed struct {
	it    *Item[int]
	value num
}

func (l list) add(k key, by line) {
	for _, e := range l {
		if e.it.key.less(k) {
			e.value = e.value.add(by.at(e.it.tag))
		}
	}
}

func (l list) leastCompletable(base num) (best *Item[int]) {
	least := num{hi: 1<<63 - 1}
	for _, e := range l {
		if e.it.state == Ready && (best == nil || e.it.work < best.work) && !least.less(work(e.it.work)) {
			best = e.it
		}
		if s := e.value.sub(base); e.it.constrains() && s.less(least) {
			least = s
		}
	}
	return best
}

func (l list) guard(it *Item[int]) *Item[int] {
	var least *listed
	for _, e := range l {
		if e.it == it {
			break
		}
		if e.it.constrains() && (least == nil || e.value.less(least.value)) {
			least = e
		}
	}
	if least == nil {
		return nil
	}
	return least.it
}

// verify checks everything that the nodes below n know. It returns the items.
func verify(t *rapid.T, o *order[int], n *node[int]) (items []*Item[int]) {
	if n.size() > fanout || n.size() == 0 && n.parent != nil {
		t.Fatalf("a node has %d below it", n.size())
	}
	for _, kid := range n.kids {
		if kid.parent != n {
			t.Fatal("a node has a wrong parent")
		}
		items = append(items, verify(t, o, kid)...)
	}
	for _, it := range n.items {
		if it.leaf != n {
			t.Fatal("an item has a wrong leaf")
		}
		items = append(items, it)
	}
	var weight wide.Uint128
	var least, low *Item[int]
	var ranks, leastWork uint64
	for _, it := range items {
		weight = weight.Add(wide.From64(it.weight))
		if it.state == Ready && (least == nil || it.work < least.work) {
			least, leastWork = it, it.work
		}
		if it.state == Ready {
			ranks |= it.rank
		}
		if it.constrains() && (low == nil || o.value(it).less(o.value(low))) {
			low = it
		}
	}
	if len(items) > 0 && n.from != items[0].key || n.weight != weight || n.least != least || n.work != leastWork || n.low != low || n.ranks != ranks {
		t.Fatalf("a node of %d items knows %+v, want from %v, weight %v, least %v of work %d, low %v, ranks %b",
			len(items), n.known, items[0].key, weight, least, leastWork, low, ranks)
	}
	if low != nil {
		lowest := n.lowest
		for up := n.parent; up != nil; up = up.parent {
			lowest = lowest.add(up.wait.at(low.tag))
		}
		if lowest != o.value(low) {
			t.Fatalf("the lowest value in a node is %v, want %v", lowest, o.value(low))
		}
	}
	return items
}

// TestOrderAgainstList grows and shrinks an order of some hundred items, and
// adds lines of any sign to it. It compares all answers and all data of the
// nodes with a sorted slice.
func TestOrderAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		// Small numbers bring ties, large ones carry from word to word.
		bits := rapid.SampledFrom([]int{3, 8, 40, 80, 140}).Draw(t, "bits of tags")
		limit := rapid.SampledFrom([]int{3, 40, 400}).Draw(t, "items")
		heat := rapid.SampledFrom([]int64{0, 1, 1 << 20}).Draw(t, "heat") // without it there are ties
		states := rapid.SampledFrom([]int{1, 2, 10}).Draw(t, "items for each drained one")
		var (
			o   order[int]
			l   list
			seq uint64
		)
		random := func(bits int) num {
			if bits <= 64 {
				return num{lo: rng.Uint64() >> (64 - bits)}
			}
			if bits <= 128 {
				return num{mid: rng.Uint64() >> (128 - bits), lo: rng.Uint64()}
			}
			return num{rng.Uint64() >> (192 - bits), rng.Uint64(), rng.Uint64()}
		}
		signed := func(bits int) num {
			if x := random(bits); rng.IntN(2) == 0 {
				return x
			} else {
				return x.neg()
			}
		}
		state := func() State {
			if rng.IntN(states+1) == 0 {
				return Drained
			}
			return State(1 + rng.IntN(2))
		}
		rank := func() uint64 { return []uint64{0, 1, 2, 1 << 63}[rng.IntN(4)] }
		newKey := func() key {
			seq++
			tag := random(bits)
			return key{wide.Uint192{Hi: tag.hi, Mid: tag.mid, Lo: tag.lo | 1}, seq}
		}
		falling := func() line { // heat that falls by base F, as that of an arrival
			by := line{h: rng.Int64N(heat + 1)}
			by.a = random(max(bits-3, 1)).times(by.h).neg()
			if rng.IntN(3) == 0 {
				by = by.neg()
			}
			return by
		}
		insert := func() {
			it := &Item[int]{key: newKey(), work: random(min(bits, 60)).lo, weight: 1 + rng.Uint64N(1<<20), state: state(), rank: rank()}
			e := &listed{it, work(random(min(bits, 60)).lo)}
			if bits > 8 {
				e.value = e.value.add(signed(30))
			}
			i, _ := slices.BinarySearchFunc(l, it.key, func(e *listed, k key) int {
				if e.it.key.less(k) {
					return -1
				}
				return 1
			})
			by := falling()
			l.add(it.key, by)
			l = slices.Insert(l, i, e)
			o.insert(it, e.value, o.addBefore(it.key, by))
		}
		grow := true
		for range rapid.SampledFrom([]int{30, 1000, 5000}).Draw(t, "steps") {
			if len(l) >= limit {
				grow = false
			} else if len(l) <= limit/10 {
				grow = true
			}
			switch op := rng.IntN(10); {
			case op < 3 && (grow || rng.IntN(3) == 0) || len(l) == 0:
				insert()
			case op < 3:
				i := rng.IntN(len(l))
				by := falling()
				l.add(l[i].it.key, by)
				o.remove(l[i].it, by)
				l = slices.Delete(l, i, i+1)
			case op < 6:
				k, by := newKey(), falling()
				o.addBefore(k, by).leaf.tallyUp()
				l.add(k, by)
			case op == 6:
				it, by := l[rng.IntN(len(l))].it, constant(signed(min(bits+20, 100)))
				it.addAhead(by)
				it.leaf.tallyUp()
				l.add(it.key, by)
			case op == 7:
				it := l[rng.IntN(len(l))].it
				if rng.IntN(2) == 0 {
					it.state = state()
					o.update(it)
				} else if it.rank = rank(); it.state == Ready {
					it.leaf.rankUp()
				}
			case op == 8:
				it := l[rng.IntN(len(l))].it
				it.work = random(min(bits, 60)).lo
				it.addAhead(line{})
				it.leaf.tallyUp()
			default:
				if o.len() != len(l) || o.first() != l[0].it {
					t.Fatalf("%d items, the first is %v, want %d, %v", o.len(), o.first(), len(l), l[0].it)
				}
				verify(t, &o, o.root)
				i := 0
				for it := range o.all() {
					if it != l[i].it || o.value(it) != l[i].value {
						t.Fatalf("item %d has %v, want %v", i, o.value(it), l[i].value)
					}
					i++
				}
				base := l[rng.IntN(len(l))].value
				if got, want := o.leastCompletable(base), l.leastCompletable(base); got != want {
					t.Fatalf("leastCompletable(%v) = %v, want %v", base, got, want)
				}
				e := l[rng.IntN(len(l))]
				got, value := o.guard(e.it)
				if want := l.guard(e.it); got != want || want != nil && value != o.value(want) {
					t.Fatalf("guard(%v) = %v with %v, want %v", e.it.key, got, value, want)
				}
				k := newKey()
				at := o.addBefore(k, line{})
				at.leaf.tallyUp()
				pred, value := at.pred()
				var want wide.Uint128
				var wantPred listed
				for _, e := range l {
					if e.it.key.less(k) {
						wantPred, want = *e, want.Add(wide.From64(e.it.weight))
					}
				}
				if (listed{pred, value}) != wantPred || at.weight != want {
					t.Fatalf("the spot of %v is after %v with %v, %v, want %v, %v", k, pred, value, at.weight, wantPred, want)
				}
				i = slices.IndexFunc(l, func(e *listed) bool { return e.it.state == Ready })
				for _, rank := range []uint64{1, 2, 1 << 63} {
					i := slices.IndexFunc(l, func(e *listed) bool { return e.it.state == Ready && e.it.rank == rank })
					if got := o.firstRanked(rank); got != nil && (i < 0 || got != l[i].it) || got == nil && i >= 0 {
						t.Fatalf("firstRanked(%b) = %v, want item %d", rank, got, i)
					}
				}
				if got := o.firstReady(); got != nil && (i < 0 || got != l[i].it) || got == nil && i >= 0 {
					t.Fatalf("firstReady() = %v, want item %d", got, i)
				}
			}
		}
	})
}

// The figure in the comment on order is right, and heat changes it as the
// comment says.
func TestNodesOfTheFigure(t *testing.T) {
	item := func(tag, s uint64) *Item[int] {
		return &Item[int]{key: key{tag: wide.Uint192{Lo: tag}}, state: Blocked, place: place[int]{s: num{lo: s}}}
	}
	a, b, c, d := item(10, 5), item(12, 4), item(20, 60), item(31, 58)
	left, right := &node[int]{items: []*Item[int]{a, b}}, &node[int]{items: []*Item[int]{c, d}}
	left.tally()
	left.add(line{2, num{lo: 15}.neg()})
	right.tally()
	root := &node[int]{kids: []*node[int]{left, right}}
	root.tally()
	for _, tc := range []struct {
		name     string
		heat     int64 // that comes to the root before
		n        *node[int]
		low      *Item[int]
		lowest   num
		up, down uint64
	}{
		{"left", 0, left, a, num{lo: 10}, forever, 1},
		{"right", 0, right, d, num{lo: 58}, 0, forever},
		{"root", 0, root, a, num{lo: 10}, 0, 1}, // 1 by left: d may fall by 2
		{"root, after heat 1 went", -1, root, a, num{}, 1, 0},
		{"root, after it came back", 1, root, a, num{lo: 10}, 0, 1},
		{"root, after heat 2 went, the second beyond down", -2, root, b, num{lo: 11}.neg(), 0, 0},
		{"left, then", 0, left, b, num{lo: 11}.neg(), 0, forever},
		{"right, then", 0, right, d, num{lo: 4}.neg(), 2, forever - 2},
	} {
		root.add(line{h: tc.heat})
		if n := tc.n; n.low != tc.low || n.lowest != tc.lowest || n.up != tc.up || n.down != tc.down {
			t.Errorf("%s: low %v with %v, up %d, down %d, want %v with %v, up %d, down %d", tc.name, n.low, n.lowest, n.up, n.down, tc.low, tc.lowest, tc.up, tc.down)
		}
	}
}

// Items that come in order fill their nodes. Elsewhere in the order, both halves of a divided node have room.
func TestNodesAreFull(t *testing.T) {
	const items, room = fanout * 500, fanout / 2
	leaves := func(o *order[int]) (n int) {
		seen := map[*node[int]]bool{}
		for it := range o.all() {
			seen[it.leaf] = true
		}
		return len(seen)
	}
	var behind, between order[int]
	for i := range uint64(items) {
		it := Item[int]{weight: 1}
		it.seq = i
		behind.insert(&it, num{}, behind.addBefore(it.key, line{}))
		other := Item[int]{weight: 1}
		other.seq = i * 2654435761 % 4093 // all are different
		between.insert(&other, num{}, between.addBefore(other.key, line{}))
	}
	if got := leaves(&behind); got != items/fanout {
		t.Errorf("in order: %d leaves, want %d", got, items/fanout)
	}
	if got := leaves(&between); got > items/room {
		t.Errorf("out of order: %d leaves, want at most %d", got, items/room)
	}
}

// A line that waits in the root is not lost when the root goes because it has one node below it.
func TestRootPassesOn(t *testing.T) {
	var o order[int]
	var items []*Item[int]
	for i := range uint64(3 * fanout * fanout) {
		it := &Item[int]{weight: 1, state: Ready}
		it.tag, it.seq = wide.Uint192{Lo: i}, i
		o.insert(it, num{lo: i}, o.addBefore(it.key, line{}))
		items = append(items, it)
	}
	for by := uint64(0); len(items) > 1; items = items[:len(items)-1] {
		o.root.add(line{1, num{lo: 5}})
		by++
		o.remove(items[len(items)-1], line{})
		for i, it := range items[:len(items)-1] {
			if got, want := o.value(it), (num{lo: uint64(i) + by*(uint64(i)+5)}); got != want {
				t.Fatalf("%d items: item %d has %v, want %v", len(items)-1, i, got, want)
			}
		}
	}
}

// Heat that makes an item before the lowest equal to it makes it the lowest, although as much heat is the
// limit of another one.
func TestHeatToATie(t *testing.T) {
	n := &node[int]{}
	for i, s := range []uint64{50, 20, 0} { // at F = 10, 20, 30
		n.items = append(n.items, &Item[int]{key: key{tag: wide.Uint192{Lo: 10 * uint64(i+1)}}, state: Ready, place: place[int]{s: num{lo: s}}})
	}
	n.tally() // the first allows heat 2, after which the others have 60
	if n.add(line{h: 2}); n.low != n.items[1] {
		t.Errorf("the lowest has F = %v, want 20", n.low.tag)
	}
}
