package priority

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// ask finds the attempts that are asked for now: for the greatest priority that waits, those of the lowest one, the youngest
// first, and so on.
func (p *policy) ask() {
	p.asked = p.asked[:0]
	if p.opts.Preempt == 0 {
		return
	}
	p.round++
	for i, l := range p.levels {
		for c := range l.classes {
			if len(p.asked) == p.opts.Preempt {
				return
			}
			if p.asks(i, sojourn.Class(c)) {
				p.askFor(i, sojourn.Class(c))
			}
		}
	}
}

// asks reports whether the i-th level may ask for slots of a class. It would get them, since nothing lower goes before it by
// its age.
func (p *policy) asks(i int, c sojourn.Class) bool {
	l := p.levels[i]
	if !l.wants(c) || l.due || p.ledger.FreeSlots(c) > 0 || !p.runsBelow(i, c) || p.ledger.Now().Sub(l.classes[c].since) < p.opts.PreemptAfter {
		return false
	}
	for _, first := range p.offers(c) {
		if first == l {
			return true
		}
		if first.priority < l.priority {
			return false
		}
	}
	return false
}

// tries is how many slots are passed over at most that the policy of a level would not take.
const tries = 8

// askFor finds attempts for a level on slots of one class.
func (p *policy) askFor(i int, c sojourn.Class) {
	l := p.levels[i]
	h, _, _ := l.ready.First(c)
	claim := sojourn.Preemption{For: p.ledger.ByHandle(h).Spec().ID}
	need, left := l.classes[c].startable, tries
	for k := len(p.levels) - 1; k > i; k-- {
		if int(c) >= len(p.levels[k].classes) {
			continue
		}
		for at := p.levels[k].classes[c].last; at != 0; at = p.linked(at).prev {
			if need == 0 || left == 0 || len(p.asked) == p.opts.Preempt {
				return
			}
			id := sojourn.SlotID(at - 1)
			switch {
			case p.at(id).asked == p.round:
			case !p.wouldTake(l, c, id):
				left--
			default:
				p.at(id).asked = p.round
				a, _ := p.ledger.Attempt(id)
				claim.Task, claim.Attempt, claim.Slot = a.Task, a.Number, id
				p.asked = append(p.asked, claim)
				need--
			}
		}
	}
}

// wouldTake reports whether the policy of a level would take the slot if it were free. It has the slot for an instant, which
// changes nothing by the laws of a policy.
func (p *policy) wouldTake(l *level, c sojourn.Class, id sojourn.SlotID) bool {
	if l.in.Seeker == nil {
		return true
	}
	s, _ := p.ledger.Busy(id)
	l.must(sojourn.Event{Kind: sojourn.SlotAdded, At: p.ledger.Now(), Slot: s})
	_, ok := l.in.Seeker.Seek(c)
	l.must(sojourn.Event{Kind: sojourn.SlotRemoved, At: p.ledger.Now(), Slot: s})
	return ok
}

// nextAsk returns the next instant at which a level that waits will ask for slots.
func (p *policy) nextAsk() (at sojourn.Time, ok bool) {
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
			since := l.classes[k].since
			t := since.Add(p.opts.PreemptAfter)
			if t > now && t.Sub(since) == p.opts.PreemptAfter && (!ok || t < at) {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// runsBelow reports whether a level after the i-th has attempts on slots of a class that may be asked for.
func (p *policy) runsBelow(i int, c sojourn.Class) bool {
	return slices.ContainsFunc(p.levels[i+1:], func(l *level) bool { return int(c) < len(l.classes) && l.classes[c].last != 0 })
}

// A preemptor lists what the Policy asks for, and what the policies inside do.
type preemptor struct{ p *policy }

func (a preemptor) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	own := len(dst)
	dst = append(dst, a.p.asked...)
	for _, l := range a.p.levels {
		pre, ok := sojourn.As[sojourn.Preemptor](l.in.Policy)
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
