package certify

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"
)

// edges are numbers of every kind: zeros, the least and the greatest, all powers of 2 with
// their neighbours (or of 2^37, if few), and numbers with few or many bits.
func edges(few bool) []float64 {
	list := []float64{0, 1e-9, 1e9, 0.1, 1.0 / 3, math.Pi, math.MaxFloat64, math.SmallestNonzeroFloat64}
	step := 1
	if few {
		step = 37
	}
	for e := -1074; e < 1024; e += step {
		x := math.Ldexp(1, e)
		list = append(list, x, math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1)))
	}
	for _, x := range slices.Clone(list) {
		list = append(list, -x)
	}
	return list
}

var integers = []int64{0, 1, -1, 2, 3, -7, 10, 1e9, -1e9, 1<<32 - 1, 1<<53 + 1, -(1<<53 + 1), 1<<61 - 1, math.MaxInt64, -math.MaxInt64, math.MinInt64}

// wide returns x exactly, with room for every sum.
func wide(x float64) *big.Float { return new(big.Float).SetPrec(4096).SetFloat64(x) }

// rounded returns the float64 that is next to x in a direction.
func rounded(x *big.Float, mode big.RoundingMode) float64 {
	y, _ := x.Float64()
	for mode == big.ToNegativeInf && (math.IsInf(y, 1) || !math.IsInf(y, -1) && wide(y).Cmp(x) > 0) {
		y = math.Nextafter(y, math.Inf(-1))
	}
	for mode == big.ToPositiveInf && (math.IsInf(y, -1) || !math.IsInf(y, 1) && wide(y).Cmp(x) < 0) {
		y = math.Nextafter(y, math.Inf(1))
	}
	return y
}

// below and above enclose the exact result of each operation, at most three float64 apart.
func TestBelowAndAboveEncloseTheExactResult(t *testing.T) {
	list := edges(true)
	for _, x := range list {
		for _, y := range list {
			for op, pair := range map[string]struct {
				got   float64
				exact func(z, x, y *big.Float) *big.Float
			}{
				"+": {x + y, (*big.Float).Add}, "-": {x - y, (*big.Float).Sub}, "*": {float64(x * y), (*big.Float).Mul},
			} {
				exact := pair.exact(new(big.Float).SetPrec(4096), wide(x), wide(y))
				if lo := below(pair.got); !math.IsInf(lo, -1) && wide(lo).Cmp(exact) > 0 {
					t.Fatalf("below(%v %s %v) = %v is above it", x, op, y, lo)
				}
				if hi := above(pair.got); !math.IsInf(hi, 1) && wide(hi).Cmp(exact) < 0 {
					t.Fatalf("above(%v %s %v) = %v is below it", x, op, y, hi)
				}
				if lo := down(pair.got); exact.Sign() >= 0 && (lo < 0 || wide(lo).Cmp(exact) > 0) {
					t.Fatalf("down(%v %s %v) = %v", x, op, y, lo)
				}
			}
			// x/y is between lo and hi if x is between lo y and hi y.
			if y > 0 {
				lo, hi := below(x/y), above(x/y)
				if !math.IsInf(lo, 0) && new(big.Float).SetPrec(4096).Mul(wide(lo), wide(y)).Cmp(wide(x)) > 0 ||
					!math.IsInf(hi, 0) && new(big.Float).SetPrec(4096).Mul(wide(hi), wide(y)).Cmp(wide(x)) < 0 {
					t.Fatalf("%v / %v is not in [%v, %v]", x, y, lo, hi)
				}
			}
		}
	}
}

// A sum of two products is exact: it is next to its floor and its ceiling, and so are its sign
// and its quotients.
func TestSumsAreExact(t *testing.T) {
	check := func(s *sum, exact *big.Float) {
		t.Helper()
		if got := s.sign(); got != exact.Sign() {
			t.Fatalf("sign = %v, want that of %v", got, exact)
		}
		if got, want := s.floor(), rounded(exact, big.ToNegativeInf); got != want {
			t.Fatalf("floor of %v = %v, want %v", exact, got, want)
		}
		if got, want := s.ceil(), rounded(exact, big.ToPositiveInf); got != want {
			t.Fatalf("ceil of %v = %v, want %v", exact, got, want)
		}
	}
	product := func(n int64, x float64) *big.Float {
		return new(big.Float).SetPrec(4096).Mul(new(big.Float).SetPrec(64).SetInt64(n), wide(x))
	}
	for _, x := range edges(false) {
		for _, n := range integers {
			var s sum
			s.add(n, x)
			check(&s, product(n, x))
			if s.add(-1, x); n != math.MinInt64 {
				s.add(1, x)
				if s.add(-n, x); s != (sum{}) {
					t.Fatalf("%d times %v, taken away again, leaves %v", n, x, s)
				}
			}
		}
	}
	few := edges(true)
	for i, x := range few {
		for k, y := range few {
			n, m := integers[(i+7*k)%len(integers)], integers[(3*i+k)%len(integers)]
			var s sum
			s.add(n, x)
			s.add(m, y)
			exact := new(big.Float).SetPrec(4096).Add(product(n, x), product(m, y))
			check(&s, exact)
			if exact.Sign() < 0 {
				continue
			}
			for _, d := range []int64{1, 3, 1e9, math.MaxInt64} {
				got := s.over(d)
				next := math.Nextafter(got, math.Inf(1))
				beyond := exact.Cmp(wide(math.MaxFloat64)) > 0
				if product(d, got).Cmp(exact) > 0 || !beyond && product(d, next).Cmp(exact) <= 0 {
					t.Fatalf("%v over %v = %v", exact, d, got)
				}
			}
		}
	}
}

// A product of two float64 is exact, or a little more where it is less than the least float64.
func TestProductsAreExact(t *testing.T) {
	for _, x := range edges(true) {
		for _, y := range edges(true) {
			if x < 0 || y < 0 || x > 1e30 || y > 1e30 {
				continue
			}
			var s sum
			s.addProduct(x, y)
			exact := new(big.Float).SetPrec(4096).Mul(wide(x), wide(y))
			if got, want := s.ceil(), rounded(exact, big.ToPositiveInf); got != want && (got < want || got > 1e-260) {
				t.Fatalf("%v times %v = %v, want %v", x, y, got, want)
			}
		}
	}
}

// As many products of the greatest numbers as an instance has tasks do not overflow a sum.
func TestSumsHoldTheGreatestProducts(t *testing.T) {
	if least := 1074 + 1024 + 63 + bits.Len64(math.MaxInt64) + 1; 64*sumWords < least {
		t.Fatalf("%d words for %d bits", sumWords, least)
	}
	var s sum
	for range 1000 {
		s.add(math.MaxInt64, math.MaxFloat64)
		s.add(math.MinInt64, math.MaxFloat64)
	}
	want := new(big.Float).SetPrec(4096).Mul(wide(math.MaxFloat64), wide(-1000))
	if got := s.ceil(); got != -math.MaxFloat64 || want.Sign() != s.sign() {
		t.Errorf("sum of %v is %v", want, got)
	}
}
