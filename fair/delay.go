package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/locality"
)

// places is what is known of the inputs of tasks, and how long jobs wait for slots
// close to them.
//
// A job whose turn it is, but that has no task close enough to the slot, is passed
// over and asked again at the next slot. What counts as waiting is time in which
// there is a free slot that the job could use within its limits; and all time from
// when a slot was given to another job in its stead until it starts a task. Without
// the second, a job could wait for ever in a busy cluster, where no slot is free for
// longer than an instant. A slot that is declined by all starts no wait.
type places struct {
	index  *locality.Index[member] // nil if nobody asked for it
	delay  locality.Delay
	passed []*job // passed over in what is being offered

	waiters []*job // scratch
}

// pick returns the task of a side of j that suits a slot best, and its phase. It
// reports false if the job rather waits.
func (p *Policy) pick(j *job, side *ledger.Side, s sojourn.Slot) (pick locality.Pick, phase int, ok bool) {
	phase = j.NextPhase(side)
	pick, ok = p.index.Find(j, phase, s, p.reach(j, side))
	return pick, phase, ok
}

// reach returns how far from their inputs tasks of a side of j may start now.
func (p *Policy) reach(j *job, side *ledger.Side) sojourn.Locality {
	if w := waitOf(j, side); w != nil {
		return w.Limit(p.delay, p.ledger.Now())
	}
	return sojourn.Remote
}

// waitOf returns how long j waits on a side; nil if it never does.
func waitOf(j *job, side *ledger.Side) *locality.Wait {
	for i := range j.Data.waits {
		if &j.Sides[i] == side {
			return &j.Data.waits[i]
		}
	}
	return nil
}

// start assigns a task that pick found.
func (p *Policy) start(j *job, side *ledger.Side, phase int, pick locality.Pick, id sojourn.SlotID) sojourn.Assignment {
	a := p.index.Take(j, phase, pick, id)
	if w := waitOf(j, side); w != nil {
		w.Launched(a, p.ledger.Now())
		w.Stop(p.ledger.Now())
	}
	p.assigned(j, side)
	return a
}

// waiting calls f for each job that waits for a slot close to its inputs: it could
// use a free slot if there were one at the right place.
func (p *Policy) waiting(f func(*locality.Wait)) {
	if p.delay.Node == 0 {
		return
	}
	p.waiters = p.ledger.AppendJobs(p.waiters[:0])
	defer clear(p.waiters)
	for _, j := range p.waiters {
		n := j.Data.pool
		if n.policy != nil {
			continue
		}
		for i := range j.Data.waits {
			side := &j.Sides[i]
			if side.Startable == 0 {
				continue
			}
			if _, free := p.ledger.FreeSlot(side.Class); free && p.index.HasInputs(j, j.NextPhase(side)) && n.lets(j) && n.hasRoom(side.Class) {
				f(&j.Data.waits[i])
			}
		}
	}
}

// hasRoom reports whether no limit on tasks, of n or of a pool around it, is reached.
func (n *pool) hasRoom(c sojourn.Class) bool {
	for ; n != nil; n = n.parent {
		if n.full(c) {
			return false
		}
	}
	return true
}

// countWaits lets the time until at count for the jobs that wait.
func (p *Policy) countWaits(at sojourn.Time) {
	now := p.ledger.Now()
	p.waiting(func(w *locality.Wait) {
		if !w.Runs() {
			w.Start(now)
			w.Stop(at)
		}
	})
}

// nextWait returns when the first wait ends.
func (p *Policy) nextWait() (next sojourn.Time, any bool) {
	now := p.ledger.Now()
	p.waiting(func(w *locality.Wait) {
		v := *w
		v.Start(now)
		if t, ok := v.Next(p.delay, now); ok && (!any || t < next) {
			next, any = t, true
		}
	})
	return next, any
}

// passOver takes a job out of what is offered.
func (p *Policy) passOver(j *job, side *ledger.Side) {
	p.offering = true
	p.passed = append(p.passed, j)
	j.Data.passed = true
	p.update(j, side)
}
