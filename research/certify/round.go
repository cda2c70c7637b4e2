package certify

import (
	"math"
	"math/bits"
)

// An operation + - * / returns the float64 nearest to its exact result. So the next lower float64
// is no greater than the exact result, and the next higher one no less. All rounding of this
// package is one of below, above, down and [sum.round].

// below returns a number that is no greater than the exact result of the operation that gave x.
func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// above returns a number that is no less than the exact result of the operation that gave x.
func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// down is below for an exact result that is at least 0. It is at least 0, too.
func down(x float64) float64 { return max(below(x), 0) }

// A sum is an exact sum of products n x of an integer and a float64: one integer in units of
// 2^-1074, the least positive float64, in two's complement with the least word first. A product
// is below 2^63 2^1024, and 2^63 of them fit.
type sum [sumWords]uint64

const sumWords = (1074 + 1024 + 63 + 63 + 1 + 63) / 64

// add adds n x. x is neither infinite nor NaN.
func (s *sum) add(n int64, x float64) {
	b := math.Float64bits(x)
	exponent, m := b>>52&0x7ff, b&(1<<52-1)
	if exponent > 0 {
		exponent, m = exponent-1, m|1<<52
	}
	// Now x is plus or minus m 2^exponent units.
	minus := uint64(0)
	if (n < 0) != (x < 0) {
		minus = math.MaxUint64
	}
	size := uint64(n)
	if n < 0 {
		size = -size
	}
	hi, lo := bits.Mul64(m, size)
	shift := exponent % 64
	product := [3]uint64{lo << shift, hi<<shift | lo>>(64-shift), hi >> (64 - shift)} // lo>>64 is 0
	// Minus a number is its complement plus 1, with the sign in all words above.
	at, carry := int(exponent/64), minus&1
	for i := at; i < sumWords && (i < at+3 || carry != minus&1); i++ {
		word := minus
		if i < at+3 {
			word ^= product[i-at]
		}
		s[i], carry = bits.Add64(s[i], word, carry)
	}
}

// addInteger adds n m.
func (s *sum) addInteger(n, m int64) {
	s.add(n, float64(m>>32)*0x1p32)
	s.add(n, float64(m&math.MaxUint32))
}

// addProduct adds x y, both at least 0, or a little more if y is too small for x 2^-53 of it.
func (s *sum) addProduct(x, y float64) {
	share, exponent := math.Frexp(x) // x is an integer, share 2^53, times 2^(exponent-53)
	z := math.Ldexp(y, exponent-53)
	if math.Ldexp(z, 53-exponent) != y {
		z = above(z)
	}
	s.add(int64(share*0x1p53), z)
}

// sign returns -1, 0 or 1.
func (s *sum) sign() int {
	if s[sumWords-1]>>63 == 1 {
		return -1
	}
	if *s == (sum{}) {
		return 0
	}
	return 1
}

// floor returns the greatest float64 that is no greater than the sum.
func (s *sum) floor() float64 {
	if s.sign() >= 0 {
		return s.round(false)
	}
	minus := s.negative()
	return -minus.round(true)
}

// ceil returns the least float64 that is no less than the sum.
func (s *sum) ceil() float64 {
	minus := s.negative()
	return -minus.floor()
}

// negative returns minus the sum.
func (s *sum) negative() sum {
	var minus sum
	carry := uint64(1)
	for i, word := range s {
		minus[i], carry = bits.Add64(^word, 0, carry)
	}
	return minus
}

// round returns a sum that is at least 0 as a float64: the greatest that is no greater, or, if
// upwards, the least that is no less.
func (s *sum) round(upwards bool) float64 {
	top := sumWords - 1
	for top > 0 && s[top] == 0 {
		top--
	}
	// The 53 highest bits are m, and its lowest one counts 2^shift units. rest: others are not 0.
	shift := max(64*top+bits.Len64(s[top])-53, 0)
	word, by := shift/64, uint(shift%64)
	m := s[word] >> by
	if by > 11 {
		m |= s[word+1] << (64 - by) // the sum has a bit there, or m has less than 53
	}
	m &= 1<<53 - 1
	rest := s[word]&(1<<by-1) != 0
	for _, w := range s[:word] {
		rest = rest || w != 0
	}
	x := math.Ldexp(float64(m), shift-1074)
	switch {
	case upwards && rest:
		return above(x)
	case !upwards:
		return min(x, math.MaxFloat64)
	}
	return x
}

// over returns the greatest float64 x with n x no greater than the sum, or a lower one if the sum is
// beyond all float64. n is positive.
func (s *sum) over(n int64) float64 {
	x := min(above(above(s.floor()/float64(n))), math.MaxFloat64)
	for {
		rest := *s
		if rest.add(-n, x); rest.sign() >= 0 {
			return x
		}
		x = below(x)
	}
}
