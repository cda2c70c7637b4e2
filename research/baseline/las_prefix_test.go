package baseline

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/wide"
	"pgregory.net/rapid"
)

// Of two keys with as many running tasks, the lesser one never has the greater prefix, and where both had less than 292
// years of service the prefix alone decides.
func TestLASPrefixFitsTheOrder(t *testing.T) {
	word := rapid.OneOf(rapid.Uint64Range(0, 2), rapid.Uint64Range(math.MaxUint64-2, math.MaxUint64),
		rapid.Custom(func(t *rapid.T) uint64 { return 1<<63 + uint64(rapid.IntRange(-2, 2).Draw(t, "off")) }), rapid.Uint64())
	base := rapid.Custom(func(t *rapid.T) wide.Uint128 {
		b := wide.Uint128{Hi: shift.Hi + rapid.Uint64Range(0, 4).Draw(t, "hi") - 2, Lo: word.Draw(t, "lo")}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		a := attainedKey{base.Draw(t, "a"), 3, rapid.Uint64Range(1, 3).Draw(t, "a.seq")}
		b := attainedKey{base.Draw(t, "b"), 3, rapid.Uint64Range(1, 3).Draw(t, "b.seq")}
		want := a.base.Less(b.base) || a.base == b.base && a.seq < b.seq
		aHi, aLo := a.prefix()
		bHi, bLo := b.prefix()
		got := aHi < bHi || aHi == bHi && aLo < bLo
		near := func(k attainedKey) bool {
			return k.base.Hi == shift.Hi && k.base.Lo < 1<<63 || k.base.Hi == shift.Hi-1 && k.base.Lo >= 1<<63
		}
		if got && !want || !got && want && near(a) && near(b) {
			t.Fatalf("the prefix of %+v is before that of %+v: %v, want %v", a, b, got, want)
		}
	})
}
