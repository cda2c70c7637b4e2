package slack

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A quotient may be one too small, and is never too large.
func TestQuotientAgainstBig(t *testing.T) {
	digits := rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 1<<63 - 1, 1 << 63, 1<<64 - 1}), rapid.Uint64(), rapid.Uint64Range(0, 9))
	rapid.Check(t, func(t *rapid.T) {
		y := wide.Uint192{Hi: digits.Draw(t, "y") >> 1, Mid: digits.Draw(t, "y"), Lo: digits.Draw(t, "y")}
		if words := rapid.IntRange(0, 2).Draw(t, "words of y"); words < 2 {
			y.Hi, y.Mid = 0, y.Mid*uint64(words)
		}
		if n := rapid.UintRange(0, 190).Draw(t, "ones"); rapid.Bool().Draw(t, "y is ones") {
			y, _ = wide.Uint192{Hi: 1<<63 - 1, Mid: 1<<64 - 1, Lo: 1<<64 - 1}.QuoRem(wide.Uint128{Lo: 1}.Shl(min(n, 127)))
			y, _ = y.QuoRem(wide.Uint128{Lo: 1}.Shl(n - min(n, 127)))
		}
		if y.IsZero() {
			y.Lo = 1
		}
		x := num{digits.Draw(t, "x") >> 1, digits.Draw(t, "x"), digits.Draw(t, "x")}
		if near, fits := y.Mul(wide.From64(digits.Draw(t, "multiple"))); fits && !near.IsZero() && rapid.Bool().Draw(t, "near") {
			x = fromWide(near).sub(num{lo: 1}).add(num{lo: rapid.Uint64Range(0, 2).Draw(t, "more")})
			x.hi &= 1<<63 - 1
		}
		limit := min(digits.Draw(t, "limit"), forever)
		want := new(big.Int).Quo(x.integer().Num(), fromWide(y).integer().Num())
		if most := new(big.Int).SetUint64(limit); want.Cmp(most) > 0 {
			want = most
		}
		got := new(big.Int).SetUint64(quotient(x, y, limit))
		if less := new(big.Int).Sub(want, got); less.Sign() < 0 || less.Cmp(big.NewInt(1)) > 0 {
			t.Fatalf("quotient(%v, %v, %d) = %v, want %v", x, y, limit, got, want)
		}
	})
}

// A divisor whose upper 64 bits are ones is rounded up to a power of two.
func TestQuotientByOnes(t *testing.T) {
	y := wide.Uint192{Mid: 1, Lo: 1<<64 - 1} // 2^65 - 1
	for _, tc := range []struct {
		x    num
		want uint64
	}{
		{num{hi: 1 << 62}, forever},     // 2^190
		{num{mid: 1 << 10}, 1 << 9},     // 2^74
		{num{mid: 1, lo: 1<<64 - 1}, 0}, // as much, or one less
	} {
		if got := quotient(tc.x, y, forever); got != tc.want {
			t.Errorf("quotient(%v, %v) = %d, want %d", tc.x, y, got, tc.want)
		}
	}
}
