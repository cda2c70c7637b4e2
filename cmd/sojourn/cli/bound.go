package cli

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sim"
)

// A bound says how good any schedule of a scenario can be.
type bound struct {
	*mars.Bound
	arrivals float64 // the sum of weight times arrival, in seconds
	weights  float64 // the sum of weights
}

// newBound returns the bound of a workload on a cluster, or why there is none, as where a
// job can never finish because the cluster lacks a class of slots.
func newBound(w *workload, c *cluster) (*bound, error) {
	in := newInstance(w, c)
	lp, err := mars.LowerBound(in, mars.Options{ReleaseCuts: true})
	if err != nil {
		return nil, err
	}
	b := &bound{Bound: lp}
	for i := range in.Jobs {
		j := &in.Jobs[i]
		weight := j.Weight
		if weight == 0 {
			weight = 1
		}
		b.weights += weight
		b.arrivals += float64(weight * time.Duration(j.Release).Seconds())
	}
	return b, nil
}

// sojourn returns a lower bound on the sum of weight times sojourn time.
func (b *bound) sojourn() float64 { return max(b.BestLowerBound-b.arrivals, 0) }

// meanSojourn returns the same for the weighted mean.
func (b *bound) meanSojourn() float64 { return b.sojourn() / b.weights }

// completionRatio returns by what factor the weighted completion times of a run are
// at most above those of the best schedule; NaN if not all jobs finished.
func (b *bound) completionRatio(res *sim.Result) float64 {
	return ratio(res, res.WeightedCompletion, b.BestLowerBound)
}

// sojournRatio is the same for weighted sojourn times.
func (b *bound) sojournRatio(res *sim.Result) float64 {
	return ratio(res, res.WeightedSojourn, b.sojourn())
}

func ratio(res *sim.Result, value, bound float64) float64 {
	if res.Finished < res.Jobs || bound == 0 {
		return math.NaN()
	}
	return value / bound
}
