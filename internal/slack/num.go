package slack

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A num is a signed integer of 128 bits in two's complement. Sums and products
// are taken modulo 2^128, so that a value is right whenever it fits, whatever its
// terms are: S of an item is h*F + a with an h and an F that grow as long as the
// cluster is busy, although S itself stays below the work in the system.
type num struct{ hi, lo uint64 }

func fromWide(x wide.Uint128) num { return num{x.Hi, x.Lo} }

// work returns x slot-nanoseconds in units of work.
func work(x uint64) num { return num{x >> (64 - shift), x << shift} }

func (x num) add(y num) num {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return num{hi, lo}
}

func (x num) sub(y num) num {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, _ := bits.Sub64(x.hi, y.hi, borrow)
	return num{hi, lo}
}

func (x num) neg() num { return num{}.sub(x) }

func (x num) mul(y num) num {
	hi, lo := bits.Mul64(x.lo, y.lo)
	return num{hi + x.hi*y.lo + x.lo*y.hi, lo}
}

func (x num) less(y num) bool {
	return int64(x.hi) < int64(y.hi) || x.hi == y.hi && x.lo < y.lo
}

func (x num) isZero() bool     { return x.hi|x.lo == 0 }
func (x num) isNegative() bool { return int64(x.hi) < 0 }

// float returns x in slot-nanoseconds, rounded.
func (x num) float() float64 {
	if x.isNegative() {
		return -x.neg().float()
	}
	return float64(float64(x.hi)*(1<<(64-shift))) + float64(float64(x.lo)/(1<<shift))
}
