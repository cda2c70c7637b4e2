package priority

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// ask finds the attempts that are asked for now. What was asked for stays so, as long as it is needed.
func (p *Policy) ask() {
	if p.opts.Preempt == 0 {
		return
	}
	old := p.asked
	p.asked = nil
	classes := 0
	for _, l := range p.levels {
		classes = max(classes, len(l.classes))
	}
	for c := range classes {
		p.askFor(sojourn.Class(c), old)
	}
}

// askFor finds the attempts on slots of one class.
func (p *Policy) askFor(c sojourn.Class, old []sojourn.Preemption) {
	if p.ledger.FreeSlots(c) > 0 || p.ledger.Capacity(c) == 0 {
		return
	}
	for i, l := range p.levels {
		if !l.wants(c) || p.ledger.Now().Sub(p.since(l, c)) < p.opts.PreemptAfter {
			continue
		}
		need := l.classes[c].startable
		h, _, _ := l.ready.First(c)
		claim := sojourn.Preemption{For: p.ledger.ByHandle(h).Spec().ID}
		asks := func(id sojourn.SlotID) bool {
			if need == 0 || len(p.asked) == p.opts.Preempt {
				return false
			}
			if need == l.classes[c].startable && !p.wouldTake(l, c, id) {
				need = 0
				return false
			}
			a, _ := p.ledger.Attempt(id)
			claim.Task, claim.Attempt, claim.Slot = a.Task, a.Number, id
			p.asked = append(p.asked, claim)
			need--
			return true
		}
		for _, v := range old {
			if s, busy := p.ledger.Busy(v.Slot); busy && s.Class == c && p.below(l, v.Slot) && !p.isAsked(v.Slot) {
				asks(v.Slot)
			}
		}
		for k := len(p.levels) - 1; k > i; k-- {
			if int(c) >= len(p.levels[k].classes) {
				continue
			}
			for at := p.levels[k].classes[c].lists[askable].last; at != 0; at = p.linked(at).prev {
				if id := sojourn.SlotID(at - 1); !p.isAsked(id) && !asks(id) {
					break
				}
			}
		}
	}
}

// below reports whether what runs on a slot is of a lower priority than a level.
func (p *Policy) below(l *level, id sojourn.SlotID) bool {
	a, _ := p.ledger.Attempt(id)
	return a.Job.Data.level.priority < l.priority
}

func (p *Policy) isAsked(id sojourn.SlotID) bool {
	return slices.ContainsFunc(p.asked, func(v sojourn.Preemption) bool { return v.Slot == id })
}

// wouldTake reports whether the policy of a level would take the slot if it were free. It has the slot for an instant, which
// changes nothing by the laws of a policy.
func (p *Policy) wouldTake(l *level, c sojourn.Class, id sojourn.SlotID) bool {
	if l.seeker == nil {
		return true
	}
	s, _ := p.ledger.Busy(id)
	s.Rack = p.rack(s)
	l.must(sojourn.Event{Kind: sojourn.SlotAdded, At: p.ledger.Now(), Slot: s})
	_, ok := l.seeker.Seek(c)
	l.must(sojourn.Event{Kind: sojourn.SlotRemoved, At: p.ledger.Now(), Slot: s})
	return ok
}

// nextAsk returns the next instant at which a level that waits will ask for slots.
func (p *Policy) nextAsk() (at sojourn.Time, ok bool) {
	if p.opts.Preempt == 0 || p.opts.PreemptAfter == 0 {
		return 0, false
	}
	now := p.ledger.Now()
	for i, l := range p.levels {
		for k := range l.classes {
			c := sojourn.Class(k)
			if !l.wants(c) || p.ledger.FreeSlots(c) > 0 || !p.runsBelow(i, c) {
				continue
			}
			since := p.since(l, c)
			t := since.Add(p.opts.PreemptAfter)
			if t > now && t.Sub(since) == p.opts.PreemptAfter && (!ok || t < at) {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// runsBelow reports whether a level after the i-th has attempts on slots of a class that may be asked for.
func (p *Policy) runsBelow(i int, c sojourn.Class) bool {
	return slices.ContainsFunc(p.levels[i+1:], func(l *level) bool { return int(c) < len(l.classes) && l.classes[c].lists[askable].last != 0 })
}

// A preemptor lists what the Policy asks for, and what the policies inside do.
type preemptor struct{ p *Policy }

func (a preemptor) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	own := len(dst)
	dst = append(dst, a.p.asked...)
	for _, l := range a.p.levels {
		pre, ok := sojourn.As[sojourn.Preemptor](l.in)
		if !ok {
			continue
		}
		for _, v := range pre.AppendPreemptions(nil) {
			if !slices.ContainsFunc(dst[own:], func(o sojourn.Preemption) bool { return o.Slot == v.Slot }) {
				dst = append(dst, v)
			}
		}
	}
	return dst
}
