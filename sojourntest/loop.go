package sojourntest

import "github.com/sojourn-sched/sojourn"

// A loop is a plain driver of one policy, which judges no answer.
type loop struct {
	s     *subject
	now   sojourn.Time
	slots []sojourn.Slot
	runs  map[sojourn.SlotID]sojourn.Assignment
	h     *history // the calls, unless nil
}

func newLoop(newPolicy func() sojourn.Policy) *loop {
	return &loop{s: newSubject(newPolicy), runs: map[sojourn.SlotID]sojourn.Assignment{}}
}

// observe reports ev now, and reports whether it was accepted.
func (l *loop) observe(ev sojourn.Event) bool {
	ev.At = l.now
	err := l.s.Observe(ev)
	if l.h != nil {
		*l.h = append(*l.h, call{ev: ev, err: sentinel(err)})
	}
	return err == nil
}

// add adds a slot.
func (l *loop) add(s sojourn.Slot) {
	if l.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s}) {
		l.slots = append(l.slots, s)
	}
}

// offer offers all free slots until none is taken. It reports a Tick where the policy wants one.
func (l *loop) offer() {
	for range 100 {
		taken := false
		for _, s := range l.slots {
			if _, busy := l.runs[s.ID]; busy {
				continue
			}
			a, ok := l.s.Assign(s.ID)
			if l.h != nil {
				*l.h = append(*l.h, call{assign: true, slot: s.ID, a: a, ok: ok})
			}
			if ok {
				l.runs[s.ID], taken = a, true
			}
		}
		if at, ok := l.wake(); ok && at <= l.now {
			l.observe(sojourn.Event{Kind: sojourn.Tick})
		} else if !taken {
			return
		}
	}
}

// wake returns when the policy wants a Tick.
func (l *loop) wake() (sojourn.Time, bool) {
	if l.s.waker == nil {
		return 0, false
	}
	return l.s.waker.NextWake()
}

// end reports that what runs on a slot has ended as ev says, if anything runs.
func (l *loop) end(id sojourn.SlotID, ev sojourn.Event) bool {
	a, busy := l.runs[id]
	if !busy {
		return false
	}
	delete(l.runs, id)
	ev.Task, ev.Attempt, ev.Slot.ID = a.Task, a.Attempt, id
	return l.observe(ev)
}
