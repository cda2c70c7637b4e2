package fair

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

// Slot time divided by the weight is exact except for a fraction of a unit. A sum that
// reaches the greatest number stays there.
func TestServiceAgainstBig(t *testing.T) {
	number := func(x wide.Uint128) *big.Int {
		n := new(big.Int).SetUint64(x.Hi)
		return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(x.Lo))
	}
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	rapid.Check(t, func(t *rapid.T) {
		held := rapid.SampledFrom([]uint64{0, 1, 1e9, 1<<62 + 12345, math.MaxInt64}).Draw(t, "held")
		weight := rapid.SampledFrom([]uint64{1, 3, 1 << 16, 1<<16 + 1, 1<<48 - 1}).Draw(t, "weight")
		got := service(held, weight)
		want := new(big.Int).Lsh(new(big.Int).SetUint64(held), 48)
		want.Quo(want, new(big.Int).SetUint64(weight))
		if number(got).Cmp(want) != 0 {
			t.Fatalf("service(%d, %d) = %v, want %v", held, weight, number(got), want)
		}
		x := wide.Uint128{Hi: rapid.SampledFrom([]uint64{0, 1 << 63, math.MaxUint64 - 1<<47, math.MaxUint64}).Draw(t, "high"), Lo: rapid.Uint64().Draw(t, "low")}
		sum := new(big.Int).Add(number(x), want)
		if sum.Cmp(most) > 0 {
			sum = most
		}
		if number(x.AddCapped(got)).Cmp(sum) != 0 {
			t.Fatalf("AddCapped(%v, %v) = %v, want %v", number(x), want, number(x.AddCapped(got)), sum)
		}
	})
}
