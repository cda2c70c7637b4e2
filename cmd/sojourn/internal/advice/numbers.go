package advice

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// numbers has the measurements of a policy at a load.
type numbers struct {
	plain    float64 // the objective
	total    number  // its effect
	tail     number  // of the 90th percentile of the sojourn time; not for deadlines
	quarters [quarters]number
}

// A number is an effect, with its value in each resample.
type number struct {
	value     float64
	resampled []float64
}

// numbers measures a policy at a load.
func (a *Advice) numbers(p, l int) *numbers {
	n := new(numbers)
	values := a.values(p, l, a.Objective.measure)
	statistics := []statistic{newStatistic(values, a.Objective.percent)}
	into := []*number{&n.total}
	by := a.values(p, l, a.Objective.quarterly())
	for q := range n.quarters {
		statistics = append(statistics, newMean(a.only(by, q)))
		into = append(into, &n.quarters[q])
	}
	if !a.Objective.Deadlines() {
		statistics = append(statistics, newStatistic(a.values(p, l, sojournTime), tail))
		into = append(into, &n.tail)
	}
	n.plain = statistics[0].all()
	for k, s := range statistics {
		into[k].value = a.Objective.effect(s.all())
	}
	if a.Length == 0 {
		return n
	}
	stats.Resamples(len(values), a.Length, a.Resamples, a.Seed, func(_ int, r *stats.Resample) {
		for k, s := range statistics {
			into[k].resampled = append(into[k].resampled, a.Objective.effect(s.of(r)))
		}
	})
	return n
}

// only returns the values of the jobs of a quarter, NaN for others.
func (a *Advice) only(values []float64, quarter int) []float64 {
	some := make([]float64, len(values))
	for i, v := range values {
		if some[i] = v; int(a.quarter[i]) != quarter {
			some[i] = math.NaN()
		}
	}
	return some
}

// A statistic is a number of all jobs or of a resample of them; NaN if there are none.
type statistic interface {
	all() float64
	of(*stats.Resample) float64
}

func newStatistic(values []float64, percent int) statistic {
	if percent > 0 {
		return newOrder(values, percent)
	}
	return newMean(values)
}

// A meanOf is the mean of the values that are numbers.
type meanOf struct{ sum, count []float64 }

func newMean(values []float64) meanOf {
	some, one := make([]float64, len(values)), make([]float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			some[i], one[i] = v, 1
		}
	}
	return meanOf{stats.Prefix(some), stats.Prefix(one)}
}

func (m meanOf) all() float64 { return m.sum[len(m.sum)-1] / m.count[len(m.count)-1] }

func (m meanOf) of(r *stats.Resample) float64 { return r.Sum(m.sum) / r.Sum(m.count) }

// An order is a quantile of the values that are numbers, by the nearest-rank rule.
type order struct {
	values  []float64
	places  []int32 // of the values, least first
	percent int
	weights []int32
}

func newOrder(values []float64, percent int) *order {
	o := &order{values: values, percent: percent, weights: make([]int32, len(values))}
	for i, v := range values {
		if !math.IsNaN(v) {
			o.places = append(o.places, int32(i))
		}
	}
	slices.SortFunc(o.places, func(i, j int32) int { return cmp.Compare(values[i], values[j]) })
	return o
}

func (o *order) all() float64 {
	for i := range o.weights {
		o.weights[i] = 1
	}
	return o.weighted()
}

func (o *order) of(r *stats.Resample) float64 {
	r.Weights(o.weights)
	return o.weighted()
}

func (o *order) weighted() float64 {
	total := 0
	for _, i := range o.places {
		total += int(o.weights[i])
	}
	if total == 0 {
		return math.NaN()
	}
	rank := (total*o.percent + 99) / 100
	for _, i := range o.places {
		if rank -= int(o.weights[i]); rank <= 0 {
			return o.values[i]
		}
	}
	return math.NaN()
}

// quantile returns a quantile of the values that are numbers.
func quantile(values []float64, percent int) float64 { return newOrder(values, percent).all() }
