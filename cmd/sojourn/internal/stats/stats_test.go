package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// Reference: Student's t table of any textbook, two-sided 5 %.
func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		freedom int
		want    float64
	}{{1, 12.7062}, {2, 4.3027}, {3, 3.1824}, {4, 2.7764}, {9, 2.2622}, {19, 2.0930}, {29, 2.0452}, {99, 1.9842}, {1_000_000, 1.9600}} {
		if got := quantile(tc.freedom); !near(got, tc.want, 0.00005) {
			t.Errorf("quantile(%d) = %v, want %v", tc.freedom, got, tc.want)
		}
	}
}

// With one degree of freedom, t is Cauchy-distributed: the quantile is tan(0.475 pi).
func TestQuantileIsRounded(t *testing.T) {
	if got, want := quantile(1), math.Round(math.Tan(0.475*math.Pi)*1e6)/1e6; got != want {
		t.Errorf("quantile(1) = %v, want %v", got, want)
	}
}

func TestMean(t *testing.T) {
	for _, tc := range []struct {
		name       string
		values     []float64
		mean, half float64
	}{
		// Deviations -2, 0, 2: variance 8/2 = 4, standard error sqrt(4/3), times 4.302653.
		{"three", []float64{8, 10, 12}, 10, 4.302653 * math.Sqrt(4.0/3)},
		// Deviations of 1/2: variance 1/2, standard error 1/2, times 12.706205.
		{"two", []float64{1, 2}, 1.5, 12.706205 / 2},
		{"equal", []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, 0.1, 0},
		// Gosset's sleep data, hours gained with the second drug: 2.33 ± 1.43 (R: t.test).
		{"sleep", []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}, 2.33, 1.4324},
	} {
		got := Mean(tc.values)
		if !near(got.Mean, tc.mean, 1e-12) || !near(got.Half, tc.half, 1e-4) {
			t.Errorf("%s: Mean(%v) = %v ± %v, want %v ± %v", tc.name, tc.values, got.Mean, got.Half, tc.mean, tc.half)
		}
	}
	if got := Mean([]float64{0.1, 0.1, 0.1}); got != (Interval{0.1, 0}) {
		t.Errorf("equal values: %v, want exactly 0.1 ± 0", got)
	}
}

// Gosset's sleep data again: both drugs given to the same ten people. The paired
// difference is 1.58, in 0.7001 to 2.4599 (R: t.test, paired).
func TestDifference(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	got := Difference(second, first)
	if !near(got.Mean, 1.58, 1e-9) || !near(got.Low(), 0.7001, 1e-4) || !near(got.High(), 2.4599, 1e-4) {
		t.Errorf("difference %v, from %v to %v; want 1.58, from 0.7001 to 2.4599", got.Mean, got.Low(), got.High())
	}
	if got.Contains(0) {
		t.Errorf("%v contains 0", got)
	}
	// Not paired, the intervals of the two means overlap. The pairs show the difference.
	if a, b := Mean(first), Mean(second); !a.Contains(b.Low()) {
		t.Errorf("%v does not reach into %v", a, b)
	}
}

func TestRatio(t *testing.T) {
	// r = 9/6 = 1.5. Residuals 2-1.5*1, 3-1.5*2, 4-1.5*3 = 0.5, 0, -0.5: variance 0.5/2 =
	// 1/4, standard error sqrt(1/12), times 4.302653, divided by the mean 2.
	got := Ratio([]float64{2, 3, 4}, []float64{1, 2, 3})
	if want := 4.302653 * math.Sqrt(1.0/12) / 2; got.Mean != 1.5 || !near(got.Half, want, 1e-12) {
		t.Errorf("ratio %v ± %v, want 1.5 ± %v", got.Mean, got.Half, want)
	}
	// Values in proportion leave no doubt.
	if got := Ratio([]float64{2, 4, 8}, []float64{1, 2, 4}); got != (Interval{2, 0}) {
		t.Errorf("ratio of values in proportion = %v, want 2 ± 0", got)
	}
}

// Where nothing is known, no interval is given.
func TestUnknown(t *testing.T) {
	for _, i := range []Interval{Mean([]float64{3}), Mean([]float64{1, math.NaN()}), Difference([]float64{3}, []float64{1}), Ratio([]float64{3}, []float64{1})} {
		if !math.IsNaN(i.Half) || i.Contains(i.Mean) || i.Contains(0) {
			t.Errorf("%v: contains its mean %v, 0 %v; want an interval of NaN that contains nothing", i, i.Contains(i.Mean), i.Contains(0))
		}
	}
}

// Of many intervals from normal values, the stated share covers the truth, within four
// standard deviations of a count of 4000.
func TestCoverage(t *testing.T) {
	const experiments, n, mu = 4000, 5, 10.0
	r := rand.New(rand.NewPCG(1, 2))
	var means, ratios int
	for range experiments {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			b[i] = mu + r.NormFloat64()
			a[i] = 0.5*b[i] + 0.5*r.NormFloat64()
		}
		if Mean(b).Contains(mu) {
			means++
		}
		if Ratio(a, b).Contains(0.5) {
			ratios++
		}
	}
	slack := 4 * math.Sqrt(Confidence*(1-Confidence)/experiments)
	for name, n := range map[string]int{"mean": means, "ratio": ratios} {
		if got := float64(n) / experiments; !near(got, Confidence, slack) {
			t.Errorf("%s: %v of the intervals cover the truth, want %v ± %v", name, got, Confidence, slack)
		}
	}
}

// Needed is the least number of values that makes the interval as narrow as asked. The
// test compares it with all numbers of values, one by one.
func TestNeeded(t *testing.T) {
	for _, tc := range []struct {
		interval Interval
		values   int
		half     float64
	}{
		{Interval{10, 1}, 20, 1}, {Interval{10, 1}, 20, 0.999}, {Interval{10, 1}, 20, 100}, {Interval{10, 0}, 2, 1e-9},
		{Interval{659, 2523}, 2, 45}, {Interval{1, 0.3}, 3, 0.1}, {Interval{-1, 1}, 100, 0.2},
	} {
		deviation := tc.interval.Half * math.Sqrt(float64(tc.values)) / quantile(tc.values-1)
		want := 2
		for deviation*quantile(want-1)/math.Sqrt(float64(want)) > tc.half*(1+1e-12) {
			want++
		}
		if got := tc.interval.Needed(tc.values, tc.half); got != want {
			t.Errorf("%v of %d values needs %d for ±%v, want %d", tc.interval, tc.values, got, tc.half, want)
		}
	}
	nan := math.NaN()
	for _, tc := range []struct {
		interval Interval
		half     float64
	}{{Interval{1, nan}, 1}, {Interval{nan, nan}, 1}, {Interval{1, 1}, 0}, {Interval{1, 1}, nan}, {Interval{1, math.Inf(1)}, 1}, {Interval{1, 1e300}, 1}} {
		if got := tc.interval.Needed(5, tc.half); got != 0 {
			t.Errorf("%v needs %d values for ±%v, want 0 for nobody knows", tc.interval, got, tc.half)
		}
	}
}
