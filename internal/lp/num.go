package lp

import "math"

// Seconds returns a length of time in the unit of objectives and bounds. Rounding
// is monotone: the later of two instants never becomes the lesser number.
func Seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Below returns plus-minus, lowered by more than rounding may have added to it.
// A term is a sum over the tasks of a job. Each step has an error of 2^-53 of
// the sum, and the errors never have one sign for long.
func Below(plus, minus float64) float64 { return plus - minus - float64(1e-12*plus) }

// A Total is a sum that keeps the part lost to rounding (Neumaier).
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
