package reserve

import (
	"math"
	"math/bits"

	"github.com/sojourn-sched/sojourn"
)

// Levels is the number of levels, which count from 0.
const Levels = 16

// A Rank is the part of the arrived phases that have shorter tasks: Num/Den, from 0 to 1.
// Den is at most 2^33. The zero Rank is 0.
type Rank struct{ Num, Den uint64 }

// Level returns the level of a job whose phase has rank u, while running of its tasks run:
// floor(15.999 (u+r)/(1+r)).
//
// In integers, with u = a/d: floor(floor(15999 (a+dr) / (d(1+r))) / 1000).
func Level(u Rank, running int) int {
	if u.Den == 0 {
		u = Rank{0, 1}
	}
	r := uint64(min(running, sojourn.MaxSlots)) // so that d(1+r) is below 2^58
	hi, lo := bits.Mul64(Levels*1000-1, u.Num+u.Den*r)
	q, _ := bits.Div64(hi, lo, u.Den*(1+r))
	return int(q / 1000)
}

// LevelUnknown returns the level of a job of unknown length: 0 if none of its tasks runs,
// and otherwise the highest level.
func LevelUnknown(running int) int {
	if running == 0 {
		return 0
	}
	return Levels - 1
}

// Threshold returns how many of k reserved slots a task of a level has to leave free:
// floor(level k/15 + 1/2).
func Threshold(level, k int) int { return (2*level*k + Levels - 1) / (2 * (Levels - 1)) }

// highestOf returns the highest level that may take one of the free slots: the greatest level
// whose Threshold is below free, or -1 if there is none.
//
// For free > 0 this is the greatest l with 2lk + 15 < 30 free, since the threshold is 2lk +
// 15 divided by 30, rounded down.
func highestOf(free, k int) int {
	switch {
	case free <= 0:
		return -1
	case free > k:
		return Levels - 1
	}
	return ((Levels-1)*free - Levels/2) / k
}

// A Share is a part of the slots, in millionths.
type Share uint32

// ShareOf converts a fraction from 0 to 1 to a share, rounded to a millionth.
func ShareOf(fraction float64) Share { return Share(math.Round(fraction * 1e6)) }

// slots returns this share of n slots. It rounds to the nearest whole number, halves up;
// with up it always rounds up. The result is less than n, so a single slot is never
// reserved.
func (s Share) slots(n int, up bool) int {
	const one, half = 1_000_000, 500_000
	part := uint64(n)*uint64(s) + half
	if up {
		part += half - 1
	}
	return max(0, min(int(part/one), n-1))
}
