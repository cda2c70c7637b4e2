package pfsp

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/slack"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A phase is what the slack system takes for a job.
type phase struct {
	estimate
	job   *ledger.Job[data]
	index int
	item  *slack.Item[*phase] // in the system of its class, from when it is ready until it is finished
	begun int                 // attempts so far that are charged, and live ones
	owed  bool                // an attempt has failed and is not in begun yet
	queue int                 // begun, if it may be probed, else -1: its rank, or index in class.probes

	// With a reserve: the bucket of its longest task, and its level since its latest event.
	bucket, level uint8

	promise
}

func (ph *phase) spec() *sojourn.Phase   { return &ph.job.Spec().Phases[ph.index] }
func (ph *phase) account() *ledger.Phase { return ph.job.Phase(ph.index) }

// over reports whether the phase is finished or cancelled.
func (ph *phase) over() bool { return ph.job.Cancelled() || ph.account().Done() == ph.spec().Tasks }

// state returns what the phase has to start.
func (ph *phase) state() slack.State {
	a := ph.account()
	starts := a.Ready() && a.Pending() > 0
	if ph.job.Bounded() { // settle files it again if it may start now, or may no more
		line, class := &ph.job.Data.line, ph.spec().Class
		line.Set(class, ph.index, starts)
		starts = starts && line.First(class, ph.index)
	}
	if starts {
		return slack.Ready
	}
	return slack.Drained
}

// enter lets a phase that has become ready into the slack system: a virtual copy
// of it is pushed into the queue with v = w (eq. 18).
func (p *Policy) enter(c *class, ph *phase) {
	if ph.tasks == 0 && ph.finished.tasks == 0 {
		p.read(ph)
	}
	ph.reestimated = p.ledger.Now()
	ph.advance(p.ledger.Now()) // attempts may have been adopted before
	ph.item = c.system.Arrive(ph, ph.work(), ph.job.Weight(), ph.state())
	c.entered(ph)
	if ph.item.State() == slack.Ready {
		c.waiting++
	}
}

// leave records that a phase is over: finished, or cancelled.
func (c *class) leave(ph *phase) {
	if ph.account().Done() == ph.spec().Tasks {
		c.finished.service = c.finished.service.Add(ph.finished.service)
		c.finished.tasks += ph.finished.tasks
	}
	c.setState(ph, slack.Drained)
	c.unfile(ph)
	c.fileProbe(ph, -1)
	c.left(ph)
	c.system.Finish(ph.item)
	ph.item = nil
}

// share returns what late phases are shared by: see [vqueue.LateDefault]. Those of exact sizes
// count as if they had nothing running, and the others as if they had one task
// more.
func (p *Policy) share(ph *phase) int {
	switch {
	case p.late != vqueue.LateDefault:
		return ph.tasks
	case ph.exact():
		return 0
	}
	return ph.tasks + 1
}

// refresh tells the slack system what running tasks have done, eqs. (7) and (9).
func (p *Policy) refresh(ph *phase) {
	ph.advance(p.ledger.Now())
	if ph.item != nil {
		p.classOf(ph).system.SetWork(ph.item, ph.work())
	}
}

// resize tells the slack system that the work of a phase in it is estimated anew, eqs. (11) to
// (17): before, at this instant, it was that.
func (p *Policy) resize(ph *phase, was uint64) {
	c := p.classOf(ph)
	c.unfile(ph)
	c.system.Revise(ph.item, was, ph.work(), ph.job.Weight())
	p.file(c, ph)
}

// mistaken records that the sizes of a phase are not what they were said to be.
func (p *Policy) mistaken(ph *phase) {
	ph.wrong = true
	if ph.item != nil {
		c := p.classOf(ph)
		c.doubt(ph, estimates)
		c.system.SetRunning(ph.item, p.share(ph))
	}
}

// file puts a phase where those are found that may start a task: by level if there is a
// reserve, and among those that may do so out of turn, if it is one.
func (p *Policy) file(c *class, ph *phase) {
	ready := ph.item.State() == slack.Ready
	if c.levels != nil {
		if ready {
			c.levels.Set(ph.item.ID(), int(ph.level), placeOf(ph.item))
		} else {
			c.levels.Remove(ph.item.ID())
		}
	}
	if ready && ph.begun < p.fairLimit {
		c.fileProbe(ph, ph.begun)
	} else {
		c.fileProbe(ph, -1)
	}
}

// fileProbe puts a phase among those that may start a task out of turn and have started that
// many; -1 is among none.
func (c *class) fileProbe(ph *phase, begun int) {
	id := ph.item.ID()
	if ph.queue != begun {
		if ph.queue >= 0 {
			c.probes[ph.queue].Remove(id)
		}
		for len(c.probes) <= begun {
			c.probes = append(c.probes, heap.New(place.before, place.Prefix))
		}
		ph.queue = begun
		if begun < slack.Ranks {
			c.system.SetRank(ph.item, begun)
		} else {
			c.system.SetRank(ph.item, -1)
		}
	}
	if begun >= slack.Ranks || begun >= 0 && ph.item.Late() {
		c.probes[begun].Set(id, placeOf(ph.item))
	}
}

// becomesLate updates what is filed of an item that has become late.
func (c *class) becomesLate(it *slack.Item[*phase], _ sojourn.Time) {
	c.fileProbe(it.Value, it.Value.queue)
	if c.levels != nil {
		if level, ok := c.levels.Level(it.ID()); ok {
			c.levels.Set(it.ID(), level, placeOf(it))
		}
	}
}

// A place is an item with its place in V, which is compared without a look at the item.
type place struct {
	slack.Place
	item *slack.Item[*phase]
}

func placeOf(it *slack.Item[*phase]) place { return place{it.Place(), it} }

func (p place) before(other place) bool { return p.Place.Before(other.Place) }

// unfile takes a phase out of what is kept by its place in V, before that place changes. file must
// follow.
func (c *class) unfile(ph *phase) {
	if ph.queue >= 0 {
		c.probes[ph.queue].Remove(ph.item.ID())
	}
	if c.levels != nil {
		c.levels.Remove(ph.item.ID())
	}
}
