package fair

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// An offer offers a free slot to pools and jobs one after the other, if pools have policies of
// their own or jobs wait for locality. Invariant: both lists are empty between two calls.
type offer struct {
	*tree
	refused []*pool // that declined
	passed  []*job  // that prefer to wait, or leave the slot to others

	// skipped says that the reserve has kept the slot from a job or a pool, or may have: what
	// starts there then starts out of turn.
	skipped bool
}

// decline removes a pool from those that are offered a slot of class c.
func (o *offer) decline(n *pool, c sojourn.Class) {
	o.offering = true
	o.refused = append(o.refused, n)
	n.declined = true
	o.refile(n, c)
}

// withdraw ends the offer: it puts back the pools that declined and the jobs that were passed over.
// If another job got the slot, the wait of the passed jobs counts from now on.
func (o *offer) withdraw(c sojourn.Class, given bool) {
	for _, n := range o.refused {
		n.declined = false
		o.refile(n, c)
	}
	o.refused = o.refused[:0]
	for _, j := range o.passed {
		j.Data.passed = false
		if w := waitOf(j, j.SideOf(c)); w != nil && given {
			w.Start(o.ledger.Now())
		}
		o.update(j, j.SideOf(c))
	}
	o.passed = o.passed[:0]
	o.offering, o.skipped = false, false
}

// passOver removes a job from those that are offered the slot.
func (o *offer) passOver(j *job, side *ledger.Side) {
	o.offering = true
	o.passed = append(o.passed, j)
	j.Data.passed = true
	o.update(j, side)
}

// assignByOffer is Assign if some pools have policies, jobs wait for locality, or it may be the turn
// of another class. It offers the slot to the first one, then to the next, until one takes it.
func (p *Policy) assignByOffer(s sojourn.Slot) (sojourn.Assignment, bool) {
	if p.ranked && !p.isDue(s.Class) {
		return sojourn.Assignment{}, false
	}
	for {
		n, j := p.firstAllowed(s.Class)
		if p.window > 0 && n != nil {
			n, j = p.firstAt(s)
		}
		if n == nil {
			j := p.pressed(s.Class)
			p.withdraw(s.Class, j != nil)
			if j == nil {
				return sojourn.Assignment{}, false
			}
			side := j.SideOf(s.Class)
			phase := j.NextPhase(side)
			pick, _ := p.index.Find(j, phase, s, sojourn.Remote)
			return p.start(j, side, phase, pick, s.ID, false), true
		}
		if j != nil {
			side := j.SideOf(s.Class)
			if p.index == nil {
				p.reserve.Started(s, !p.skipped)
				p.withdraw(s.Class, true)
				a := p.ledger.Take(j, side, s.ID)
				p.assigned(j, side, a)
				return a, true
			}
			pick, phase, ok := p.pick(j, side, s)
			if !ok {
				p.passOver(j, side)
				continue
			}
			p.reserve.Started(s, !p.skipped)
			p.withdraw(s.Class, true)
			return p.start(j, side, phase, pick, s.ID, true), true
		}
		if !n.policy.wants() {
			p.decline(n, s.Class)
			continue
		}
		p.lendSlot(n, s)
		a, ok := n.policy.Assign(s.ID)
		if !ok {
			p.takeBack(n, p.ledger.Now())
			p.decline(n, s.Class)
			p.skipped = p.skipped || p.restricted(s.Class)
			continue
		}
		p.reserve.Started(s, !p.skipped)
		n.lent = n.lent[:0]
		n.policy.due = n.policy.Due(p.ledger.Now())
		p.withdraw(s.Class, true)
		j = p.ledger.Job(a.Task.Job)
		if j == nil || j.Data.pool != n || !j.Phase(int(a.Task.Phase)).IsPending(a.Task.Index) {
			panic(fmt.Sprintf("fair: a %T assigns task %v, which it may not start", n.policy.Policy, a.Task))
		}
		var b sojourn.Assignment
		if p.index != nil {
			b = p.index.Take(j, int(a.Task.Phase), locality.Pick{Index: a.Task.Index}, s.ID)
		} else {
			b = p.ledger.TakeTask(j, int(a.Task.Phase), a.Task.Index, s.ID)
		}
		if b.Attempt != a.Attempt {
			panic(fmt.Sprintf("fair: a %T assigns attempt %d at task %v, want %d", n.policy.Policy, a.Attempt, a.Task, b.Attempt))
		}
		p.assigned(j, j.SideOf(s.Class), a)
		return a, true
	}
}

// seekByOffer is Seek if some pools have policies, jobs wait for locality, or it may be the turn of
// another class.
func (p *Policy) seekByOffer(c sojourn.Class) (sojourn.SlotID, bool) {
	id, ok := p.ledger.FreeSlot(c)
	if !ok || p.ranked && !p.isDue(c) {
		return 0, false
	}
	defer p.withdraw(c, false)
	for {
		n, j := p.firstAllowed(c)
		switch {
		case n == nil:
			if p.pressed(c) == nil {
				return 0, false
			}
			return id, true
		case j != nil && p.delay.Node == 0:
			return id, true
		case j != nil:
			side := j.SideOf(c)
			if found, ok := p.index.FreeSlot(j, j.NextPhase(side), p.reach(j, side)); ok {
				return found, true
			}
			p.passOver(j, side)
			continue
		case !n.policy.wants():
			p.decline(n, c)
			continue
		}
		// Each slot is lent alone, as in an offer, since a policy's answer may depend on the number of its slots.
		for s, free := id, true; free; s, free = p.ledger.NextFree(c, s+1) {
			if found, ok := p.seekWith(n, p.ledger.Free(s)); ok {
				return found, true
			}
		}
		p.decline(n, c)
	}
}

// start assigns a task that pick found. chosen says that its job has chosen the place.
func (p *Policy) start(j *job, side *ledger.Side, phase int, pick locality.Pick, id sojourn.SlotID, chosen bool) sojourn.Assignment {
	a := p.index.Take(j, phase, pick, id)
	if w := waitOf(j, side); w != nil {
		if chosen {
			w.Launched(a, p.ledger.Now())
		}
		w.Stop(p.ledger.Now())
	}
	p.assigned(j, side, a)
	return a
}
