package ledger

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
)

// A Change says what an event did to the account.
type Change[J any] struct {
	// Job is the job that the event concerns, nil for events about slots, nodes
	// and time.
	Job *Job[J]

	// Ended says that the job has left the account: all its tasks are finished, or
	// it is cancelled and its last attempt has ended. Its handle may be given to
	// the next job that arrives, and so may Job itself: the policy must not keep it.
	Ended bool

	// Slot is the slot that the event concerns, if any, with all its fields.
	Slot sojourn.Slot

	// SlotGone says that the slot has left the account.
	SlotGone bool

	// Start is the instant at which the attempt that the event ends was started.
	Start sojourn.Time
}

// Apply applies an event that [Ledger.Check] accepts.
func (l *Ledger[J]) Apply(ev *sojourn.Event) (c Change[J]) {
	var did change
	if ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted {
		c.Job = l.zeroJob()
		l.apply(ev, &c.Job.job, &did)
		l.enter(c.Job)
	} else if l.apply(ev, nil, &did); did.job != nil {
		c.Job = *l.own.At(did.job.handle)
	}
	if did.ended {
		l.leave(c.Job)
	}
	c.Ended, c.Slot, c.SlotGone, c.Start = did.ended, did.slot, did.slotGone, did.start
	return c
}

// leave forgets a job that has ended. It may be used again.
func (l *Ledger[J]) leave(j *Job[J]) {
	*l.own.At(j.handle) = nil
	if len(l.gone) < mostGone {
		l.gone = append(l.gone, j)
	}
}

// zeroJob returns a zero job: a new one, or one that has ended.
func (l *Ledger[J]) zeroJob() *Job[J] {
	last := len(l.gone) - 1
	if last < 0 {
		return new(Job[J])
	}
	j := l.gone[last]
	l.gone = l.gone[:last]
	*j = Job[J]{}
	return j
}

// enter lists a job that has its handle.
func (l *Ledger[J]) enter(j *Job[J]) {
	l.own.Grow(int(j.handle) + 1)
	*l.own.At(j.handle) = j
}

// A change is a [Change] without the policy's data.
type change struct {
	job      *job
	ended    bool
	slot     sojourn.Slot
	slotGone bool
	start    sojourn.Time
}

// apply applies an event, and says in c what has changed. It makes arriving, a zero job, the one that arrives.
func (l *cluster) apply(ev *sojourn.Event, arriving *job, c *change) {
	l.now = ev.At
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		l.end(ev, c)
	case sojourn.TaskProgress, sojourn.TaskPinned:
		s := l.slots.at(ev.Slot.ID)
		if ev.Kind == sojourn.TaskPinned {
			l.slots.pin(ev.Slot.ID)
		}
		c.job, c.slot, c.start = l.jobs.on(s), s.Slot, s.start
		c.job.stand()
	case sojourn.SlotAdded:
		c.slot = ev.Slot
		l.slots.add(ev.Slot)
	case sojourn.SlotRemoved:
		s := l.slots.at(ev.Slot.ID)
		c.slot = s.Slot
		if s.state == busy {
			s.state = retiring
		} else {
			c.slotGone = true
			l.slots.drop(s)
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		c.slot = ev.Slot
		n := l.slots.nodes[ev.Slot.Node]
		n.down = ev.Kind == sojourn.NodeDown
		l.slots.setNode(ev.Slot.Node, n, ev.Slot.Rack)
	case sojourn.JobArrived, sojourn.JobAdopted:
		c.job = arriving
		l.jobs.add(arriving, ev.Job)
	case sojourn.JobRevised:
		c.job = l.jobs.find(ev.Job.ID)
		c.job.revise(ev.Job)
	case sojourn.JobCancelled:
		c.job = l.jobs.find(ev.Job.ID)
		c.job.cancel()
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost:
		c.job = l.jobs.find(ev.Task.Job)
		c.job.move(ev)
	case sojourn.TaskAdopted:
		c.job = l.jobs.find(ev.Task.Job)
		s := l.slots.at(ev.Slot.ID)
		c.slot = s.Slot
		t := task{ev.Task.Phase, ev.Task.Index}
		if _, counted := c.job.more.try(t); counted || ev.Attempt > 1 {
			c.job.setTries(t, ev.Attempt)
		}
		l.start(c.job, int(ev.Task.Phase), ev.Task.Index, ev.Attempt, ev.Slot.ID)
	}
	if c.job != nil && c.job.ended() {
		c.ended = true
		l.jobs.remove(c.job)
	}
}

// end removes a live attempt from its slot.
func (l *cluster) end(ev *sojourn.Event, c *change) {
	s := l.slots.at(ev.Slot.ID)
	j := l.jobs.on(s)
	c.job, c.slot, c.start = j, s.Slot, s.start
	j.stand()
	p := &j.phases[s.phase]
	side := &j.sides[p.side]
	j.addRunning(p, side, -1)
	switch {
	case ev.Kind == sojourn.TaskFinished:
		j.finish(int(s.phase), s.index)
	case !j.cancelled:
		if charge.Lost(ev) {
			side.started--
		}
		j.setTries(task{s.phase, s.index}, s.attempt)
		j.requeue(int(s.phase), s.index)
	}
	s.holder = 0
	if len(l.slots.pinned) > 0 {
		delete(l.slots.pinned, ev.Slot.ID)
	}
	if s.state == retiring {
		c.slotGone = true
		l.slots.drop(s)
	} else {
		s.state = free
		l.slots.classes[s.Class].free.Add(int(ev.Slot.ID))
	}
}
