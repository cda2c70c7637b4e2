package detmath_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// ulps returns how far apart two numbers are, counted in floating point numbers.
// Two NaN are equal.
func ulps(a, b float64) int64 {
	if math.IsNaN(a) && math.IsNaN(b) {
		return 0
	}
	d := place(a) - place(b)
	return max(d, -d)
}

// place numbers the floating point numbers in their order; both zeros are 0.
func place(x float64) int64 {
	if x < 0 {
		return -int64(math.Float64bits(-x))
	}
	return int64(math.Float64bits(x) &^ (1 << 63))
}

// Beyond these ranges the assembly of package math on amd64 is wrong: it overflows
// early, and its logarithms of subnormal numbers are wrong.
func TestExpAndLogAgainstMath(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(name string, x, got, want float64) {
		t.Helper()
		if d := ulps(got, want); d > 2 {
			t.Errorf("%s(%v) = %v, want %v: %d ulp apart, want at most 2", name, x, got, want, d)
		}
	}
	for range 300_000 {
		x := 1416*rng.Float64() - 708
		check("Exp", x, detmath.Exp(x), math.Exp(x))
		x = 4*rng.Float64() - 2
		check("Exp", x, detmath.Exp(x), math.Exp(x))
		x = math.Float64frombits(1<<52 + rng.Uint64()>>1%(2046<<52)) // all magnitudes
		check("Log", x, detmath.Log(x), math.Log(x))
		x = 2 * rng.Float64()
		check("Log", x, detmath.Log(x), math.Log(x))
		x = 1 + (rng.Float64()-0.5)/(1<<20)
		check("Log", x, detmath.Log(x), math.Log(x))
	}
}

func TestExactValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tc := range []struct {
		name string
		f    func(float64) float64
		x    float64
		want float64 // to the nearest
	}{
		{"Exp", detmath.Exp, 0, 1},
		{"Exp", detmath.Exp, 1, math.E},
		{"Exp", detmath.Exp, 709.5, 1.3549863193146328e+308},
		{"Exp", detmath.Exp, 709.7827128933839, 1.7976931348620688e+308},
		{"Exp", detmath.Exp, 709.7827128933841, inf},
		{"Exp", detmath.Exp, -708.4, 2.217119081664265e-308}, // subnormal from here on
		{"Exp", detmath.Exp, -745.1332191019411, 5e-324},
		{"Exp", detmath.Exp, -745.1332191019413, 0},
		{"Exp", detmath.Exp, inf, inf},
		{"Exp", detmath.Exp, -inf, 0},
		{"Exp", detmath.Exp, nan, nan},
		{"Log", detmath.Log, 1, 0},
		{"Log", detmath.Log, 2, math.Ln2},
		{"Log", detmath.Log, math.MaxFloat64, 709.782712893384},
		{"Log", detmath.Log, 2.2250738585072014e-308, -708.3964185322641},
		{"Log", detmath.Log, 5e-310, -712.19194091572},
		{"Log", detmath.Log, 5e-324, -744.4400719213812},
		{"Log", detmath.Log, 0, -inf},
		{"Log", detmath.Log, math.Copysign(0, -1), -inf},
		{"Log", detmath.Log, -1, nan},
		{"Log", detmath.Log, -inf, nan},
		{"Log", detmath.Log, inf, inf},
		{"Log", detmath.Log, nan, nan},
	} {
		if got := tc.f(tc.x); ulps(got, tc.want) > 1 {
			t.Errorf("%s(%v) = %v, want %v", tc.name, tc.x, got, tc.want)
		}
	}
}

// The bits of many results, the same on every platform.
func TestGoldenBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	for _, tc := range []struct {
		name string
		draw func() float64
		want uint64
	}{
		{"Exp", func() float64 { return detmath.Exp(float64(1400*rng.Float64()) - 700) }, 0xad3d727e2ec7e16a},
		{"Log", func() float64 { return detmath.Log(math.Float64frombits(rng.Uint64() >> 2)) }, 0xd44c75dbbfc7bf5f},
		{"Normal", func() float64 { return detmath.Normal(rng) }, 0xa07a3c7ae59e27b8},
		{"Exponential", func() float64 { return detmath.Exponential(rng) }, 0x7baf9a6a5121e21b},
	} {
		sum := uint64(14695981039346656037)
		for range 10_000 {
			sum = (sum ^ math.Float64bits(tc.draw())) * 1099511628211
		}
		if sum != tc.want {
			t.Errorf("%s: the hash of 10,000 results is %#x, want %#x", tc.name, sum, tc.want)
		}
	}
}

// The first four moments of a million draws, each within 5 standard errors.
func TestMoments(t *testing.T) {
	const n = 1_000_000
	for _, tc := range []struct {
		name string
		draw func(*rand.Rand) float64
		want [4]float64 // E[x^k]
		dev  [4]float64 // standard deviation of x^k: the root of E[x^2k] - E[x^k]^2
	}{
		// Normal: E[x^k] = 0, 1, 0, 3, 0, 15, 0, 105.
		{"Normal", detmath.Normal, [4]float64{0, 1, 0, 3}, [4]float64{1, math.Sqrt(2), math.Sqrt(15), math.Sqrt(96)}},
		// Exponential: E[x^k] = k!.
		{"Exponential", detmath.Exponential, [4]float64{1, 2, 6, 24}, [4]float64{1, math.Sqrt(20), math.Sqrt(684), math.Sqrt(39744)}},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		var sums [4]float64
		for range n {
			x := tc.draw(rng)
			p := 1.0
			for k := range sums {
				p *= x
				sums[k] += p
			}
		}
		for k, sum := range sums {
			if got, off := sum/n, 5*tc.dev[k]/math.Sqrt(n); math.Abs(got-tc.want[k]) > off {
				t.Errorf("%s: moment %d = %v, want %v within %v", tc.name, k+1, got, tc.want[k], off)
			}
		}
	}
}

func BenchmarkNormal(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		detmath.Normal(rng)
	}
}
