package leastwork

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// Octaves are logarithms to the base 2 of times in nanoseconds, and differences of such, in
// 2^-16. A difference of one octave is a factor of two.
type octaves int64

const octave octaves = 1 << 16

// log returns the logarithm of a time. What takes no time counts as one nanosecond.
func log(d time.Duration) octaves {
	return octaves(math.Round(detmath.Log(float64(max(d, 1))) * (float64(octave) / math.Ln2)))
}

// time returns the time that has a logarithm: from 1 ns to 292 years.
func (o octaves) time() time.Duration {
	t := detmath.Exp(float64(o) * (math.Ln2 / float64(octave)))
	if t >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(1, time.Duration(t))
}

func (o octaves) abs() octaves { return max(o, -o) }

// whole returns the nearest whole number of octaves.
func (o octaves) whole() octaves { return (o + octave/2) &^ (octave - 1) }
