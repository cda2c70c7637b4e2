package sojourntest

import (
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// drive makes random calls, most of which fit.
func (tr *trial) drive() {
	actions := tr.actions()
	// Some slots and jobs to begin with, since a history of an empty cluster
	// shows little.
	for range tr.between(0, 3) {
		tr.fitting(sojourn.SlotAdded)
	}
	for range tr.between(0, 3) {
		tr.fitting(sojourn.JobArrived)
	}
	for range 2 {
		for tr.src.more() {
			for !pick(tr, actions...)() { // ends: some kind of event fits always
				if !tr.src.more() {
					break
				}
			}
		}
		tr.misuse()
	}
}

// actions returns what may be done in a step, as often as is its weight. Each reports
// whether it could be done.
func (tr *trial) actions() (list []func() bool) {
	add := func(weight int, action func() bool) {
		for range weight {
			list = append(list, action)
		}
	}
	for kind := sojourn.SlotAdded; kind <= sojourn.Tick; kind++ {
		weight := 1
		switch kind {
		case sojourn.SlotAdded, sojourn.JobRevised, sojourn.TaskFailed:
			weight = 2
		case sojourn.JobArrived, sojourn.TaskFinished:
			weight = 4
		}
		add(weight, func() bool { return tr.fitting(kind) })
	}
	add(6, tr.misfit)
	add(1, tr.unsupported)
	add(3, func() bool {
		free := tr.m.free()
		if len(free) > 0 {
			tr.assign(pick(tr, free...))
		}
		return len(free) > 0
	})
	add(4, func() bool { tr.round(tr.src.below(numOrders)); return true })
	add(2, func() bool { tr.settle(tr.src.below(numOrders)); return true })
	add(2, func() bool {
		if tr.last.waits {
			tr.wake(tr.src.below(numOrders))
		}
		return tr.last.waits
	})
	add(2, tr.preempt)
	return list
}

// preempt kills what the policy wants killed most.
func (tr *trial) preempt() bool {
	if tr.s.preemptor == nil {
		return false
	}
	list := tr.s.preemptor.AppendPreemptions(nil)
	if len(list) == 0 {
		return false
	}
	ev := report(sojourn.TaskFailed, tr.m.slot(list[0].Slot))
	ev.At, ev.Cause = tr.later(), sojourn.CausePreempted
	tr.observe(ev)
	return true
}

// later draws the time of the next event.
func (tr *trial) later() sojourn.Time {
	step := pick(tr, 0, 0, 0, 1, time.Second, 1500*time.Millisecond, 7*time.Second, time.Minute)
	if tr.extreme && tr.oneIn(8) {
		step = pick[time.Duration](tr, 1<<31, 1<<53, 1<<60, math.MaxInt64)
	}
	left := tr.end.Sub(tr.m.now)
	if tr.end == endOfTime && tr.oneIn(8) {
		step = left - step
	}
	return tr.m.now.Add(min(max(0, step), max(0, left)))
}

// The last instants that a history may draw. To bring it to its end takes time, and no timer
// goes off when there is none left; where there may be none, nobody has to be served.
const (
	lastTime  sojourn.Time = math.MaxInt64 - 1<<56
	endOfTime sojourn.Time = math.MaxInt64
)

// upTo draws a number from 0 to most, which is positive: small, or in extreme trials close
// to one of the ends of the range.
func (tr *trial) upTo(small, most int64) int64 {
	if !tr.extreme {
		return min(small, most)
	}
	return min(pick(tr, small, small, 1, most, most-1, most/2, most/2+1, 1<<53), most)
}

// fitting reports an event that fits, if there is any of that kind.
func (tr *trial) fitting(kind sojourn.EventKind) bool {
	list := tr.candidates(kind)
	if len(list) == 0 {
		return false
	}
	ev := pick(tr, list...)
	tr.fill(&ev)
	tr.observe(ev)
	return true
}

// candidates returns the events of a kind that would fit, as far as slots, nodes
// and tasks go.
func (tr *trial) candidates(kind sojourn.EventKind) (list []sojourn.Event) {
	m := tr.m
	switch kind {
	case sojourn.SlotAdded:
		for _, id := range tr.names.slots {
			if s := m.slot(id); s == nil {
				list = append(list, sojourn.Event{Slot: sojourn.Slot{ID: id}})
			} else if s.retiring {
				list = append(list, sojourn.Event{Slot: s.Slot})
			}
		}
	case sojourn.SlotRemoved:
		for _, s := range m.slots {
			if !s.retiring {
				list = append(list, sojourn.Event{Slot: sojourn.Slot{ID: s.ID}})
			}
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		for _, n := range tr.names.nodes {
			if m.down[n] == (kind == sojourn.NodeUp) {
				list = append(list, sojourn.Event{Slot: sojourn.Slot{Node: n, Rack: tr.names.rackOf(n)}})
			}
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		for _, id := range tr.names.jobs {
			if m.job(id) == nil {
				list = append(list, sojourn.Event{Job: &sojourn.Job{ID: id}})
			}
		}
	case sojourn.JobRevised, sojourn.JobCancelled:
		for _, j := range m.jobs {
			if !j.cancelled {
				list = append(list, sojourn.Event{Job: &sojourn.Job{ID: j.spec.ID}})
			}
		}
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost, sojourn.TaskAdopted:
		m.each(func(_ *modelJob, t *modelTask) {
			ev := sojourn.Event{Kind: kind, At: m.now, Task: t.id}
			slots := []sojourn.SlotID{0}
			switch kind {
			case sojourn.OutputLost:
				ev.Attempt = t.attempts
			case sojourn.TaskAdopted:
				ev.Attempt = t.attempts + 1
				slots = m.free()
			}
			for _, ev.Slot.ID = range slots {
				if m.check(&ev) == nil {
					list = append(list, ev)
				}
			}
		})
	case sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		for _, s := range m.busy() {
			list = append(list, report(kind, s))
		}
	case sojourn.Tick:
		list = []sojourn.Event{{}}
	}
	for i := range list {
		list[i].Kind = kind
	}
	return list
}

// fill draws the time and the other fields of an event that fits.
func (tr *trial) fill(ev *sojourn.Event) {
	ev.At = tr.later()
	switch ev.Kind {
	case sojourn.SlotAdded:
		if s := tr.m.slot(ev.Slot.ID); s == nil {
			ev.Slot.Class = tr.class()
			if i := tr.between(0, len(tr.names.nodes)); i > 0 {
				ev.Slot.Node = tr.names.nodes[i-1]
			}
			ev.Slot.Rack = tr.names.rackOf(ev.Slot.Node)
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		ev.Job = tr.job(ev.Job.ID)
	case sojourn.JobRevised:
		ev.Job = tr.revision(tr.m.job(ev.Job.ID))
	case sojourn.TaskAdopted:
		if tr.oneIn(10) {
			ev.Attempt += 1 << 30
		} else if tr.oneIn(10) {
			ev.Attempt = 1 << 31
		}
	case sojourn.TaskProgress:
		ev.Progress = pick[uint16](tr, 0, 1, 5000, sojourn.MaxProgress-1, sojourn.MaxProgress)
	case sojourn.TaskFailed:
		ev.Cause = sojourn.Cause(tr.between(0, 2))
	}
	switch ev.Kind {
	case sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed:
		ev.Service = time.Duration(tr.upTo(int64(pick(tr, 0, 1, time.Second, time.Hour)), math.MaxInt64))
	}
}

// class draws a class, the first ones more often, so that slots and phases meet.
func (tr *trial) class() sojourn.Class {
	classes := tr.names.classes
	return min(pick(tr, classes...), pick(tr, classes...))
}

// job draws a job that the policy supports. It returns nil if the kit knows none.
func (tr *trial) job(id sojourn.JobID) *sojourn.Job {
	most := 3
	if tr.o.MaxPhases > 0 {
		most = min(most, tr.o.MaxPhases)
	}
	const tries = 20
	for range tries {
		if j := tr.anyJob(id, most); tr.o.supports(j) {
			return j
		}
	}
	return tr.plainJob(id)
}

// anyJob draws a valid job.
func (tr *trial) anyJob(id sojourn.JobID, mostPhases int) *sojourn.Job {
	j := &sojourn.Job{
		ID:     id,
		Name:   pick(tr, "", "sort", "join"),
		Pool:   pick(tr, "", "a", "b"),
		Demand: uint32(tr.upTo(int64(tr.between(0, 3)), math.MaxUint32)),
		Phases: make([]sojourn.Phase, tr.between(1, mostPhases)),
	}
	for i := range j.Phases {
		p := &j.Phases[i]
		p.Class = tr.class()
		if tr.oneIn(3) {
			p.Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{1}}) // resize makes the rest
		}
		tr.resize(j, i, tr.between(1, 4))
	}
	tr.describe(j)
	return j
}

// revision draws a valid new description of a job.
func (tr *trial) revision(of *modelJob) *sojourn.Job {
	j := clone(of.spec)
	for i := range j.Phases {
		least := max(1, of.least(i))
		tr.resize(j, i, tr.between(least, least+3))
	}
	tr.describe(j)
	return j
}

// resize gives a phase n tasks, and draws what is said of them. The inputs of a
// task are always the same, so that revisions do not change them.
func (tr *trial) resize(j *sojourn.Job, phase, n int) {
	p := &j.Phases[phase]
	p.Tasks = n
	p.Estimates, p.Bytes, p.Delays = nil, nil, nil
	p.Estimate = time.Duration(tr.between(0, 5)) * time.Second
	if tr.o.NeedsEstimates {
		p.Estimate += time.Second
	}
	p.Estimate = time.Duration(tr.upTo(int64(p.Estimate), math.MaxInt64/int64(n)))
	if tr.oneIn(4) {
		for k := range n {
			p.Estimates = append(p.Estimates, time.Duration(tr.upTo(int64(k*k%4)*1e9, math.MaxInt64/int64(n))))
		}
	}
	if tr.oneIn(4) {
		p.Bytes, p.Delays = make([]int64, n), make([]time.Duration, n)
		for k := range n {
			p.Bytes[k] = tr.upTo(int64(k)<<20, math.MaxInt64)
			p.Delays[k] = time.Duration(tr.upTo(int64(k)*5e8, math.MaxInt64))
		}
	}
	if p.Inputs.Len() > 0 {
		nodes := make([][]sojourn.NodeID, n)
		for k := range nodes {
			for i := range (k + 1) % 3 {
				nodes[k] = append(nodes[k], tr.names.nodes[(phase+k+2*i)%len(tr.names.nodes)])
			}
		}
		p.Inputs = sojourn.MakeInputs(nodes)
	}
}

// describe draws what a job says apart from its tasks.
func (tr *trial) describe(j *sojourn.Job) {
	j.Weight = pick(tr, 0, 1, 2, 0.5, 1./65536, 3600)
	if tr.extreme && tr.oneIn(2) {
		j.Weight = pick(tr, 1./65536, 1<<31, 1<<32-1, math.Nextafter(1<<32, 0))
	}
	j.Deadline = 0
	if d := pick(tr, 0, 2*time.Second, 20*time.Second, time.Hour); d > 0 {
		j.Deadline = tr.m.now.Add(d)
		if tr.extreme {
			j.Deadline = pick(tr, j.Deadline, 1, math.MaxInt64)
		}
	}
	for i := range j.Phases {
		j.Phases[i].After = 0
		if i > 0 {
			j.Phases[i].After = tr.between(sojourn.NoBarrier, j.Phases[i-1].Tasks)
		}
	}
}

// plainJob returns a job that the policy supports, or nil if the kit does not
// know how to make one.
func (tr *trial) plainJob(id sojourn.JobID) *sojourn.Job {
	for _, j := range plainJobs(tr.o, id, 2, tr.m.now.Add(time.Hour)) {
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

// unsupported reports a valid job that may be beyond what the policy can
// schedule.
func (tr *trial) unsupported() bool {
	if tr.o.MaxPhases == 0 && !tr.o.NeedsEstimates && tr.o.Classes == nil && tr.o.Supports == nil {
		return false // the policy supports all jobs
	}
	j := tr.anyJob(pick(tr, tr.names.jobs...), max(3, tr.o.MaxPhases+1))
	if tr.o.Classes != nil {
		last := &j.Phases[len(j.Phases)-1]
		for tr.oneIn(2) && slices.Contains(tr.o.Classes, last.Class) {
			last.Class++
		}
	}
	if tr.o.NeedsEstimates && tr.oneIn(2) {
		j.Phases[0].Estimate, j.Phases[0].Estimates = 0, nil
	}
	tr.observe(sojourn.Event{Kind: sojourn.JobArrived, At: tr.later(), Job: j})
	return true
}

// misfit reports events of a kind that do not fit: one for each error that the
// kind can meet with now.
func (tr *trial) misfit() bool {
	kind := sojourn.EventKind(tr.between(int(sojourn.SlotAdded), int(sojourn.Tick)+2))
	if !kind.Valid() {
		kind = sojourn.JobRevised // which can be wrong in the most ways
	}
	list := tr.neighbours(kind)
	at := tr.later()
	for i := range list {
		list[i].Kind, list[i].At = kind, at
	}
	first := list[0]
	for _, k := range []sojourn.EventKind{0, sojourn.Tick + 1, 255} {
		ev := first
		ev.Kind = k
		list = append(list, ev)
	}
	for _, at := range []sojourn.Time{tr.m.now - 1, -1} {
		ev := first
		ev.At = at
		list = append(list, ev)
	}
	var found [len(sentinels)][]sojourn.Event
	for i := range list {
		if n := slices.Index(sentinels[:], tr.m.check(&list[i])); n >= 0 {
			found[n] = append(found[n], list[i])
		}
	}
	for _, events := range found {
		if len(events) > 0 {
			tr.observe(pick(tr, events...))
		}
	}
	return true
}

// neighbours returns events of a kind that may be wrong in one way or in two.
func (tr *trial) neighbours(kind sojourn.EventKind) (list []sojourn.Event) {
	m := tr.m
	switch kind {
	case sojourn.SlotAdded:
		for _, id := range tr.names.slots {
			s := sojourn.Slot{ID: id}
			if old := m.slot(id); old != nil {
				s = old.Slot
			}
			list = append(list, sojourn.Event{Slot: s})
			s.Class++
			list = append(list, sojourn.Event{Slot: s})
			for _, s.Node = range append(tr.names.nodes, 0) {
				for _, s.Rack = range []sojourn.RackID{0, tr.names.rack, noRack} {
					list = append(list, sojourn.Event{Slot: s})
				}
			}
		}
		list = append(list, sojourn.Event{Slot: sojourn.Slot{ID: sojourn.MaxSlots}}, sojourn.Event{Slot: sojourn.Slot{ID: 1<<32 - 1}})
	case sojourn.SlotRemoved:
		for _, id := range append(tr.names.slots, noSlot) {
			list = append(list, sojourn.Event{Slot: sojourn.Slot{ID: id}})
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		for _, node := range append(tr.names.nodes, 0) {
			for _, rack := range []sojourn.RackID{0, tr.names.rack, noRack} {
				list = append(list, sojourn.Event{Slot: sojourn.Slot{Node: node, Rack: rack}})
			}
		}
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		for _, j := range tr.wrongJobs(kind) {
			list = append(list, sojourn.Event{Job: j})
		}
	case sojourn.JobCancelled:
		list = append(list, sojourn.Event{})
		for _, id := range append(tr.names.jobs, 0, noJob) {
			list = append(list, sojourn.Event{Job: &sojourn.Job{ID: id}})
		}
	case sojourn.Tick:
		list = append(list, sojourn.Event{})
	default:
		list = tr.taskNeighbours(kind)
	}
	return list
}

// taskNeighbours is neighbours for events about tasks: the product of tasks,
// slots and attempts as far as they matter, and some fields out of range.
func (tr *trial) taskNeighbours(kind sojourn.EventKind) (list []sojourn.Event) {
	add := func(id sojourn.TaskID, slots []sojourn.SlotID, attempts ...uint32) {
		for _, slot := range slots {
			for _, attempt := range attempts {
				list = append(list, sojourn.Event{Task: id, Attempt: attempt, Slot: sojourn.Slot{ID: slot}})
			}
		}
	}
	one := tr.names.slots[:1]
	slots := one
	before := done // the state of tasks that kind could be about
	switch kind {
	case sojourn.TaskAdopted:
		slots, before = append(tr.names.slots, noSlot), pending
	case sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		slots, before = append(tr.names.slots, noSlot), running
	}
	for _, id := range []sojourn.TaskID{{Job: 0}, {Job: noJob}, {Job: noJob, Phase: 9}} {
		add(id, slots, 0, 1)
	}
	for _, j := range tr.m.jobs {
		id := j.spec.ID
		add(sojourn.TaskID{Job: id, Phase: uint16(len(j.tasks))}, slots, 0, 1)
		add(sojourn.TaskID{Job: id, Index: uint32(len(j.tasks[0]))}, slots, 1)
		add(sojourn.TaskID{Job: id, Phase: 1<<16 - 1}, one, 1)
		add(sojourn.TaskID{Job: id, Index: 1<<32 - 1}, one, 1)
	}
	tr.m.each(func(_ *modelJob, t *modelTask) {
		if t.state == before {
			add(t.id, slots, 0, max(1, t.attempts)-1, t.attempts, t.attempts+1, 1<<31+1)
		} else {
			add(t.id, one, max(1, t.attempts))
		}
	})
	for _, ev := range append(tr.candidates(kind), list[0]) {
		list = append(list,
			sojourn.Event{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot, Service: -1},
			sojourn.Event{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot, Progress: sojourn.MaxProgress + 1},
			sojourn.Event{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot, Cause: 3})
	}
	return list
}

// wrongJobs returns jobs that are invalid, or live, or not what may be said of
// them now.
func (tr *trial) wrongJobs(kind sojourn.EventKind) []*sojourn.Job {
	list := []*sojourn.Job{nil}
	id := pick(tr, append(tr.names.jobs, noJob)...)
	if kind == sojourn.JobRevised && len(tr.m.jobs) > 0 {
		id = pick(tr, tr.m.jobs...).spec.ID
	}
	job := tr.job(id)
	if job == nil {
		return list
	}
	vary := func(f func(j *sojourn.Job, last *sojourn.Phase)) {
		j := clone(job)
		f(j, &j.Phases[len(j.Phases)-1])
		list = append(list, j)
	}
	live := tr.m.job(job.ID)
	if kind == sojourn.JobRevised && live != nil {
		job = tr.revision(live)
		vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Name += "!" })
		vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Pool += "!" })
		vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Phases[0].Class++ })
		vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Phases = j.Phases[:1] })
		vary(func(j *sojourn.Job, last *sojourn.Phase) {
			j.Phases = append(j.Phases, sojourn.Phase{Tasks: 1, Class: last.Class, Estimate: 1})
		})
		for i := range job.Phases {
			for range 2 * live.least(i) {
				vary(func(j *sojourn.Job, _ *sojourn.Phase) {
					p := &j.Phases[i]
					p.Tasks = max(1, live.least(i)-1)
					p.Estimates, p.Bytes, p.Delays, p.Inputs = nil, nil, nil, sojourn.Inputs{}
					if i+1 < len(j.Phases) {
						j.Phases[i+1].After = 0
					}
				})
			}
			vary(func(j *sojourn.Job, _ *sojourn.Phase) {
				if p := &j.Phases[i]; p.Inputs.Len() > 0 {
					nodes := make([][]sojourn.NodeID, p.Tasks)
					nodes[0] = []sojourn.NodeID{noNode}
					p.Inputs = sojourn.MakeInputs(nodes)
				}
			})
		}
	}
	for _, id := range append(tr.names.jobs, 0, noJob) {
		vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.ID = id })
	}
	vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Weight = -1 })
	vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Weight = 1 << 32 })
	vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Deadline = -1 })
	vary(func(j *sojourn.Job, _ *sojourn.Phase) { j.Phases = nil })
	vary(func(_ *sojourn.Job, last *sojourn.Phase) { last.Tasks = 0 })
	vary(func(_ *sojourn.Job, last *sojourn.Phase) { last.Estimate = -1 })
	vary(func(_ *sojourn.Job, last *sojourn.Phase) {
		last.Estimate, last.Estimates, last.Tasks = 1<<62, nil, max(2, last.Tasks)
	})
	vary(func(_ *sojourn.Job, last *sojourn.Phase) { last.Estimates = make([]time.Duration, last.Tasks+1) })
	vary(func(_ *sojourn.Job, last *sojourn.Phase) { last.Bytes = make([]int64, last.Tasks+1) })
	vary(func(_ *sojourn.Job, last *sojourn.Phase) { last.Delays = make([]time.Duration, last.Tasks+1) })
	vary(func(_ *sojourn.Job, last *sojourn.Phase) {
		last.Inputs = sojourn.MakeInputs(slices.Repeat([][]sojourn.NodeID{{1}}, last.Tasks+1))
	})
	vary(func(_ *sojourn.Job, last *sojourn.Phase) { last.After = -2 })
	vary(func(_ *sojourn.Job, last *sojourn.Phase) { last.After = last.Tasks + 9 })
	return list
}
