// Package detmath provides the few functions of real numbers that random
// workloads and smooth estimates need, with the same bits on every platform.
// Package math does not promise that: math.Exp and math.Log are assembly on
// some platforms, and a compiler may fuse x*y + z into one operation with one
// rounding.
//
// The functions use only addition, subtraction, multiplication, division and
// square root, which IEEE 754 defines to the last bit. They convert each product
// to float64 before they add it; by the Go specification this conversion rounds
// it.
//
// Exp and Log follow the algorithms of FreeBSD's msun by Sun Microsystems
// (e_exp.c, e_log.c), whose error is below 1 unit in the last place, also near
// the ends of the range, where assembly versions of math are known to be off.
package detmath

import (
	"math"
	"math/rand/v2"
)

// ln 2 in two parts: the first has 33 bits, so that its product with the exponent
// of a float64 is exact.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// Exp returns e to the power of x. It is +Inf from about 709.78 on, and 0 below
// about -745.13.
func Exp(x float64) float64 {
	const (
		log2e    = 1.44269504088896338700e+00
		overflow = 7.09782712893383973096e+02
		vanish   = -7.45133219101941108420e+02
	)
	switch {
	case math.IsNaN(x):
		return x
	case x > overflow:
		return math.Inf(1)
	case x < vanish:
		return 0
	}
	// e^x = 2^k e^r with |r| <= ln(2)/2, and r = hi - lo to more than 53 bits.
	k := math.Floor(float64(log2e*x) + 0.5)
	hi := x - float64(k*ln2Hi)
	lo := float64(k * ln2Lo)
	r := hi - lo

	// e^r = 1 + 2r/(R-r), where R = r(e^r+1)/(e^r-1) is an even function: 2 plus a
	// polynomial in r^2.
	const (
		p1 = 1.66666666666666657415e-01
		p2 = -2.77777777770155933842e-03
		p3 = 6.61375632143793436117e-05
		p4 = -1.65339022054652515390e-06
		p5 = 4.13813679705723846039e-08
	)
	t := float64(r * r)
	p := p4 + float64(t*p5)
	p = p3 + float64(t*p)
	p = p2 + float64(t*p)
	p = p1 + float64(t*p)
	c := r - float64(t*p)
	y := 1 - ((lo - float64(r*c)/(2-c)) - hi)
	return math.Ldexp(y, int(k))
}

// Log returns the natural logarithm of x: -Inf for 0, NaN below.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	// x = 2^k (1+f) with sqrt(1/2) <= 1+f < sqrt(2).
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	f, k := m-1, float64(e)

	// With s = f/(2+f), log(1+f) = 2s + sR = f - (f^2/2 - s(f^2/2+R)), where R is a
	// polynomial in s^2; even and odd terms are summed apart.
	const (
		l1 = 6.666666666666735130e-01
		l2 = 3.999999999940941908e-01
		l3 = 2.857142874366239149e-01
		l4 = 2.222219843214978396e-01
		l5 = 1.818357216161805012e-01
		l6 = 1.531383769920937332e-01
		l7 = 1.479819860511658591e-01
	)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := l5 + float64(s4*l7)
	odd = l3 + float64(s4*odd)
	odd = l1 + float64(s4*odd)
	even := l4 + float64(s4*l6)
	even = l2 + float64(s4*even)
	r := float64(s2*odd) + float64(s4*even)
	half := float64(0.5 * float64(f*f))
	tail := float64(s*(half+r)) + float64(k*ln2Lo)
	return float64(k*ln2Hi) - ((half - tail) - f)
}

// Normal draws from the normal distribution of mean 0 and variance 1, by
// Marsaglia's polar method. It discards the second number that the method
// yields, so the generator has the only state.
func Normal(r *rand.Rand) float64 {
	for {
		u := float64(2*uniform(r)) - 1
		v := float64(2*uniform(r)) - 1
		if s := float64(u*u) + float64(v*v); s < 1 && s != 0 {
			return float64(u * math.Sqrt(float64(-2*Log(s))/s))
		}
	}
}

// Exponential draws from the exponential distribution of mean 1.
func Exponential(r *rand.Rand) float64 { return -Log(1 - uniform(r)) }

// uniform returns r.Float64(), which ends in a division by 2^53 that compilers turn
// into a product. That product is exact, fused or not. The conversion still keeps
// it out of fused instructions, so the test that looks for them needs no exception.
func uniform(r *rand.Rand) float64 { return float64(r.Float64()) }
