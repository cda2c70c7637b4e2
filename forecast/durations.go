package forecast

import (
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// What is kept of the tasks that have finished.
const (
	keptKinds  = 1_000 // kinds of phases
	keptGroups = 32    // of each kind, besides those of live jobs: the latest
	keptTasks  = 16    // of each group: the latest
	keptLive   = 1_000 // of each group of a live job: the latest
)

// durations are what tasks took.
type durations struct {
	kinds    map[kindOf]*kind
	live     map[phaseOf]*group // of jobs that are live
	widest   int                // the most phases of a job
	used     int                // how often a group was added to a kind
	finished int                // attempts
	failed   int                // attempts
}

type phaseOf struct {
	job   sojourn.JobID
	phase int
}

// kindOf says which phases are alike: those with one place in jobs of one name. All jobs without a name are alike.
type kindOf struct {
	name  string
	phase int
	class sojourn.Class
}

// A kind has the groups of one kind.
type kind struct {
	of     kindOf
	groups []*group // the oldest first
	used   int
}

// A group has the tasks of one phase of one job.
type group struct {
	job   sojourn.JobID
	order int // of the first finish
	stats [numScales]moments
	tasks [numScales][]float64
	next  [numScales]int // the place of the next task, once tasks is full
}

// Scales on which the times of tasks are compared, as logarithms.
const (
	times     = iota // in nanoseconds
	ratios           // to the estimate, of tasks that have one
	numScales = iota
)

// moments are the number, the mean and the sum of squared deviations of values, by Welford's method: the sum is exactly 0 if
// all values are equal.
type moments struct {
	n           float64
	mean, about float64
}

func (m *moments) add(v float64) {
	m.n++
	d := v - m.mean
	m.mean += d / m.n
	m.about += float64(d * (v - m.mean))
}

func newDurations() durations {
	return durations{kinds: map[kindOf]*kind{}, live: map[phaseOf]*group{}}
}

func kindOfPhase(j *sojourn.Job, phase int) kindOf {
	return kindOf{j.Name, phase, j.Phases[phase].Class}
}

// add notes that a task took a time.
func (d *durations) add(j *sojourn.Job, phase, task int, took time.Duration) {
	d.finished++
	d.widest = max(d.widest, len(j.Phases))
	g := d.live[phaseOf{j.ID, phase}]
	if g == nil {
		g = &group{job: j.ID}
		d.live[phaseOf{j.ID, phase}] = g
		d.kind(kindOfPhase(j, phase)).add(g)
		g.order = d.used
	}
	log := detmath.Log(float64(max(took, 1)))
	g.add(times, log)
	if estimate := j.Phases[phase].EstimateOf(task); estimate > 0 {
		if took != estimate {
			log -= detmath.Log(float64(estimate))
		} else {
			log = 0
		}
		g.add(ratios, log)
	}
}

// kind returns a kind, which is now the one that was used last.
func (d *durations) kind(of kindOf) *kind {
	k := d.kinds[of]
	if k == nil {
		if len(d.kinds) == keptKinds {
			oldest := k
			for _, k := range d.kinds { //sojourn:unordered the least is unique
				if oldest == nil || k.used < oldest.used {
					oldest = k
				}
			}
			delete(d.kinds, oldest.of)
		}
		k = &kind{of: of}
		d.kinds[of] = k
	}
	d.used++
	k.used = d.used
	return k
}

func (k *kind) add(g *group) {
	if len(k.groups) == keptGroups {
		copy(k.groups, k.groups[1:])
		k.groups = k.groups[:keptGroups-1]
	}
	k.groups = append(k.groups, g)
}

func (g *group) add(scale int, log float64) {
	g.stats[scale].add(log)
	if len(g.tasks[scale]) < keptLive {
		g.tasks[scale] = append(g.tasks[scale], log)
		return
	}
	g.tasks[scale][g.next[scale]] = log
	g.next[scale] = (g.next[scale] + 1) % keptLive
}

// forget drops what is known of the phases of a job that has ended, but for a few tasks of each.
func (d *durations) forget(id sojourn.JobID) {
	for phase := range d.widest {
		g := d.live[phaseOf{id, phase}]
		if g == nil {
			continue
		}
		for scale, list := range g.tasks {
			if first := len(list) - keptTasks; first > 0 {
				g.tasks[scale] = append([]float64(nil), list[first:]...)
			}
		}
		delete(d.live, phaseOf{id, phase})
	}
}

// unknown returns the number of phases of a job of which nothing is known.
func (d *durations) unknown(j *sojourn.Job) (n int) {
	for p := range j.Phases {
		for task := 0; d.finished == 0 && task < j.Phases[p].Tasks; task++ {
			if j.Phases[p].EstimateOf(task) == 0 {
				n++
				break
			}
		}
	}
	return n
}
