package wide

import "math/bits"

// A Uint192 is the integer Hi*2^128 + Mid*2^64 + Lo. The zero Uint192 is 0, and ==
// compares.
type Uint192 struct{ Hi, Mid, Lo uint64 }

// IsZero reports whether x is 0.
func (x Uint192) IsZero() bool { return x.Hi|x.Mid|x.Lo == 0 }

// Less reports whether x < y.
func (x Uint192) Less(y Uint192) bool {
	if x.Hi != y.Hi {
		return x.Hi < y.Hi
	}
	return x.Mid < y.Mid || x.Mid == y.Mid && x.Lo < y.Lo
}

// Add returns x+y. It panics if the sum does not fit.
func (x Uint192) Add(y Uint192) Uint192 {
	lo, carry := bits.Add64(x.Lo, y.Lo, 0)
	mid, carry := bits.Add64(x.Mid, y.Mid, carry)
	hi, carry := bits.Add64(x.Hi, y.Hi, carry)
	if carry != 0 {
		panic("wide: sum out of range")
	}
	return Uint192{hi, mid, lo}
}

// Sub returns x-y. It panics if y > x.
func (x Uint192) Sub(y Uint192) Uint192 {
	lo, borrow := bits.Sub64(x.Lo, y.Lo, 0)
	mid, borrow := bits.Sub64(x.Mid, y.Mid, borrow)
	hi, borrow := bits.Sub64(x.Hi, y.Hi, borrow)
	if borrow != 0 {
		panic("wide: difference below zero")
	}
	return Uint192{hi, mid, lo}
}

// Mul returns x*y, and whether it fits.
func (x Uint192) Mul(y Uint128) (Uint192, bool) {
	c0, lo := bits.Mul64(x.Lo, y.Lo)
	c1, mid := bits.Mul64(x.Mid, y.Lo)
	c2, hi := bits.Mul64(x.Hi, y.Lo)
	mid, carry := bits.Add64(mid, c0, 0)
	hi, carry = bits.Add64(hi, c1, carry)
	over := c2 | carry
	if y.Hi != 0 {
		d0, m := bits.Mul64(x.Lo, y.Hi)
		d1, h := bits.Mul64(x.Mid, y.Hi)
		mid, carry = bits.Add64(mid, m, 0)
		hi, carry = bits.Add64(hi, h, carry)
		over |= carry | d1 | x.Hi
		hi, carry = bits.Add64(hi, d0, 0)
		over |= carry
	}
	return Uint192{hi, mid, lo}, over == 0
}

// QuoRem returns the quotient and the remainder of x/y. It panics if y is 0.
func (x Uint192) QuoRem(y Uint128) (q Uint192, r Uint128) {
	if y.Hi == 0 {
		q.Hi, r.Lo = x.Hi/y.Lo, x.Hi%y.Lo
		q.Mid, r.Lo = bits.Div64(r.Lo, x.Mid, y.Lo)
		q.Lo, r.Lo = bits.Div64(r.Lo, x.Lo, y.Lo)
		return q, r
	}
	// Digit by digit of 64 bits, with y shifted so that its highest bit is set
	// [Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D].
	n := uint(bits.LeadingZeros64(y.Hi))
	y = y.shl(n)
	over := x.Hi >> (64 - n)
	x = Uint192{x.Hi<<n | x.Mid>>(64-n), x.Mid<<n | x.Lo>>(64-n), x.Lo << n}
	q.Mid, r = digit(Uint128{over, x.Hi}, x.Mid, y)
	q.Lo, r = digit(r, x.Lo, y)
	return q, Uint128{r.Hi >> n, r.Lo>>n | r.Hi<<(64-n)}
}

// digit divides x*2^64 + next by y, whose highest bit is set. x is below y, so that
// the quotient has 64 bits.
func digit(x Uint128, next uint64, y Uint128) (q uint64, r Uint128) {
	q = ^uint64(0)
	if x.Hi < y.Hi {
		q, _ = bits.Div64(x.Hi, x.Lo, y.Hi)
	}
	// q is exact, or too large by at most 2.
	whole := Uint192{x.Hi, x.Lo, next}
	for {
		if p, fits := (Uint192{Mid: y.Hi, Lo: y.Lo}).Mul(Uint128{Lo: q}); fits && !whole.Less(p) {
			rest := whole.Sub(p)
			return q, Uint128{rest.Mid, rest.Lo}
		}
		q--
	}
}
