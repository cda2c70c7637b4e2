package rtmr

import (
	"math"
	"testing"
)

// The prefix of a key is in the order of tiers and majors, of whatever sign these are.
func TestPrefixFitsTheOrder(t *testing.T) {
	var keys []key
	for _, tier := range []uint8{tierStarted, tierBooked, tierBehind, tierEnding} {
		for _, major := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			keys = append(keys, key{tier, major, 1})
		}
	}
	for i := range keys[1:] {
		aHi, aLo := keys[i].prefix()
		bHi, bLo := keys[i+1].prefix()
		if aHi > bHi || aHi == bHi && aLo >= bLo || !keys[i].before(keys[i+1]) {
			t.Errorf("the prefix of %+v is %d, %d, want less than %d, %d of %+v", keys[i], aHi, aLo, bHi, bLo, keys[i+1])
		}
	}
}
