package wide_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

func big192(x wide.Uint192) *big.Int {
	b := new(big.Int).SetUint64(x.Hi)
	b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(x.Mid))
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(x.Lo))
}

func big128(x wide.Uint128) *big.Int { return big192(wide.Uint192{Mid: x.Hi, Lo: x.Lo}) }

// limbs are 64-bit digits at which a division that guesses its digits goes wrong.
var limbs = rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 2, 1 << 63, 1<<63 - 1, 1<<64 - 1, 1<<64 - 2}), rapid.Uint64(), rapid.Uint64Range(0, 10))

func draw192(t *rapid.T, name string) wide.Uint192 {
	return wide.Uint192{Hi: limbs.Draw(t, name), Mid: limbs.Draw(t, name), Lo: limbs.Draw(t, name)}
}

func TestUint192AgainstBig(t *testing.T) {
	top := new(big.Int).Lsh(big.NewInt(1), 192)
	panics := func(f func()) (yes bool) {
		defer func() { yes = recover() != nil }()
		f()
		return
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := draw192(t, "x"), draw192(t, "y")
		z := wide.Uint128{Hi: limbs.Draw(t, "z"), Lo: limbs.Draw(t, "z")}
		a, b, c := big192(x), big192(y), big128(z)
		if got, want := x.Less(y), a.Cmp(b) < 0; got != want {
			t.Fatalf("%x < %x is %v", a, b, got)
		}
		if got, want := x.IsZero(), a.Sign() == 0; got != want {
			t.Fatalf("%x is zero: %v", a, got)
		}
		if sum := new(big.Int).Add(a, b); sum.Cmp(top) < 0 {
			if got := big192(x.Add(y)); got.Cmp(sum) != 0 {
				t.Fatalf("%x + %x = %x, want %x", a, b, got, sum)
			}
		} else if !panics(func() { x.Add(y) }) {
			t.Fatalf("%x + %x does not panic", a, b)
		}
		if diff := new(big.Int).Sub(a, b); diff.Sign() >= 0 {
			if got := big192(x.Sub(y)); got.Cmp(diff) != 0 {
				t.Fatalf("%x - %x = %x, want %x", a, b, got, diff)
			}
		} else if !panics(func() { x.Sub(y) }) {
			t.Fatalf("%x - %x does not panic", a, b)
		}
		product := new(big.Int).Mul(a, c)
		got, fits := x.Mul(z)
		if fits != (product.Cmp(top) < 0) || fits && big192(got).Cmp(product) != 0 {
			t.Fatalf("%x * %x = %x, %v, want %x", a, c, big192(got), fits, product)
		}
		if c.Sign() == 0 {
			return
		}
		quo, rem := x.QuoRem(z)
		q, r := new(big.Int).QuoRem(a, c, new(big.Int))
		if big192(quo).Cmp(q) != 0 || big128(rem).Cmp(r) != 0 {
			t.Fatalf("%x / %x = %x rest %x, want %x rest %x", a, c, big192(quo), big128(rem), q, r)
		}
	})
}

// Dividends that are a multiple of the divisor plus or minus a little, where a guessed
// digit is too large most often.
func TestUint192DivisionNearMultiples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := wide.Uint128{Hi: limbs.Draw(t, "y"), Lo: max(1, limbs.Draw(t, "y"))}
		m, _ := wide.Uint192{Mid: limbs.Draw(t, "m"), Lo: limbs.Draw(t, "m")}.QuoRem(y)
		x, _ := m.Mul(y)
		if rapid.Bool().Draw(t, "less") && !x.IsZero() {
			x = x.Sub(wide.Uint192{Lo: 1})
		}
		q, r := x.QuoRem(y)
		want, rest := new(big.Int).QuoRem(big192(x), big128(y), new(big.Int))
		if big192(q).Cmp(want) != 0 || big128(r).Cmp(rest) != 0 {
			t.Fatalf("%x / %x = %x rest %x", big192(x), big128(y), big192(q), big128(r))
		}
	})
}
