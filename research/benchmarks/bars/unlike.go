package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
)

// A load is made up, unlike the traces. Its jobs come in any order.
type load struct {
	name, cluster string
	args          []string // of sojourn compare
	make          func(*rand.Rand) []job
}

// A job is a line of a workload, but for its number.
type job struct {
	ID     int     `json:"id"`
	Name   string  `json:"name,omitempty"`
	At     float64 `json:"at"`
	Phases []phase `json:"phases"`
}

type phase struct {
	Time     []float64 `json:"time"`
	Estimate float64   `json:"estimate,omitempty"` // what a user would request
	Needs    *[]int    `json:"needs,omitempty"`
}

// The loads have 1,000 to 3,000 jobs. Only the ratios of times count, since each is run at several loads.
var loads = []load{
	{name: "night", cluster: "60x1", make: func(r *rand.Rand) (list []job) { // by day jobs of seconds, each night 6 batches of half-hour tasks
		for day := range 3 {
			for range 900 {
				list = append(list, job{At: 86400*float64(day) + 57600*r.Float64(), Name: fmt.Sprint("web", r.IntN(40)), Phases: tasks(1+r.IntN(5), 60, lognormal(r, 3, 1))})
			}
			for i := range 6 {
				list = append(list, job{At: 86400*float64(day) + 57600 + 600*r.Float64(), Name: fmt.Sprint("batch", i), Phases: tasks(150+r.IntN(150), 7200, lognormal(r, 1800, 0.2))})
			}
		}
		return list
	}},
	{name: "sweeps", cluster: "128x1", make: func(r *rand.Rand) (list []job) { // sweeps of 500 equal trials beside notebooks
		for i := range 25 {
			trial := 120 + 600*r.Float64()
			list = append(list, job{At: 3600 * 40 * r.Float64(), Name: fmt.Sprint("sweep", i), Phases: tasks(500, 3600, func() float64 { return trial })})
		}
		for range 1200 {
			list = append(list, job{At: 3600 * 40 * r.Float64(), Name: "notebook", Phases: tasks(1, 600, lognormal(r, 60, 1.5))})
		}
		return list
	}},
	{name: "graphs", cluster: "50x1", make: func(r *rand.Rand) (list []job) { // of 3 to 7 phases
		for range 1000 {
			j := job{At: 3600 * 24 * r.Float64()}
			for k := range 3 + r.IntN(5) {
				needs := []int{}
				for before := range k {
					if r.IntN(2) == 0 {
						needs = append(needs, before)
					}
				}
				p := tasks(1+int(8*r.ExpFloat64()), 600, lognormal(r, 2*math.Pow(30, r.Float64()), 0.5))[0]
				p.Needs = &needs
				j.Phases = append(j.Phases, p)
			}
			list = append(list, j)
		}
		return list
	}},
	{name: "pareto", cluster: "3x1", make: func(r *rand.Rand) (list []job) { // most have one task
		for range 2000 {
			list = append(list, job{At: 1e6 * r.Float64(), Phases: tasks(1+r.IntN(10)/9, 3600, func() float64 { return min(1e5, math.Pow(1-r.Float64(), -1/1.1)) })})
		}
		return list
	}},
	{name: "ci", cluster: "24x1", make: func(r *rand.Rand) (list []job) { // short and long programs, of which one in eight runs again
		for range 2000 {
			i := r.IntN(30)
			j := job{At: 3600 * 48 * r.Float64(), Name: fmt.Sprint("test", i), Phases: tasks(1+r.IntN(8), 1200, lognormal(r, []float64{15, 40, 300}[i%3], 0.4))}
			if list = append(list, j); r.IntN(8) == 0 {
				j.At += 600
				list = append(list, j)
			}
		}
		return list
	}},
	{name: "bursts", cluster: "80x1", make: func(r *rand.Rand) (list []job) { // at each hour
		for hour := range 24 {
			for range 80 {
				list = append(list, job{At: 3600*float64(hour) + 30*r.Float64(), Name: fmt.Sprint("job", r.IntN(80)), Phases: tasks(1+r.IntN(20), 600, lognormal(r, 20, 1.2))})
			}
		}
		return list
	}},
	{name: "gangs", cluster: "64x1", args: []string{"--gangs"}, make: func(r *rand.Rand) (list []job) { // of powers of two
		for range 1500 {
			long := lognormal(r, 600, 1.3)()
			list = append(list, job{At: 3600 * 200 * r.Float64(), Phases: tasks(1<<r.IntN(6), 14400, func() float64 { return long })})
		}
		return list
	}},
	{name: "large", cluster: "93312x1", make: func(r *rand.Rand) (list []job) { // a machine room
		for range 1000 {
			long := lognormal(r, 2400, 1.4)()
			list = append(list, job{At: 86400 * 7 * r.Float64(), Name: fmt.Sprint("code", r.IntN(60)), Phases: tasks(1<<(4+r.IntN(11)), 43200, func() float64 { return min(long, 86400) })})
		}
		return list
	}},
}

// tasks returns a phase of n tasks.
func tasks(n int, requested float64, time func() float64) []phase {
	p := phase{Estimate: requested}
	for range n {
		p.Time = append(p.Time, math.Round(1e3*max(0.001, time()))/1e3)
	}
	return []phase{p}
}

// lognormal draws times with a median.
func lognormal(r *rand.Rand, median, sigma float64) func() float64 {
	return func() float64 { return median * math.Exp(sigma*r.NormFloat64()) }
}

// workload is the text of the i-th draw.
func (l *load) workload(i uint64, requested bool) []byte {
	list := l.make(rand.New(rand.NewPCG(i, 38)))
	slices.SortStableFunc(list, func(a, b job) int { return cmp.Compare(a.At, b.At) })
	var text bytes.Buffer
	for i, j := range list {
		j.ID, j.At = i+1, math.Round(1e3*j.At)/1e3
		for k := range j.Phases {
			if !requested {
				j.Phases[k].Estimate = 0
			}
		}
		line, err := json.Marshal(j)
		if err != nil {
			panic(err)
		}
		text.Write(append(line, '\n'))
	}
	return text.Bytes()
}

// unlike compares on made-up loads, three draws of each at 0.7, 0.9 and 1.1: a row says how many figures are above 1.02, or 1.05 for the 90th percentile,
// and which is the greatest.
func (b *bars) unlike(w io.Writer) error {
	head(w, "load", "above", "of them exact, none, requested, log-normal 1, 2", "the greatest", "told", "at load")
	above, all := 0, 0
	extra := b.extra
	defer func() { b.extra = extra }()
	for _, l := range loads {
		if !b.asked(l.name) {
			continue
		}
		b.extra = append(slices.Clone(extra), l.args...)
		var greatest, worst cell
		metric, figures, n := 0, 0, make([]int, 5)
		for draw := range uint64(3) {
			t := trace{name: fmt.Sprint(l.name, draw), cluster: l.cluster, requested: true, made: func(requested bool) []byte { return l.workload(draw, requested) }}
			list, err := b.measureOn([]trace{t}, []string{"0.7", "0.9", "1.1"}, []string{"exact", "none", "requested", "lognormal:1", "lognormal:2"}, func(*cell) {})
			if err != nil {
				return err
			}
			for i, c := range list {
				for k, x := range c.of {
					if figures++; x > bar && (k != 2 || x > 1.05) {
						n[i%5]++
					}
					if x > greatest.of[0] {
						greatest.of[0], worst, metric = x, c, k
					}
				}
			}
		}
		sum := 0
		for _, k := range n {
			sum += k
		}
		above, all = above+sum, all+figures
		row(w, l.name, fmt.Sprintf("%d of %d", sum, figures), fmt.Sprintf("%d, %d, %d, %d, %d", n[0], n[1], n[2], n[3], n[4]),
			fmt.Sprintf("%s %.2f", metrics[metric], worst.of[metric]), worst.told, worst.load)
	}
	if all == 0 {
		return fmt.Errorf("no load is named %s", b.only)
	}
	fmt.Fprintf(w, "\n%d of %d figures are above.\n", above, all)
	return nil
}
