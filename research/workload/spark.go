package workload

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// spark returns the generator of jobs whose phases are the stages of a query. The sources are:
//
//   - the trace of Alibaba, 2018: the histograms of stages and of longest paths, and the rule of
//     edges, as Spår has them (github.com/All-less/trace-generator), the generator of H. Tian,
//     Y. Zheng, W. Wang, "Characterizing and Synthesizing Task Dependencies of Data-Parallel Jobs
//     in Alibaba Cloud", SoCC 2019;
//   - Decima: H. Mao and others, "Learning Scheduling Algorithms for Data Processing Clusters",
//     SIGCOMM 2019, with its simulator (github.com/hongzimao/decima-sim): sizes of inputs, arrivals,
//     executors. Its graphs of TPC-H queries are not used: SoCC 2019 finds that they do not look like
//     those of production;
//   - the defaults of Spark: how much a task reads, and the greatest number of tasks.
//
// Neither source says how data flows, nor how long it takes to read; these are assumed.
func spark() []*Generator {
	const (
		own   = "assumed: neither source has it"
		param = "param.py of the simulator of Decima"
	)
	options := []Option{
		option("jobs", "100", integers(1, maxJobs), "number of jobs", param+": num_stream_dags"),
		intervalOption("25s", param+": stream_interval; exponential"),
		option("inputs", "2,5,10,20,50,80,100", list(sparkInputs, positive(100_000)), "what the jobs read, in GB of 8 splits of 128 MB; all sizes alike", param+": tpch_size, of TPC-H"),
		option("stages", "alibaba", or("alibaba", spans(1, maxStages)), "stages of a job; alibaba: as often as in the trace", "Alibaba 2018: task_num_dist of Spår; jobs above 40 stages (8 of 10,000) are left out"),
		option("partitions", "200", integers(1, maxTasks), "greatest number of tasks of a stage that reads what other stages wrote", "Spark's default: spark.sql.shuffle.partitions"),
		option("selectivity", "0.3", numbers(0, 0.5), "mean share of what a stage reads that it writes, uniform from 0 to twice that", own),
		option("start", "200ms", durations(0), "time that each task takes besides what it reads", own),
		option("scan-time", "4s", durations(1), "time to read a split of 128 MB", own),
		option("shuffle-time", "2s", durations(1), "time to read 64 MB of what other stages wrote", own),
		option("noise", "0.3", numbers(0, 10), "standard deviation of the logarithm of a factor of each task, of mean 1", own),
	}
	return []*Generator{{
		Name:    "spark",
		Doc:     "Queries as graphs of stages, where a stage waits for one stage or for several.",
		Source:  "graphs: Alibaba's trace of 2018, as in Spår (Tian, Zheng, Wang, SoCC 2019); sizes and arrivals: Decima (Mao et al., SIGCOMM 2019)",
		Cluster: "100x1",
		Options: append(options, loadOptions("0.9", "assumed: a busy cluster", "100", param+": exec_cap, the executors")...),
		model: func(d draws, v values) (iter.Seq[*draft], error) {
			return arrivals(v.integer("jobs"), d.poisson(v.number("interval")), d.query(v)), nil
		},
	}}
}

const (
	sparkInputs  = 7  // sizes in the option inputs
	maxStages    = 40 // of a job
	splitsPer    = 8  // splits of 128 MB in a GB: spark.sql.files.maxPartitionBytes
	shufflesPer  = 16 // pieces of 64 MB in a GB: spark.sql.adaptive.advisoryPartitionSizeInBytes
	edgesPerPair = 0.75
)

// traceStages says how many of 10,000 jobs with names of dependencies have so many stages.
//
// Source: Alibaba 2018, histogram task_num_dist of Spår.
var traceStages = []struct {
	stages span
	jobs   float64
}{
	{span{1, 1}, 3833}, {span{2, 2}, 2041}, {span{3, 3}, 1277}, {span{4, 4}, 697}, {span{5, 5}, 538}, {span{6, 6}, 331},
	{span{7, 7}, 353}, {span{8, 8}, 174}, {span{9, 9}, 140}, {span{10, 10}, 103}, {span{11, 11}, 86}, {span{12, 12}, 80},
	{span{13, 16}, 177}, {span{17, 20}, 79}, {span{21, 30}, 69}, {span{31, maxStages}, 15},
}

// traceDepths says how many of 1,000 jobs of so many stages have a longest path of 1, 2, 3 ... stages.
// Jobs of other numbers of stages are like those of the next smaller number.
//
// Source: Alibaba 2018, histograms cpl_dist of Spår.
var traceDepths = []struct {
	stages int
	jobs   []float64
}{
	{1, []float64{1000}},
	{2, []float64{23, 977}},
	{3, []float64{13, 226, 761}},
	{4, []float64{6, 115, 388, 492}},
	{5, []float64{7, 83, 293, 443, 174}},
	{6, []float64{3, 72, 161, 396, 277, 92}},
	{7, []float64{7, 52, 113, 186, 252, 229, 160}},
	{8, []float64{11, 28, 81, 323, 202, 250, 52, 53}},
	{10, []float64{1, 20, 134, 200, 192, 271, 113, 62, 5, 2}},
	{15, []float64{0, 18, 34, 76, 143, 300, 282, 68, 35, 35, 6, 0, 3}},
	{20, []float64{3, 21, 15, 46, 52, 205, 169, 186, 135, 91, 61, 10, 0, 0, 0, 0, 1, 0, 2, 2}},
	{35, []float64{1, 96, 20, 31, 272, 54, 177, 97, 74, 37, 40, 34, 24, 7, 6, 3, 1, 5, 8, 9, 1, 2}},
}

// stages draws the number of stages of a job, and how many of them each level has. The longest path
// to a stage of level l, from 0, has l stages before it.
func (d draws) stages(v values, i int) (levels []int) {
	r := d.stream(stageCounts, i)
	count := v.span("stages")
	if count == (span{}) {
		var shares []float64
		for _, c := range traceStages {
			shares = append(shares, c.jobs)
		}
		count = traceStages[pickOf(r, shares)].stages
	}
	n := within(r, count)
	k := len(traceDepths) - 1
	for traceDepths[k].stages > n {
		k--
	}
	levels = slices.Repeat([]int{1}, 1+pickOf(d.stream(stageDepths, i), traceDepths[k].jobs))
	r = d.stream(stageLevels, i)
	for range n - len(levels) {
		levels[r.IntN(len(levels))]++
	}
	return levels
}

// graph draws what each stage needs. Stages are numbered level by level. As in Spår, a stage is
// needed by three quarters of the stages of the next level over the stages of its own, rounded up.
// A stage that needs none by that gets one of the level before.
func (d draws) graph(levels []int, i int) (needs [][]int) {
	r := d.stream(stageEdges, i)
	for range levels[0] {
		needs = append(needs, []int{})
	}
	first := 0 // stage of the level
	for l := 1; l < len(levels); l++ {
		above, here := levels[l-1], levels[l]
		level := make([][]int, here)
		each := int(math.Ceil(edgesPerPair * (float64(here) / float64(above))))
		for s := range above {
			for _, k := range r.Perm(here)[:each] {
				level[k] = append(level[k], first+s)
			}
		}
		for k := range level {
			if level[k] == nil {
				level[k] = []int{first + r.IntN(above)}
			}
		}
		needs = append(needs, level...)
		first += above
	}
	return needs
}

// query returns a function that draws jobs. Data flows through a graph of stages: those of the first
// level divide the input, and what a stage writes is divided among those that need it.
func (d draws) query(v values) func(i int, j *draft) {
	inputs := v["inputs"].([]float64)
	partitions, sigma := v.integer("partitions"), v.number("noise")
	median := unitMean(sigma)
	return func(i int, j *draft) {
		levels := d.stages(v, i)
		needs := d.graph(levels, i)
		input := inputs[d.stream(sizes, i).IntN(len(inputs))]
		j.job.Name = fmt.Sprintf("%vGB", input)
		reads := d.flow(needs, levels[0], input, v.number("selectivity"), i)

		noise := d.stream(stageTimes, i)
		for s := range needs {
			pieces, each := float64(reads[s]*splitsPer), v.number("scan-time")
			most := maxTasks
			if s >= levels[0] {
				pieces, each, most = float64(reads[s]*shufflesPer), v.number("shuffle-time"), partitions
			}
			tasks := int(min(max(math.Ceil(pieces), 1), float64(most)))
			mean := v.number("start") + float64(each*(pieces/float64(tasks)))
			p := j.anyPhase(tasks, func(int) float64 {
				if sigma == 0 {
					return mean
				}
				return logNormal(noise, float64(median*mean), sigma)
			})
			if !slices.Equal(needs[s], before(s)) {
				p.Needs = needs[s]
			}
		}
	}
}

// before returns the phases that phase s waits for if it does not say any.
func before(s int) []int {
	if s == 0 {
		return nil
	}
	return []int{s - 1}
}

// flow draws how many GB each stage reads.
func (d draws) flow(needs [][]int, scans int, input, selectivity float64, i int) (reads []float64) {
	reads = make([]float64, len(needs))
	r := d.stream(stageData, i)
	total := 0.0
	for s := range scans {
		reads[s] = detmath.Exponential(r)
		total += reads[s]
	}
	for s := range scans {
		reads[s] = float64(input * (reads[s] / total))
	}
	readers := make([]int, len(needs))
	for _, list := range needs {
		for _, k := range list {
			readers[k]++
		}
	}
	written := make([]float64, len(needs)) // for each reader
	for s, list := range needs {
		for _, k := range list {
			reads[s] += written[k]
		}
		written[s] = float64(reads[s]*uniform(r, 0, 2*selectivity)) / float64(max(readers[s], 1))
	}
	return reads
}
