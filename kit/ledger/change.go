package ledger

import (
	"maps"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// newJob returns a job without a handle. None of its phases is ready.
func newJob[J any](spec *sojourn.Job, seq uint64) *Job[J] {
	j := &Job[J]{spec: spec, seq: seq, weight: spec.WeightUnits(), phases: make([]Phase, len(spec.Phases))}
	sides := 0
	var seen [4]uint64
	for i := range spec.Phases {
		c := spec.Phases[i].Class
		if seen[c>>6]&(1<<(c&63)) == 0 {
			seen[c>>6] |= 1 << (c & 63)
			sides++
		}
	}
	j.sides = make([]Side, 0, sides)
	for i := range spec.Phases {
		p := &j.phases[i]
		n := spec.Phases[i].Tasks
		p.side = j.side(spec.Phases[i].Class)
		p.pending, p.finished = bitset.Full(n), bitset.Sized(n)
		j.left += n
	}
	return j
}

// side returns the index of the side of class c, and makes one if needed.
func (j *Job[J]) side(c sojourn.Class) int {
	for i := range j.sides {
		if j.sides[i].class == c {
			return i
		}
	}
	j.sides = append(j.sides, Side{class: c, number: len(j.sides)})
	return len(j.sides) - 1
}

// updateReady recomputes whether phase i may start, after its threshold or the
// number of finished tasks of the phase before has changed.
func (j *Job[J]) updateReady(i int) {
	if i >= len(j.phases) || j.cancelled {
		return
	}
	p := &j.phases[i]
	ready := i == 0 || j.phases[i-1].done >= j.spec.Threshold(i)
	if ready == p.ready {
		return
	}
	p.ready = ready
	side := &j.sides[p.side]
	if ready {
		side.startable += p.pending.Len()
		side.first = min(side.first, i)
	} else {
		side.startable -= p.pending.Len()
	}
}

// requeue makes a task pending.
func (j *Job[J]) requeue(phase int, index uint32) {
	p := &j.phases[phase]
	p.pending.Add(int(index))
	if p.ready {
		side := &j.sides[p.side]
		side.startable++
		side.first = min(side.first, phase)
	}
}

// unqueue removes a task from the pending ones.
func (j *Job[J]) unqueue(phase int, index uint32) {
	p := &j.phases[phase]
	p.pending.Remove(int(index))
	if p.ready {
		j.sides[p.side].startable--
	}
}

// finish counts a task as done. The task is no longer pending or held.
func (j *Job[J]) finish(phase int, index uint32) {
	p := &j.phases[phase]
	p.finished.Add(int(index))
	p.done++
	j.left--
	j.updateReady(phase + 1)
}

func (j *Job[J]) setTries(t task, n uint32) {
	if j.tries == nil {
		j.tries = make(map[task]uint32)
	}
	j.tries[t] = n
}

// move applies the events that change the state of a task and end no attempt.
func (j *Job[J]) move(ev *sojourn.Event) {
	phase, index := int(ev.Task.Phase), ev.Task.Index
	t := task{ev.Task.Phase, index}
	switch ev.Kind {
	case sojourn.TaskHeld:
		j.unqueue(phase, index)
		if j.held == nil {
			j.held = make(map[task]struct{})
		}
		j.held[t] = struct{}{}
	case sojourn.TaskReady:
		delete(j.held, t)
		j.requeue(phase, index)
	case sojourn.TaskDone:
		if j.phases[phase].IsPending(index) {
			j.unqueue(phase, index)
		}
		delete(j.held, t)
		if _, ok := j.tries[t]; !ok {
			j.setTries(t, 0)
		}
		j.finish(phase, index)
	case sojourn.OutputLost:
		p := &j.phases[phase]
		p.finished.Remove(int(index))
		p.done--
		j.left++
		j.setTries(t, ev.Attempt)
		j.requeue(phase, index)
		j.updateReady(phase + 1)
	}
}

// cancel drops all pending tasks. It drops the maps too, since no task of a
// cancelled job is tried again.
func (j *Job[J]) cancel() {
	j.cancelled = true
	for i := range j.phases {
		j.phases[i].ready = false
		j.phases[i].pending = bitset.Set{}
	}
	for i := range j.sides {
		j.sides[i].startable = 0
	}
	j.tries, j.held = nil, nil
}

// revise applies a new description.
func (j *Job[J]) revise(spec *sojourn.Job) {
	old := j.spec
	j.spec, j.weight = spec, spec.WeightUnits()
	for i := range spec.Phases {
		p := &j.phases[i]
		was, is := old.Phases[i].Tasks, spec.Phases[i].Tasks
		before := p.pending.Len()
		p.pending.AddRange(was, is)
		p.pending.RemoveFrom(is)
		maps.DeleteFunc(j.tries, func(t task, _ uint32) bool { // of a task that was done without an attempt, and lost
			return int(t.phase) == i && int64(t.index) >= int64(is)
		})
		j.left += is - was
		if p.ready {
			side := &j.sides[p.side]
			side.startable += p.pending.Len() - before
			side.first = min(side.first, i)
		}
	}
	for i := range j.phases {
		j.updateReady(i)
	}
}
