package forecast

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Of the times of tasks, so many are kept: the latest of all, of each phase of jobs of one name, and of the names.
const (
	keptTimes  = 10_000
	keptNamed  = 100
	keptPhases = 1_000
)

// durations are what tasks took: see the package comment.
type durations struct {
	ratios latest[float64]                    // what a task took over its estimate
	phases map[phaseOf]*latest[time.Duration] // of live jobs
	widest int                                // the most phases of a job
	named  map[phaseNamed]*latest[time.Duration]
	names  []phaseNamed // of named, the oldest first
	all    latest[time.Duration]
}

// A latest keeps the latest of the values that it is given.
type latest[T cmp.Ordered] struct {
	values []T
	next   int // the place of the next one, once it is full
}

func (l *latest[T]) add(v T, most int) {
	if len(l.values) < most {
		l.values = append(l.values, v)
		return
	}
	l.values[l.next] = v
	l.next = (l.next + 1) % most
}

func (l *latest[T]) sorted() latest[T] {
	return latest[T]{values: slices.Sorted(slices.Values(l.values))}
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
	return durations{phases: map[phaseOf]*latest[time.Duration]{}, named: map[phaseNamed]*latest[time.Duration]{}}
}

// add notes that a task took a time.
func (d *durations) add(j *sojourn.Job, phase, task int, took time.Duration) {
	if estimate := j.Phases[phase].EstimateOf(task); estimate > 0 {
		d.ratios.add(float64(took)/float64(estimate), keptTimes)
	}
	d.all.add(took, keptTimes)
	d.widest = max(d.widest, len(j.Phases))
	of := phaseOf{j.ID, phase}
	if d.phases[of] == nil {
		d.phases[of] = &latest[time.Duration]{}
	}
	d.phases[of].add(took, keptTimes)
	if j.Name == "" {
		return
	}
	named := phaseNamed{j.Name, phase}
	if d.named[named] == nil {
		if len(d.names) == keptPhases {
			delete(d.named, d.names[0])
			d.names = d.names[1:]
		}
		d.named[named] = &latest[time.Duration]{}
		d.names = append(d.names, named)
	}
	d.named[named].add(took, keptNamed)
}

// forget drops what is known of the phases of a job that has ended.
func (d *durations) forget(id sojourn.JobID) {
	for phase := range d.widest {
		delete(d.phases, phaseOf{id, phase})
	}
}

// unknown returns the number of phases of a job of which nothing is known.
func (d *durations) unknown(j *sojourn.Job) (n int) {
	for p := range j.Phases {
		for task := 0; len(d.all.values) == 0 && task < j.Phases[p].Tasks; task++ {
			if j.Phases[p].EstimateOf(task) == 0 {
				n++
				break
			}
		}
	}
	return n
}

// draw returns what a task takes in all that has run for elapsed. The durations are sorted.
func (d *durations) draw(random *rand.Rand, j *sojourn.Job, phase, task int, elapsed time.Duration) time.Duration {
	if estimate := j.Phases[phase].EstimateOf(task); estimate > 0 {
		took := estimate
		if ratios := d.ratios.values; len(ratios) > 0 {
			from := sort.Search(len(ratios), func(i int) bool { return scaled(estimate, ratios[i]) > elapsed })
			if from == len(ratios) {
				return again(elapsed, took)
			}
			took = scaled(estimate, ratios[from+random.IntN(len(ratios)-from)])
		}
		return again(elapsed, took)
	}
	list := d.all.values
	if l := d.named[phaseNamed{j.Name, phase}]; l != nil {
		list = l.values
	}
	if l := d.phases[phaseOf{j.ID, phase}]; l != nil {
		list = l.values
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

// sorted returns a copy of which times can be drawn.
func (d *durations) sorted() *durations {
	out := newDurations()
	out.ratios, out.all = d.ratios.sorted(), d.all.sorted()
	for of, l := range d.phases { //sojourn:unordered the copy is a map, too
		list := l.sorted()
		out.phases[of] = &list
	}
	for named, l := range d.named { //sojourn:unordered the copy is a map, too
		list := l.sorted()
		out.named[named] = &list
	}
	return &out
}
