package report

import (
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paired"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// ends returns the first policies with the least and the greatest of some values; ok is
// false if there is none, since a policy finished no jobs.
func (r *Comparison) ends(of func(*sim.Result) float64) (least, most int, ok bool) {
	for i, res := range r.Results {
		v := of(res)
		if math.IsNaN(v) {
			return 0, 0, false
		}
		if v < of(r.Results[least]) {
			least = i
		}
		if v > of(r.Results[most]) {
			most = i
		}
	}
	return least, most, len(r.Results) > 0
}

// times says how many times b is a.
func times(a, b float64) string { return format.Number(b/a, 2) + " times" }

func meanSojourn(res *sim.Result) float64 {
	return trial.Known(&res.Sojourn, func(d *sim.Dist) float64 { return d.Mean })
}

func meanSlowdown(res *sim.Result) float64 {
	return trial.Known(&res.Slowdown, func(d *sim.Dist) float64 { return d.Mean })
}

// fastest says which policy has the shortest mean sojourn time.
func (r *Comparison) fastest() string {
	least, most, ok := r.ends(meanSojourn)
	if !ok {
		return ""
	}
	mean, name := meanSojourn(r.Results[least]), r.Specs[least]
	worst := meanSojourn(r.Results[most])
	switch {
	case len(r.Results) == 1:
		return format.Verdict(fmt.Sprintf("under %s, jobs were in the system for %s s on average", name, format.Column([]float64{mean})[0]))
	case worst == mean:
		return format.Verdict("all policies have the same mean sojourn time")
	}
	sure := ""
	if n := r.chance(); n != nil {
		sure = ", and " + paired.Sure
		var tied []string
		var more []float64
		for _, i := range n.Ties() {
			tied, more = append(tied, r.Specs[i].String()), append(more, n.Against(i, n.Best()).Mean)
		}
		if len(tied) > 0 {
			sure = ", but " + paired.Ratios.Tie(tied, more)
		}
	}
	longest := times(mean, worst) + " as long"
	if worst/mean < 1.005 {
		longest = "less than 1 % longer"
	}
	return format.Verdict(fmt.Sprintf("%s has the shortest mean sojourn time%s; that of %s, the longest, is %s", name, sure, r.Specs[most], longest))
}

// chance compares the mean sojourn times, or returns nil if nothing is known of chance: there are too few jobs, they arrive
// at one instant, or a policy leaves some unfinished.
func (r *Comparison) chance() *paired.Numbers {
	if len(r.Results) < 2 || r.Scenario == nil || r.Sojourns == nil || r.any(func(res *sim.Result) bool { return res.Finished < res.Jobs }) {
		return nil
	}
	if known := r.Workload.Facts(); known.Span() == 0 {
		return nil
	}
	block := paired.Block(r.Sojourns, 0)
	if block == 0 {
		return nil
	}
	n := paired.Compare(r.Sojourns, 0, block, r.Seed)
	if n.Best() < 0 {
		return nil
	}
	return n
}

// leastSlowdown says which policy makes jobs wait least for their size.
func (r *Comparison) leastSlowdown() string {
	least, most, ok := r.ends(meanSlowdown)
	if !ok {
		return ""
	}
	mean, worst := meanSlowdown(r.Results[least]), meanSlowdown(r.Results[most])
	switch {
	case len(r.Results) == 1:
		return format.Verdict(fmt.Sprintf("under %s, jobs took %s as long as alone, on average", r.Specs[0], times(1, mean)))
	case worst == mean:
		return format.Verdict("all policies have the same mean slowdown")
	}
	return format.Verdict(fmt.Sprintf("for their size, jobs wait least under %s (%s as long as alone) and most under %s (%s)",
		r.Specs[least], times(1, mean), r.Specs[most], times(1, worst)))
}

// mostMet says which policy met most deadlines.
func (r *Comparison) mostMet() string {
	least, most, ok := r.ends(func(res *sim.Result) float64 { return float64(res.Met) })
	if !ok {
		return ""
	}
	res := r.Results[most]
	if least == most && len(r.Results) > 1 {
		return format.Verdict(fmt.Sprintf("all policies meet as many deadlines: %s", format.Thousands(res.Met)))
	}
	return format.Verdict(fmt.Sprintf("%s meets most deadlines: %s of %s", r.Specs[most], format.Thousands(res.Met), format.Thousands(res.Deadlines)))
}

// mostLocal says which policy starts most tasks on the node of their input.
func (r *Comparison) mostLocal() string {
	least, most, ok := r.ends(trial.LocalShare)
	if !ok {
		return ""
	}
	if least == most && len(r.Results) > 1 {
		return format.Verdict("all policies start as many tasks on the node of their input")
	}
	return format.Verdict(fmt.Sprintf("%s starts most tasks on the node of their input: %s", r.Specs[most], format.Percent(trial.LocalShare(r.Results[most]))))
}

// bySize says which policies are best for the smallest and for the largest jobs.
func (r *Comparison) bySize() string {
	first, last := -1, -1
	for b := range r.Results[0].Bins {
		if r.Results[0].Bins[b].Sojourn.N > 0 {
			if last = b; first < 0 {
				first = b
			}
		}
	}
	best := func(b int) (string, bool) {
		least, _, ok := r.ends(func(res *sim.Result) float64 {
			return trial.Known(&res.Bins[b].Sojourn, func(d *sim.Dist) float64 { return d.Mean })
		})
		return r.Specs[least].String(), ok
	}
	if first == last || len(r.Results) == 1 {
		return ""
	}
	small, ok := best(first)
	large, all := best(last)
	if !ok || !all {
		return ""
	}
	few, many := binTitle(&r.Results[0].Bins[first]), binTitle(&r.Results[0].Bins[last])
	if small == large {
		return format.Verdict(fmt.Sprintf("jobs of %s tasks have the shortest mean sojourn time under %s, and so have those of %s", few, small, many))
	}
	return format.Verdict(fmt.Sprintf("jobs of %s tasks have the shortest mean sojourn time under %s, those of %s under %s", few, small, many, large))
}
