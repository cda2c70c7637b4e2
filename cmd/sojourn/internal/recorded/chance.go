package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
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

// The groups of jobs for which policies are compared.
const (
	tenths     = 10
	maxTenants = 12
)

// ratios compares the policies for all jobs, for tenths of them by size, and for tenants. bold are the best and the baseline.
func (c *compared) ratios() (r *page.Ratios, bold []string) {
	order := c.order()
	r = &page.Ratios{Policies: c.names, Baseline: c.reference(order[0], order[1])}
	forest := page.RatioGrid{ID: "forest", Title: "Each policy against the baseline",
		Help: "A dot is the ratio to the number under the baseline: left of 1 is better. A line is its 95 % interval, by a paired block bootstrap of the jobs of this run. * is the least of all; ~ cannot be told from the baseline. What is below 0.1 or above 10 stands at the edge."}
	for _, m := range c.measures {
		forest.Rows = append(forest.Rows, ratio(m.name, m.numbers))
	}
	r.Grids = []page.RatioGrid{forest}
	values := c.values((*job).sojourn)
	block := c.block(values, 0)
	if sizes := c.sizes(values, block); sizes != nil {
		r.Grids = append(r.Grids, page.RatioGrid{ID: "sizes", Title: "Who pays, by size", Over: "tenth of the jobs by slot time", Rows: sizes,
			Help: "The mean sojourn time over that under the baseline, for each tenth of the jobs by the slot time that they need, the smallest first. A band is a 95 % interval."})
	}
	if tenants, of := c.tenants(values, block); tenants != nil {
		help := "The mean sojourn time of the jobs of each pool, over that under the baseline."
		if of > len(tenants) {
			help += fmt.Sprintf(" These are the %d pools with most jobs, of %s.", len(tenants), format.Thousands(of))
		}
		r.Grids = append(r.Grids, page.RatioGrid{ID: "tenants", Title: "Who pays, by tenant", Rows: tenants, Help: help})
	}
	return r, []string{c.names[order[0]], c.names[r.Baseline]}
}

// ratio returns the numbers and the intervals of all pairs.
func ratio(name string, n *paired.Numbers) page.Ratio {
	r := page.Ratio{Name: name, Values: n.Values}
	for i := range n.Values {
		for k := range n.Values {
			half := math.NaN()
			if i < k {
				half = n.Against(i, k).Half
			} else if i > k {
				half = r.Half[k*len(n.Values)+i] // the same
			}
			r.Half = append(r.Half, half)
		}
	}
	return r
}

// of compares the mean sojourn times of some jobs.
func (c *compared) of(name string, values [][]float64, block int, jobs []int) page.Ratio {
	some := make([][]float64, len(values))
	for p := range values {
		some[p] = slices.Repeat([]float64{math.NaN()}, len(values[p]))
		for _, i := range jobs {
			some[p][i] = values[p][i]
		}
	}
	return ratio(name, paired.Compare(some, 0, block, c.runs[0].info.Seed))
}

// sizes compares tenths of the jobs by the slot time that they need, or returns nil if they are few.
func (c *compared) sizes(values [][]float64, block int) (rows []page.Ratio) {
	jobs := slices.Clone(c.groups[0].jobs)
	if len(jobs) < 2*tenths {
		return nil
	}
	work := func(i int) float64 { return c.runs[0].jobs[i].work }
	slices.SortStableFunc(jobs, func(a, b int) int { return cmp.Compare(work(a), work(b)) })
	for k := range tenths {
		some := jobs[k*len(jobs)/tenths : (k+1)*len(jobs)/tenths]
		rows = append(rows, c.of("up to "+duration(work(some[len(some)-1])), values, block, some))
	}
	return rows
}

// tenants compares the pools with most jobs, and says how many pools there are; or returns nil if there is one.
func (c *compared) tenants(values [][]float64, block int) (rows []page.Ratio, pools int) {
	by := map[string][]int{}
	var names []string
	for _, i := range c.groups[0].jobs {
		pool := cmp.Or(c.runs[0].jobs[i].pool, "(no pool)")
		if by[pool] == nil {
			names = append(names, pool)
		}
		by[pool] = append(by[pool], i)
	}
	if len(names) < 2 {
		return nil, len(names)
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(by[b]) - len(by[a]) })
	for _, name := range names[:min(len(names), maxTenants)] {
		rows = append(rows, c.of(name+" ("+format.Count(len(by[name]), "job")+")", values, block, by[name]))
	}
	return rows, len(names)
}
