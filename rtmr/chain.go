package rtmr

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// clone returns a copy of v.
func (v vectors) clone() (c vectors) {
	for s := range v {
		c[s] = slices.Clone(v[s])
	}
	return c
}

// behind returns the vectors behind the job before rank. If there is no such job, they are
// the vectors built from reality, at the instant when they were built; attempts that ran
// then are not in the chain.
//
// It skips finished jobs. Their tasks hold no slots any more, so the vectors behind the
// last unfinished job before them, raised to now, are a bound for all of them.
func (p *promises) behind(rank int) vectors {
	if rank == 0 {
		return p.root
	}
	return p.order.jobs[rank-1].Data.mark.t
}

// whole describes all of a job, as the chain books it. While the job waits, it leaves
// out tasks that turned out to need no run. A job without maps has one virtual map of
// length zero: the job waits for its turn at the map slots, and starts there.
func (p *promises) whole(j *job) entry {
	d := &j.Data
	en := entry{
		job: j, id: j.Spec().ID, eps: d.eps, seq: j.Seq(),
		promised: d.mark.promise == kept && !j.Cancelled(), deadline: d.deadline, place: d.mark.place,
	}
	for s, i := range d.phase {
		switch {
		case d.mark.started == 0:
			en.tasks[s] = p.left(j, s)
		case i >= 0:
			en.tasks[s] = int64(j.Spec().Phases[i].Tasks)
		}
	}
	p.opts.virtual(&en)
	return en
}

// linked reports whether a job is in the chain, that is, whether its promise holds. Jobs
// without a promise run behind the chain, and are not booked.
func (p *promises) linked(j *job) bool {
	return p.opts.Booking == Chain && j.Data.mark.promise == kept && !j.Cancelled()
}

// chained prepares the test of a job that arrives: its place is behind the last job that has
// started, among those that wait.
func (p *promises) chained(cand entry, now int64) *admission {
	first := p.order.started()
	p.list = p.list[:0]
	for _, j := range p.order.jobs[first:] {
		if !p.linked(j) {
			break
		}
		en := p.whole(j)
		en.stored = &j.Data.mark.booking
		p.list = append(p.list, en)
	}
	base := p.behind(first)
	for s := range base {
		p.head[s] = append(p.head[s][:0], base[s]...)
	}
	p.opts.virtual(&cand)
	return p.test(&p.head, cand, p.list, now)
}

// rechain books the jobs from rank on again, behind the job before.
func (p *promises) rechain(rank int) {
	w := &p.walk
	base := p.behind(rank)
	w.begin(&base, p.now())
	for _, j := range p.order.jobs[rank:] {
		if !p.linked(j) {
			break
		}
		en := p.whole(j)
		m := &j.Data.mark
		m.em, m.e = w.try(&en)
		w.keep()
		m.t = w.at.clone()
		j.Data.hard = *m
	}
}

// rebase gives the jobs of p.list, which are all jobs whose promises hold, vectors that are
// rebuilt from reality, which is in p.base. From there the undispatched tasks can be booked
// in any order, and each of the vectors contains all running attempts.
func (p *promises) rebase(now int64) {
	w := &p.walk
	w.begin(&p.base, now)
	p.root = w.at.clone()
	for i := range p.list {
		j := p.list[i].job
		m := &j.Data.mark
		m.em, m.e = w.try(&p.list[i])
		w.keep()
		m.t = w.at.clone()
		m.rebased = false
		for s, i := range j.Data.phase {
			m.rebased = m.rebased || i >= 0 && p.left(j, s) < int64(j.Spec().Phases[i].Tasks)
		}
	}
}

// renew rebuilds the vectors before a job is promised anything, if a job outside the
// chain holds slots that the vectors do not know. Jobs in the chain do not become later
// by this, but the next candidate would count on these slots.
func (p *promises) renew(now int64) {
	if p.stale && !p.soft {
		p.evaluate(now, 0)
	}
}

// startJob records that a task of a job is dispatched. With its first task a job of the
// chain starts, and no job overtakes it from then on.
func (p *promises) startJob(j *job) {
	m := &j.Data.mark
	switch {
	case !p.linked(j):
		p.stale = true
		return
	case m.started > 0:
		return
	}
	p.starts++
	m.started = p.starts
	j.Data.hard.started = m.started
	p.setKey(j)
	i := j.Data.rank
	if before := i == 0 || p.order.jobs[i-1].Data.key.before(j.Data.key); !before {
		p.order.remove(j)
		p.order.add(j)
	}
	p.refile(j)
}

// startBefore starts the jobs without a map to start that wait before j. j is about to take
// a map slot or to start, and the free map slot was theirs first.
func (p *promises) startBefore(j *job) {
	for i := p.order.started(); i < j.Data.rank; i++ {
		if k := p.order.jobs[i]; p.linked(k) && p.left(k, maps) == 0 {
			p.startJob(k)
		}
	}
}

// waitsForMapSlot reports whether j, whose reduce tasks are ready, waits for its
// virtual map: in the chain, a job without maps, or whose maps were done before it
// started, takes its turn at the map slots. Otherwise it could run reduces before jobs
// ahead of it have started, and a job that is then inserted before it would not know the
// slots that it holds.
func (p *promises) waitsForMapSlot(j *job) bool {
	d := &j.Data
	if !p.linked(j) || d.mark.started > 0 || p.slots[maps] == 0 {
		return false
	}
	if p.free[maps] == 0 {
		return true
	}
	_, first, ok := p.ready.First(sojourn.MapClass)
	return ok && first.before(d.key)
}

// feedback replaces the estimates of a job that has finished, and of the jobs behind it, by
// measured values (Algorithms V and VI).
func (p *promises) feedback(j *job) {
	d := &j.Data
	if !p.linked(j) {
		return
	}
	now := p.now()
	off := d.mark.e - now
	if max(off, -off) <= int64(p.opts.Delta) && now <= d.deadline {
		return
	}
	if d.mark.rebased || p.unsettled() || p.idled {
		p.broken(0) // the vectors overstate what it used: rebuild all
		return
	}
	var u vectors
	for s, v := range p.behind(d.rank) {
		u[s] = slotvec.Replace(nil, v, d.ended[s])
	}
	p.improve(d, u)
	w := &p.walk
	w.begin(&d.mark.t, now)
	for _, k := range p.order.jobs[d.rank+1:] {
		if !p.linked(k) {
			break
		}
		en := p.whole(k)
		m := &k.Data.mark
		em, e := w.try(&en)
		w.keep()
		m.em, m.e = min(m.em, em), min(m.e, e)
		p.improve(&k.Data, w.at)
		w.begin(&m.t, now)
	}
}

// improve replaces the vectors behind a job by the elementwise minimum of the old and
// the new ones, since both are bounds. The paper takes the new ones, which lie above the
// old ones if a job is partly executed. So it raises estimates of admitted jobs past
// their deadlines: no job is late then, but all candidates before them are refused.
func (p *promises) improve(d *data, u vectors) {
	for s := range u {
		d.mark.t[s] = slotvec.Min(nil, d.mark.t[s], u[s])
	}
	d.hard = d.mark
}
