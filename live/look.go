package live

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A look is what package live/statuspage asks of the pool that it observes, besides what everybody may ask. Nothing here looks at
// more jobs than it is told to (TestLook), and those whose promises are void.
type look struct{ p *Pool }

// watched shows the pool to its observer, if that wants to look at it, before anything is told.
func (p *Pool) watched() {
	if w, ok := p.opt.Observer.(interface{ Watch(pool any) }); ok {
		w.Watch(look{p})
	}
}

// Status returns the status of the pool with those of the given jobs that are live, in that order, and when the first of the
// tasks of each that wait after a failure is tried again: 0 if none waits so.
func (l look) Status(ids []sojourn.JobID) (st Status, next []sojourn.Time) {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	st = p.status()
	promiser, promises := policyAs[sojourn.Promiser](p)
	for _, id := range ids {
		if h := p.jobs.get(id); h != nil {
			st.Jobs = append(st.Jobs, p.jobStatus(h, st.Now, promiser, promises))
			at := sojourn.Time(0)
			for _, t := range h.more.get().held { //sojourn:unordered a minimum
				if at == 0 || t.at < at {
					at = t.at
				}
			}
			next = append(next, at)
		}
	}
	return st, next
}

// Stuck says of each of the given jobs whether it cannot go on now, unless something changes that the pool does not do by itself:
// see [JobStuck].
func (l look) Stuck(ids []sojourn.JobID) []bool {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	dead, _ := p.deadlocked()
	still := make([]bool, len(ids))
	for i, id := range ids {
		if h := p.jobs.get(id); h != nil {
			_, lacks := p.classes.lacks(h)
			still[i] = lacks || h.more.get().parked || slices.ContainsFunc(dead, func(a *attempt) bool { return a.h == h })
		}
	}
	return still
}

// Void returns the live jobs whose promises are void: see [sojourn.Promiser].
func (l look) Void() []sojourn.JobID {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if promiser, ok := policyAs[sojourn.Promiser](p); ok && !p.over {
		return promiser.AppendVoid(nil)
	}
	return nil
}

// Hasten lets the tasks of a job that wait after a failure start now. It reports false if there are none.
func (l look) Hasten(id sojourn.JobID) bool {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.jobs.get(id)
	if h == nil || p.over || len(h.more.get().held) == 0 {
		return false
	}
	for _, t := range h.more.held { //sojourn:unordered each goes off by itself
		t.Reset(0)
	}
	return true
}
