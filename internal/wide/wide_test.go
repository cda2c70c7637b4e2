package wide_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/wide"
	"pgregory.net/rapid"
)

// word draws numbers of all lengths, and those around powers of two.
var word = rapid.OneOf(
	rapid.Uint64(),
	rapid.Custom(func(t *rapid.T) uint64 {
		return 1<<rapid.IntRange(0, 63).Draw(t, "bit") + uint64(rapid.Int64Range(-2, 2).Draw(t, "off"))
	}),
)

var double = rapid.Custom(func(t *rapid.T) wide.Uint128 {
	hi, lo := word.Draw(t, "hi"), word.Draw(t, "lo")
	if rapid.Bool().Draw(t, "short") {
		hi = 0
	}
	return wide.Uint128{Hi: hi, Lo: lo}
})

func toBig(x wide.Uint128) *big.Int {
	z := new(big.Int).SetUint64(x.Hi)
	return z.Lsh(z, 64).Add(z, new(big.Int).SetUint64(x.Lo))
}

// check calls f and compares with want, which f cannot return if it is negative
// or longer than 128 bits: then f must panic.
func check(t *rapid.T, what string, want *big.Int, f func() wide.Uint128) {
	t.Helper()
	var got wide.Uint128
	panicked := func() (p bool) {
		defer func() { p = recover() != nil }()
		got = f()
		return false
	}()
	if fits := want.Sign() >= 0 && want.BitLen() <= 128; panicked == fits || fits && toBig(got).Cmp(want) != 0 {
		t.Fatalf("%s = %v (panicked: %v), want %v", what, toBig(got), panicked, want)
	}
}

func TestArithmeticAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := double.Draw(t, "x"), double.Draw(t, "y")
		u, v := word.Draw(t, "u"), word.Draw(t, "v")
		n := rapid.UintRange(0, 140).Draw(t, "n")
		a, b := toBig(x), toBig(y)
		c, d := new(big.Int).SetUint64(u), new(big.Int).SetUint64(v)
		z := func() *big.Int { return new(big.Int) }

		check(t, fmt.Sprintf("From64(%d)", u), c, func() wide.Uint128 { return wide.From64(u) })
		check(t, fmt.Sprintf("Mul64(%d, %d)", u, v), z().Mul(c, d), func() wide.Uint128 { return wide.Mul64(u, v) })
		check(t, fmt.Sprintf("%v + %v", a, b), z().Add(a, b), func() wide.Uint128 { return x.Add(y) })
		most := z().Sub(z().Lsh(big.NewInt(1), 128), big.NewInt(1))
		if sum := z().Add(a, b); sum.Cmp(most) < 0 {
			most = sum
		}
		check(t, fmt.Sprintf("%v + %v, capped", a, b), most, func() wide.Uint128 { return x.AddCapped(y) })
		check(t, fmt.Sprintf("%v - %v", a, b), z().Sub(a, b), func() wide.Uint128 { return x.Sub(y) })
		check(t, fmt.Sprintf("%v * %d", a, u), z().Mul(a, c), func() wide.Uint128 { return x.MulU64(u) })
		check(t, fmt.Sprintf("%v * %v", a, b), z().Mul(a, b), func() wide.Uint128 { return x.Mul(y) })
		check(t, fmt.Sprintf("%d * %d", u, v), z().Mul(c, d), func() wide.Uint128 { return wide.From64(u).MulU64(v) })
		check(t, fmt.Sprintf("%v << %d", a, n), z().Lsh(a, n), func() wide.Uint128 { return x.Shl(n) })
		check(t, fmt.Sprintf("%d << %d", u, n), z().Lsh(c, n), func() wide.Uint128 { return wide.From64(u).Shl(n) })

		if got, want := x.Cmp(y), a.Cmp(b); got != want || x.Less(y) != (want < 0) || x.IsZero() != (a.Sign() == 0) {
			t.Fatalf("Cmp(%v, %v) = %d, Less %v, want %d", a, b, got, x.Less(y), want)
		}
		if !x.IsZero() && x.Cmp(x) != 0 {
			t.Fatalf("Cmp(%v, %v) is not 0", a, a)
		}
	})
}

// The largest x whose product with u fits, and its neighbours.
func TestMulU64AtTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := max(2, word.Draw(t, "u"))
		x, _ := wide.Uint128{Hi: 1<<64 - 1, Lo: 1<<64 - 1}.QuoRem(wide.From64(u))
		for range 2 {
			want := new(big.Int).Mul(toBig(x), new(big.Int).SetUint64(u))
			check(t, fmt.Sprintf("%v * %d", toBig(x), u), want, func() wide.Uint128 { return x.MulU64(u) })
			x = x.Add(wide.From64(1))
		}
	})
}

func TestQuoRemAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := double.Draw(t, "y")
		x := double.Draw(t, "x")
		if y.IsZero() {
			y.Lo = 1
		}
		// Half of the time x is a multiple of y plus or minus 1, where estimates of
		// the quotient go wrong.
		if k := word.Draw(t, "k"); rapid.Bool().Draw(t, "multiple") {
			m := new(big.Int).Mul(toBig(y), new(big.Int).SetUint64(k))
			m.Add(m, big.NewInt(rapid.Int64Range(-1, 1).Draw(t, "off")))
			if m.Sign() > 0 && m.BitLen() <= 128 {
				x.Lo = new(big.Int).And(m, new(big.Int).SetUint64(1<<64-1)).Uint64()
				x.Hi = new(big.Int).Rsh(m, 64).Uint64()
			}
		}
		q, r := x.QuoRem(y)
		wantQ, wantR := new(big.Int).QuoRem(toBig(x), toBig(y), new(big.Int))
		if toBig(q).Cmp(wantQ) != 0 || toBig(r).Cmp(wantR) != 0 {
			t.Fatalf("QuoRem(%v, %v) = %v, %v, want %v, %v", toBig(x), toBig(y), toBig(q), toBig(r), wantQ, wantR)
		}
	})
}

func TestQuoRemByZeroPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("QuoRem(5, 0) returned, want a panic")
		}
	}()
	wide.From64(5).QuoRem(wide.Uint128{})
}

func BenchmarkQuoRem(b *testing.B) {
	x := wide.Uint128{Hi: 1 << 60, Lo: 12345}
	for _, y := range []wide.Uint128{{Lo: 1 << 50}, {Hi: 1 << 10, Lo: 7}} {
		b.Run(fmt.Sprintf("divisor=%d", toBig(y).BitLen()), func(b *testing.B) {
			for b.Loop() {
				x.QuoRem(y)
			}
		})
	}
}

func TestClamp63(t *testing.T) {
	for _, tc := range []struct {
		x    wide.Uint128
		want uint64
	}{
		{wide.Uint128{}, 0},
		{wide.From64(1<<63 - 2), 1<<63 - 2},
		{wide.From64(1<<63 - 1), 1<<63 - 1},
		{wide.From64(1 << 63), 1<<63 - 1},
		{wide.From64(math.MaxUint64), 1<<63 - 1},
		{wide.Uint128{Hi: 1}, 1<<63 - 1},
		{wide.Uint128{Hi: math.MaxUint64, Lo: 5}, 1<<63 - 1},
	} {
		if got := tc.x.Clamp63(); got != tc.want {
			t.Errorf("%v: got %d, want %d", tc.x, got, tc.want)
		}
	}
}

// The prefixes of pairs are in the order of the pairs.
func TestPrefix(t *testing.T) {
	word := rapid.OneOf(rapid.Uint64Range(0, 2), rapid.Uint64Range(math.MaxUint64-2, math.MaxUint64), word)
	rapid.Check(t, func(t *rapid.T) {
		x := wide.Uint128{Hi: word.Draw(t, "hi") % 3, Lo: word.Draw(t, "lo")}
		y := wide.Uint128{Hi: word.Draw(t, "hi") % 3, Lo: word.Draw(t, "lo")}
		n, m := word.Draw(t, "n"), word.Draw(t, "m")
		xHi, xLo := x.Prefix(n)
		yHi, yLo := y.Prefix(m)
		before := x.Less(y) || x == y && n < m
		if got := xHi < yHi || xHi == yHi && xLo < yLo; got && !before || !got && before && x.Hi == 0 && y.Hi == 0 {
			t.Fatalf("%v, %d before %v, %d: %v, want %v", x, n, y, m, got, before)
		}
	})
}
