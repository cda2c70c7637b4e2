package ledger

import "github.com/sojourn-sched/sojourn"

// A Change says what an event did to the account.
type Change[J any] struct {
	// Job is the job that the event concerns, nil for events about slots, nodes
	// and time.
	Job *Job[J]

	// Ended says that the job has left the account: all its tasks are finished, or
	// it is cancelled and its last attempt has ended. Its handle may be given to
	// the next job that arrives.
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
	l.now = ev.At
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		l.end(ev, &c)
	case sojourn.TaskProgress:
		s := l.slots.at(ev.Slot.ID)
		c.Job, c.Slot, c.Start = s.job, s.whole(ev.Slot.ID), s.start
	case sojourn.SlotAdded:
		c.Slot = ev.Slot
		l.slots.add(ev.Slot)
	case sojourn.SlotRemoved:
		s := l.slots.at(ev.Slot.ID)
		c.Slot = s.whole(ev.Slot.ID)
		if s.state == busy {
			s.state = retiring
		} else {
			c.SlotGone = true
			l.slots.drop(ev.Slot.ID, s)
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		c.Slot = ev.Slot
		n := l.slots.nodes[ev.Slot.Node]
		n.down = ev.Kind == sojourn.NodeDown
		l.slots.setNode(ev.Slot.Node, n, ev.Slot.Rack)
	case sojourn.JobArrived, sojourn.JobAdopted:
		c.Job = l.jobs.add(ev.Job)
	case sojourn.JobRevised:
		c.Job = l.jobs.byID[ev.Job.ID]
		c.Job.revise(ev.Job)
	case sojourn.JobCancelled:
		c.Job = l.jobs.byID[ev.Job.ID]
		c.Job.cancel()
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost:
		c.Job = l.jobs.byID[ev.Task.Job]
		c.Job.move(ev)
	case sojourn.TaskAdopted:
		c.Job = l.jobs.byID[ev.Task.Job]
		s := l.slots.at(ev.Slot.ID)
		c.Slot = s.whole(ev.Slot.ID)
		t := task{ev.Task.Phase, ev.Task.Index}
		if _, counted := c.Job.tries[t]; counted || ev.Attempt > 1 {
			c.Job.setTries(t, ev.Attempt)
		}
		l.start(c.Job, int(ev.Task.Phase), ev.Task.Index, ev.Attempt, ev.Slot.ID)
	}
	if c.Job != nil && c.Job.Ended() {
		c.Ended = true
		l.jobs.remove(c.Job)
	}
	return c
}

// end removes a live attempt from its slot.
func (l *Ledger[J]) end(ev *sojourn.Event, c *Change[J]) {
	s := l.slots.at(ev.Slot.ID)
	j := s.job
	c.Job, c.Slot, c.Start = j, s.whole(ev.Slot.ID), s.start
	p := &j.phases[s.phase]
	p.running--
	j.sides[p.side].running--
	j.running--
	switch {
	case ev.Kind == sojourn.TaskFinished:
		j.finish(int(s.phase), s.index)
	case !j.cancelled:
		if ev.Kind == sojourn.TaskRefused {
			j.sides[p.side].started--
		}
		j.setTries(task{s.phase, s.index}, s.attempt)
		j.requeue(int(s.phase), s.index)
	}
	s.job = nil
	if s.state == retiring {
		c.SlotGone = true
		l.slots.drop(ev.Slot.ID, s)
	} else {
		s.state = free
		l.slots.classes[s.class].free.Add(int(ev.Slot.ID))
	}
}
