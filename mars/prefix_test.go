package mars

import (
	"math"
	"testing"
)

// The prefix of a rank is in the order of batches and means, of whatever sign these are.
func TestPrefixFitsTheOrder(t *testing.T) {
	var ranks []rank
	for _, batch := range []uint64{0, 1, math.MaxUint64} {
		for _, m := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			ranks = append(ranks, rank{batch: batch, m: m, seq: 1})
		}
	}
	for i := range ranks[1:] {
		aHi, aLo := ranks[i].prefix()
		bHi, bLo := ranks[i+1].prefix()
		if aHi > bHi || aHi == bHi && aLo >= bLo || !ranks[i].less(ranks[i+1]) {
			t.Errorf("the prefix of %+v is %d, %d, want less than %d, %d of %+v", ranks[i], aHi, aLo, bHi, bLo, ranks[i+1])
		}
	}
}
