package hfsp

import (
	"math"
	"testing"
)

// The prefix of an attempt is in the order in which attempts are killed: the youngest first, and among equals the
// last task.
func TestPrefixFitsTheOrder(t *testing.T) {
	list := []attempt{{start: math.MaxInt64, task: 0}, {start: 2, task: math.MaxUint32}, {start: 2, task: 5}, {start: 2, task: 0}, {start: 0, task: 9}}
	for i := range list[1:] {
		aHi, aLo := list[i].prefix()
		bHi, bLo := list[i+1].prefix()
		if aHi > bHi || aHi == bHi && aLo >= bLo || !list[i].before(list[i+1]) {
			t.Errorf("the prefix of %+v is %d, %d, want less than %d, %d of %+v", list[i], aHi, aLo, bHi, bLo, list[i+1])
		}
	}
}
