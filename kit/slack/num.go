package slack

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A num is a signed integer of 192 bits in two's complement. Sums and products
// are taken modulo 2^192, so a value is right whenever it fits, whatever its
// terms are. This is needed: S of an item is h*F + a, where h and F grow as long
// as the cluster is busy, although S itself stays below the work in the system.
type num struct{ hi, mid, lo uint64 }

func fromWide(x wide.Uint192) num { return num{x.Hi, x.Mid, x.Lo} }

// work returns x slot-nanoseconds in units of work.
func work(x uint64) num { return fromWide(vclock.Units(x)) }

func (x num) add(y num) num {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	mid, carry := bits.Add64(x.mid, y.mid, carry)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return num{hi, mid, lo}
}

func (x num) sub(y num) num {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	mid, borrow := bits.Sub64(x.mid, y.mid, borrow)
	hi, _ := bits.Sub64(x.hi, y.hi, borrow)
	return num{hi, mid, lo}
}

func (x num) neg() num { return num{}.sub(x) }

func (x num) less(y num) bool {
	if x.hi != y.hi {
		return int64(x.hi) < int64(y.hi)
	}
	return x.mid < y.mid || x.mid == y.mid && x.lo < y.lo
}

func (x num) isNegative() bool { return int64(x.hi) < 0 }

// float returns x in slot-nanoseconds, rounded.
func (x num) float() float64 {
	if x.isNegative() {
		return -x.neg().float()
	}
	return float64(float64(float64(x.hi)*(1<<32))+float64(float64(x.mid)/(1<<32))) + float64(float64(x.lo)/(1<<96))
}

// times returns h*x.
func (x num) times(h int64) num {
	mid, lo := bits.Mul64(x.lo, uint64(h))
	hi, mid1 := bits.Mul64(x.mid, uint64(h))
	mid, carry := bits.Add64(mid, mid1, 0)
	y := num{hi + x.hi*uint64(h) + carry, mid, lo}
	if h < 0 {
		y = y.sub(num{x.mid, x.lo, 0}) // uint64(h) is h + 2^64
	}
	return y
}

// timesWide returns w*x.
func (x num) timesWide(w wide.Uint128) num {
	y, z := x.unsigned(w.Lo), x.unsigned(w.Hi)
	return y.add(num{z.mid, z.lo, 0})
}

// unsigned returns w*x.
func (x num) unsigned(w uint64) num {
	if int64(w) >= 0 {
		return x.times(int64(w))
	}
	return x.times(int64(w)).add(num{x.mid, x.lo, 0})
}

// quotient returns x/y rounded down, or one less, but at most limit. x is not negative, y is not 0,
// and limit is below 2^63. It divides by the upper 64 bits of y, rounded up.
func quotient(x num, y wide.Uint192, limit uint64) uint64 {
	c0, lo := bits.Mul64(y.Lo, limit)
	c1, mid := bits.Mul64(y.Mid, limit)
	over, hi := bits.Mul64(y.Hi, limit)
	mid, carry := bits.Add64(mid, c0, 0)
	hi, carry = bits.Add64(hi, c1, carry)
	if over|carry|hi>>63 == 0 && !x.less(num{hi, mid, lo}) {
		return limit // as for most pairs
	}
	over = 0 // the digit of x above hi; x/y is below limit
	for y.Hi == 0 {
		over, x.hi, x.mid, x.lo = x.hi, x.mid, x.lo, 0
		y.Hi, y.Mid, y.Lo = y.Mid, y.Lo, 0
	}
	n := bits.LeadingZeros64(y.Hi) & 63
	by := y.Hi<<n | y.Mid>>1>>(63-n)
	if by++; by == 0 { // 2^64
		return over<<n | x.hi>>1>>(63-n)
	}
	q, _ := bits.Div64(over<<n|x.hi>>1>>(63-n), x.hi<<n|x.mid>>1>>(63-n), by)
	return q
}
