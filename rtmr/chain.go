package rtmr

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/slotvec"
)

// A mutant is a mistake that the tests must notice. Policies that are not under test
// have none.
type mutant uint8

const (
	sane                  mutant = iota
	noReservation                // reduce slots are not kept for jobs whose maps run
	overtakeStarted              // reduces go by deadline among started jobs
	insertBeforeStarted          // admission books a job before started ones of later deadlines
	forgetPredecessor            // with nobody waiting, admission takes all slots for free
	noMaxNow                     // slots that are idle since long are booked for the past
	skipStartedSuccessors        // feedback does not look at started jobs
	zeroMapsInPlace              // a job without maps is ready at once, in its place
)

// clone returns a copy of v.
func (v vectors) clone() (c vectors) {
	for s := range v {
		c[s] = slices.Clone(v[s])
	}
	return c
}

// unused returns vectors in which no slot was ever used.
func (p *Policy) unused() (v vectors) {
	for s := range v {
		if p.slots[s] > 0 {
			v[s] = slotvec.Vector{{T: 0, N: p.slots[s]}}
		}
	}
	return v
}

// behind returns the vectors behind the job before rank: those of a cluster that was
// never used if there is none.
//
// Jobs that have finished are not looked for. Their tasks hold no slots any more, so
// that the vectors behind the last job before them that is not finished, raised to now,
// bound what all of them hold.
func (p *Policy) behind(rank int) vectors {
	if rank == 0 || p.mutant == forgetPredecessor && p.order.jobs[rank-1].Data.started > 0 {
		return p.unused()
	}
	return p.order.jobs[rank-1].Data.mark.t
}

// started returns how many jobs have started.
func (p *Policy) started() int {
	n, _ := slices.BinarySearchFunc(p.order.jobs, tierBooked, func(j *job, tier uint8) int {
		return int(j.Data.key.tier) - int(tier)
	})
	return n
}

// whole describes all of a job, as the chain books it. A job without maps has one
// virtual map of no length: it waits for its turn at the map slots, and starts there.
func (p *Policy) whole(j *job) entry {
	d := &j.Data
	en := entry{
		job: j, id: j.Spec.ID, eps: d.eps, seq: j.Seq,
		promised: d.mark.promise == kept && !j.Cancelled, deadline: d.deadline, place: d.mark.place,
	}
	for s, i := range d.phase {
		if i >= 0 {
			en.tasks[s] = int64(j.Spec.Phases[i].Tasks)
			en.stuck = en.stuck || p.left(j, s) > int64(j.Phases[i].Pending()) && !j.Cancelled
		}
	}
	p.virtual(&en)
	return en
}

// virtual adds the virtual map.
func (p *Policy) virtual(en *entry) {
	if en.tasks[maps] == 0 && p.mutant != zeroMapsInPlace {
		en.tasks[maps], en.eps[maps] = 1, 0
	}
}

// chained makes a test admission behind the last job that has started and among those
// that wait.
func (p *Policy) chained(a *admission) {
	first := p.started()
	p.virtual(&a.cand)
	p.list = p.list[:0]
	if p.mutant == insertBeforeStarted {
		first = 0
	}
	for _, j := range p.order.jobs[first:] {
		en := p.whole(j)
		en.stored = &j.Data.mark.booking
		p.list = append(p.list, en)
	}
	p.base = p.behind(first).clone()
	a.list = p.list
}

// rechain books the jobs from rank on anew, behind the one before.
func (p *Policy) rechain(rank int) {
	w := &p.walk
	base := p.behind(rank)
	w.literal = p.mutant == noMaxNow
	w.begin(&base, p.now())
	for _, j := range p.order.jobs[rank:] {
		en := p.whole(j)
		m := &j.Data.mark
		m.em, m.e = w.try(&en)
		w.keep()
		m.t = w.at.clone()
		j.Data.hard = *m
	}
}

// rebase books all jobs anew, from reality and in the order of the chain, because the
// vectors of the chain have become wrong. Jobs that wait and would be late go behind
// all others.
func (p *Policy) rebase(now int64, cause reason) {
	w := &p.walk
	w.literal = false
	w.begin(&p.base, now)
	var late []*job
	book := func(j *job) {
		d := &j.Data
		en := p.entry(j, now)
		if d.started == 0 {
			p.virtual(&en)
		}
		m := d.mark
		m.em, m.e = w.try(&en)
		en.promised = d.deadline < never && !j.Cancelled
		switch {
		case !en.promised:
			m.promise, m.why = unasked, 0
		case !en.late(m.e):
			m.promise, m.why = kept, 0
		case m.promise == kept:
			m.promise, m.why = void, cause
		default:
			m.promise = void
		}
		if m.promise == void && d.started == 0 && m.place < never {
			m.place = never
			d.mark = m
			late = append(late, j)
			return
		}
		w.keep()
		m.t = w.at.clone()
		m.rebased = d.started > 0
		d.mark = m
	}
	for _, j := range p.order.jobs {
		book(j)
	}
	for _, j := range late {
		book(j)
	}
	p.soft = true
	p.reorder()
}

// rechained decides about the revision of a job in the chain: it stays where it is if
// it has started.
func (p *Policy) rechained(cand entry, now int64) (place int64, broken *miss) {
	j := cand.job
	p.list = p.list[:0]
	added := false
	place = cand.place
	for _, k := range p.order.jobs {
		if k == j {
			if j.Data.started > 0 {
				p.list, added = append(p.list, cand), true
			}
			continue
		}
		en := p.entry(k, now)
		if k.Data.started == 0 {
			p.virtual(&en)
			if !added && (en.place > place || en.place == place && en.seq > cand.seq) {
				p.list, added = append(p.list, cand), true
			}
		}
		p.list = append(p.list, en)
	}
	if !added {
		p.list = append(p.list, cand)
	}
	p.walk.literal = false
	p.walk.begin(&p.base, now)
	return place, p.walk.book(p.list)
}

// startJob takes note of the first dispatch of a job: from now on nobody overtakes it.
func (p *Policy) startJob(j *job) {
	if p.mutant == zeroMapsInPlace && j.Data.phase[maps] < 0 {
		return
	}
	p.starts++
	j.Data.started = p.starts
	p.setKey(j)
	i := j.Data.rank
	if before := i == 0 || p.order.jobs[i-1].Data.key.before(j.Data.key); !before {
		p.order.remove(j)
		p.order.add(j)
	}
	p.refile(j)
}

// startBefore starts the jobs with no map to start that wait before j, whose map is about to
// be dispatched: the free map slot was theirs first.
func (p *Policy) startBefore(j *job) {
	for i := p.started(); i < j.Data.rank; i++ {
		if k := p.order.jobs[i]; p.left(k, maps) == 0 {
			p.startJob(k)
		}
	}
}

// waitsForMapSlot reports whether j, whose reduce tasks are ready, waits for its
// virtual map: in the chain, a job without maps, or whose maps were done before it
// started, takes its turn at the map slots, be its promise void or not. In its
// place it could run reduces before jobs ahead of it have started, and a job that is
// then inserted before it would not know of the slots that it holds.
func (p *Policy) waitsForMapSlot(j *job) bool {
	d := &j.Data
	if p.opts.Booking == Rebook || d.started > 0 || p.slots[maps] == 0 || p.mutant == zeroMapsInPlace {
		return false
	}
	if p.free[maps] == 0 {
		return true
	}
	_, first, ok := p.ready.First(0)
	return ok && first.before(d.key)
}

// feedback replaces what was estimated of a job that has finished, and of the jobs
// behind it, by what came true (Algorithms V and VI).
func (p *Policy) feedback(j *job) {
	d := &j.Data
	now := p.now()
	off := d.mark.e - now
	if max(off, -off) <= int64(p.opts.Delta) && now <= d.deadline {
		return
	}
	if d.mark.rebased || p.unsettled() || p.idled {
		p.broken(0) // the vectors do not say what it used: all are built anew
		return
	}
	var u vectors
	for s, v := range p.behind(d.rank) {
		u[s] = slotvec.Replace(nil, v, d.ended[s])
	}
	p.improve(d, u)
	w := &p.walk
	w.literal = p.mutant == noMaxNow
	w.begin(&d.mark.t, now)
	for _, k := range p.order.jobs[d.rank+1:] {
		if p.mutant == skipStartedSuccessors && k.Data.started > 0 {
			continue
		}
		en := p.whole(k)
		m := &k.Data.mark
		em, e := w.try(&en)
		w.keep()
		if p.opts.NoMergeMin {
			m.em, m.e = em, e
		} else {
			m.em, m.e = min(m.em, em), min(m.e, e)
		}
		p.improve(&k.Data, w.at)
		w.begin(&m.t, now)
	}
}

// improve takes over new vectors behind a job: the elementwise minimum of the old and
// the new ones, both being bounds. The paper takes the new ones, which lie above the old
// ones where a job is partly executed, and so raises estimates of admitted jobs past
// their deadlines: nothing is late then, but everything before them is refused.
func (p *Policy) improve(d *data, u vectors) {
	for s := range u {
		if p.opts.NoMergeMin {
			d.mark.t[s] = slices.Clone(u[s])
		} else {
			d.mark.t[s] = slotvec.Min(nil, d.mark.t[s], u[s])
		}
	}
	d.hard = d.mark
}
