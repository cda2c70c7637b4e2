package priority

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// An attempt is what runs on a slot. Those of a level on slots of one class are in two lists, in the order in which they
// started.
type attempt struct {
	number     uint64       // of all attempts, in the order in which they started; 0 if nothing ever ran there
	begin      sojourn.Time // of the class when it started
	aged       bool         // it was started by its age
	in         int          // the list: askable or spared; none
	prev, next link
}

const (
	none = iota - 1
	askable
	spared
)

// A page is the attempts on slots that follow one another.
type page [pageSize]attempt

const pageSize = 64

// at returns the attempt on a slot on which something runs, or ran.
func (p *Policy) at(id sojourn.SlotID) *attempt { return &p.attempts[id/pageSize][id%pageSize] }

// A link names a slot, as one more than its ID; 0 names none.
type link uint64

// linked returns the attempt that a link names, which is not 0.
func (p *Policy) linked(to link) *attempt { return p.at(sojourn.SlotID(to - 1)) }

// A list is linked through the attempts.
type list struct{ first, last link }

// started notes the start of an attempt of a level. begin is since when the level had something to start.
func (p *Policy) started(l *level, s sojourn.Slot, begin sojourn.Time, aged bool) {
	if more := int(s.ID/pageSize) + 1 - len(p.attempts); more > 0 {
		p.attempts = append(p.attempts, make([]*page, more)...)
	}
	if at := &p.attempts[s.ID/pageSize]; *at == nil {
		*at = new(page)
	}
	p.starts++
	*p.at(s.ID) = attempt{number: p.starts, begin: begin, aged: aged, in: none}
	p.list(l, s.ID)
}

// end applies the end of an attempt of a level. One that was refused, preempted or lost with its slot, or has failed by
// itself, counts as never started. But a refusal or failure of a job counts that was refused, or has failed, since it last
// finished something: else it would keep others waiting for ever.
func (p *Policy) end(ev *sojourn.Event, l *level) {
	s, _ := p.ledger.Busy(ev.Slot.ID)
	a, _ := p.ledger.Attempt(s.ID)
	j, begin, kept := a.Job, p.at(s.ID).begin, false
	switch {
	case ev.Kind == sojourn.TaskFinished:
		j.Data.refused, j.Data.failed, kept = false, false, true
	case ev.Kind == sojourn.TaskRefused:
		kept, j.Data.refused = j.Data.refused, true
	case ev.Cause == sojourn.CauseTask:
		kept, j.Data.failed = j.Data.failed, true
	}
	p.unlist(l, s.ID)
	c := l.class(s.Class)
	if kept {
		c.kept = max(c.kept, a.Start)
	}
	p.apply(ev)
	if !kept && c.startable > 0 {
		c.begin = min(c.begin, begin)
	}
}

// since returns since when a level waits for slots of a class on which it has something to start.
func (p *Policy) since(l *level, of sojourn.Class) sojourn.Time {
	c := &l.classes[of]
	t := max(c.begin, c.kept)
	for _, list := range c.lists {
		if list.last != 0 {
			a, _ := p.ledger.Attempt(sojourn.SlotID(list.last - 1))
			t = max(t, a.Start)
		}
	}
	return t
}

// list puts the attempt on a slot into the list of its level where it belongs.
func (p *Policy) list(l *level, id sojourn.SlotID) {
	p.unlist(l, id)
	a := p.at(id)
	if a.in = askable; a.aged || p.ledger.Pinned(id) || p.ledger.Retiring(id) {
		a.in = spared
	}
	s, _ := p.ledger.Busy(id)
	to := &l.class(s.Class).lists[a.in]
	a.prev, a.next = to.last, 0
	for a.prev != 0 && p.linked(a.prev).number > a.number {
		a.prev, a.next = p.linked(a.prev).prev, a.prev
	}
	*p.after(to, a.prev) = link(id) + 1
	*p.before(to, a.next) = link(id) + 1
}

// unlist takes the attempt on a slot out of its list, if it is in one.
func (p *Policy) unlist(l *level, id sojourn.SlotID) {
	p.asked = slices.DeleteFunc(p.asked, func(v sojourn.Preemption) bool { return v.Slot == id })
	a := p.at(id)
	if a.in == none {
		return
	}
	s, _ := p.ledger.Busy(id)
	from := &l.class(s.Class).lists[a.in]
	*p.after(from, a.prev) = a.next
	*p.before(from, a.next) = a.prev
	a.in = none
}

// after returns the link that leads on from a slot, or begins the list.
func (p *Policy) after(l *list, at link) *link {
	if at == 0 {
		return &l.first
	}
	return &p.linked(at).next
}

// before returns the link that leads back from a slot, or ends the list.
func (p *Policy) before(l *list, at link) *link {
	if at == 0 {
		return &l.last
	}
	return &p.linked(at).prev
}
