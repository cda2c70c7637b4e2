package sojourntest

import (
	"time"

	"github.com/sojourn-sched/sojourn"
)

// losses are the ends of an attempt whose work is lost.
var losses = [...]sojourn.Event{
	{Kind: sojourn.TaskRefused},
	{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
	{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost},
	{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask},
}

// chargeable reports whether the policy may charge for an attempt at a task of a job that ends so after the calls
// of h: the table in the comment of [sojourn.Cause]. A refusal may be charged if an attempt of the job was
// refused before and none has finished since. A failure may if any attempt has failed before, since what is charged later for one
// job may concern its pool.
func (w *witness) chargeable(end *sojourn.Event, job sojourn.JobID, h history) bool {
	refused, failed := false, false
	for i := range h {
		c := &h[i]
		switch {
		case c.assign || c.err != nil:
		case c.ev.Kind == sojourn.JobArrived || c.ev.Kind == sojourn.JobAdopted: // the ID may have been another job's
			refused = refused && c.ev.Job.ID != job
		case c.ev.Kind == sojourn.TaskFailed && c.ev.Cause == sojourn.CauseTask:
			failed = true
		case c.ev.Kind == sojourn.TaskFinished && c.ev.Task.Job == job:
			refused = false
		case c.ev.Kind == sojourn.TaskRefused && c.ev.Task.Job == job:
			refused = true
		}
	}
	switch {
	case end.Kind == sojourn.TaskRefused:
		return w.o.ChargesLostWork || refused
	case end.Kind == sojourn.TaskFailed && end.Cause == sojourn.CauseTask:
		return w.o.ChargesFailures || failed
	}
	return w.o.ChargesLostWork
}

// lost checks the law of lost work at one assignment of the trial, in a thorough trial at each. The
// attempt is lost after a while, or at the call that ended it in the trial.
func (tr *trial) lost() {
	if tr.m.now > lastTime { // time has to pass
		return
	}
	starts := tr.contested()
	if len(starts) > 0 && !tr.thorough {
		starts = []int{pick(&tr.draws, starts...)}
	}
	whiles := []time.Duration{-1, 1, time.Second, time.Hour}
	for _, i := range starts {
		list := whiles
		if !tr.thorough {
			list = []time.Duration{pick(&tr.draws, whiles...)}
		}
		for _, while := range list {
			tr.lostAt(i, while)
		}
	}
}

// contested returns the assignments of the trial that another job waited for. Jobs with inputs are left
// out: after a start, they may wait anew for a slot that is close to an input.
func (tr *trial) contested() (starts []int) {
	m := newDraws(tr.o, tr.src).m
	for i := range tr.h {
		if c := &tr.h[i]; c.assign && c.ok && m.contested(&c.a) {
			starts = append(starts, i)
		}
		m.follow(&tr.h[i])
	}
	return starts
}

// contested reports whether a job could start a task on the slot of a, other than that of a, which has
// no inputs.
func (m *model) contested(a *sojourn.Assignment) (others bool) {
	for _, p := range m.job(a.Task.Job).spec.Phases {
		if p.Inputs.Len() > 0 {
			return false
		}
	}
	class := m.slot(a.Slot).Class
	m.each(func(j *modelJob, t *modelTask) {
		others = others || j.spec.ID != a.Task.Job && m.why(t, class) == ""
	})
	return others
}

// follow applies a call of a history.
func (m *model) follow(c *call) {
	switch {
	case c.assign && c.ok:
		m.start(m.task(c.a.Task), c.slot, c.a.Attempt)
	case !c.assign && c.err == nil:
		m.apply(&c.ev)
	}
}

// lostAt compares two continuations of the history before an assignment. In one the attempt is
// started and lost, in the other one the slot stays free. while is how long that takes; if it is
// negative, the events happen meanwhile that are in the trial until the attempt ends, as far as they
// fit and are not about the job or the slot.
func (tr *trial) lostAt(i int, while time.Duration) {
	a := tr.h[i].a
	never := tr.branch(tr.h[:i])
	until := i + 1
	if while < 0 {
		for until < len(tr.h) && !tr.h[until].ends(&a) {
			until++
		}
	}
	meanwhile := tr.h[i+1 : until]
	at := never.m.now.Add(max(0, while))
	never.live(&a, meanwhile)
	never.pass(at)
	want, ok := never.place(&a)
	if !ok {
		return
	}
	for _, ev := range losses {
		if tr.chargeable(&ev, a.Task.Job, tr.h[:i]) {
			continue
		}
		b := tr.branch(tr.h[:i])
		b.assign(a.Slot)
		if b.live(&a, meanwhile); b.refused != never.refused {
			continue // what one has accepted and the other refused sets them apart
		}
		b.pass(at)
		ev.At, ev.Task, ev.Attempt, ev.Slot.ID = b.m.now, a.Task, a.Attempt, a.Slot
		b.observe(ev)
		if got, ok := b.place(&a); (!ok || got > want) && tr.heldInstead(i, at, meanwhile) <= want {
			tr.fail(lawLost, b.h, "after %v, job %d gets slot %d after %d others, or after a decline; if the attempt is not started, after %d", ev, a.Task.Job, a.Slot, got, want)
		}
	}
}

// heldInstead returns the place of the job after its task was held and released where the attempt would
// have been lost; most if that is not known. What any event of a job changes, such as a level that is
// computed anew, or a reservation that is made anew, is not held against a policy.
func (tr *trial) heldInstead(i int, at sojourn.Time, meanwhile history) int {
	a := tr.h[i].a
	b := tr.branch(tr.h[:i])
	b.live(&a, meanwhile)
	b.pass(at)
	for _, kind := range []sojourn.EventKind{sojourn.TaskHeld, sojourn.TaskReady} {
		b.observe(sojourn.Event{Kind: kind, At: b.m.now, Task: a.Task})
	}
	if n, ok := b.place(&a); ok {
		return n
	}
	return most
}

// most bounds how many attempts at other tasks are counted.
const most = 5

// ends reports whether a call ends an attempt.
func (c *call) ends(a *sojourn.Assignment) bool {
	switch c.ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		return c.err == nil && c.ev.Task == a.Task && c.ev.Attempt == a.Attempt
	}
	return false
}

// A branch is a policy, and the model, that go on from a point in a history.
type branch struct {
	tr      *trial
	s       *subject
	m       *model
	h       history
	refused int // events that fit
}

// branch returns a new policy after the calls of h.
func (tr *trial) branch(h history) *branch {
	b := &branch{tr: tr, s: tr.fresh(), m: newDraws(tr.o, tr.src).m, h: h[:len(h):len(h)]}
	tr.replay(lawDeterminism, b.s, h, false)
	for i := range h {
		b.m.follow(&h[i])
	}
	return b
}

// observe reports an event that fits.
func (b *branch) observe(ev sojourn.Event) {
	c := call{ev: ev}
	b.make(&c, func() { c.err = sentinel(b.s.Observe(ev)) })
	if c.err != nil {
		b.refused++
	}
	b.m.follow(&c)
}

// assign offers a free slot.
func (b *branch) assign(id sojourn.SlotID) call {
	c := call{assign: true, slot: id}
	b.make(&c, func() { c.a, c.ok = b.s.Assign(id) })
	b.m.follow(&c)
	return c
}

// make makes a call, and adds it to the history.
func (b *branch) make(c *call, f func()) {
	if what := panicked(f); what != "" {
		b.tr.fail(lawPanics, append(b.h, *c), "in the law of %s, %v panics: %s", nameOf(lawLost), c, what)
	}
	b.h = append(b.h, *c)
}

// pass lets time pass, and reports a Tick where the policy asks for it.
func (b *branch) pass(until sojourn.Time) {
	for range 100 {
		if b.s.waker == nil {
			break
		}
		at, ok := b.s.waker.NextWake()
		if !ok || at > until {
			break
		}
		b.observe(sojourn.Event{Kind: sojourn.Tick, At: max(at, b.m.now)})
	}
	if b.m.now < until {
		b.observe(sojourn.Event{Kind: sojourn.Tick, At: until})
	}
}

// live reports the events of h that fit, whether the attempt a runs or not.
func (b *branch) live(a *sojourn.Assignment, h history) {
	for i := range h {
		ev := h[i].ev
		about := ev.Task.Job == a.Task.Job || ev.Job != nil && ev.Job.ID == a.Task.Job || namesSlot(ev.Kind) && ev.Slot.ID == a.Slot
		if h[i].assign || h[i].err != nil || about || b.m.check(&ev) != nil {
			continue
		}
		b.pass(ev.At)
		b.observe(ev)
	}
}

// place returns how many attempts at tasks of other jobs start on the slot of a before one of its own
// job, if each of them takes a second; false if it is too many, or the slot is declined.
func (b *branch) place(a *sojourn.Assignment) (n int, ok bool) {
	for ; n < most; n++ {
		b.pass(b.m.now)
		c := b.assign(a.Slot)
		if !c.ok {
			return n, false
		}
		if c.a.Task.Job == a.Task.Job {
			return n, true
		}
		b.pass(b.m.now.Add(time.Second))
		b.observe(sojourn.Event{Kind: sojourn.TaskFinished, At: b.m.now, Task: c.a.Task, Attempt: c.a.Attempt, Slot: sojourn.Slot{ID: c.a.Slot}, Service: time.Second})
	}
	return n, false
}
