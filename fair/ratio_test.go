package fair

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// ratio orders n/w exactly, up to the limits of both.
func TestRatioIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.OneOf(
			rapid.Uint64Range(1, 1<<48-1),
			rapid.Custom(func(t *rapid.T) uint64 { return 1<<48 - 1 - rapid.Uint64Range(0, 3).Draw(t, "below") }),
		)
		count := rapid.OneOf(
			rapid.IntRange(0, math.MaxInt32),
			rapid.Custom(func(t *rapid.T) int { return math.MaxInt32 - rapid.IntRange(0, 3).Draw(t, "below") }),
		)
		n1, w1 := count.Draw(t, "n1"), weight.Draw(t, "w1")
		n2, w2 := count.Draw(t, "n2"), weight.Draw(t, "w2")
		want := new(big.Int).Mul(big.NewInt(int64(n1)), new(big.Int).SetUint64(w2)).Cmp(
			new(big.Int).Mul(big.NewInt(int64(n2)), new(big.Int).SetUint64(w1)))
		if got := ratio(n1, w1).Cmp(ratio(n2, w2)); got != want {
			t.Fatalf("%d/%d against %d/%d: %d, want %d", n1, w1, n2, w2, got, want)
		}
	})
}

// Two neighbours in the order of all ratios differ by about 2^-96, and still differ here.
func TestRatioTellsNeighboursApart(t *testing.T) {
	const w = 1<<48 - 1
	a, b := ratio(math.MaxInt32, w), ratio(math.MaxInt32, w-1)
	if !a.Less(b) {
		t.Errorf("ratio(2^31-1, w) = %v, want less than ratio(2^31-1, w-1) = %v", a, b)
	}
	if ratio(3, 9) != ratio(5, 15) {
		t.Errorf("ratio(3, 9) = %v, want ratio(5, 15) = %v", ratio(3, 9), ratio(5, 15))
	}
}
