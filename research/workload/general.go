package workload

import (
	"errors"
	"iter"

	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// general returns the generators that follow no paper.
func general() []*Generator {
	const source = "none: a set-up for experiments of your own"
	options := func(own ...Option) []Option {
		const assumed = "assumed"
		all := []Option{
			jobsOption("1000", assumed),
			intervalOption("10s", assumed),
		}
		all = append(all, own...)
		all = append(all,
			option("sizes", "exponential", choice("exponential", "weibull", "pareto", "lognormal", "constant"), "distribution of the work of a job: the time that it takes on one slot", assumed),
			option("mean", "100s", durations(1), "mean work of a job", assumed),
			option("weibull-shape", "0.5", numbers(0.1, 100), "shape of the Weibull distribution; smaller has a heavier tail", assumed),
			option("pareto-alpha", "1.5", numbers(1.01, 100), "exponent of the tail of the Pareto distribution", assumed),
			option("lognormal-sigma", "1.5", numbers(0, 10), "standard deviation of the logarithm, for lognormal", assumed),
			option("tasks", "10", spans(1, maxTasks), "tasks that share the work of a job", assumed),
			option("noise", "0", numbers(0, 10), "standard deviation of the logarithm of a factor of each task, of mean 1", assumed),
			option("reduce-share", "0", numbers(0, 0.99), "share of the work that a second phase does; 0 is no second phase", assumed),
			option("reduces", "1", spans(1, maxTasks), "tasks of the second phase", assumed),
		)
		return append(all, loadOptions("0.9", assumed, "100", assumed)...)
	}
	return []*Generator{
		{
			Name:    "poisson",
			Doc:     "Jobs arrive one by one, in a Poisson process.",
			Source:  source,
			Cluster: "100x1",
			Options: options(),
			model: func(d draws, v values) (iter.Seq[*draft], error) {
				return arrivals(v.integer("jobs"), d.poisson(v.number("interval")), d.sized(v)), nil
			},
		},
		{
			Name:    "bursty",
			Doc:     "Jobs arrive in bursts: in batches, or in periods of arrivals between periods of silence.",
			Source:  source,
			Cluster: "100x1",
			Options: options(
				option("mode", "onoff", choice("onoff", "batch"), "periods of a Poisson process and periods of silence, or batches at instants of a Poisson process", "assumed"),
				option("on", "1m0s", durations(1), "mean length of a period of arrivals, exponential", "assumed"),
				option("off", "4m0s", durations(0), "mean length of a period of silence, exponential", "assumed"),
				option("batch", "10", numbers(1, maxJobs), "mean number of jobs in a batch, geometric", "assumed"),
			),
			model: func(d draws, v values) (iter.Seq[*draft], error) {
				gap := d.batches(v)
				if v.word("mode") == "onoff" {
					if v.number("on")+v.number("off") < v.number("interval")/10_000 {
						return nil, errors.New("option on: with off, it is less than a 10,000th of interval")
					}
					gap = d.onOff(v)
				}
				return arrivals(v.integer("jobs"), gap, d.sized(v)), nil
			},
		},
	}
}

// onOff returns the gaps of a process that is Poisson in its on-periods and
// silent in its off-periods; interval is the mean gap in the long run. Periods
// are exponential, so after an arrival the rest of the on-period is distributed
// like a whole one. So a gap consists of some on-time and of off-periods; the
// number of these is that of arrivals of a Poisson process in the on-time.
func (d draws) onOff(v values) func(i int) float64 {
	on, off := v.number("on"), v.number("off")
	onGap := float64(v.number("interval") * (on / (on + off)))
	return func(i int) float64 {
		if i == 0 {
			return 0
		}
		r := d.stream(gaps, i)
		gap := float64(onGap * detmath.Exponential(r))
		left := gap // on-time to come
		for {
			period := float64(on * detmath.Exponential(r))
			if period >= left {
				return gap
			}
			left -= period
			gap += float64(off * detmath.Exponential(r))
		}
	}
}

// batches returns the gaps of a process of batches of geometric size: after each
// job, the batch is over with probability 1/batch.
func (d draws) batches(v values) func(i int) float64 {
	batch := v.number("batch")
	gap := float64(v.number("interval") * batch)
	return func(i int) float64 {
		r := d.stream(gaps, i)
		if i == 0 || float64(r.Float64()) >= 1/batch {
			return 0
		}
		return float64(gap * detmath.Exponential(r))
	}
}

// sized returns a function that draws jobs from a distribution of sizes.
func (d draws) sized(v values) func(i int, j *draft) {
	mean, share := v.number("mean"), v.number("reduce-share")
	size := d.sizes(v)
	return func(i int, j *draft) {
		work := mean * size(i)
		d.split(j, i, float64(work*(1-share)), v.span("tasks"), mapCounts, mapNoise, v.number("noise"))
		if share > 0 {
			d.split(j, i, float64(work*share), v.span("reduces"), reduceCounts, reduceNoise, v.number("noise"))
		}
	}
}

// sizes returns a function that draws the size of a job, of mean 1.
func (d draws) sizes(v values) func(i int) float64 {
	switch v.word("sizes") {
	case "weibull":
		shape := v.number("weibull-shape")
		scale := 1 / gamma(1+1/shape)
		return func(i int) float64 { return weibull(d.stream(sizes, i), scale, shape) }
	case "pareto":
		alpha := v.number("pareto-alpha")
		return func(i int) float64 { return pareto(d.stream(sizes, i), (alpha-1)/alpha, alpha) }
	case "lognormal":
		sigma := v.number("lognormal-sigma")
		return func(i int) float64 { return logNormal(d.stream(sizes, i), unitMean(sigma), sigma) }
	case "constant":
		return func(int) float64 { return 1 }
	}
	return func(i int) float64 { return detmath.Exponential(d.stream(sizes, i)) }
}

// split adds a phase whose tasks share work evenly, except for noise of mean 1.
func (d draws) split(j *draft, i int, work float64, tasks span, count, noise purpose, sigma float64) {
	n := within(d.stream(count, i), tasks)
	r := d.stream(noise, i)
	median := unitMean(sigma) * (work / float64(n))
	j.anyPhase(n, func(int) float64 {
		if sigma == 0 {
			return median
		}
		return logNormal(r, median, sigma)
	})
}
