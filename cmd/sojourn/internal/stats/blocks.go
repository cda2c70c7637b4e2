package stats

import (
	"math"
	"math/rand/v2"
)

// BlockLength returns how many neighbouring values a block of a bootstrap should hold, so
// that the variance of the mean of a series whose neighbours depend on one another is
// estimated best. It is the rule of Politis and White ("Automatic block-length selection for
// the dependent bootstrap", Econometric Reviews 2004, with the correction of Patton, Politis
// and White, 2009) for circular blocks: (2 G^2/D)^(1/3) n^(1/3), at most 3 sqrt(n) and n/3,
// and at least 1. Values that are NaN count as the mean of the others. A series of more than
// 20,000 values is replaced by means of neighbours.
func BlockLength(series []float64) int {
	const most = 20_000
	if batch := (len(series) + most - 1) / most; batch > 1 {
		return batch * blockLength(batched(centred(series), batch))
	}
	return blockLength(centred(series))
}

// The least and the greatest number of blocks of an interval: fewer are useless, and more
// hardly change it.
const (
	MinBlocks = 10
	maxBlocks = 1000
)

// IntervalBlock returns the length of the blocks with which intervals are made of some series
// of n values: twice the longest [BlockLength] of them, but so that there are 10 to 1,000
// blocks; 0 if there are fewer values. An interval accounts for the number of blocks, but not
// for the dependence that short blocks miss. The best length for a variance makes intervals too
// small; with twice that length, they cover the truth as often as they should
// (TestBlockCoverage).
func IntervalBlock(n int, series ...[]float64) int {
	longest := (n/maxBlocks + 1) / 2
	for _, s := range series {
		longest = max(longest, BlockLength(s))
	}
	return min(2*longest, n/MinBlocks)
}

// centred returns the series less its mean.
func centred(series []float64) []float64 {
	sum, n := 0.0, 0
	for _, v := range series {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	z := make([]float64, len(series))
	for i, v := range series {
		if !math.IsNaN(v) {
			z[i] = v - sum/float64(n)
		}
	}
	return z
}

// batched returns the means of batch neighbours each. It drops the rest at the end.
func batched(z []float64, batch int) []float64 {
	var means []float64
	for ; len(z) >= batch; z = z[batch:] {
		means = append(means, mean(z[:batch]))
	}
	return means
}

// blockLength is BlockLength of a series whose mean is 0.
func blockLength(z []float64) int {
	n := len(z)
	if n < 3 {
		return 1
	}
	root := math.Sqrt(float64(n))
	most := max(1, int(math.Min(math.Ceil(3*root), float64(n/3))))
	// The autocovariances are added up to twice the lag behind which `quiet` of them in a
	// row are hardly above what independent values have.
	quiet := max(5, int(math.Ceil(math.Sqrt(math.Log10(float64(n))))))
	lags := min(int(math.Ceil(root))+quiet, n-1)
	limit := 2 * math.Sqrt(math.Log10(float64(n))/float64(n))
	covariance := make([]float64, lags+1)
	last, row := 0, 0
	for k := range covariance {
		sum := 0.0
		for i := range z[:n-k] {
			sum += float64(z[i] * z[i+k])
		}
		covariance[k] = sum / float64(n)
		switch {
		case k == 0 || row >= quiet:
		case math.Abs(covariance[k]) < float64(limit*covariance[0]):
			row++
		default:
			last, row = k, 0
		}
	}
	if covariance[0] == 0 {
		return 1
	}
	window := min(2*max(last, 1), lags)
	g, spectrum := 0.0, covariance[0]
	for k := 1; k <= window; k++ {
		flat := math.Min(1, 2*(1-float64(k)/float64(window)))
		spectrum += float64(2 * flat * covariance[k])
		g += float64(2 * flat * float64(k) * covariance[k])
	}
	length := math.Cbrt(1.5 * float64(g*g) / float64(spectrum*spectrum) * float64(n))
	if math.IsNaN(length) || length > float64(most) {
		return most
	}
	return max(1, int(math.Round(length)))
}

// A Resample is a sequence of n places that was put together of blocks of neighbours, drawn
// at random with replacement. The places form a circle: a block that passes the end goes on
// at the beginning, so that all places are drawn equally often.
type Resample struct {
	spans [][2]int // from a place to before another, without passing the end
	step  []int32  // of Weights
}

// Resamples draws so many resamples of n places with blocks of some length, the last one
// shorter where that does not divide n, and calls f with each. The resample is not to be kept.
// The same seed draws the same.
func Resamples(n, length, resamples int, seed uint64, f func(i int, r *Resample)) {
	random := rand.New(rand.NewPCG(seed, 0))
	r := &Resample{step: make([]int32, n+1)}
	for i := range resamples {
		r.spans = r.spans[:0]
		for left := n; left > 0; {
			start, size := random.IntN(n), min(length, left)
			left -= size
			if over := start + size - n; over > 0 {
				r.spans = append(r.spans, [2]int{0, over})
				size -= over
			}
			r.spans = append(r.spans, [2]int{start, start + size})
		}
		f(i, r)
	}
}

// Prefix returns the sums of the first values: of none, of one, ..., of all.
func Prefix(values []float64) []float64 {
	sums := make([]float64, len(values)+1)
	for i, v := range values {
		sums[i+1] = sums[i] + v
	}
	return sums
}

// Sum returns the sum over the resample of the values whose [Prefix] is given.
func (r *Resample) Sum(prefix []float64) float64 {
	sum := 0.0
	for _, s := range r.spans {
		sum += prefix[s[1]] - prefix[s[0]]
	}
	return sum
}

// Weights writes how often each place is in the resample.
func (r *Resample) Weights(w []int32) {
	clear(r.step)
	for _, s := range r.spans {
		r.step[s[0]]++
		r.step[s[1]]--
	}
	now := int32(0)
	for i := range w {
		now += r.step[i]
		w[i] = now
	}
}

// Bootstrapped returns a number with the interval that its values in resamples of so many
// blocks give: Student's t, with a degree of freedom less than there are blocks, times their
// standard deviation, enlarged by the n/(n-1) by which the variance of few blocks falls
// short. It is NaN where there are fewer than two blocks or two resamples.
func Bootstrapped(value float64, resampled []float64, blocks int) Interval {
	if blocks < 2 || len(resampled) < 2 {
		return Interval{value, math.NaN()}
	}
	error := standardError(resampled, mean(resampled)) * math.Sqrt(float64(len(resampled)))
	return Interval{value, quantile(blocks-1) * error * math.Sqrt(float64(blocks)/float64(blocks-1))}
}
