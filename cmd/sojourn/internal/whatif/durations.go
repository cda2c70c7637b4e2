package whatif

import (
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// durations are what tasks took in a history. A task that is to come takes as long as one of them, each with the same
// probability: its estimate times how much longer or shorter than its estimate a task was that had one; without an
// estimate, as long as a task of its phase, else of the same phase of a job of the same name, else as any task. A task
// that has run longer than all of these takes as long again as it has run.
type durations struct {
	ratios []float64 // what a task took over its estimate
	phases map[phaseOf][]time.Duration
	named  map[phaseNamed][]time.Duration
	all    []time.Duration
	sorted bool
}

type phaseOf struct {
	job   sojourn.JobID
	phase int
}

type phaseNamed struct {
	name  string
	phase int
}

func newDurations() durations {
	return durations{phases: map[phaseOf][]time.Duration{}, named: map[phaseNamed][]time.Duration{}}
}

// add notes that a task took a time.
func (d *durations) add(j *sojourn.Job, phase, task int, took time.Duration) {
	if estimate := j.Phases[phase].EstimateOf(task); estimate > 0 {
		d.ratios = append(d.ratios, float64(took)/float64(estimate))
	}
	of, named := phaseOf{j.ID, phase}, phaseNamed{j.Name, phase}
	d.phases[of] = append(d.phases[of], took)
	d.named[named] = append(d.named[named], took)
	d.all = append(d.all, took)
}

// unknown returns the number of phases of a job of which nothing is known.
func (d *durations) unknown(j *sojourn.Job) (n int) {
	for p := range j.Phases {
		for task := 0; len(d.all) == 0 && task < j.Phases[p].Tasks; task++ {
			if j.Phases[p].EstimateOf(task) == 0 {
				n++
				break
			}
		}
	}
	return n
}

// draw returns what a task takes in all that has run for elapsed.
func (d *durations) draw(random *rand.Rand, j *sojourn.Job, phase, task int, elapsed time.Duration) time.Duration {
	d.sort()
	if estimate := j.Phases[phase].EstimateOf(task); estimate > 0 {
		took := estimate
		if len(d.ratios) > 0 {
			from := sort.Search(len(d.ratios), func(i int) bool { return scaled(estimate, d.ratios[i]) > elapsed })
			if from == len(d.ratios) {
				return again(elapsed, took)
			}
			took = scaled(estimate, d.ratios[from+random.IntN(len(d.ratios)-from)])
		}
		return again(elapsed, took)
	}
	list := d.phases[phaseOf{j.ID, phase}]
	if len(list) == 0 && j.Name != "" {
		list = d.named[phaseNamed{j.Name, phase}]
	}
	if len(list) == 0 {
		list = d.all
	}
	from := sort.Search(len(list), func(i int) bool { return list[i] > elapsed })
	if from == len(list) {
		return again(elapsed, 0)
	}
	return list[from+random.IntN(len(list)-from)]
}

// again returns took, or if that has passed, twice what has passed.
func again(elapsed, took time.Duration) time.Duration {
	if took > elapsed {
		return took
	}
	return 2 * elapsed
}

func scaled(estimate time.Duration, ratio float64) time.Duration {
	return time.Duration(float64(estimate) * ratio)
}

func (d *durations) sort() {
	if d.sorted {
		return
	}
	slices.Sort(d.ratios)
	slices.Sort(d.all)
	for _, list := range d.phases {
		slices.Sort(list)
	}
	for _, list := range d.named {
		slices.Sort(list)
	}
	d.sorted = true
}
