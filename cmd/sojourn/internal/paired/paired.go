package paired

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// Resamples is how many resamples make an interval.
const Resamples = 500

// Block returns how many jobs a block has for intervals of a quantile, or of the mean for 0 percent, of series that have a
// value for each job; 0 if there are too few jobs.
func Block(series [][]float64, percent int) int {
	if percent > 0 {
		series = append([][]float64(nil), series...)
		for i, values := range series {
			series[i] = above(values, stats.NewOrder(values, percent).All())
		}
	}
	return stats.IntervalBlock(len(series[0]), series...)
}

// above says which values are above a limit.
func above(values []float64, limit float64) []float64 {
	is := make([]float64, len(values))
	for i, v := range values {
		if v > limit {
			is[i] = 1
		}
	}
	return is
}

// Numbers are a number of each of some policies that ran the same jobs, such as the mean sojourn time.
type Numbers struct {
	Values        []float64 // NaN where there is none
	Block, Blocks int       // jobs in a block, and blocks; 0 where nothing is known of chance
	resampled     [][]float64
}

// Compare returns a quantile, or the mean for 0 percent, of the values of each policy. values has a value for each job,
// in the order of their arrival, or NaN for a job that does not count. block is that of [Block]. The same seed draws the
// same resamples, so that differences are paired.
func Compare(values [][]float64, percent, block int, seed uint64) *Numbers {
	n := &Numbers{Values: make([]float64, len(values)), Block: block, resampled: make([][]float64, len(values))}
	all := make([]stats.Statistic, len(values))
	for p, v := range values {
		all[p] = stats.NewStatistic(v, percent)
		n.Values[p] = all[p].All()
	}
	if block == 0 {
		return n
	}
	n.Blocks = len(values[0]) / block
	stats.Resamples(len(values[0]), block, Resamples, seed, func(_ int, r *stats.Resample) {
		for p, s := range all {
			n.resampled[p] = append(n.resampled[p], logarithm(s.Of(r)))
		}
	})
	return n
}

func logarithm(v float64) float64 {
	if !(v > 0) {
		return math.NaN() // jobs that take no time have no ratio
	}
	return detmath.Log(v)
}

// Against returns the logarithm of the number of policy i over that of policy k, with its interval; NaN where it is not known.
func (n *Numbers) Against(i, k int) stats.Interval {
	value := logarithm(n.Values[i]) - logarithm(n.Values[k])
	if n.Block == 0 {
		return stats.Interval{Mean: value, Half: math.NaN()}
	}
	difference := make([]float64, len(n.resampled[i]))
	for r := range difference {
		difference[r] = n.resampled[i][r] - n.resampled[k][r]
	}
	return stats.Bootstrapped(value, difference, n.Blocks)
}

// Best returns the policy of the least number, of equals the first; -1 if a number is not known.
func (n *Numbers) Best() int {
	best := 0
	for i, v := range n.Values {
		if !(v > 0) {
			return -1
		}
		if v < n.Values[best] {
			best = i
		}
	}
	return best
}

// Tied reports whether chance may be all that parts policy i from policy k, which has the lesser number.
func (n *Numbers) Tied(i, k int) bool { return n.Block > 0 && !(n.Against(i, k).Low() > 0) }

// Ties returns the policies that are tied with the best one, the least number first, without it.
func (n *Numbers) Ties() []int {
	best := n.Best()
	if best < 0 {
		return nil
	}
	var list []int
	for _, i := range order(n.Values) {
		if i != best && n.Tied(i, best) {
			list = append(list, i)
		}
	}
	return list
}

// order returns the places of values, the least first.
func order(values []float64) []int {
	list := make([]int, len(values))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return list
}
