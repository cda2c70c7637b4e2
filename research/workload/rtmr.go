package workload

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// An rtmrBin is a line of Table III or IV of the RTMR paper.
type rtmrBin struct {
	jobs          int
	maps, reduces span
	deadline      span // seconds
}

// rtmr returns the two workloads of the RTMR paper.
func rtmr() []*Generator {
	const (
		assumed = "assumed: the paper says nothing"
		fitted  = "assumed: the use of slots under FIFO is then near the paper's"
	)
	options := func(own ...Option) []Option {
		all := []Option{
			intervalOption("14s", "Section V; exponential"),
			option("scale", "1", integers(1, 100_000), "how many times the table's number of jobs there are", "Section V"),
			option("order", "shuffled", choice("shuffled", "bins"), "order of the jobs of different bins", assumed),
		}
		all = append(all, own...)
		all = append(all,
			option("map-time", "12s", durations(1), "mean time of a map task on a fast node", fitted),
			option("reduce-time", "10s", durations(1), "mean time of a reduce task on a fast node, besides what follows", fitted),
			option("reduce-per-map", "4s", durations(0), "and for each map task by reduce task of the job, as data is shuffled", fitted),
			option("spread", "0.3", numbers(0, 1), "times are uniform from 1-spread to 1+spread times their mean", assumed),
			option("slow-maps", "0.2", numbers(0, 1), "share of the map tasks that run on slow nodes; 0 where the cluster has speeds", "Table I: 20 of 100 map slots"),
			option("slow-reduces", "0.3333333333", numbers(0, 1), "share of the reduce tasks that run on slow nodes", "Table I: 10 of 30 reduce slots"),
			option("slow-factor", "1.3", numbers(1, 1000), "how many times longer a task takes on a slow node", assumed),
			option("estimate", "3", or("none", positive(1000)), "what policies are told of the time of a task, as a multiple of its mean on a fast node",
				"assumed: RTMR wants worst cases; the least worst case is (1+spread) slow-factor = 1.69"),
			option("slowstart", "1", positive(1), "share of the map tasks that must have finished before reduce tasks start", "Section IV: reduces start after all maps"),
			option("max-reduces", "0", integers(0, maxTasks), "leave out jobs of more reduce tasks; 0: none", "Section V leaves out those above 30 for Deadline Constraint alone"),
		)
		return append(all, classLoadOptions("100", "30", "Section V: 20 nodes of 4 and 1, 10 of 2 and 1")...)
	}
	table3 := []rtmrBin{
		{38, span{1, 1}, span{1, 5}, span{200, 300}},
		{16, span{2, 2}, span{1, 5}, span{200, 300}},
		{14, span{10, 10}, span{5, 10}, span{300, 400}},
		{8, span{50, 50}, span{10, 20}, span{500, 800}},
		{6, span{100, 100}, span{20, 30}, span{1000, 1500}},
		{6, span{200, 200}, span{30, 30}, span{2000, 2500}},
	}
	table4 := []rtmrBin{
		{9, span{1, 10}, span{1, 5}, span{200, 300}},
		{24, span{10, 50}, span{5, 10}, span{300, 500}},
		{25, span{50, 100}, span{15, 30}, span{1000, 1500}},
		{18, span{100, 200}, span{25, 50}, span{1500, 2500}},
		{13, span{200, 300}, span{35, 70}, span{2500, 3500}},
	}
	return []*Generator{
		{
			Name:    "rtmr-1",
			Doc:     "Jobs with deadlines, most of them small, as at Facebook.",
			Source:  "RTMR, Section V, workload I: Tables II and III",
			Cluster: "20x4+1,10x2+1",
			Options: options(),
			model:   rtmrModel(table3),
		},
		{
			Name:    "rtmr-2",
			Doc:     "Jobs with deadlines and about 100 map tasks each.",
			Source:  "RTMR, Section V, workload II: Table IV",
			Cluster: "20x4+1,10x2+1",
			Options: options(
				option("maps", "bins", choice("bins", "normal"), "bins: the jobs of each bin, all numbers of maps in it alike; normal: N(100, map-sd) from 1 to 300, which decides the bin",
					"Table IV; Section V says \"normal distribution with an average of 100\", which the table does not look like"),
				option("map-sd", "75", positive(1000), "standard deviation of the number of maps, for normal", "assumed: the paper says nothing"),
			),
			model: rtmrModel(table4),
		},
	}
}

// rtmrModel makes the jobs of a table.
func rtmrModel(table []rtmrBin) model {
	return func(d draws, v values) (iter.Seq[*draft], error) {
		var of []uint8 // the bin of each job
		for b, line := range table {
			of = append(of, slices.Repeat([]uint8{uint8(b)}, line.jobs*v.integer("scale"))...)
		}
		if v.word("order") == "shuffled" {
			d.stream(order, 0).Shuffle(len(of), func(i, k int) { of[i], of[k] = of[k], of[i] })
		}
		bySize := v["maps"] == "normal"
		normalMaps := normal{mean: 100, min: 0.5}
		if bySize {
			normalMaps.sd = v.number("map-sd")
		}
		all := arrivals(len(of), d.poisson(v.number("interval")), func(i int, j *draft) {
			bin := table[of[i]]
			maps := within(d.stream(mapCounts, i), bin.maps)
			if bySize {
				r := d.stream(mapCounts, i)
				for maps = math.MaxInt32; maps > 300; {
					maps = int(math.Floor(normalMaps.draw(r) + 0.5))
				}
				bin = binOf(table, maps)
			}
			reduces := within(d.stream(reduceCounts, i), bin.reduces)
			r := d.stream(deadlines, i)
			j.deadline = duration(float64(1e9 * uniform(r, float64(bin.deadline.min), float64(bin.deadline.max))))
			j.job.Name = fmt.Sprintf("maps %d-%d", bin.maps.min, bin.maps.max)

			mean := v.number("map-time")
			p := j.phase(sojourn.MapClass, maps, d.slowed(v, i, mean, mapNoise, mapSlowness, v.number("slow-maps")))
			p.Estimate = duration(float64(v.number("estimate") * mean))
			mean = v.number("reduce-time") + float64(v.number("reduce-per-map")*(float64(maps)/float64(reduces)))
			p = j.phase(sojourn.ReduceClass, reduces, d.slowed(v, i, mean, reduceNoise, reduceSlowness, v.number("slow-reduces")))
			p.Estimate = duration(float64(v.number("estimate") * mean))
			p.After = threshold(v.number("slowstart"), maps)
		})
		most := v.integer("max-reduces")
		return func(yield func(*draft) bool) {
			for j := range all {
				if most > 0 && j.job.Phases[1].Tasks > most {
					continue
				}
				if !yield(j) {
					return
				}
			}
		}, nil
	}
}

// binOf returns the first bin that a number of maps fits.
func binOf(table []rtmrBin, maps int) rtmrBin {
	for _, b := range table {
		if maps <= b.maps.max {
			return b
		}
	}
	return table[len(table)-1]
}

// slowed returns a function that draws the times of the tasks of a phase, some
// of which run on slow nodes.
func (d draws) slowed(v values, job int, mean float64, noise, slowness purpose, slow float64) func(int) float64 {
	times, nodes := d.stream(noise, job), d.stream(slowness, job)
	spread, factor := v.number("spread"), v.number("slow-factor")
	return func(int) float64 {
		t := float64(mean * uniform(times, 1-spread, 1+spread))
		if happens(nodes, slow) {
			t = float64(t * factor)
		}
		return t
	}
}

// happens draws whether an event of the given probability happens.
func happens(r *rand.Rand, probability float64) bool { return float64(r.Float64()) < probability }
