package slack

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Of two places, the first one never has the greater prefix.
func TestPlacePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]uint64{0, 1, math.MaxUint64})
		draw := func(name string) (p Place) {
			p.key.tag.Hi, p.key.tag.Mid, p.key.tag.Lo = word.Draw(t, name+"Hi"), word.Draw(t, name+"Mid"), word.Draw(t, name+"Lo")
			p.key.seq = word.Draw(t, name+"Seq")
			return p
		}
		a, b := draw("a"), draw("b")
		aHi, aLo := a.Prefix()
		bHi, bLo := b.Prefix()
		if a.Before(b) && (aHi > bHi || aHi == bHi && aLo > bLo) {
			t.Errorf("%v is before %v, but has the greater prefix %d, %d", a, b, aHi, aLo)
		}
	})
}
