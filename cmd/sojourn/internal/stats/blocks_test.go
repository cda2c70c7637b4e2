package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// autoregressive returns a series of mean mu and stationary deviation 1, in which each
// value keeps phi of the value before.
func autoregressive(r *rand.Rand, n int, phi, mu float64) []float64 {
	x := make([]float64, n)
	last := r.NormFloat64()
	for i := range x {
		last = phi*last + math.Sqrt(1-phi*phi)*r.NormFloat64()
		x[i] = mu + last
	}
	return x
}

// bootstrapOf returns the interval of the mean of a - b, paired, with blocks of one
// length.
func bootstrapOf(a, b []float64, length, resamples int, seed uint64) Interval {
	n := len(a)
	pa, pb := Prefix(a), Prefix(b)
	values := make([]float64, resamples)
	Resamples(n, length, resamples, seed, func(i int, r *Resample) { values[i] = (r.Sum(pa) - r.Sum(pb)) / float64(n) })
	return Bootstrapped((pa[n]-pb[n])/float64(n), values, n/length)
}

// covered counts the experiments whose interval contains the true difference of two series
// that have much in common.
func covered(experiments, n int, phi float64, length func(a, b []float64) int) int {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	count := 0
	for e := range experiments {
		common := autoregressive(r, n, phi, 0)
		a, b := autoregressive(r, n, phi, 3), autoregressive(r, n, phi, 2)
		for i := range common {
			a[i] += 5 * common[i]
			b[i] += 5 * common[i]
		}
		if bootstrapOf(a, b, length(a, b), 100, uint64(e)).Contains(1) {
			count++
		}
	}
	return count
}

// longest is the greater block length of two series.
func longest(a, b []float64) int {
	return IntervalBlock(len(a), a, b)
}

// The interval of a paired difference of two series of dependent values covers the truth
// as often as it says, within three standard deviations of a count. With blocks of one
// value, which assume independence, it covers the truth far less often.
func TestBlockCoverage(t *testing.T) {
	experiments := 150
	if thorough {
		experiments = 2000
	}
	sigma := math.Sqrt(float64(experiments) * Confidence * (1 - Confidence))
	for _, tc := range []struct {
		n   int
		phi float64
	}{{200, 0}, {600, 0.5}, {1200, 0.8}} {
		t.Run(fmt.Sprint(tc.phi), func(t *testing.T) {
			got := covered(experiments, tc.n, tc.phi, longest)
			if off := float64(got) - float64(experiments)*Confidence; math.Abs(off) > 3*sigma {
				t.Errorf("%d of %d intervals cover the truth, which is %.1f standard deviations off", got, experiments, off/sigma)
			}
			if tc.phi == 0 {
				return
			}
			if got := covered(50, tc.n, tc.phi, func(a, b []float64) int { return 1 }); got > 42 {
				t.Errorf("with blocks of one value %d of 50 intervals cover the truth: the test cannot tell", got)
			}
		})
	}
}

// Reference: for a series that keeps phi of the value before, the spectrum is (1+phi)/(1-phi)
// and G = 2 phi/(1-phi)^2, both times the variance, so that the best length is
// (6 phi^2/(1-phi^2)^2 n)^(1/3).
func TestBlockLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, phi := range []float64{0.3, 0.5, 0.8} {
		const n, rounds = 4000, 30
		sum := 0
		for range rounds {
			sum += BlockLength(autoregressive(r, n, phi, 10))
		}
		want := math.Cbrt(6 * phi * phi / (1 - phi*phi) / (1 - phi*phi) * n)
		if got := float64(sum) / rounds; math.Abs(got/want-1) > 0.25 {
			t.Errorf("phi %v: blocks of %v on average, want %v", phi, got, want)
		}
	}
	trend := make([]float64, 900)
	for i := range trend {
		trend[i] = float64(i)
	}
	if got := BlockLength(trend); got < 30 || got > 90 {
		t.Errorf("a trend: blocks of %d, want many values, at most 3 sqrt(900)", got)
	}
	for _, tc := range []struct {
		name   string
		series []float64
		want   int
	}{
		{"no value", nil, 1}, {"one value", []float64{3}, 1}, {"no values known", []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}, 1},
		{"equal values", make([]float64, 100), 1}, {"huge values", []float64{1e308, -1e308, 1e308, 1}, 1},
	} {
		if got := BlockLength(tc.series); got != tc.want {
			t.Errorf("%s: blocks of %d, want %d", tc.name, got, tc.want)
		}
	}
	// In means of three neighbours, three times as many values depend on one another.
	long := autoregressive(r, 60_000, 0.8, 10)
	if got, want := float64(BlockLength(long)), math.Cbrt(6*0.64/0.36/0.36*60_000); math.Abs(got/want-1) > 0.25 {
		t.Errorf("a long series: blocks of %v, want %v", got, want)
	}
}

// A resample has n places. Its sums and weights agree, and all places are drawn equally
// often.
func TestResamples(t *testing.T) {
	for _, tc := range []struct{ n, length int }{{1, 1}, {2, 1}, {7, 3}, {7, 7}, {10, 5}, {5, 9}} {
		values := make([]float64, tc.n)
		for i := range values {
			values[i] = float64(i*i + 1)
		}
		prefix, w, total := Prefix(values), make([]int32, tc.n), make([]int, tc.n)
		const resamples = 2000
		Resamples(tc.n, tc.length, resamples, 3, func(i int, r *Resample) {
			r.Weights(w)
			sum, places := 0.0, 0
			for k, times := range w {
				sum += values[k] * float64(times)
				places += int(times)
				total[k] += int(times)
			}
			if got := r.Sum(prefix); places != tc.n || got != sum {
				t.Fatalf("%d places, blocks of %d: resample %d has %d places and the sum %v, want %v", tc.n, tc.length, i, places, got, sum)
			}
		})
		for k, times := range total {
			if off := math.Abs(float64(times) - resamples); off > 5*math.Sqrt(resamples*float64(min(tc.n, tc.length))) {
				t.Errorf("%d places, blocks of %d: place %d is drawn %d times, want about %d", tc.n, tc.length, k, times, resamples)
			}
		}
	}
	var first, again []float64
	prefix := Prefix([]float64{1, 2, 4, 8, 16, 32})
	Resamples(6, 2, 10, 5, func(_ int, r *Resample) { first = append(first, r.Sum(prefix)) })
	Resamples(6, 2, 10, 5, func(_ int, r *Resample) { again = append(again, r.Sum(prefix)) })
	if fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("the same seed draws %v and %v", first, again)
	}
}

// For independent values and blocks of one, the bootstrap gives the textbook's interval
// of a mean.
func TestBootstrapOfIndependentValues(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	values := autoregressive(r, 50, 0, 4)
	got, want := bootstrapOf(values, make([]float64, 50), 1, 20_000, 1), Mean(values)
	if !near(got.Mean, want.Mean, 1e-12) || math.Abs(got.Half/want.Half-1) > 0.03 {
		t.Errorf("%v, want %v", got, want)
	}
	for _, i := range []Interval{Bootstrapped(1, []float64{1, 2}, 1), Bootstrapped(1, []float64{1}, 9), Bootstrapped(1, []float64{1, math.Inf(-1)}, 9)} {
		if !math.IsNaN(i.Half) {
			t.Errorf("%v, want no interval", i)
		}
	}
}
