package workload

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// maxMars bounds the jobs that are held in memory for sorting.
const maxMars = 10_000_000

// mars returns the set-ups of Section 5.1 of the MarS paper.
func mars() []*Generator {
	const source = "MarS, Section 5.1"
	setUp := func(name, doc, figures, tasks, times, order string) *Generator {
		return &Generator{
			Name:    name,
			Doc:     doc,
			Source:  source + " and " + figures,
			Cluster: "50x1",
			Options: slices.Concat(
				[]Option{option("jobs", "100", integers(1, maxMars), "number of jobs", "Section 5.2: up to 100")},
				marsOptions(tasks, times, "0.5", "assumed: proportional, but the paper does not say by how much"),
				weightOptions("30", "10", source+" (4)"),
				[]Option{
					option("unit-weights", order, choice("random", "increasing", "decreasing"), "weight over work of jobs, in the order of their release", "Section 5.2"),
					option("sort", "jobs", choice("jobs", "weights"), "how unit weights get their order: whole jobs change places, or their unit weights do", "assumed: the paper says nothing"),
				},
				loadOptions("none", "the releases of the paper", "50", source)),
			model: func(d draws, v values) (iter.Seq[*draft], error) {
				if err := checkMars(v); err != nil {
					return nil, err
				}
				return d.marsJobs(v), nil
			},
		}
	}
	return []*Generator{
		setUp("mars-random", "Everything is drawn: the most randomised scenario.", "Figures 7, 10, 14 and 17", "random", "random", "random"),
		setUp("mars-uniform-tasks", "All jobs have the same number of tasks.", "Figure 8", "uniform", "random", "random"),
		setUp("mars-uniform-times", "All map tasks take the same time, and all reduce tasks.", "Figure 9", "random", "uniform", "random"),
		setUp("mars-increasing-uw", "Later jobs have a higher weight for their work.", "Figure 11", "random", "random", "increasing"),
		setUp("mars-decreasing-uw", "Later jobs have a lower weight for their work.", "Figure 12", "random", "random", "decreasing"),
		{
			Name:    "mars-tasks",
			Doc:     "Tasks have weights of their own, up to a number of tasks.",
			Source:  source + " and Figures 15 and 16",
			Cluster: "50x1",
			Options: slices.Concat(
				[]Option{
					option("tasks", "1000", integers(1, maxMars), "number of tasks of all jobs; the last job is cut to fit", "Section 5.2: from 100 to 1000"),
					option("split", "jobs", choice("jobs", "tasks"), "jobs: jobs as elsewhere, whose weight is the mean of the weights of their tasks (see TaskWeights); tasks: each task is a job, with its own weight and without a reduce's wait for maps",
						"assumed: a workload has weights of jobs only"),
				},
				marsOptions("random", "random", "0", "assumed: equation (12) has no delays"),
				loadOptions("none", "the releases of the paper", "50", source)),
			model: func(d draws, v values) (iter.Seq[*draft], error) {
				if err := checkMars(v); err != nil {
					return nil, err
				}
				return d.marsTasks(v), nil
			},
		},
		marsWikipedia(),
	}
}

// weightOptions are the options for the weights of jobs.
func weightOptions(mean, sd, source string) []Option {
	return []Option{
		option("weight-mean", mean, positive(1e6), "mean weight of a job, normal", source),
		option("weight-sd", sd, numbers(0, 1e6), "standard deviation of the weight of a job", source),
		option("min-weight", "1", numbers(1.0/(1<<16), 1e6), "least weight of a job", "assumed: the paper does not say what becomes of weights below 0"),
	}
}

// jobWeight returns the distribution of the weights of jobs.
func jobWeight(v values) normal {
	return normal{v.number("weight-mean"), v.number("weight-sd"), v.number("min-weight"), v.word("truncate") == "clamp"}
}

// marsOptions are the options of all set-ups.
func marsOptions(tasks, times, delay, delaySource string) []Option {
	const source = "Section 5.1 "
	return []Option{
		option("release", "process", choice("process", "coin", "zero"), "process: in each slot of time a job is released with probability p; coin: each job is released after one slot with probability p, else at 0; zero: all at 0",
			"assumed: Section 5.1 (1) says \"following Bernoulli with probability 1/2\""),
		option("p", "0.5", numbers(1e-6, 1), "probability of a release", source+"(1)"),
		option("slot", "1s", durations(1), "length of a slot of time", "assumed: the paper gives no unit"),
		option("counts", tasks, choice("random", "uniform"), "maps Poisson and reduces uniform from 1 to the number of maps, or the same in each job", source+"(2)"),
		option("maps", "30", integers(1, 10_000), "mean number of map tasks, or their number", source+"(2)"),
		option("reduces", "10", integers(1, 10_000), "number of reduce tasks, for uniform counts", source+"(2)"),
		option("times", times, choice("random", "uniform"), "times of tasks are normal, or all the same", source+"(3)"),
		option("map-time", "10s", durations(1), "mean time of a map task", source+"(3)"),
		option("map-sd", "5s", durations(0), "standard deviation of the time of a map task", source+"(3)"),
		option("reduce-time", "15s", durations(1), "mean time of a reduce task", source+"(3)"),
		option("reduce-sd", "5s", durations(0), "standard deviation of the time of a reduce task", source+"(3)"),
		minTime("1s"), truncate(),
		option("longer-reduces", "no", choice("no", "yes"), "yes: no map task takes longer than any reduce task of its job (it is cut)", "Section 3 assumes yes; with the times of Section 5.1 (3) it does not hold"),
		option("delay", delay, numbers(0, 1000), "time from the end of a map task until its output has arrived, as a multiple of its time", delaySource),
	}
}

// checkMars refuses least values above the mean: drawing again might not end.
func checkMars(v values) error {
	if v.number("min-time") > min(v.number("map-time"), v.number("reduce-time")) {
		return fmt.Errorf("option min-time: it is above the mean time of a task")
	}
	if least, ok := v["min-weight"].(float64); ok && least > v.number("weight-mean") {
		return fmt.Errorf("option min-weight: it is above weight-mean")
	}
	return nil
}

// releases returns the times of release of n jobs, in their order.
func (d draws) releases(v values, n int) []float64 {
	p, slot := v.number("p"), v.number("slot")
	at := make([]float64, n)
	switch v.word("release") {
	case "process":
		k := -1.0 // the slot of the last release; slots are numbered from 0
		for i := range at {
			k += geometric(d.stream(gaps, i), 1/p)
			at[i] = float64(k * slot)
		}
	case "coin":
		early := 0
		for i := range at {
			if at[i] = slot; !happens(d.stream(gaps, i), p) {
				at[early] = 0 // which jobs are early does not matter
				early++
			}
		}
	}
	return at
}

// marsJobs yields jobs with weights of their own.
func (d draws) marsJobs(v values) iter.Seq[*draft] {
	return func(yield func(*draft) bool) {
		n := v.integer("jobs")
		at := d.releases(v, n)
		weight := jobWeight(v)
		draw := func(i int) *draft {
			j := d.marsJob(v, i)
			j.job.Weight = weight.draw(d.stream(weights, i))
			return j
		}
		if v.word("unit-weights") == "random" {
			for i := range n {
				j := draw(i)
				j.at = at[i]
				if !yield(j) {
					return
				}
			}
			return
		}
		jobs := make([]*draft, n)
		for i := range jobs {
			jobs[i] = draw(i)
		}
		sorted := slices.Clone(jobs)
		slices.SortStableFunc(sorted, func(a, b *draft) int {
			if v.word("unit-weights") == "decreasing" {
				a, b = b, a
			}
			return cmp.Compare(a.unitWeight(), b.unitWeight())
		})
		if v.word("sort") == "weights" {
			units := make([]float64, n)
			for i, j := range sorted {
				units[i] = j.unitWeight()
			}
			for i, j := range jobs {
				j.job.Weight = min(max(float64(units[i]*j.work()), 1.0/(1<<16)), 1<<31)
			}
			sorted = jobs
		}
		for i, j := range sorted {
			j.at = at[i]
			if !yield(j) {
				return
			}
		}
	}
}

// work returns the sum of the times of the tasks, in nanoseconds.
func (d *draft) work() float64 {
	sum := 0.0
	for p, times := range d.job.Times {
		for i := range d.job.Phases[p].Tasks {
			sum += float64(times.Of(i))
		}
	}
	return sum
}

func (d *draft) unitWeight() float64 { return d.job.Weight / d.work() }

// marsJob draws the tasks of a job and their number.
func (d draws) marsJob(v values, i int) *draft {
	maps, reduces := v.integer("maps"), v.integer("reduces")
	if v.word("counts") == "random" {
		r := d.stream(mapCounts, i)
		mean := float64(maps)
		for maps = 0; maps == 0; {
			maps = poissonCount(r, mean)
		}
		reduces = within(d.stream(reduceCounts, i), span{1, maps})
	}
	return d.marsJobOf(v, i, maps, reduces)
}

// marsJobOf draws the times of the tasks of a job.
func (d draws) marsJobOf(v values, i, maps, reduces int) *draft {
	mapTime := normal{v.number("map-time"), v.number("map-sd"), v.number("min-time"), v.word("truncate") == "clamp"}
	reduceTime := normal{v.number("reduce-time"), v.number("reduce-sd"), v.number("min-time"), v.word("truncate") == "clamp"}
	if v.word("times") == "uniform" {
		mapTime.sd, reduceTime.sd = 0, 0
	}
	shortest := math.Inf(1)
	reduceNoise := d.stream(reduceNoise, i)
	reduceTimes := make([]float64, reduces)
	for k := range reduceTimes {
		reduceTimes[k] = reduceTime.draw(reduceNoise)
		shortest = min(shortest, reduceTimes[k])
	}
	if v.word("longer-reduces") == "no" {
		shortest = math.Inf(1)
	}
	j := &draft{}
	mapNoise := d.stream(mapNoise, i)
	p := j.anyPhase(maps, func(int) float64 { return min(mapTime.draw(mapNoise), shortest) })
	if delay := v.number("delay"); delay > 0 {
		for k := range maps {
			p.Delays = append(p.Delays, duration(float64(delay*float64(j.job.Times[0].Of(k)))))
		}
	}
	j.anyPhase(reduces, func(k int) float64 { return reduceTimes[k] })
	return j
}

// marsTasks yields jobs up to a number of tasks.
func (d draws) marsTasks(v values) iter.Seq[*draft] {
	return func(yield func(*draft) bool) {
		var jobs []*draft
		for left := v.integer("tasks"); left > 0; {
			j := d.marsJob(v, len(jobs))
			j.cut(left)
			left -= j.job.Tasks()
			jobs = append(jobs, j)
		}
		at := d.releases(v, len(jobs))
		for i, j := range jobs {
			j.at = at[i]
			j.job.ID = sojourn.JobID(i + 1)
			weights := TaskWeights(d.seed, &j.job)
			if v.word("split") == "jobs" {
				j.job.Weight = mean(slices.Concat(weights...))
				if !yield(j) {
					return
				}
				continue
			}
			for p, times := range j.job.Times {
				for k := range j.job.Phases[p].Tasks {
					single := &draft{at: j.at}
					single.anyPhase(1, func(int) float64 { return float64(times.Of(k)) })
					single.job.Weight = weights[p][k]
					if !yield(single) {
						return
					}
				}
			}
		}
	}
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// cut removes tasks until at most n are left: reduce tasks first, but the last
// one only if there is no room for it beside a map task.
func (d *draft) cut(n int) {
	maps, reduces := d.job.Phases[0].Tasks, d.job.Phases[1].Tasks
	maps = min(maps, max(1, n-1))
	reduces = min(reduces, n-maps)
	d.shorten(0, maps)
	d.shorten(1, reduces)
	if reduces == 0 {
		d.job.Phases, d.job.Times, d.job.AnyClass = d.job.Phases[:1], d.job.Times[:1], d.job.AnyClass[:1]
	}
}

// shorten keeps the first n tasks of a phase.
func (d *draft) shorten(phase, n int) {
	p, times := &d.job.Phases[phase], &d.job.Times[phase]
	p.Tasks = n
	if times.List != nil {
		times.List = times.List[:n]
	}
	if p.Delays != nil {
		p.Delays = p.Delays[:n]
	}
}

// TaskWeights returns the weights of the tasks of a job, one list for each
// phase, for objectives that weigh tasks. They follow MarS, Section 5.1 (4):
// normal with mean 30 and standard deviation 10, drawn again below 1. They
// depend only on the seed and on the job's ID. A workload cannot hold them,
// since its jobs have one weight each; in mars-tasks this weight is their mean.
func TaskWeights(seed uint64, j *sim.Job) [][]float64 {
	r := draws{seed}.streamOf(taskWeights, uint64(j.ID))
	all := make([][]float64, len(j.Phases))
	for p := range all {
		for range j.Phases[p].Tasks {
			all[p] = append(all[p], normal{mean: 30, sd: 10, min: 1}.draw(r))
		}
	}
	return all
}
