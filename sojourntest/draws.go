package sojourntest

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// draws makes the random choices of a trial: numbers, names, and events and jobs that fit
// the model or nearly do.
type draws struct {
	o       *Options
	src     source
	m       *model       // knows what fits
	extreme bool         // numbers also come from the ends of their ranges
	names   names        // the names to draw from
	end     sojourn.Time // the last instant that is drawn
}

func newDraws(o *Options, src source) draws {
	return draws{
		o: o, src: src, names: smallNames(o), end: lastTime,
		m: &model{o: o, down: map[sojourn.NodeID]bool{}, racks: map[sojourn.NodeID]sojourn.RackID{}},
	}
}

// The last instants that a history may draw. Bringing a history to its end takes time, and
// timers do not go off after the last instant. If there may be no time left, nothing has to
// be served.
const (
	lastTime  sojourn.Time = math.MaxInt64 - 1<<56
	endOfTime sojourn.Time = math.MaxInt64
)

// later draws the time of the next event.
func (dr *draws) later() sojourn.Time {
	step := pick(dr, 0, 0, 0, 1, time.Second, 1500*time.Millisecond, 7*time.Second, time.Minute)
	if dr.extreme && dr.oneIn(8) {
		step = pick[time.Duration](dr, 1<<31, 1<<53, 1<<60, math.MaxInt64)
	}
	left := dr.end.Sub(dr.m.now)
	if dr.end == endOfTime && dr.oneIn(8) {
		step = left - step
	}
	return dr.m.now.Add(min(max(0, step), max(0, left)))
}

// upTo draws a number from 0 to most, which is positive: small, or in extreme trials close
// to one of the ends of the range.
func (dr *draws) upTo(small, most int64) int64 {
	if !dr.extreme {
		return min(small, most)
	}
	return min(pick(dr, small, small, 1, most, most-1, most/2, most/2+1, 1<<53), most)
}

// class draws a class, the first ones more often, so that slots and phases meet.
func (dr *draws) class() sojourn.Class {
	classes := dr.names.classes
	return min(pick(dr, classes...), pick(dr, classes...))
}

// candidates returns events of a kind that would fit as to slots, nodes and tasks.
func (dr *draws) candidates(kind sojourn.EventKind) (list []sojourn.Event) {
	m := dr.m
	switch kind {
	case sojourn.SlotAdded:
		for _, id := range dr.names.slots {
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
		for _, n := range dr.names.nodes {
			if m.down[n] == (kind == sojourn.NodeUp) {
				list = append(list, sojourn.Event{Slot: sojourn.Slot{Node: n, Rack: dr.names.rackOf(n)}})
			}
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		for _, id := range dr.names.jobs {
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
	case sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		for _, s := range m.busy() {
			list = append(list, report(kind, s))
		}
	case sojourn.Tick:
		list = []sojourn.Event{{}}
	case sojourn.PoolChanged:
		if dr.o.features&sojourn.FeaturePools != 0 {
			for _, name := range poolNames {
				list = append(list, sojourn.Event{Pool: &sojourn.Pool{Name: name}})
			}
		}
	}
	for i := range list {
		list[i].Kind = kind
	}
	return list
}

// fill draws the time and the other fields of an event that fits.
func (dr *draws) fill(ev *sojourn.Event) {
	ev.At = dr.later()
	switch ev.Kind {
	case sojourn.SlotAdded:
		if s := dr.m.slot(ev.Slot.ID); s == nil {
			ev.Slot.Class = dr.class()
			if i := dr.between(0, len(dr.names.nodes)); i > 0 {
				ev.Slot.Node = dr.names.nodes[i-1]
			}
			ev.Slot.Rack = dr.names.rackOf(ev.Slot.Node)
			if dr.o.features&sojourn.FeatureSpeed != 0 && dr.oneIn(4) {
				ev.Slot.Speed = pick[uint16](dr, 1, 50, 100, 200, math.MaxUint16)
			}
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		ev.Job = dr.job(ev.Job.ID)
	case sojourn.JobRevised:
		ev.Job = dr.revision(dr.m.job(ev.Job.ID))
	case sojourn.PoolChanged:
		ev.Pool = dr.pool(ev.Pool.Name)
	case sojourn.TaskHeld, sojourn.TaskReady:
		if dr.o.features&sojourn.FeatureAttempts != 0 && dr.oneIn(2) {
			ev.Attempt = dr.m.task(ev.Task).attempts + pick[uint32](dr, 0, 1, 5)
		}
	case sojourn.TaskAdopted:
		if dr.oneIn(10) {
			ev.Attempt += 1 << 30
		} else if dr.oneIn(10) {
			ev.Attempt = 1 << 31
		}
	case sojourn.TaskProgress:
		ev.Progress = pick[uint16](dr, 0, 1, 5000, sojourn.MaxProgress-1, sojourn.MaxProgress)
	case sojourn.TaskFailed:
		ev.Cause = pick[sojourn.Cause](dr, sojourn.CauseTask, sojourn.CausePreempted, sojourn.CauseSlotLost, sojourn.CauseSlotLost+1, math.MaxUint8)
	}
	switch ev.Kind {
	case sojourn.JobAdopted, sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed:
		ev.Service = time.Duration(dr.upTo(int64(pick(dr, 0, 1, time.Second, time.Hour)), math.MaxInt64))
	}
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed:
		if dr.oneIn(4) {
			ev.Cost = pick[uint64](dr, 1, 1000, uint64(time.Second), uint64(time.Hour))
			if dr.extreme && dr.oneIn(4) {
				ev.Cost = pick[uint64](dr, 1<<63-1, 1<<63, math.MaxUint64)
			}
		}
	}
}

// poolNames are the pools that change: those of jobs, and one without jobs.
var poolNames = []string{"", "a", "b", "c"}

// pool draws how a pool is treated.
func (dr *draws) pool(name string) *sojourn.Pool {
	p := &sojourn.Pool{Name: name}
	if dr.oneIn(4) {
		return p
	}
	p.Weight = pick(dr, 0, 1, 0.5, 3)
	if dr.extreme && dr.oneIn(2) {
		p.Weight = pick(dr, 1.0/65536, 1<<32-1)
	}
	p.Paused, p.MaxJobs = dr.oneIn(3), pick(dr, 0, 0, 1, 2)
	for _, c := range dr.names.classes {
		if dr.oneIn(6) {
			if p.Min == nil {
				p.Min = sojourn.Slots{}
			}
			p.Min[c] = pick(dr, 0, 1, 2)
		}
		if dr.oneIn(4) {
			if p.Max == nil {
				p.Max = sojourn.Slots{}
			}
			p.Max[c] = max(p.Min[c], pick(dr, 1, 2, sojourn.MaxSlots))
		}
	}
	return p
}

// wrongPools returns pools of which most are wrong in one way.
func (dr *draws) wrongPools() (list []*sojourn.Pool) {
	list = append(list, nil, dr.pool(pick(dr, poolNames...)))
	for _, change := range []func(*sojourn.Pool){
		func(p *sojourn.Pool) { p.Weight = pick(dr, -1, math.NaN(), math.Inf(1), 1.0/65537, 1<<32) },
		func(p *sojourn.Pool) { p.MaxJobs = pick(dr, -1, math.MinInt) },
		func(p *sojourn.Pool) { p.Min = sojourn.Slots{0: pick(dr, -1, sojourn.MaxSlots+1)} },
		func(p *sojourn.Pool) { p.Min, p.Max = nil, sojourn.Slots{0: pick(dr, -1, 0, sojourn.MaxSlots+1)} },
		func(p *sojourn.Pool) { p.Min, p.Max = sojourn.Slots{0: 2}, sojourn.Slots{0: 1} },
		func(p *sojourn.Pool) { p.Min = sojourn.Slots{sojourn.MaxClasses: 1} },
		func(p *sojourn.Pool) { p.Max = sojourn.Slots{math.MaxUint16: 1} },
	} {
		p := dr.pool(pick(dr, poolNames...))
		change(p)
		list = append(list, p)
	}
	return list
}

// neighbours returns events of a kind that may be wrong in one way or two.
func (dr *draws) neighbours(kind sojourn.EventKind) (list []sojourn.Event) {
	m := dr.m
	switch kind {
	case sojourn.SlotAdded:
		for _, id := range dr.names.slots {
			s := sojourn.Slot{ID: id}
			if old := m.slot(id); old != nil {
				s = old.Slot
			}
			list = append(list, sojourn.Event{Slot: s})
			s.Speed++
			list = append(list, sojourn.Event{Slot: s})
			s.Speed--
			s.Class++
			list = append(list, sojourn.Event{Slot: s})
			for _, s.Node = range append(dr.names.nodes, 0) {
				for _, s.Rack = range []sojourn.RackID{0, dr.names.rack, noRack} {
					list = append(list, sojourn.Event{Slot: s})
				}
			}
		}
		list = append(list, sojourn.Event{Slot: sojourn.Slot{ID: sojourn.MaxSlots}}, sojourn.Event{Slot: sojourn.Slot{ID: 1<<32 - 1}},
			sojourn.Event{Slot: sojourn.Slot{ID: dr.names.slots[0], Class: sojourn.MaxClasses}}, sojourn.Event{Slot: sojourn.Slot{ID: dr.names.slots[0], Class: math.MaxUint16}})
	case sojourn.SlotRemoved:
		for _, id := range append(dr.names.slots, noSlot) {
			list = append(list, sojourn.Event{Slot: sojourn.Slot{ID: id}})
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		for _, node := range append(dr.names.nodes, 0) {
			for _, rack := range []sojourn.RackID{0, dr.names.rack, noRack} {
				list = append(list, sojourn.Event{Slot: sojourn.Slot{Node: node, Rack: rack}})
			}
		}
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		for _, j := range dr.wrongJobs(kind) {
			list = append(list, sojourn.Event{Job: j})
		}
		if kind == sojourn.JobAdopted {
			list = append(list, sojourn.Event{Job: list[len(list)-1].Job, Service: -1}, sojourn.Event{Job: dr.job(pick(dr, dr.names.jobs...)), Service: -1})
		}
	case sojourn.JobCancelled:
		list = append(list, sojourn.Event{})
		for _, id := range append(dr.names.jobs, 0, noJob) {
			list = append(list, sojourn.Event{Job: &sojourn.Job{ID: id}})
		}
	case sojourn.Tick:
		list = append(list, sojourn.Event{})
	case sojourn.PoolChanged:
		for _, p := range dr.wrongPools() {
			list = append(list, sojourn.Event{Pool: p})
		}
	default:
		list = dr.taskNeighbours(kind)
	}
	return list
}

// taskNeighbours is neighbours for events about tasks: the product of the tasks, slots and
// attempts that matter, and some fields out of range.
func (dr *draws) taskNeighbours(kind sojourn.EventKind) (list []sojourn.Event) {
	add := func(id sojourn.TaskID, slots []sojourn.SlotID, attempts ...uint32) {
		for _, slot := range slots {
			for _, attempt := range attempts {
				list = append(list, sojourn.Event{Task: id, Attempt: attempt, Slot: sojourn.Slot{ID: slot}})
			}
		}
	}
	one := dr.names.slots[:1]
	slots := one
	before := done // the state of tasks that kind could be about
	switch kind {
	case sojourn.TaskAdopted:
		slots, before = append(dr.names.slots, noSlot), pending
	case sojourn.TaskHeld:
		before = pending
	case sojourn.TaskReady:
		before = held
	case sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		slots, before = append(dr.names.slots, noSlot), running
	}
	for _, id := range []sojourn.TaskID{{Job: 0}, {Job: noJob}, {Job: noJob, Phase: 9}} {
		add(id, slots, 0, 1)
	}
	for _, j := range dr.m.jobs {
		id := j.spec.ID
		add(sojourn.TaskID{Job: id, Phase: uint16(len(j.tasks))}, slots, 0, 1)
		add(sojourn.TaskID{Job: id, Index: uint32(len(j.tasks[0]))}, slots, 1)
		add(sojourn.TaskID{Job: id, Phase: 1<<16 - 1}, one, 1)
		add(sojourn.TaskID{Job: id, Index: 1<<32 - 1}, one, 1)
	}
	dr.m.each(func(_ *modelJob, t *modelTask) {
		if t.state == before {
			add(t.id, slots, 0, max(1, t.attempts)-1, t.attempts, t.attempts+1, 1<<31+1)
		} else {
			add(t.id, one, max(1, t.attempts))
		}
	})
	for _, ev := range append(dr.candidates(kind), list[0]) {
		list = append(list,
			sojourn.Event{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot, Service: -1},
			sojourn.Event{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot, Progress: sojourn.MaxProgress + 1},
			sojourn.Event{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot, Cause: 3})
	}
	return list
}

// report returns a report about the attempt that runs on s.
func report(kind sojourn.EventKind, s *modelSlot) sojourn.Event {
	return sojourn.Event{Kind: kind, Task: s.task.id, Attempt: s.task.attempts, Slot: sojourn.Slot{ID: s.ID}}
}
