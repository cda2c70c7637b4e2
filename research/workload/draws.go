package workload

import (
	"math"
	"math/rand/v2"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// draws makes the random numbers of a workload.
type draws struct{ seed uint64 }

// A purpose distinguishes the streams of random numbers of one workload. Its value
// is part of the meaning of a seed, so add other purposes at the end.
type purpose uint64

const (
	gaps purpose = iota + 1
	order
	bins
	names
	mapCounts
	mapTimes
	mapNoise
	reduceCounts
	reduceTimes
	reduceNoise
	sizes
	weights
	taskWeights
	deadlines
	placement
	mapSlowness
	reduceSlowness
	stageCounts
	stageDepths
	stageLevels
	stageEdges
	stageData
	stageTimes
	burstTimes
)

// salt keeps these streams apart from those of package sim with the same seed.
const salt = 0x776f726b6c6f6164

// stream returns the random numbers for a purpose and one job. They depend on
// nothing else: draws for other purposes or other jobs do not change them.
func (d draws) stream(p purpose, job int) *rand.Rand { return d.streamOf(p, uint64(job)) }

func (d draws) streamOf(p purpose, who uint64) *rand.Rand {
	h := mix(mix(mix(d.seed^salt)^uint64(p)) ^ who)
	return rand.New(rand.NewPCG(h, mix(h)))
}

// mix is the step of SplitMix64 (Steele, Lea and Flood, 2014), a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// poisson returns the gaps of a Poisson process whose first arrival is at 0.
func (d draws) poisson(interval float64) func(i int) float64 {
	return func(i int) float64 {
		if i == 0 {
			return 0
		}
		return float64(interval * detmath.Exponential(d.stream(gaps, i)))
	}
}

// uniform draws from [lo, hi).
func uniform(r *rand.Rand, lo, hi float64) float64 {
	return lo + float64(float64(hi-lo)*float64(r.Float64()))
}

// within draws one of the integers of s, all alike.
func within(r *rand.Rand, s span) int { return s.min + r.IntN(s.max-s.min+1) }

// logNormal draws a number whose logarithm is normal with standard deviation
// sigma, and whose median is given.
func logNormal(r *rand.Rand, median, sigma float64) float64 {
	return float64(median * detmath.Exp(float64(sigma*detmath.Normal(r))))
}

// unitMean is the median of the log-normal distribution of mean 1.
func unitMean(sigma float64) float64 { return detmath.Exp(float64(-0.5 * float64(sigma*sigma))) }

// weibull draws from the Weibull distribution, by inversion.
func weibull(r *rand.Rand, scale, shape float64) float64 {
	return float64(scale * detmath.Exp(detmath.Log(detmath.Exponential(r))/shape))
}

// pareto draws from the Pareto distribution of least value scale, by inversion.
func pareto(r *rand.Rand, scale, alpha float64) float64 {
	return float64(scale * detmath.Exp(detmath.Exponential(r)/alpha))
}

// geometric draws the number of trials up to the first success; its mean is mean,
// at least 1.
func geometric(r *rand.Rand, mean float64) float64 {
	if mean <= 1 {
		return 1
	}
	fail := detmath.Log(1 - 1/mean) // of a trial, as a logarithm
	return max(1, math.Floor(detmath.Exponential(r)/-fail)+1)
}

// poissonCount draws from the Poisson distribution: how many arrivals a process
// of rate 1 has in a time of mean.
func poissonCount(r *rand.Rand, mean float64) int {
	n := 0
	for t := detmath.Exponential(r); t <= mean; t += detmath.Exponential(r) {
		n++
	}
	return n
}

// exponentialCount draws from the exponential distribution and rounds the result,
// to at least 1.
func exponentialCount(r *rand.Rand, mean float64) int {
	return max(1, int(math.Floor(float64(mean*detmath.Exponential(r))+0.5)))
}

// A normal is a normal distribution without its part below min: numbers below it
// are drawn again, or become min.
type normal struct {
	mean, sd, min float64
	clamp         bool
}

// draw needs mean >= min unless clamp is set: half of the numbers are then good.
func (n normal) draw(r *rand.Rand) float64 {
	for {
		x := n.mean + float64(n.sd*detmath.Normal(r))
		switch {
		case x >= n.min:
			return x
		case n.clamp:
			return n.min
		}
	}
}

// gamma returns the gamma function of x > 0, by Stirling's series from 12 on, where
// its error is below 1e-13, and x Γ(x) = Γ(x+1) below.
func gamma(x float64) float64 {
	below := 1.0
	for ; x < 12; x++ {
		below = float64(below * x)
	}
	y := 1 / float64(x*x)
	series := 1.0/1260 - y/1680
	series = 1.0/360 - float64(y*series)
	series = 1.0/12 - float64(y*series)
	return math.Sqrt(2*math.Pi/x) * detmath.Exp(float64(x*(detmath.Log(x)-1))+series/x) / below
}

// place draws the nodes that hold the input of each task: replicas of the n nodes,
// each set with the same probability.
func (d draws) place(job, tasks, n, replicas int) sojourn.Inputs {
	r := d.stream(placement, job)
	nodes := make([]sojourn.NodeID, n)
	for i := range nodes {
		nodes[i] = sojourn.NodeID(i + 1)
	}
	flat := make([]sojourn.NodeID, 0, tasks*replicas)
	inputs := make([][]sojourn.NodeID, tasks)
	for i := range inputs {
		// The first steps of a shuffle. Its starting point does not matter.
		for k := range replicas {
			j := k + r.IntN(n-k)
			nodes[k], nodes[j] = nodes[j], nodes[k]
		}
		start := len(flat)
		flat = append(flat, nodes[:replicas]...)
		inputs[i] = flat[start:]
	}
	return sojourn.MakeInputs(inputs)
}
