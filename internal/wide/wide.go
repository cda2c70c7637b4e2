// Package wide provides the unsigned 128-bit arithmetic that sums over jobs and
// virtual times need: an int64 of slot-nanoseconds lasts 25 hours at 100,000 slots.
//
// Nothing wraps around: an operation whose result does not fit panics, except AddCapped.
// Callers state the bounds under which the result fits.
package wide

import (
	"math"
	"math/bits"
)

// A Uint128 is the integer Hi*2^64 + Lo. The zero Uint128 is 0, and == compares.
type Uint128 struct{ Hi, Lo uint64 }

// From64 returns x.
func From64(x uint64) Uint128 { return Uint128{Lo: x} }

// Mul64 returns x*y.
func Mul64(x, y uint64) Uint128 {
	hi, lo := bits.Mul64(x, y)
	return Uint128{hi, lo}
}

// IsZero reports whether x is 0.
func (x Uint128) IsZero() bool { return x.Hi|x.Lo == 0 }

// Less reports whether x < y.
func (x Uint128) Less(y Uint128) bool {
	return x.Hi < y.Hi || x.Hi == y.Hi && x.Lo < y.Lo
}

// Cmp returns -1, 0 or +1 as x is below, equal to or above y.
func (x Uint128) Cmp(y Uint128) int {
	switch {
	case x.Less(y):
		return -1
	case y.Less(x):
		return 1
	}
	return 0
}

// Clamp63 returns x, or 2^63-1 if that is less. As a time in nanoseconds that is the longest
// [time.Duration], 292 years.
func (x Uint128) Clamp63() uint64 {
	if x.Hi != 0 {
		return math.MaxInt64
	}
	return min(x.Lo, math.MaxInt64)
}

// Prefix returns two words that are in the order of x, and then in that of a number that decides between equal x. All x
// of more than one word have the same.
func (x Uint128) Prefix(then uint64) (hi, lo uint64) {
	if x.Hi != 0 {
		return math.MaxUint64, math.MaxUint64
	}
	return x.Lo, then
}

// Add returns x+y. It panics if the sum does not fit.
func (x Uint128) Add(y Uint128) Uint128 {
	lo, carry := bits.Add64(x.Lo, y.Lo, 0)
	hi, carry := bits.Add64(x.Hi, y.Hi, carry)
	if carry != 0 {
		panic("wide: sum out of range")
	}
	return Uint128{hi, lo}
}

// AddCapped returns x+y, or the greatest Uint128 if the sum does not fit.
func (x Uint128) AddCapped(y Uint128) Uint128 {
	lo, carry := bits.Add64(x.Lo, y.Lo, 0)
	hi, carry := bits.Add64(x.Hi, y.Hi, carry)
	if carry != 0 {
		return Uint128{math.MaxUint64, math.MaxUint64}
	}
	return Uint128{hi, lo}
}

// Sub returns x-y. It panics if y > x.
func (x Uint128) Sub(y Uint128) Uint128 {
	lo, borrow := bits.Sub64(x.Lo, y.Lo, 0)
	hi, borrow := bits.Sub64(x.Hi, y.Hi, borrow)
	if borrow != 0 {
		panic("wide: difference below zero")
	}
	return Uint128{hi, lo}
}

// MulU64 returns x*y. It panics if the product does not fit.
func (x Uint128) MulU64(y uint64) Uint128 {
	over, hi := bits.Mul64(x.Hi, y)
	carry, lo := bits.Mul64(x.Lo, y)
	hi, c := bits.Add64(hi, carry, 0)
	if over|c != 0 {
		panic("wide: product out of range")
	}
	return Uint128{hi, lo}
}

// Mul returns x*y. It panics if the product does not fit.
func (x Uint128) Mul(y Uint128) Uint128 {
	switch {
	case x.Hi == 0:
		return y.MulU64(x.Lo)
	case y.Hi == 0:
		return x.MulU64(y.Lo)
	}
	panic("wide: product out of range")
}

// Shl returns x*2^n. It panics if the product does not fit.
func (x Uint128) Shl(n uint) Uint128 {
	if x.IsZero() {
		return x
	}
	if n > x.leadingZeros() {
		panic("wide: shift out of range")
	}
	return x.shl(n)
}

// QuoRem returns the quotient and the remainder of x/y. It panics if y is 0.
func (x Uint128) QuoRem(y Uint128) (q, r Uint128) {
	if y.Hi == 0 {
		if r.Lo = x.Hi; x.Hi >= y.Lo {
			q.Hi, r.Lo = x.Hi/y.Lo, x.Hi%y.Lo
		}
		q.Lo, r.Lo = bits.Div64(r.Lo, x.Lo, y.Lo)
		return q, r
	}
	// The quotient has at most 64 bits. Estimate it from the top 64 bits of y, with
	// x halved so that the division cannot overflow. The estimate is exact or one
	// too large; one less is exact or one too small [Warren, Hacker's Delight, 9-5].
	n := uint(bits.LeadingZeros64(y.Hi))
	top := y.shl(n).Hi
	half := Uint128{x.Hi >> 1, x.Hi<<63 | x.Lo>>1}
	est, _ := bits.Div64(half.Hi, half.Lo, top)
	est >>= 63 - n
	if est != 0 {
		est--
	}
	q.Lo = est
	r = x.Sub(y.MulU64(est))
	if !r.Less(y) {
		q.Lo++
		r = r.Sub(y)
	}
	return q, r
}

// shl returns x*2^n modulo 2^128. A shift of 64 bits or more yields 0 in Go, so no case
// needs a branch.
func (x Uint128) shl(n uint) Uint128 {
	return Uint128{x.Hi<<n | x.Lo>>(64-n) | x.Lo<<(n-64), x.Lo << n}
}

func (x Uint128) leadingZeros() uint {
	if x.Hi == 0 {
		return 64 + uint(bits.LeadingZeros64(x.Lo))
	}
	return uint(bits.LeadingZeros64(x.Hi))
}
