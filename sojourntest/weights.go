package sojourntest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// A variant is a race with something else about one job, and the law that says what that may change.
type variant struct {
	law    string
	name   string
	weight func(w float64) float64 // nil: as it is
	vain   func(*loop, *sojourn.Job)
	less   bool
}

var variants = [...]variant{
	{lawHeavier, "twice the weight", func(w float64) float64 { return 2 * w }, nil, false},
	{lawHeavier, "131072 times the weight", func(w float64) float64 { return (1 << 17) * w }, nil, false},
	{lawHeavier, "the greatest weight", func(float64) float64 { return math.Nextafter(1<<32, 0) }, nil, false},
	{lawHeavier, "half the weight", func(w float64) float64 { return w / 2 }, nil, true},
	{lawHeavier, "the least weight", func(float64) float64 { return 1. / 65536 }, nil, true},
	{lawVain, "held and released", nil, holdAndRelease, false},
	{lawVain, "revised", nil, func(l *loop, j *sojourn.Job) { l.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: j}) }, false},
}

// holdAndRelease does so with the last task of a job that waits.
func holdAndRelease(l *loop, j *sojourn.Job) {
	for i := len(j.Phases) - 1; i >= 0; i-- {
		for k := j.Phases[i].Tasks - 1; k >= 0; k-- {
			id := sojourn.TaskID{Job: j.ID, Phase: uint16(i), Index: uint32(k)}
			if l.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: id}) {
				l.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: id})
				return
			}
		}
	}
}

// Races of each shape of jobs, and of each way in which they come.
const (
	someRaces = 6  // are run in any case
	allRaces  = 60 // are run if a greater weight is worse in most of them
)

// checkRaces lets a few jobs compete for a slot or two, and again with another weight of one job, or of its pool, from its arrival on, or
// with events about it that say nothing.
// A job may lose such a race by a greater weight, since the turns of other jobs move, too. So many races of a kind are
// judged together. They are the same each time.
func checkRaces(tb rapid.TB, newPolicy func() sojourn.Policy, o Options) {
	tb.Helper()
	o.features = sojourn.Supports(newPolicy())
	var matters, told [2]int // races in which the weight matters, and those of them in which it does if a revision tells it; of jobs and of pools
	for shape := range plainJobs(&o, 1, 1, raceDeadline) {
		for way := range 4 {
			kind, in := sojourn.JobArrived, pooling(way)
			if way == 3 {
				kind, in = sojourn.JobAdopted, noPool
			}
			if in == ownPools && o.features&sojourn.FeaturePools == 0 {
				continue
			}
			var worse, better [len(variants)]standing // only of vain events may neither be
			for i := 0; i < someRaces || i < allRaces && (slices.ContainsFunc(worse[:], standing.suspect) || slices.ContainsFunc(better[:], standing.suspect)); i++ {
				r := drawRace(&o, i, shape, kind)
				r.in = in
				was := r.run(newPolicy, r.jobs[r.job].Weight)
				for k, v := range variants {
					weight := r.jobs[r.job].Weight
					if v.weight != nil {
						if o.IgnoresWeights {
							continue
						}
						weight = v.weight(weight)
					}
					r.vain = v.vain
					light, heavy := was, r.run(newPolicy, weight)
					r.vain = nil
					if v.weight != nil && light != nil && heavy != nil && heavy.sum != light.sum {
						matters[bit(in == ownPools)]++
						r.revised = true
						if again := r.run(newPolicy, weight); again == nil || again.sum != light.sum {
							told[bit(in == ownPools)]++
						}
						r.revised = false
					}
					if v.less {
						light, heavy = heavy, light
					}
					worse[k].count(r.jobs[r.job].ID, light, heavy)
					if v.vain != nil {
						better[k].count(r.jobs[r.job].ID, heavy, light)
					}
					if i <= 3*someRaces {
						continue
					}
					if in == ownPools && v.weight != nil {
						v.name += " of its pool"
					}
					if worse[k].wrong() {
						tb.Fatalf("law of %s\n%s", v.law, worse[k].text(&v, v.less))
					}
					if better[k].wrong() {
						tb.Fatalf("law of %s\n%s", v.law, better[k].text(&v, true))
					}
				}
			}
		}
	}
	for i, of := range []string{"a job", "the pool of a job"} {
		if matters[i] >= 16 && told[i] == 0 {
			tb.Fatalf("law of %s\nIn %d histories another weight of %s changes when the tasks of the job start, and in none of them if a revision tells it "+
				"at the instant at which the job arrives.", lawRevised, matters[i], of)
		}
	}
}

// A standing is how often a greater weight, or a vain event, made the tasks of a job start later on average, or earlier.
type standing struct {
	races, later, earlier int
	light, heavy          history       // the shortest in which they start later
	job                   sojourn.JobID // of these
}

func (s *standing) count(job sojourn.JobID, light, heavy *finish) {
	if light == nil || heavy == nil {
		return
	}
	s.races++
	switch {
	case heavy.sum < light.sum:
		s.earlier++
	case heavy.sum > light.sum:
		s.later++
		if a, b := untilApart(light.h, heavy.h); s.light == nil || len(a) < len(s.light) {
			s.job, s.light, s.heavy = job, a, b
		}
	}
}

// suspect reports whether it is more often worse than better.
func (s standing) suspect() bool { return s.later > s.earlier }

// wrong reports whether it is clearly worse. If it made no difference in the long run, this would happen less
// than once in 20,000 times.
func (s *standing) wrong() bool { return s.later >= 16+3*s.earlier }

func (s *standing) text(v *variant, less bool) string {
	order, was, is := "later", s.light, s.heavy
	if less {
		order, was, is = "earlier", s.heavy, s.light
	}
	if v.vain != nil {
		return fmt.Sprintf("%s when it comes and at each end of a task, a job starts its tasks %s in %d of %d histories, and in %d it is the other way round"+
			"\n\nBroken by this history, and job %d:\n\n%s\nand by the same one with these events:\n\n%s",
			v.name, order, s.later, s.races, s.earlier, s.job, was.text("", "", nil), is.text("", "", nil))
	}
	return fmt.Sprintf("with %s from its arrival on, a job starts its tasks %s in %d of %d histories, and in %d it is the other way round"+
		"\n\nBroken by this history:\n\n%s\nand by the same one with these lines, in which job %d has %s:\n\n%s",
		v.name, order, s.later, s.races, s.earlier, was.text("", "", nil), s.job, v.name, otherLines(was.text("", "", nil), is.text("", "", nil)))
}

// otherLines returns the lines of b that are not those of a at the same place.
func otherLines(a, b string) string {
	var (
		out string
		was = strings.SplitAfter(a, "\n")
	)
	for i, line := range strings.SplitAfter(b, "\n") {
		if i >= len(was) || line != was[i] {
			out += line
		}
	}
	return out
}

// untilApart returns two histories up to the first call whose outcomes differ. Vain events are in one of them only.
func untilApart(a, b history) (history, history) {
	i, k := 0, 0
	for ; i < len(a) && k < len(b); i, k = i+1, k+1 {
		for ; i < len(a) && a[i].vain(); i++ {
		}
		for ; k < len(b) && b[k].vain(); k++ {
		}
		if i == len(a) || k == len(b) {
			break
		}
		if a[i].assign != b[k].assign || !sameOutcome(&a[i], &b[k]) {
			return a[:i+1], b[:k+1]
		}
	}
	return a, b
}

// vain reports whether a call of a race tells a vain event.
func (c *call) vain() bool {
	return c.ev.Kind == sojourn.TaskHeld || c.ev.Kind == sojourn.TaskReady || c.ev.Kind == sojourn.JobRevised
}

// A race is of jobs that compete.
type race struct {
	kind     sojourn.EventKind // how they come
	jobs     []*sojourn.Job
	arrivals []sojourn.Time  // by index in jobs, not decreasing
	tasks    []time.Duration // how long each task of a job takes
	slots    int             // of each class
	job      int             // the one that is weighed anew
	in       pooling
	revised  bool // at once, by a revision

	vain func(*loop, *sojourn.Job) // when that job comes and at each end of a task of it; nil: nothing

	all bool // tasks of all jobs count, not only those of that job
}

// A pooling says of which pools the jobs of a race are.
type pooling int

const (
	noPool   pooling = iota
	onePool          // all of one that has a name
	ownPools         // each of its own, which has the weight instead of the job
)

// spec returns what is told of a job that has a weight.
func (r *race) spec(i int, weight float64) *sojourn.Job {
	job := clone(r.jobs[i])
	job.Weight = weight
	switch r.in {
	case onePool:
		job.Pool = "a"
	case ownPools:
		job.Pool, job.Weight = string(rune('a'+i)), 0
	}
	return job
}

// weigh tells a policy that a job has a weight by an event of a kind, or that its pool has it. It reports whether that was accepted.
func (r *race) weigh(l *loop, kind sojourn.EventKind, i int, weight float64) bool {
	job := r.spec(i, weight)
	if r.in == ownPools && !l.observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Name: job.Pool, Weight: weight}}) {
		return false
	}
	return r.in == ownPools && kind == sojourn.JobRevised || l.observe(sojourn.Event{Kind: kind, Job: job})
}

const raceDeadline = sojourn.Time(10 * time.Hour)

// drawRace draws race number n. Those after the first someRaces begin small, so that the shortest that is worse is short.
func drawRace(o *Options, n, shape int, kind sojourn.EventKind) *race {
	dr := newDraws(o, newChance(uint64(n), 0))
	large := 4
	if n >= someRaces {
		large = 1 + (n-someRaces)/12
	}
	r := &race{kind: kind, slots: dr.between(1, min(2, large))}
	equal := dr.oneIn(2) // as long as each other
	at := sojourn.Time(0)
	for i := range dr.between(2, 1+large) {
		job := plainJobs(o, 1, dr.between(1, large), raceDeadline)[shape]
		job.ID = sojourn.JobID(i + 1)
		job.Weight = pick(&dr, 1, 1, 0.5, 2, 3.0)
		task := 4 * time.Second
		if !equal {
			task = time.Duration(dr.between(1, 8)) * time.Second
		}
		for k := range job.Phases {
			job.Phases[k].Estimate = task
		}
		if large > 2 && dr.oneIn(3) {
			at = at.Add(time.Duration(dr.between(1, 3)) * 2 * time.Second)
		}
		r.jobs, r.arrivals, r.tasks = append(r.jobs, job), append(r.arrivals, at), append(r.tasks, task)
	}
	r.job = dr.src.below(len(r.jobs))
	return r
}

// A finish is how a race went.
type finish struct {
	sum sojourn.Time // of the instants at which the tasks of the job in question started
	h   history
}

// run returns how a race goes if the job in question has a weight; nil if the policy does not accept all jobs, or
// does not serve that one.
func (r *race) run(newPolicy func() sojourn.Policy, weight float64) *finish {
	var (
		f    finish
		l    = newLoop(newPolicy)
		next = 0                                 // job to come
		ends = map[sojourn.SlotID]sojourn.Time{} // of what runs
		left = 0                                 // tasks that count and have not started
	)
	counts := func(job int) bool { return r.all || job == r.job }
	l.h = &f.h
	for i, job := range r.jobs {
		for _, p := range job.Phases {
			if counts(i) {
				left += p.Tasks
			}
		}
	}
	for _, p := range r.jobs[r.job].Phases {
		if !slices.ContainsFunc(l.slots, func(s sojourn.Slot) bool { return s.Class == p.Class }) {
			for range r.slots {
				l.add(sojourn.Slot{ID: sojourn.SlotID(len(l.slots)), Class: p.Class})
			}
		}
	}
	const patience = 200 // steps
	for range patience {
		for ; next < len(r.jobs) && r.arrivals[next] <= l.now; next++ {
			first, then := r.jobs[next].Weight, r.jobs[next].Weight
			if next == r.job {
				then = weight
				if !r.revised {
					first = weight
				}
			}
			if !r.weigh(l, r.kind, next, first) || first != then && !r.weigh(l, sojourn.JobRevised, next, then) {
				return nil
			}
			if next == r.job && r.vain != nil {
				r.vain(l, r.spec(next, weight))
			}
		}
		l.offer()
		at := sojourn.Time(math.MaxInt64)
		if wake, ok := l.wake(); ok {
			at = max(wake, l.now)
		}
		if next < len(r.jobs) {
			at = min(at, r.arrivals[next])
		}
		for _, s := range l.slots {
			a, busy := l.runs[s.ID]
			if !busy {
				continue
			}
			if _, known := ends[s.ID]; !known {
				ends[s.ID] = l.now.Add(r.tasks[a.Task.Job-1])
				if counts(int(a.Task.Job) - 1) {
					f.sum += l.now
					left--
				}
			}
			at = min(at, ends[s.ID])
		}
		if left == 0 {
			return &f
		}
		if at == math.MaxInt64 {
			return nil
		}
		if l.now = at; len(l.runs) == 0 || !slices.ContainsFunc(l.slots, func(s sojourn.Slot) bool { end, busy := ends[s.ID]; return busy && end <= at }) {
			l.observe(sojourn.Event{Kind: sojourn.Tick})
		}
		for _, s := range l.slots {
			if end, busy := ends[s.ID]; busy && end <= at {
				delete(ends, s.ID)
				of := int(l.runs[s.ID].Task.Job) - 1
				l.end(s.ID, sojourn.Event{Kind: sojourn.TaskFinished, Service: r.tasks[of]})
				if of == r.job && r.vain != nil {
					r.vain(l, r.spec(of, weight))
				}
			}
		}
	}
	return nil
}
