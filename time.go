package sojourn

import (
	"math"
	"time"
)

// Time is an instant: the time that has passed since the driver's epoch, which
// may be the start of a simulation, of a process or of a trace. It is never
// negative. Only differences matter to a policy, and the zero Time is the epoch
// itself.
//
// Times are compared with <, == and >. A length of time is a [time.Duration];
// the two types keep an instant from being added to an instant.
type Time time.Duration

// Add returns t+d. If that is out of range, it returns the Time that is closest to
// it: it never wraps around.
func (t Time) Add(d time.Duration) Time {
	switch sum := t + Time(d); {
	case d > 0 && sum < t:
		return math.MaxInt64
	case d < 0 && sum > t:
		return math.MinInt64
	default:
		return sum
	}
}

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// String formats t as a duration, such as "1m30s".
func (t Time) String() string { return time.Duration(t).String() }
