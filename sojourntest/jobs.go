package sojourntest

import (
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// job draws a job that the policy supports. It returns nil if it finds none.
func (dr *draws) job(id sojourn.JobID) *sojourn.Job {
	most := 3
	if dr.o.MaxPhases > 0 {
		most = min(most, dr.o.MaxPhases)
	}
	const tries = 20
	for range tries {
		if j := dr.anyJob(id, most); dr.o.supports(j) {
			return j
		}
	}
	return dr.plainJob(id)
}

// anyJob draws a valid job.
func (dr *draws) anyJob(id sojourn.JobID, mostPhases int) *sojourn.Job {
	j := &sojourn.Job{
		ID:     id,
		Name:   pick(dr, "", "sort", "join"),
		Pool:   pick(dr, "", "a", "b"),
		Phases: make([]sojourn.Phase, dr.between(1, mostPhases)),
	}
	for i := range j.Phases {
		p := &j.Phases[i]
		p.Class = dr.class()
		if dr.oneIn(3) {
			p.Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{1}}) // resize makes the rest
		}
		dr.resize(j, i, dr.between(1, 4))
	}
	dr.depend(j)
	dr.describe(j)
	if dr.o.features&sojourn.FeatureSequence != 0 && dr.oneIn(3) {
		j.Sequence = pick(dr, "a", "b")
	}
	return j
}

// depend draws which phases wait for which, and which are held, as far as the policy
// supports it.
func (dr *draws) depend(j *sojourn.Job) {
	for i := range j.Phases {
		p := &j.Phases[i]
		if dr.o.features&sojourn.FeatureNeeds != 0 && dr.oneIn(3) {
			p.Needs = []int{}
			for k := range i {
				if dr.oneIn(2) {
					p.Needs = append(p.Needs, k)
				}
			}
		}
		p.Held = dr.o.features&sojourn.FeatureHeld != 0 && dr.oneIn(8)
	}
}

// revision draws a valid new description of a job.
func (dr *draws) revision(of *modelJob) *sojourn.Job {
	j := clone(of.spec)
	for i := range j.Phases {
		least := max(1, of.least(i))
		dr.resize(j, i, dr.between(least, least+3))
		dr.move(j, of, i)
	}
	dr.describe(j)
	return j
}

// move gives the tasks of a phase the inputs that they had, and those that wait other ones at times. It draws nothing: the
// new estimate decides.
func (dr *draws) move(j *sojourn.Job, of *modelJob, phase int) {
	p, was := &j.Phases[phase], &of.spec.Phases[phase]
	if p.Inputs.Len() == 0 {
		return
	}
	by := int(p.Estimate / time.Second % 3)
	nodes := make([][]sojourn.NodeID, p.Tasks)
	for k := range nodes {
		switch {
		case k >= was.Tasks:
			nodes[k] = p.Inputs.Of(k)
		case by > 0 && (of.tasks[phase][k].state == pending || of.tasks[phase][k].state == held):
			nodes[k] = p.Inputs.Of((k + by) % p.Tasks)
		default:
			nodes[k] = was.Inputs.Of(k)
		}
	}
	p.Inputs = sojourn.MakeInputs(nodes)
}

// resize gives a phase n tasks, and draws their properties.
func (dr *draws) resize(j *sojourn.Job, phase, n int) {
	p := &j.Phases[phase]
	p.Tasks = n
	p.Estimates, p.Bytes, p.Delays = nil, nil, nil
	p.Estimate = time.Duration(dr.between(0, 5)) * time.Second
	if dr.o.NeedsEstimates {
		p.Estimate += time.Second
	}
	p.Estimate = time.Duration(dr.upTo(int64(p.Estimate), math.MaxInt64/int64(n)))
	if dr.oneIn(4) {
		for k := range n {
			p.Estimates = append(p.Estimates, time.Duration(dr.upTo(int64(k*k%4)*1e9, math.MaxInt64/int64(n))))
		}
	}
	if dr.oneIn(4) {
		p.Bytes, p.Delays = make([]int64, n), make([]time.Duration, n)
		for k := range n {
			p.Bytes[k] = dr.upTo(int64(k)<<20, math.MaxInt64)
			p.Delays[k] = time.Duration(dr.upTo(int64(k)*5e8, math.MaxInt64))
		}
	}
	if p.Inputs.Len() > 0 {
		nodes := make([][]sojourn.NodeID, n)
		for k := range nodes {
			for i := range (k + 1) % 3 {
				nodes[k] = append(nodes[k], dr.names.nodes[(phase+k+2*i)%len(dr.names.nodes)])
			}
		}
		p.Inputs = sojourn.MakeInputs(nodes)
	}
}

// describe draws the properties of a job apart from its tasks.
func (dr *draws) describe(j *sojourn.Job) {
	j.Weight = pick(dr, 0, 1, 2, 0.5, 1./65536, 3600)
	if dr.extreme && dr.oneIn(2) {
		j.Weight = pick(dr, 1./65536, 1<<31, 1<<32-1, math.Nextafter(1<<32, 0))
	}
	j.Parallelism = 0
	if dr.o.features&sojourn.FeatureParallelism != 0 && dr.oneIn(4) {
		j.Parallelism = uint32(dr.upTo(int64(dr.between(1, 3)), math.MaxUint32))
	}
	j.Open = dr.o.features&sojourn.FeatureOpen != 0 && dr.oneIn(6)
	j.Priority = 0
	if dr.o.features&sojourn.FeaturePriority != 0 && dr.oneIn(2) {
		j.Priority = pick[int32](dr, -1, 0, 1, 2)
		if dr.extreme {
			j.Priority = pick(dr, math.MinInt32, j.Priority, math.MaxInt32)
		}
	}
	j.Release = 0
	if dr.o.features&sojourn.FeatureRelease != 0 && dr.oneIn(4) {
		j.Release = dr.m.now.Add(pick(dr, 0, time.Nanosecond, 2*time.Second, 20*time.Second, time.Hour))
		if dr.extreme {
			j.Release = pick(dr, j.Release, 1, lastTime)
		}
	}
	j.Deadline = 0
	if d := pick(dr, 0, 2*time.Second, 20*time.Second, time.Hour); d > 0 {
		j.Deadline = dr.m.now.Add(d)
		if dr.extreme {
			j.Deadline = pick(dr, j.Deadline, 1, math.MaxInt64)
		}
	}
	for i := range j.Phases {
		j.Phases[i].After = 0
		if i > 0 && j.Phases[i].Needs == nil {
			j.Phases[i].After = dr.between(sojourn.NoBarrier, j.Phases[i-1].Tasks)
		}
	}
}

// plainJob returns a simple job that the policy supports, or nil if there is
// none.
func (dr *draws) plainJob(id sojourn.JobID) *sojourn.Job {
	for _, j := range plainJobs(dr.o, id, 2, dr.m.now.Add(time.Hour)) {
		return j
	}
	return nil
}

// plainJobs returns jobs that the policy supports: of one phase, one for each
// class, or else of two. Their tasks have estimates, and a deadline if that is
// asked for.
func plainJobs(o *Options, id sojourn.JobID, tasks int, deadline sojourn.Time) (jobs []*sojourn.Job) {
	phase := func(c sojourn.Class) sojourn.Phase {
		return sojourn.Phase{Tasks: tasks, Class: c, Estimate: time.Second}
	}
	try := func(phases ...sojourn.Phase) bool {
		for _, d := range []sojourn.Time{0, deadline} {
			j := &sojourn.Job{ID: id, Deadline: d, Phases: phases}
			if o.supports(j) {
				jobs = append(jobs, j)
				id++
				return true
			}
		}
		return false
	}
	for _, c := range o.classes() {
		try(phase(c))
	}
	for _, first := range o.classes() {
		for _, second := range o.classes() {
			p := phase(second)
			p.After = sojourn.NoBarrier
			if len(jobs) == 0 && !try(phase(first), p) {
				p.After = 0
				try(phase(first), p)
			}
		}
	}
	return jobs
}

// wrongJobs returns jobs that are invalid, already live, invalid revisions, or beyond what the
// policy knows.
func (dr *draws) wrongJobs(kind sojourn.EventKind) []*sojourn.Job {
	list := []*sojourn.Job{nil}
	id := pick(dr, append(dr.names.jobs, noJob)...)
	if kind == sojourn.JobRevised && len(dr.m.jobs) > 0 {
		id = pick(dr, dr.m.jobs...).spec.ID
	}
	job := dr.job(id)
	if job == nil {
		return list
	}
	changes := wrongChanges
	if live := dr.m.job(job.ID); kind == sojourn.JobRevised && live != nil {
		job = dr.revision(live)
		changes = append(live.wrongRevisions(job), changes...)
		if dr.o.features&sojourn.FeatureSequence != 0 {
			changes = append(changes, func(j *sojourn.Job, _ *sojourn.Phase) { j.Sequence += "!" })
		}
	}
	if dr.o.features&sojourn.FeatureHeld == 0 {
		changes = append(changes[:len(changes):len(changes)], func(_ *sojourn.Job, last *sojourn.Phase) { last.Held = true })
	}
	for _, id := range append(dr.names.jobs, 0, noJob) {
		j := clone(job)
		j.ID = id
		list = append(list, j)
	}
	for _, change := range changes {
		j := clone(job)
		change(j, &j.Phases[len(j.Phases)-1])
		list = append(list, j)
	}
	return list
}

// A jobChange changes a job of which it is given the last phase.
type jobChange = func(j *sojourn.Job, last *sojourn.Phase)

// wrongRevisions returns changes of a new description of j that may not be.
func (j *modelJob) wrongRevisions(spec *sojourn.Job) []jobChange {
	list := []jobChange{
		func(j *sojourn.Job, _ *sojourn.Phase) { j.Name += "!" },
		func(j *sojourn.Job, _ *sojourn.Phase) { j.Pool += "!" },
		func(j *sojourn.Job, _ *sojourn.Phase) { j.Phases[0].Class++ },
		func(j *sojourn.Job, _ *sojourn.Phase) { j.Phases = j.Phases[:1] },
		func(j *sojourn.Job, last *sojourn.Phase) {
			j.Phases = append(j.Phases, sojourn.Phase{Tasks: 1, Class: last.Class, Estimate: 1})
		},
		func(_ *sojourn.Job, last *sojourn.Phase) {
			if last.After = 0; last.Needs == nil {
				last.Needs = []int{}
			} else {
				last.Needs = nil
			}
		},
	}
	for i := range spec.Phases {
		least := j.least(i)
		for range 2 * least {
			list = append(list, func(j *sojourn.Job, _ *sojourn.Phase) {
				p := &j.Phases[i]
				p.Tasks = max(1, least-1)
				p.Estimates, p.Bytes, p.Delays, p.Inputs = nil, nil, nil, sojourn.Inputs{}
				if i+1 < len(j.Phases) {
					j.Phases[i+1].After = 0
				}
			})
		}
		list = append(list, func(j *sojourn.Job, _ *sojourn.Phase) {
			if p := &j.Phases[i]; p.Inputs.Len() > 0 {
				nodes := make([][]sojourn.NodeID, p.Tasks)
				nodes[0] = []sojourn.NodeID{noNode}
				p.Inputs = sojourn.MakeInputs(nodes)
			}
		})
	}
	return list
}

// wrongChanges make any job invalid.
var wrongChanges = []jobChange{
	func(j *sojourn.Job, _ *sojourn.Phase) { j.Weight = -1 },
	func(j *sojourn.Job, _ *sojourn.Phase) { j.Weight = 1 << 32 },
	func(j *sojourn.Job, _ *sojourn.Phase) { j.Deadline = -1 },
	func(j *sojourn.Job, _ *sojourn.Phase) { j.Release = -1 },
	func(j *sojourn.Job, _ *sojourn.Phase) { j.Phases = nil },
	func(_ *sojourn.Job, last *sojourn.Phase) { last.Tasks = 0 },
	func(_ *sojourn.Job, last *sojourn.Phase) { last.Estimate = -1 },
	func(_ *sojourn.Job, last *sojourn.Phase) {
		last.Estimate, last.Estimates, last.Tasks = 1<<62, nil, max(2, last.Tasks)
	},
	func(_ *sojourn.Job, last *sojourn.Phase) { last.Estimates = make([]time.Duration, last.Tasks+1) },
	func(_ *sojourn.Job, last *sojourn.Phase) { last.Bytes = make([]int64, last.Tasks+1) },
	func(_ *sojourn.Job, last *sojourn.Phase) { last.Delays = make([]time.Duration, last.Tasks+1) },
	func(_ *sojourn.Job, last *sojourn.Phase) {
		last.Inputs = sojourn.MakeInputs(slices.Repeat([][]sojourn.NodeID{{1}}, last.Tasks+1))
	},
	func(_ *sojourn.Job, last *sojourn.Phase) { last.After = -2 },
	func(_ *sojourn.Job, last *sojourn.Phase) { last.After = last.Tasks + 9 },
	func(j *sojourn.Job, last *sojourn.Phase) { last.Needs, last.After = []int{len(j.Phases) - 1}, 0 },
	func(_ *sojourn.Job, last *sojourn.Phase) { last.Needs, last.After = []int{-1}, 0 },
	func(_ *sojourn.Job, last *sojourn.Phase) { last.Needs, last.After = []int{}, sojourn.NoBarrier },
	func(j *sojourn.Job, last *sojourn.Phase) {
		next := *last
		next.Needs, next.After = []int{0, 0}, 0
		j.Phases = append(j.Phases, next)
	},
}

// clone returns a copy of j that shares nothing with it.
func clone(j *sojourn.Job) *sojourn.Job {
	c := *j
	c.Phases = slices.Clone(j.Phases)
	for i := range c.Phases {
		p := &c.Phases[i]
		p.Needs = slices.Clone(p.Needs)
		p.Estimates, p.Bytes, p.Delays = slices.Clone(p.Estimates), slices.Clone(p.Bytes), slices.Clone(p.Delays)
		nodes := make([][]sojourn.NodeID, p.Inputs.Len())
		for k := range nodes {
			nodes[k] = slices.Clone(p.Inputs.Of(k))
		}
		p.Inputs = sojourn.MakeInputs(nodes)
	}
	return &c
}
