package slack

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A num is a signed integer of 192 bits in two's complement. Sums and products
// are taken modulo 2^192, so that a value is right whenever it fits, whatever its
// terms are: S of an item is h*F + a with an h and an F that grow as long as the
// cluster is busy, although S itself stays below the work in the system.
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

// A heat is a signed sum of weights, in 128 bits in two's complement, which it fits.
type heat struct{ hi, lo uint64 }

// heatOf returns the sum of one weight.
func heatOf(weight uint64) heat { return heat{lo: weight} }

func heatOf128(weights wide.Uint128) heat { return heat{weights.Hi, weights.Lo} }

func (h heat) add(k heat) heat {
	lo, carry := bits.Add64(h.lo, k.lo, 0)
	hi, _ := bits.Add64(h.hi, k.hi, carry)
	return heat{hi, lo}
}

func (h heat) neg() heat {
	lo, borrow := bits.Sub64(0, h.lo, 0)
	hi, _ := bits.Sub64(0, h.hi, borrow)
	return heat{hi, lo}
}

func (h heat) isZero() bool { return h.hi|h.lo == 0 }

// times returns h*x.
func (h heat) times(x num) num {
	mid, lo := bits.Mul64(h.lo, x.lo)
	hi1, mid1 := bits.Mul64(h.lo, x.mid)
	mid, carry := bits.Add64(mid, mid1, 0)
	hi := hi1 + carry + h.lo*x.hi
	if h.hi == 0 {
		return num{hi, mid, lo}
	}
	hi2, mid2 := bits.Mul64(h.hi, x.lo)
	mid, carry = bits.Add64(mid, mid2, 0)
	hi += hi2 + carry + h.hi*x.mid
	if int64(h.hi) < 0 {
		hi -= x.lo // the sign, carried on to 192 bits
	}
	return num{hi, mid, lo}
}
