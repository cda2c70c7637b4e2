package stats

import (
	"cmp"
	"math"
	"slices"
)

// A Statistic is a number of all jobs or of a resample of them; NaN if there are none.
type Statistic interface {
	All() float64
	Of(*Resample) float64
}

// NewStatistic returns a quantile, or the mean for 0 percent.
func NewStatistic(values []float64, percent int) Statistic {
	if percent > 0 {
		return NewOrder(values, percent)
	}
	return NewMean(values)
}

// An Average is the mean of the values that are numbers.
type Average struct{ sum, count []float64 }

// NewMean returns the mean of the values that are numbers.
func NewMean(values []float64) Average {
	some, one := make([]float64, len(values)), make([]float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			some[i], one[i] = v, 1
		}
	}
	return Average{Prefix(some), Prefix(one)}
}

// All returns the mean of all jobs.
func (m Average) All() float64 { return m.sum[len(m.sum)-1] / m.count[len(m.count)-1] }

// Of returns that of a resample.
func (m Average) Of(r *Resample) float64 { return r.Sum(m.sum) / r.Sum(m.count) }

// An Order is a quantile of the values that are numbers, by the nearest-rank rule.
type Order struct {
	values  []float64
	places  []int32 // of the values, least first
	percent int
	weights []int32
}

// NewOrder returns a quantile of the values that are numbers.
func NewOrder(values []float64, percent int) *Order {
	o := &Order{values: values, percent: percent, weights: make([]int32, len(values))}
	for i, v := range values {
		if !math.IsNaN(v) {
			o.places = append(o.places, int32(i))
		}
	}
	slices.SortFunc(o.places, func(i, j int32) int { return cmp.Compare(values[i], values[j]) })
	return o
}

// All returns the quantile of all jobs.
func (o *Order) All() float64 {
	for i := range o.weights {
		o.weights[i] = 1
	}
	return o.weighted()
}

// Of returns that of a resample.
func (o *Order) Of(r *Resample) float64 {
	r.Weights(o.weights)
	return o.weighted()
}

func (o *Order) weighted() float64 {
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
