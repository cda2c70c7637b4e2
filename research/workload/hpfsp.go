package workload

import (
	"fmt"
	"iter"
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// hpfsp returns the workloads of Figures 2 to 5 of the H-PFSP paper.
func hpfsp() []*Generator {
	const (
		measured   = "assumed: the paper measured it on 10 nodes and does not say"
		unreadable = "assumed: the axis of the figure is lost"
	)
	figure4 := append([]Option{
		option("workload", "A", choice("A", "B", "C", "D"),
			"A: tasks x time; B: Exp(tasks) x time; C: tasks x Exp(time), one time a job; D: B with few tasks, a load of 0.9",
			"Section IV-B says \"exponentially distributed job sizes\" and then \"200 tasks and each task takes 10 mins\", which is A"),
	}, simulated("in A and C of each job, else their mean; auto: 200, in D 13.5")...)
	figure5 := append([]Option{
		option("workload", "F5B", choice("F5A", "F5B", "F5C"),
			"F5A: tasks x N(time, sd); F5B: Exp(tasks) x N(time, sd); F5C: Exp(tasks) x N(m, sd), m uniform from mean-min to mean-max for each job",
			"assumed: Section IV-B has exponential sizes, and times of tasks N(10, 2.236)"),
		option("sd", "2m14.164s", durations(0), "standard deviation of the time of a task", "Figure 5: N(10, 2.236) minutes, a variance of 5"),
		option("mean-min", "2m0s", durations(1), "least mean of a job in F5C", "assumed"),
		option("mean-max", "18m0s", durations(1), "greatest mean of a job in F5C", "assumed"),
		minTime("1s"), truncate(),
	}, simulated("in F5A of each job, else their mean; auto: 200")...)
	return []*Generator{
		{
			Name:    "hpfsp-fig2",
			Doc:     "WordCount jobs of one size, submitted at once.",
			Source:  "H-PFSP, Section IV-A and Figure 2",
			Cluster: "10x2+2",
			Options: benchmark("10", unreadable,
				option("size", "1", integers(1, 10_000), "input of a job, in GB", measured),
				option("map-time", "30s", durations(1), "time of a map task, for each split", measured),
				option("reduces", "1", integers(0, maxTasks), "reduce tasks of a job", "assumed: Hadoop's default"),
				option("reduce-time", "10s", durations(1), "time of the reduce tasks of a job together, for each GB of input", measured),
			),
			model: func(d draws, v values) (iter.Seq[*draft], error) {
				return d.benchmark(v, "WordCount", func(int) int { return v.integer("size") }), nil
			},
		},
		{
			Name:    "hpfsp-fig3",
			Doc:     "TeraSort jobs, submitted at once: of different sizes (b), or all of one (a).",
			Source:  "H-PFSP, Section IV-A and Figure 3",
			Cluster: "10x2+2",
			Options: benchmark("5", "Section IV-A for panel b; assumed for a",
				option("panel", "b", choice("a", "b"), "a: all jobs of the same size; b: job i of i GB", "both are in the paper"),
				option("size", "5", integers(1, 10_000), "input of a job in panel a, in GB", "Section IV-A: from 1 to 5"),
				option("map-time", "15s", durations(1), "time of a map task, for each split", measured),
				option("reduces", "10", integers(0, maxTasks), "reduce tasks of a job", "assumed: one a node"),
				option("reduce-time", "2m0s", durations(1), "time of the reduce tasks of a job together, for each GB of input", measured),
			),
			model: func(d draws, v values) (iter.Seq[*draft], error) {
				return d.benchmark(v, "TeraSort", func(i int) int {
					if v.word("panel") == "a" {
						return v.integer("size")
					}
					return i + 1
				}), nil
			},
		},
		{
			Name:    "hpfsp-fig4",
			Doc:     "Jobs whose tasks take the same time each, in a Poisson process.",
			Source:  "H-PFSP, Section IV-B and Figure 4",
			Cluster: "30x1",
			Options: figure4,
			model:   hpfspModel,
		},
		{
			Name:    "hpfsp-fig5",
			Doc:     "Jobs whose tasks take normally distributed times, in a Poisson process.",
			Source:  "H-PFSP, Section IV-B and Figure 5",
			Cluster: "30x1",
			Options: figure5,
			model:   hpfspModel,
		},
	}
}

// benchmark returns the options of runs of a Hadoop benchmark.
func benchmark(jobs, source string, own ...Option) []Option {
	const assumed = "assumed: the paper says nothing"
	return append([]Option{
		option("jobs", jobs, integers(1, 10_000), "number of jobs", source),
		option("splits", "16", integers(1, 1024), "map tasks for each GB of input: 16 are splits of 64 MB", "assumed: Hadoop's default"),
		option("noise", "0.1", numbers(0, 10), "standard deviation of the logarithm of a factor of each task, of median 1", assumed),
		slowStart("0.05", "assumed: Hadoop's default"),
	}, own...)
}

// benchmark yields jobs of a Hadoop benchmark, which arrive at once. size returns
// the GB that job i reads.
func (d draws) benchmark(v values, name string, size func(i int) int) iter.Seq[*draft] {
	sigma := v.number("noise")
	return arrivals(v.integer("jobs"), func(int) float64 { return 0 }, func(i int, j *draft) {
		gb := size(i)
		j.job.Name = fmt.Sprintf("%s/%dGB", name, gb)
		maps := gb * v.integer("splits")
		r := d.stream(mapNoise, i)
		j.phase(sojourn.MapClass, maps, func(int) float64 { return logNormal(r, v.number("map-time"), sigma) })
		if reduces := v.integer("reduces"); reduces > 0 {
			each := float64(v.number("reduce-time")*float64(gb)) / float64(reduces)
			r := d.stream(reduceNoise, i)
			p := j.phase(sojourn.ReduceClass, reduces, func(int) float64 { return logNormal(r, each, sigma) })
			p.After = threshold(v.number("slowstart"), maps)
		}
	})
}

// simulated returns the options of the paper's simulations.
func simulated(tasks string) []Option {
	const source = "Section IV-B"
	return append([]Option{
		jobsOption("50", source),
		intervalOption("5m0s", source),
		option("tasks", "auto", or("auto", positive(maxTasks/100)), "number of tasks, "+tasks, source),
		option("time", "10m0s", durations(1), "time of a task, or its mean", source),
	}, loadOptions("none", "the arrivals of the paper", "30", source)...)
}

// minTime and truncate say how to treat the lower tail of normal times.
func minTime(value string) Option {
	return option("min-time", value, durations(0), "least time of a task, where it is normally distributed", "assumed: the paper does not say what becomes of times below 0")
}

func truncate() Option {
	return option("truncate", "redraw", choice("redraw", "clamp"), "numbers below their least value are drawn again, or become that value", "assumed: the paper says nothing")
}

// hpfspModel makes the workloads of Figures 4 and 5.
func hpfspModel(d draws, v values) (iter.Seq[*draft], error) {
	kind := v.word("workload")
	tasks, time := v.number("tasks"), v.number("time")
	if tasks == 0 {
		tasks = 200
		if kind == "D" {
			tasks = 13.5
		}
	}
	fixed := kind == "A" || kind == "C" || kind == "F5A"
	if fixed && tasks != math.Floor(tasks) {
		return nil, fmt.Errorf("option tasks: workload %s has the same number of tasks in each job, and %v is not an integer", kind, tasks)
	}
	var noise normal
	low, high := time, time // means of jobs
	if v["sd"] != nil {
		noise = normal{0, v.number("sd"), v.number("min-time"), v.word("truncate") == "clamp"}
		if kind == "F5C" {
			low, high = v.number("mean-min"), v.number("mean-max")
		}
		if low > high || low < noise.min {
			return nil, fmt.Errorf("option min-time: want min-time <= mean-min <= mean-max, and min-time <= time")
		}
	}
	return arrivals(v.integer("jobs"), d.poisson(v.number("interval")), func(i int, j *draft) {
		n := int(tasks)
		if !fixed {
			n = exponentialCount(d.stream(mapCounts, i), tasks)
		}
		mean := time
		switch kind {
		case "C":
			mean = float64(time * detmath.Exponential(d.stream(mapTimes, i)))
		case "F5C":
			mean = uniform(d.stream(mapTimes, i), low, high)
		}
		if noise.sd == 0 {
			j.anyPhase(n, func(int) float64 { return mean })
			return
		}
		r := d.stream(mapNoise, i)
		noise := noise
		noise.mean = mean
		j.anyPhase(n, func(int) float64 { return noise.draw(r) })
	}), nil
}
