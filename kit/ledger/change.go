package ledger

import (
	"maps"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/charge"
)

// describe makes a zero job one without a handle. None of its phases is ready.
func (j *job) describe(spec *sojourn.Job, seq uint64) {
	j.id, j.seq = spec.ID, seq
	j.describeWhole(spec)
	sides := map[sojourn.Class]uint16{} // the index of each
	for i := range spec.Phases {
		if spec.Phases[i].Needs != nil && j.more.get().feeds == nil {
			m := extend(j)
			m.feeds, m.unmet = feeds(spec), make([]int32, len(spec.Phases))
			for k := range spec.Phases {
				m.unmet[k] = int32(len(spec.Phases[k].Needs))
			}
		}
		if c := spec.Phases[i].Class; len(spec.Phases) > 1 {
			if _, seen := sides[c]; !seen {
				sides[c] = uint16(len(sides))
			}
		}
	}
	if len(spec.Phases) == 1 {
		j.phases, j.sides = j.onePhase[:], j.oneSide[:]
	} else {
		j.phases, j.sides = make([]Phase, len(spec.Phases)), make([]Side, len(sides))
	}
	for i := range spec.Phases {
		p := &j.phases[i]
		n := spec.Phases[i].Tasks
		p.side = sides[spec.Phases[i].Class] // 0 if there is one phase
		j.sides[p.side].class, j.sides[p.side].number = spec.Phases[i].Class, p.side
		p.pending, p.finished = bitset.Full(n), bitset.Sized(n)
		j.left += int32(n)
	}
	j.updateRoom()
}

// describeWhole applies what a description says of the whole job.
func (j *job) describeWhole(spec *sojourn.Job) {
	j.spec, j.weight, j.limit = spec, spec.WeightUnits(), math.MaxInt32
	if n := spec.Parallelism; n > 0 && n < math.MaxInt32 {
		j.limit = int32(n)
	}
}

// feeds returns, for each phase, the phases that wait for it.
func feeds(spec *sojourn.Job) [][]int {
	lists := make([][]int, len(spec.Phases))
	for i := range spec.Phases {
		if needs := spec.Phases[i].Needs; needs != nil {
			for _, k := range needs {
				lists[k] = append(lists[k], i)
			}
		} else if i > 0 { // a revision may change how many of the phase before
			lists[i-1] = append(lists[i-1], i)
		}
	}
	return lists
}

// holdAtFirst holds the tasks of phases that are described so.
func (j *job) holdAtFirst() {
	for i := range j.phases {
		if j.spec.Phases[i].Held {
			j.hold(i, 0, j.spec.Phases[i].Tasks)
		}
	}
}

// hold makes pending tasks of a phase, which is not ready, held: those in [from, to).
func (j *job) hold(phase, from, to int) {
	m := extend(j)
	if m.held == nil {
		m.held = make([]bitset.Set, len(j.phases))
	}
	j.phases[phase].pending.RemoveRange(from, to)
	m.held[phase].AddRange(from, to)
	j.heldTasks += int32(to - from)
}

// updateFed recomputes which of the phases that wait for a phase may start, after the number of
// its finished tasks has changed. whole says that all its tasks were finished before.
func (j *job) updateFed(phase int, whole bool) {
	m := j.more
	if m == nil || m.feeds == nil || j.whole(phase) == whole {
		if phase+1 < len(j.phases) && j.spec.Phases[phase+1].Needs == nil {
			j.updateReady(phase + 1)
		}
		return
	}
	m.turned = int32(phase) + 1
	by := int32(-1)
	if whole {
		by = 1
	}
	for _, i := range m.feeds[phase] {
		m.unmet[i] += by // not read where there are no Needs
		j.updateReady(i)
	}
}

// stand forgets the phase that the event before has turned.
func (j *job) stand() {
	if j.more != nil {
		j.more.turned = 0
	}
}

// whole reports whether all tasks of a phase are finished.
func (j *job) whole(phase int) bool { return j.phases[phase].Done() == j.spec.Phases[phase].Tasks }

// countUnmet counts, for each phase, those of its Needs that are not finished.
func (j *job) countUnmet() {
	m := j.more.get()
	clear(m.unmet)
	for i := range m.unmet {
		for _, k := range j.spec.Phases[i].Needs {
			if !j.whole(k) {
				m.unmet[i]++
			}
		}
	}
}

// updateReady recomputes whether phase i may start, after its threshold or the
// number of finished tasks of a phase that it waits for has changed.
func (j *job) updateReady(i int) {
	if i >= len(j.phases) || j.cancelled {
		return
	}
	p := &j.phases[i]
	ready := true
	if j.spec.Phases[i].Needs != nil {
		ready = j.more.unmet[i] == 0
	} else if i > 0 {
		ready = j.phases[i-1].Done() >= j.spec.Threshold(i)
	}
	if ready == p.ready {
		return
	}
	p.ready = ready
	side := &j.sides[p.side]
	if ready {
		side.startable += int32(p.pending.Len())
		j.offer(side, i)
	} else {
		side.startable -= int32(p.pending.Len())
	}
}

// requeue makes a task pending.
func (j *job) requeue(phase int, index uint32) {
	p := &j.phases[phase]
	p.pending.Add(int(index))
	if p.ready {
		side := &j.sides[p.side]
		side.startable++
		j.offer(side, phase)
	}
}

// unqueue removes a task from the pending ones.
func (j *job) unqueue(phase int, index uint32) {
	p := &j.phases[phase]
	p.pending.Remove(int(index))
	if p.ready {
		j.sides[p.side].startable--
	}
}

// release takes a task out of the held ones.
func (j *job) release(phase int, index uint32) {
	j.more.held[phase].Remove(int(index))
	j.heldTasks--
}

// finish counts a task as done. The task is no longer pending or held.
func (j *job) finish(phase int, index uint32) {
	j.phases[phase].finished.Add(int(index))
	j.left--
	if len(j.phases) > 1 {
		j.updateFed(phase, false)
	}
}

func (j *job) setTries(t task, n uint32) {
	m := extend(j)
	if m.tries == nil {
		m.tries = make(map[task]uint32)
	}
	m.tries[t] = n
}

// move applies the events that change the state of a task and end no attempt.
func (j *job) move(ev *sojourn.Event) {
	j.stand()
	phase, index := int(ev.Task.Phase), ev.Task.Index
	t := task{ev.Task.Phase, index}
	switch ev.Kind {
	case sojourn.TaskHeld:
		j.unqueue(phase, index)
		j.hold(phase, int(index), int(index)+1)
		if ev.Attempt > 0 {
			j.setTries(t, ev.Attempt)
		}
	case sojourn.TaskReady:
		j.release(phase, index)
		j.requeue(phase, index)
		if ev.Attempt > 0 {
			j.setTries(t, ev.Attempt)
		}
	case sojourn.TaskDone:
		if j.phases[phase].IsPending(index) {
			j.unqueue(phase, index)
		} else {
			j.release(phase, index)
		}
		if _, ok := j.more.try(t); !ok {
			j.setTries(t, 0)
		}
		j.finish(phase, index)
	case sojourn.OutputLost:
		whole := j.whole(phase)
		j.phases[phase].finished.Remove(int(index))
		j.left++
		j.setTries(t, ev.Attempt)
		j.requeue(phase, index)
		j.updateFed(phase, whole)
	}
}

// cancel drops all pending tasks. It drops the maps too, since no task of a
// cancelled job is tried again.
func (j *job) cancel() {
	j.cancelled = true
	for i := range j.phases {
		j.phases[i].ready = false
		j.phases[i].pending = bitset.Set{}
	}
	for i := range j.sides {
		j.sides[i].startable, j.sides[i].early = 0, false
	}
	if j.more != nil {
		j.more.tries, j.more.held, j.more.early = nil, nil, nil
	}
	j.heldTasks = 0
}

// revise applies a new description.
func (j *job) revise(spec *sojourn.Job) {
	old := j.spec
	j.describeWhole(spec)
	j.addWorks(old)
	j.updateRoom()
	shrinks := false
	for i := range spec.Phases {
		p := &j.phases[i]
		was, is := old.Phases[i].Tasks, spec.Phases[i].Tasks
		shrinks = shrinks || is < was
		before := p.pending.Len()
		p.pending.AddRange(was, is)
		p.pending.RemoveFrom(is)
		if is > was && spec.Phases[i].Held {
			j.hold(i, was, is)
		}
		j.left += int32(is - was)
		if p.ready {
			side := &j.sides[p.side]
			side.startable += int32(p.pending.Len() - before)
			j.offer(side, i)
		}
	}
	if shrinks {
		maps.DeleteFunc(j.more.get().tries, func(t task, _ uint32) bool { // of a task that was done without an attempt, and lost
			return int64(t.index) >= int64(spec.Phases[t.phase].Tasks)
		})
	}
	j.countUnmet()
	for i := range j.phases {
		j.updateReady(i)
	}
}

// addWorks brings the sums of the estimates up to date, after a description has replaced an old one. A job has none until one of its
// phases grows for the first time.
func (j *job) addWorks(old *sojourn.Job) {
	works := j.more.get().works
	for i := range j.phases {
		was, is := &old.Phases[i], &j.spec.Phases[i]
		switch grown := charge.Grown(was, is); {
		case grown && works == nil:
			works = make([]time.Duration, len(j.phases))
			for k := range works {
				works[k] = j.spec.Phases[k].Work()
			}
			extend(j).works = works
			return
		case grown:
			works[i], _ = addWork(works[i], was, is)
		case works != nil:
			works[i] = is.Work()
		}
	}
}
