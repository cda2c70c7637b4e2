package recorded

import (
	"math"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paired"
)

// A measure is a number by which runs are compared.
type measure struct {
	name    string
	of      func(*job) float64
	percent int // the quantile; 0 for the mean
	numbers *paired.Numbers
}

// The places of measures that sentences name.
const (
	meanSojourn = 0
	p90Sojourn  = 2
)

// measure compares the runs, if there are several.
func (c *compared) measure() {
	if len(c.runs) < 2 {
		return
	}
	slowdown := func(j *job) float64 { return j.slowdown }
	c.measures = []measure{
		{name: "mean sojourn time", of: (*job).sojourn}, {name: "median (p50)", of: (*job).sojourn, percent: 50},
		{name: "p90", of: (*job).sojourn, percent: 90}, {name: "p99", of: (*job).sojourn, percent: 99},
		{name: "mean slowdown", of: slowdown},
	}
	for i := range c.measures {
		m := &c.measures[i]
		values := c.values(m.of)
		m.numbers = paired.Compare(values, m.percent, c.block(values, m.percent), c.runs[0].info.Seed)
	}
}

// values returns a number of each job of each run, NaN for a job that does not finish in all of them.
func (c *compared) values(of func(*job) float64) [][]float64 {
	list := make([][]float64, len(c.runs))
	for p, r := range c.runs {
		list[p] = make([]float64, len(r.jobs))
		for i := range list[p] {
			list[p][i] = math.NaN()
		}
		for _, i := range c.groups[0].jobs {
			list[p][i] = of(&r.jobs[i])
		}
	}
	return list
}

// block returns how many jobs a block has, 0 if nothing is known of chance.
func (c *compared) block(values [][]float64, percent int) int {
	jobs := c.runs[0].jobs
	if jobs[0].arrival == jobs[len(jobs)-1].arrival {
		return 0
	}
	return paired.Block(values, percent)
}
