package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the share of experiments whose intervals cover the true number.
const Confidence = 0.95

// An Interval is a number and its confidence interval, Mean-Half to Mean+Half.
type Interval struct {
	Mean float64
	Half float64 // NaN for a single value, which has no interval
}

// Low returns the lower end.
func (i Interval) Low() float64 { return i.Mean - i.Half }

// High returns the upper end.
func (i Interval) High() float64 { return i.Mean + i.Half }

// Contains reports whether x is in the interval, ends included. Nothing is in an
// interval of NaN.
func (i Interval) Contains(x float64) bool { return math.Abs(i.Mean-x) <= i.Half }

// Needed returns how many values of the same spread would make Half at most half;
// values is the present number. It is 0 if that is unknown: for a single value, or if
// half is not positive.
func (i Interval) Needed(values int, half float64) int {
	if !(i.Half >= 0 && half > 0) {
		return 0
	}
	spread := i.Half / width(values)
	most := 2
	for spread*width(most) > half {
		if most > 1<<29 {
			return 0
		}
		most *= 2
	}
	return most/2 + sort.Search(most/2, func(n int) bool { return most/2+n >= 2 && spread*width(most/2+n) <= half })
}

// width returns half the length of an interval over the deviation of its values,
// given their number.
func width(values int) float64 { return quantile(values-1) / math.Sqrt(float64(values)) }

// Mean returns the mean of independent values. There must be at least one.
func Mean(values []float64) Interval {
	m := mean(values)
	return Interval{m, quantile(len(values)-1) * standardError(values, m)}
}

// Difference returns the mean of a[i]-b[i]. Common effects on both values of a
// pair cancel out in the difference. Whether it excludes 0 is the paired t-test.
// The lengths must be equal.
func Difference(a, b []float64) Interval {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return Mean(d)
}

// Ratio returns the mean of a over the mean of b, where a[i] and b[i] belong
// together. The interval is that of the ratio estimator: the standard error of
// the residuals a[i]-r*b[i], whose mean is 0, divided by the mean of b (Cochran,
// Sampling Techniques, 6.4). The lengths must be equal.
func Ratio(a, b []float64) Interval {
	base := mean(b)
	r := mean(a) / base
	residuals := make([]float64, len(a))
	for i := range a {
		residuals[i] = a[i] - float64(r*b[i])
	}
	return Interval{r, quantile(len(a)-1) * standardError(residuals, 0) / math.Abs(base)}
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		panic("stats: no values")
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	m := sum / float64(len(values))
	// The second pass makes the mean of equal values that value.
	rest := 0.0
	for _, v := range values {
		rest += v - m
	}
	return m + rest/float64(len(values))
}

// standardError returns the standard error of the mean m, NaN for one value.
func standardError(values []float64, m float64) float64 {
	n := float64(len(values))
	squares := 0.0
	for _, v := range values {
		d := v - m
		squares += float64(d * d)
	}
	return math.Sqrt(squares / (n - 1) / n)
}

// quantile returns the number that Student's t with so many degrees of freedom
// exceeds in absolute value with probability 1-Confidence; NaN for 0. It is rounded
// to 1e-6, because the numerical inversion behind it is neither more exact nor the
// same on every platform.
func quantile(freedom int) float64 {
	if freedom == 0 {
		return math.NaN()
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(freedom)}
	return math.Round(t.Quantile((1+Confidence)/2)*1e6) / 1e6
}
