package fair

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// fill gives out everything, or as much as can be taken. There is a level such that each
// portion is level*weight, or the bound that is nearest to it. This determines the
// portions: it is what max-min fair means.
func TestFillIsMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "siblings")
		list := make([]portion, n)
		low, high := 0, 0
		for i := range list {
			q := &list[i]
			q.weight = rapid.SampledFrom([]uint64{1, 1 << 16, 3 << 16, 3600 << 16, 1<<48 - 1}).Draw(t, "weight")
			q.min = rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "min")
			q.max = q.min + rapid.SampledFrom([]int{0, 1, 7, 1 << 24}).Draw(t, "room")
			low += q.min
			high += q.max
		}
		slots := big.NewRat(rapid.Int64Range(0, 40).Draw(t, "slots"), rapid.Int64Range(1, 3).Draw(t, "per"))
		fill(slots, list)

		sum := new(big.Rat)
		for i := range list {
			sum.Add(sum, list[i].share)
		}
		want := slots
		if integer(high).Cmp(slots) < 0 {
			want = integer(high)
		}
		if sum.Cmp(want) != 0 {
			t.Fatalf("%+v: the sum is %v, want %v", list, sum, want)
		}
		scarce := integer(low).Cmp(slots) > 0
		for i := range list {
			q := &list[i]
			least, most := integer(q.min), integer(q.max)
			if scarce {
				least, most = new(big.Rat), integer(q.min)
			}
			if q.share.Cmp(least) < 0 || q.share.Cmp(most) > 0 {
				t.Fatalf("share %d is %v, want from %v to %v", i, q.share, least, most)
			}
			// If a portion is above its lower bound, no portion below its upper bound has
			// a lower level.
			for k := range list {
				o := &list[k]
				wq, wo, lowest, highest := q.weight, o.weight, integer(q.min), integer(o.max)
				if scarce {
					wq, wo, lowest, highest = uint64(q.min), uint64(o.min), new(big.Rat), integer(o.min)
				}
				if q.share.Cmp(lowest) <= 0 || o.share.Cmp(highest) >= 0 || wq == 0 || wo == 0 {
					continue
				}
				if new(big.Rat).Quo(q.share, rational(wq)).Cmp(new(big.Rat).Quo(o.share, rational(wo))) > 0 {
					t.Fatalf("%+v of %v slots: share %d could give to share %d", list, slots, i, k)
				}
			}
		}
	})
}

// 12 slots; etl has weight 2 and two pools of its own, of which daily wants 1 slot.
//
//	adhoc, weight 1: 12 * 1/3 = 4; etl: 8
//	daily: 1; hourly, with a maximum of 5: 5; the jobs beside them take the 2 left
func TestSharesOfATree(t *testing.T) {
	p, err := New(Options{Pools: map[string]Pool{"etl": {Weight: 2}, "etl/hourly": {Max: Slots{0: 5}, Weight: 9}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sojourn.SlotID(12) {
		p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i}})
	}
	for i, j := range []struct {
		pool  string
		tasks int
	}{{"adhoc", 100}, {"etl/daily", 1}, {"etl/hourly", 100}, {"etl", 100}} {
		p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: j.pool, Phases: []sojourn.Phase{{Tasks: j.tasks}}}})
	}
	p.shares(0)
	got := map[string]string{}
	p.each(func(n *pool) { got[n.path()] = n.look(0).share.RatString() })
	want := map[string]string{"": "12", "adhoc": "4", "etl": "8", "etl/daily": "1", "etl/hourly": "5"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("shares %v, want %v", got, want)
	}
	attrs, _ := p.Explain(4)
	if len(attrs) == 0 {
		t.Errorf("Explain(4) tells nothing")
	}
}

// Pools that fill up from nothing, one slot at a time, get at most one slot above their
// fluid share at each level of the tree, as long as the sum of the minimums does not
// exceed the slots.
func TestSlotsFillUpToTheFluidShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pools := map[string]Pool{}
		slots := rapid.IntRange(1, 30).Draw(t, "slots")
		left := slots // for minimums
		var leaves []string
		for i := range rapid.IntRange(1, 4).Draw(t, "pools") {
			path := fmt.Sprint(i)
			pools[path] = Pool{Weight: rapid.SampledFrom([]float64{0.5, 1, 3, 100}).Draw(t, "weight")}
			below := rapid.IntRange(0, 3).Draw(t, "below")
			if below == 0 {
				leaves = append(leaves, path)
			}
			sum := 0
			for k := range below {
				q := Pool{Weight: rapid.SampledFrom([]float64{0.5, 1, 3, 100}).Draw(t, "weight"), Min: Slots{0: rapid.IntRange(0, 2).Draw(t, "min")}}
				sum += q.Min[0]
				if rapid.Bool().Draw(t, "bounded") {
					q.Max = Slots{0: max(1, q.Min[0]) + rapid.IntRange(0, 5).Draw(t, "room")}
				}
				leaf := fmt.Sprint(path, "/", k)
				pools[leaf] = q
				leaves = append(leaves, leaf)
			}
			if left -= sum; left < 0 {
				t.Skip("too many minimums")
			}
			q := pools[path]
			q.Min = Slots{0: sum}
			pools[path] = q
		}
		p, err := New(Options{Pools: pools})
		if err != nil {
			t.Fatal(err)
		}
		for i, leaf := range leaves {
			n := rapid.SampledFrom([]int{2, 5, 100}).Draw(t, "tasks")
			p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: leaf, Phases: []sojourn.Phase{{Tasks: n}}}})
		}
		for id := range sojourn.SlotID(slots) {
			p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
			p.Assign(id)
		}
		p.shares(0)
		p.each(func(n *pool) {
			depth := 0
			for m := n; m.parent != nil; m = m.parent {
				depth++
			}
			if most := new(big.Rat).Add(n.look(0).share, integer(depth)); integer(n.running(0)).Cmp(most) > 0 {
				t.Fatalf("pools %+v: %q has %d slots, want at most its share %v and %d", pools, n.path(), n.running(0), n.look(0).share, depth)
			}
		})
	})
}
