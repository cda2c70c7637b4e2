package trial

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Bound says how good any schedule of a scenario can be.
type Bound struct {
	LowerBound     float64 // on the sum of weight times completion, in seconds
	BestLowerBound float64 // the same with release-aware inequalities, if there are any
	arrivals       float64 // the sum of weight times arrival, in seconds
	weights        float64 // the sum of weights
}

// boundPart is the greatest number of jobs in a part that is bounded alone; a part has
// at most ten times as many tasks. So memory does not grow with the workload. The sum of
// the parts is a bound, since no schedule of all jobs is better for a part than the best
// schedule of the part alone.
const boundPart = 100_000

// newBound returns the bound of jobs on a cluster, or why there is none: for
// example, a job can never finish because the cluster lacks a class of slots. The bound
// is the sum of the bounds of parts that arrive one after the other. part is usually
// boundPart; a part has at most part jobs and ten times as many tasks.
func newBound(jobs iter.Seq2[*sim.Job, error], c *input.Cluster, part int) (*Bound, error) {
	b, in, tasks := new(Bound), emptyInstance(c), 0
	var paths []float64 // of the jobs of in; see add
	speed := Fastest(c)
	for j, err := range jobs {
		if err != nil {
			return nil, err
		}
		if tasks += j.Tasks(); len(in.Jobs) == part || len(in.Jobs) > 0 && tasks > 10*part {
			if err := b.add(in, paths); err != nil {
				return nil, err
			}
			in.Jobs, paths, tasks = in.Jobs[:0], paths[:0], j.Tasks()
		}
		path := 0.0
		if hasNeeds(j) {
			path = longestPath(j, speed)
		}
		paths = append(paths, path)
		b.arrivals += float64(cmp.Or(j.Weight, 1) * time.Duration(j.At).Seconds())
		in.Jobs = append(in.Jobs, instanceJob(j, c, speed))
	}
	if err := b.add(in, paths); err != nil {
		return nil, err
	}
	return b, nil
}

// add adds the bound of a part: that of its program, or that of the paths if it is better.
// paths has how long each job takes at least after its release, 0 if only the program knows. The time of every part except the first begins with its
// first release, since the bound of a part does not know what was before.
func (b *Bound) add(in plan.Instance, paths []float64) error {
	start := sojourn.Time(0)
	if b.weights > 0 {
		start = slices.MinFunc(in.Jobs, func(i, j plan.Job) int { return cmp.Compare(i.Release, j.Release) }).Release
	}
	weights, byPaths := 0.0, 0.0
	for i := range in.Jobs {
		j := &in.Jobs[i]
		weight := cmp.Or(j.Weight, 1)
		weights += weight
		j.Release -= start
		byPaths += float64(weight * (time.Duration(j.Release).Seconds() + paths[i]))
	}
	lp, err := plan.LowerBound(in, plan.Options{ReleaseCuts: true})
	if err != nil {
		return err
	}
	before := float64(weights * time.Duration(start).Seconds())
	b.LowerBound += lp.LowerBound + before
	b.BestLowerBound += max(lp.BestLowerBound, byPaths) + before
	b.weights += weights
	return nil
}

// sojourn returns a lower bound on the sum of weight times sojourn time.
func (b *Bound) sojourn() float64 { return max(b.BestLowerBound-b.arrivals, 0) }

// MeanSojourn returns the same for the weighted mean.
func (b *Bound) MeanSojourn() float64 { return b.sojourn() / b.weights }

// CompletionRatio returns by what factor the weighted completion times of a run are
// at most above those of the best schedule; NaN if not all jobs finished.
func (b *Bound) CompletionRatio(res *sim.Result) float64 {
	return ratio(res, res.WeightedCompletion, b.BestLowerBound)
}

// SojournRatio is the same for weighted sojourn times.
func (b *Bound) SojournRatio(res *sim.Result) float64 {
	return ratio(res, res.WeightedSojourn, b.sojourn())
}

func ratio(res *sim.Result, value, bound float64) float64 {
	if res.Finished < res.Jobs || bound == 0 {
		return math.NaN()
	}
	return value / bound
}
