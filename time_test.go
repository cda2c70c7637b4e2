package sojourn_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// Add is exact within the range of Time, and its nearer end beyond.
func TestTimeAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) int64 {
			ends := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 / 2, math.MaxInt64}
			return rapid.OneOf(rapid.SampledFrom(ends), rapid.Int64()).Draw(t, name)
		}
		at, d := draw("t"), draw("d")
		want := new(big.Int).Add(big.NewInt(at), big.NewInt(d))
		if least := big.NewInt(math.MinInt64); want.Cmp(least) < 0 {
			want = least
		}
		if most := big.NewInt(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		if got := sojourn.Time(at).Add(time.Duration(d)); int64(got) != want.Int64() {
			t.Fatalf("Time(%d).Add(%d) = %d, want %v", at, d, int64(got), want)
		}
	})
}
