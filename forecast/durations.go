package forecast

import (
	"cmp"
	"slices"
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

// Known is what is known of a phase of a live job.
type known struct {
	phase, order int
	stats        [numScales]moments
}

// of returns what is known of the phases of a live job.
func (d *durations) of(j *sojourn.Job) (list []known) {
	for p := range j.Phases {
		if g := d.live[phaseOf{j.ID, p}]; g != nil {
			list = append(list, known{p, g.order, g.stats})
		}
	}
	return list
}

// Recent are phases of a kind that were of late, live ones, too.
type recent struct {
	of     kindOf
	groups []*group // copies, the oldest first
}

// recent copies the phases of wanted kinds, and of those that were used last.
func (d *durations) recent(scale int, wanted map[kindOf]*kindState) (list []recent) {
	var kinds []*kind
	for _, k := range d.kinds { //sojourn:unordered they are sorted below
		kinds = append(kinds, k)
	}
	isOther := func(k *kind) int {
		if wanted[k.of] != nil {
			return 0
		}
		return 1
	}
	slices.SortFunc(kinds, func(x, y *kind) int {
		return cmp.Or(cmp.Compare(isOther(x), isOther(y)), cmp.Compare(y.used, x.used))
	})
	kinds = kinds[:min(len(kinds), max(len(wanted), mostKinds))]
	each := max(4, mostGroups/max(1, len(kinds)))
	for _, from := range kinds {
		r := recent{of: from.of}
		for _, g := range from.groups[max(0, len(from.groups)-each):] {
			if g.stats[scale].n > 0 {
				c := &group{job: g.job, order: g.order, stats: g.stats}
				c.tasks[scale] = slices.Clone(g.tasks[scale])
				r.groups = append(r.groups, c)
			}
		}
		list = append(list, r)
	}
	return list
}

// unknown returns the number of phases of a job of which nothing is known if no task has finished.
func unknown(j *sojourn.Job) (n int) {
	for p := range j.Phases {
		if j.Phases[p].Estimates == nil && j.Phases[p].Estimate > 0 {
			continue
		}
		for task := range j.Phases[p].Tasks {
			if j.Phases[p].EstimateOf(task) == 0 {
				n++
				break
			}
		}
	}
	return n
}
