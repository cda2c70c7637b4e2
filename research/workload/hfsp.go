package workload

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// hfsp returns the workloads of Table I of the HFSP paper.
func hfsp() []*Generator {
	bin := func(name, doc, interval, shares string) *Generator {
		const (
			assumed = "assumed: the paper says nothing"
			fitted  = "assumed: with these times the map slots have a load of about 0.8, 1 and 1.9 on DEV, TEST and PROD"
		)
		count, times := spans(0, maxTasks), durations(1)
		return &Generator{
			Name:    name,
			Doc:     doc,
			Source:  "HFSP (Pastorelli et al.), Section IV-A and Table I",
			Cluster: "20x2+1",
			Options: append([]Option{
				jobsOption("100", "Section IV-A"),
				intervalOption(interval, "Section IV-A; exponential, as arrivals are a Poisson process"),
				option("bursts", "none", choice("none", "fig10"), "fig10: of the jobs, 18 arrive between 0.4 and 0.6 hours and 35 between 1.34 and 1.5 hours, the others as ever in the rest of the time", "Section IV-D1, of one run of PROD"),
				option("bins", shares, list(4, numbers(0, 1e6)), "how many jobs read 1 GB, 10 GB, 100 GB, 1 TB, in proportion", "Table I"),
				option("maps", "1-4,10-50,50-150,151-500", list(4, spans(1, maxTasks)), "map tasks of a job of each bin, all numbers alike", "Table I, which gives ranges; the end of the last one is assumed"),
				option("map-median", "25s", times, "median over jobs of the time of a map task", fitted),
				option("map-sigma", "0.4", numbers(0, 10), "standard deviation of its logarithm over jobs, normal", assumed),
				option("map-noise", "0.2", numbers(0, 10), "standard deviation of the logarithm of a factor of each map task, of median 1", assumed),
				option("reduces", "1,1-10,5-20,20-40", list(4, count), "reduce tasks of a job of each bin, all numbers alike", assumed),
				option("reduce-median", "4s,8s,20s,1m0s", list(4, times), "median over jobs of the time of a reduce task, for each bin", assumed),
				option("reduce-sigma", "0.7", numbers(0, 10), "standard deviation of its logarithm over jobs, normal", assumed),
				option("reduce-noise", "0.3", numbers(0, 10), "standard deviation of the logarithm of a factor of each reduce task, of median 1", assumed),
				option("queries", "17", integers(1, 1_000_000), "PigMix queries that jobs are runs of, all alike; they give jobs their names", "Section IV-A"),
				option("times", "job", choice("job", "query"), "task times are drawn anew for each job, or once for each query and bin", "assumed: the paper does not say how much queries differ"),
				slowStart("0.8", "Section IV-A"),
				option("nodes", "0", integers(0, maxNodes), "nodes n1, n2, ... that hold the input of map tasks; 0: anywhere", "the paper has 20, but compares schedulers without regard to locality"),
				option("replicas", "3", integers(1, maxReplicas), "nodes that hold the input of a task", "Section IV-A"),
			}, classLoadOptions("40", "20", "Section IV-A: 20 nodes of 2 and 1")...),
			model: hfspModel,
		}
	}
	return []*Generator{
		bin("hfsp-dev", "DEV of HFSP: many small jobs and some large ones, as of developers.", "30s", "65,20,10,5"),
		bin("hfsp-test", "TEST of HFSP: jobs of all sizes.", "1m0s", "30,40,10,20"),
		bin("hfsp-prod", "PROD of HFSP: large jobs.", "1m0s", "0,10,60,30"),
	}
}

const (
	maxNodes    = 1 << 20
	maxReplicas = 100
)

func slowStart(value, source string) Option {
	return option("slowstart", value, positive(1), "share of the map tasks that must have finished before reduce tasks start", source)
}

// threshold returns a slow start as Phase.After.
func threshold(share float64, maps int) int {
	n := int(math.Ceil(float64(share*float64(maps)) - 1e-9))
	if n = max(n, 1); n < maps {
		return n
	}
	return 0 // all of them
}

func hfspModel(d draws, v values) (iter.Seq[*draft], error) {
	shares := v["bins"].([]float64)
	nodes, replicas := v.integer("nodes"), v.integer("replicas")
	switch {
	case slices.Max(shares) == 0:
		return nil, fmt.Errorf("option bins: no bin has any jobs")
	case nodes > 0 && nodes < replicas:
		return nil, fmt.Errorf("option replicas: %d replicas on %d nodes", replicas, nodes)
	}
	datasets := []string{"1GB", "10GB", "100GB", "1TB"}
	medians := v["reduce-median"].([]float64)
	gap := d.poisson(v.number("interval"))
	if v.word("bursts") == "fig10" {
		gap = d.fig10(v.integer("jobs"), gap)
	}
	return arrivals(v.integer("jobs"), gap, func(i int, j *draft) {
		bin := pickOf(d.stream(bins, i), shares)
		query := 1 + d.stream(names, i).IntN(v.integer("queries"))
		j.job.Name = fmt.Sprintf("L%d/%s", query, datasets[bin])

		who := i // draws the times
		if v.word("times") == "query" {
			who = 4*query + bin
		}
		maps := within(d.stream(mapCounts, i), v.spans("maps")[bin])
		median := logNormal(d.stream(mapTimes, who), v.number("map-median"), v.number("map-sigma"))
		r := d.stream(mapNoise, i)
		p := j.phase(sojourn.MapClass, maps, func(int) float64 { return logNormal(r, median, v.number("map-noise")) })
		if nodes > 0 {
			p.Inputs = d.place(i, maps, nodes, replicas)
			p.Bytes = slices.Repeat([]int64{128 << 20}, maps)
		}
		if reduces := within(d.stream(reduceCounts, i), v.spans("reduces")[bin]); reduces > 0 {
			median := logNormal(d.stream(reduceTimes, who), medians[bin], v.number("reduce-sigma"))
			r := d.stream(reduceNoise, i)
			p := j.phase(sojourn.ReduceClass, reduces, func(int) float64 { return logNormal(r, median, v.number("reduce-noise")) })
			p.After = threshold(v.number("slowstart"), maps)
		}
	}), nil
}

// fig10 returns the gaps of n jobs with the bursts of Figure 10 of HFSP. The time that a process of the given gaps
// counts stands still in a burst. It is a part of the first n arrivals if there are fewer than the bursts have.
func (d draws) fig10(n int, gap func(i int) float64) func(i int) float64 {
	const hour = 3600e9 // nanoseconds
	bursts := []struct {
		jobs     int
		from, to float64
	}{{18, 0.4 * hour, 0.6 * hour}, {35, 1.34 * hour, 1.5 * hour}}
	var at []float64
	r := d.stream(burstTimes, 0)
	for _, b := range bursts {
		for range b.jobs {
			at = append(at, uniform(r, b.from, b.to))
		}
	}
	now := 0.0
	for i := range max(1, n-len(at)) {
		now += gap(i)
		then := now
		for _, b := range bursts {
			if then >= b.from {
				then += b.to - b.from
			}
		}
		at = append(at, then)
	}
	slices.Sort(at)
	return func(i int) float64 {
		if i == 0 {
			return at[0]
		}
		return at[i] - at[i-1]
	}
}

// pickOf draws an index, each in proportion to its share.
func pickOf(r *rand.Rand, shares []float64) int {
	total := 0.0
	for _, x := range shares {
		total += x
	}
	return pick(shares, float64(total*float64(r.Float64())))
}

// pick returns the index of the share that x, below their sum, falls into.
func pick(shares []float64, x float64) int {
	last := 0
	for i, s := range shares {
		if s == 0 {
			continue
		}
		if last = i; x < s {
			break
		}
		x -= s
	}
	return last
}
