package priority

import (
	"github.com/sojourn-sched/sojourn"
)

// An attempt is what runs on a slot. Those of a level on slots of one class that may be asked for are in a list, by the time at
// which they began, and then in the order in which they were started here.
type attempt struct {
	number     uint64       // of all attempts, in the order in which they started; 0 if nothing ever ran there
	begun      sojourn.Time // before time 0 if it was adopted and is older
	aged       bool         // it was started by its age
	listed     bool
	asked      uint64 // the round in which it was last asked for
	prev, next link
}

// older reports whether an attempt comes before another one in a list.
func (a *attempt) older(b *attempt) bool {
	return a.begun < b.begun || a.begun == b.begun && a.number < b.number
}

// A page is the attempts on slots that follow one another.
type page [pageSize]attempt

const pageSize = 64

// at returns the attempt on a slot on which something runs, or ran.
func (p *policy) at(id sojourn.SlotID) *attempt { return &p.attempts[id/pageSize][id%pageSize] }

// A link names a slot, as one more than its ID; 0 names none.
type link uint64

// linked returns the attempt that a link names, which is not 0.
func (p *policy) linked(to link) *attempt { return p.at(sojourn.SlotID(to - 1)) }

// started notes the start of an attempt of a level.
func (p *policy) started(l *level, s sojourn.Slot, begun sojourn.Time, aged bool) {
	p.note(s.ID, begun, aged)
	l.class(s.Class).since = p.ledger.Now()
	p.list(l, s.ID)
}

// note begins the account of an attempt.
func (p *policy) note(id sojourn.SlotID, begun sojourn.Time, aged bool) {
	if more := int(id/pageSize) + 1 - len(p.attempts); more > 0 {
		p.attempts = append(p.attempts, make([]*page, more)...)
	}
	if at := &p.attempts[id/pageSize]; *at == nil {
		*at = new(page)
	}
	p.starts++
	*p.at(id) = attempt{number: p.starts, begun: begun, aged: aged}
}

// list puts the attempt on a slot into the list of its level, if it may be asked for, and takes it out if it may not.
func (p *policy) list(l *level, id sojourn.SlotID) {
	p.unlist(l, id)
	a := p.at(id)
	if a.aged || p.ledger.Pinned(id) || p.ledger.Retiring(id) {
		return
	}
	s, _ := p.ledger.Busy(id)
	c := l.class(s.Class)
	a.listed, a.prev, a.next = true, c.last, 0
	for a.prev != 0 && a.older(p.linked(a.prev)) {
		a.prev, a.next = p.linked(a.prev).prev, a.prev
	}
	*p.after(c, a.prev) = link(id) + 1
	*p.before(c, a.next) = link(id) + 1
}

// unlist takes the attempt on a slot out of its list, if it is in one.
func (p *policy) unlist(l *level, id sojourn.SlotID) {
	a := p.at(id)
	if !a.listed {
		return
	}
	s, _ := p.ledger.Busy(id)
	c := l.class(s.Class)
	*p.after(c, a.prev) = a.next
	*p.before(c, a.next) = a.prev
	a.listed = false
}

// after returns the link that leads on from a slot, or begins the list.
func (p *policy) after(c *class, at link) *link {
	if at == 0 {
		return &c.first
	}
	return &p.linked(at).next
}

// before returns the link that leads back from a slot, or ends the list.
func (p *policy) before(c *class, at link) *link {
	if at == 0 {
		return &c.last
	}
	return &p.linked(at).prev
}
