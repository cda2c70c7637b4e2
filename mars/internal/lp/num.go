package lp

import "math"

// Seconds returns a length of time in the unit of objectives and bounds. Rounding
// is monotone: of two instants the later never becomes the lesser number.
func Seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Below returns plus-minus, lowered by more than what rounding may have added to
// it: a term is a sum over the tasks of a job, whose errors are 2^-53 a step of
// what they add up to, and never of one sign for long.
func Below(plus, minus float64) float64 { return plus - minus - float64(1e-12*plus) }

// A Total is a sum that carries what rounding takes from it (Neumaier).
type Total struct{ sum, lost float64 }

// Add adds x.
func (t *Total) Add(x float64) {
	s := t.sum + x
	if max(t.sum, -t.sum) >= max(x, -x) {
		t.lost += (t.sum - s) + x
	} else {
		t.lost += (x - s) + t.sum
	}
	t.sum = s
}

// Value returns the sum.
func (t *Total) Value() float64 { return t.sum + t.lost }

// finite reports whether x is a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
