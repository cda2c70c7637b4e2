package advice

import (
	"math"

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
	statistics := []stats.Statistic{stats.NewStatistic(values, a.Objective.percent)}
	into := []*number{&n.total}
	by := a.values(p, l, a.Objective.quarterly())
	for q := range n.quarters {
		statistics = append(statistics, stats.NewMean(a.only(by, q)))
		into = append(into, &n.quarters[q])
	}
	if !a.Objective.Deadlines() {
		statistics = append(statistics, stats.NewStatistic(a.values(p, l, sojournTime), tail))
		into = append(into, &n.tail)
	}
	n.plain = statistics[0].All()
	for k, s := range statistics {
		into[k].value = a.Objective.effect(s.All())
	}
	if a.Length == 0 {
		return n
	}
	stats.Resamples(len(values), a.Length, a.Resamples, a.Seed, func(_ int, r *stats.Resample) {
		for k, s := range statistics {
			into[k].resampled = append(into[k].resampled, a.Objective.effect(s.Of(r)))
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
