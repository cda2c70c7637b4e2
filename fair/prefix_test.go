package fair

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/wide"
	"pgregory.net/rapid"
)

// edges draws numbers of so many bits, mostly small ones and the greatest.
func edges(bits int) *rapid.Generator[uint64] {
	most := ^uint64(0) >> (64 - bits)
	return rapid.OneOf(
		rapid.Uint64Range(0, 3),
		rapid.Uint64Range(most-3, most),
		rapid.Custom(func(t *rapid.T) uint64 { return 1 << rapid.IntRange(0, bits-1).Draw(t, "power") }),
		rapid.Uint64Range(0, most),
	)
}

// The lesser one of two keys never has the greater prefix, whatever the keys of jobs and of pools are.
func TestPrefixesFitTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := rapid.Custom(func(t *rapid.T) jobKey {
			tie := wide.Uint128{Hi: edges(64).Draw(t, "hi"), Lo: edges(64).Draw(t, "lo")}
			return newJobKey(int(edges(31).Draw(t, "n")), max(1, edges(48).Draw(t, "weight")), tie, edges(48).Draw(t, "turn"))
		})
		a, b := job.Draw(t, "a"), job.Draw(t, "b")
		if rapid.Bool().Draw(t, "same weight") { // so that ratios tie more often
			b.high = a.high>>16<<16 | b.high&(1<<16-1)
		}
		for _, ties := range []Ties{LeastService, RoundRobin} {
			prefix := prefixes(ties)
			fits(t, less(a, b), less(b, a), prefix, a, b)
		}
		pool := rapid.Custom(func(t *rapid.T) poolKey {
			return poolKey{ratio: wide.Uint128{Hi: edges(64).Draw(t, "hi"), Lo: edges(64).Draw(t, "lo")}, turn: edges(48).Draw(t, "turn"), sated: rapid.Bool().Draw(t, "sated")}
		})
		c, d := pool.Draw(t, "c"), pool.Draw(t, "d")
		fits(t, lessPool(c, d), lessPool(d, c), poolKey.prefix, c, d)
		for _, k := range []*poolKey{&c, &d} { // tags are fractions
			if k.sated {
				k.weight = max(1, edges(48).Draw(t, "weight"))
				k.part = edges(48).Draw(t, "part") % k.weight
			}
		}
		fits(t, lessPool(c, d), lessPool(d, c), poolKey.tagPrefix, c, d)
	})
}

func fits[K any](t *rapid.T, less, greater bool, prefix func(K) (hi, lo uint64), a, b K) {
	aHi, aLo := prefix(a)
	bHi, bLo := prefix(b)
	before := aHi < bHi || aHi == bHi && aLo < bLo
	after := aHi > bHi || aHi == bHi && aLo > bLo
	if before && !less || after && !greater {
		t.Fatalf("%+v is less than %+v: %v; its prefix %d, %d is less than %d, %d: %v", a, b, less, aHi, aLo, bHi, bLo, before)
	}
}

// Prefixes tell apart what most keys are: jobs that run nothing, jobs and pools of weight 1.
func TestPrefixesDecide(t *testing.T) {
	second := wide.From64(1_000_000_000).Shl(32)
	keys := []jobKey{
		newJobKey(0, 1<<16, wide.Uint128{}, 7), newJobKey(0, 1<<16, wide.Uint128{}, 8), newJobKey(0, 3<<16, second, 3), newJobKey(0, 1<<16, second, 4),
		newJobKey(1, 1<<16, second, 2), newJobKey(1, 1<<16, second.Add(second), 1), newJobKey(2, 1<<16, second, 2),
	}
	for i := range keys[1:] {
		aHi, aLo := prefixes(LeastService)(keys[i])
		bHi, bLo := prefixes(LeastService)(keys[i+1])
		if aHi > bHi || aHi == bHi && aLo >= bLo {
			t.Errorf("the prefix of %+v is %d, %d, want less than %d, %d of %+v", keys[i], aHi, aLo, bHi, bLo, keys[i+1])
		}
	}
	pools := []poolKey{{ratio: ratio(0, 1<<16), turn: 5, sated: true}, {ratio: ratio(0, 1<<16), turn: 6, sated: true}, {ratio: ratio(1, 1<<16), turn: 1, sated: true}, {ratio: ratio(1, 1<<16), turn: 2, sated: true}}
	for i := range pools[1:] {
		aHi, aLo := pools[i].prefix()
		bHi, bLo := pools[i+1].prefix()
		if aHi > bHi || aHi == bHi && aLo >= bLo {
			t.Errorf("the prefix of %+v is %d, %d, want less than %d, %d of %+v", pools[i], aHi, aLo, bHi, bLo, pools[i+1])
		}
	}
}
