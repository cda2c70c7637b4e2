package td

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/ready"
)

// A choice is the task that a slot gets.
type choice struct {
	job   *job
	phase int
	pick  locality.Pick
	step  uint8 // of the list in the package comment; 0 for none
}

// An ask is a request: a free slot that is offered.
type ask struct {
	lane *lane
	slot sojourn.Slot
	near []uint64 // seats of jobs with input on its node
	last *job     // whose task ended last on it; nil if it has ended or there was none
}

// steps are those of the package comment. They are tried in this order, and the first
// that finds something decides.
var steps = [...]struct {
	number uint8
	when   func(*settings) bool // nil: always
	try    func(*Policy, ask) (choice, bool)
}{
	{1, nil, (*Policy).lastJob},
	{2, nil, (*Policy).belowFloor},
	{3, nil, func(p *Policy, a ask) (choice, bool) { return p.localAdult(a, true) }},
	{4, nil, func(p *Policy, a ask) (choice, bool) { return p.localInfantile(a, true) }},
	{7, selfTune, func(p *Policy, a ask) (choice, bool) { return p.localInfantile(a, false) }},
	{7, selfTune, func(p *Policy, a ask) (choice, bool) { return p.localAdult(a, false) }},
	{5, nil, func(p *Policy, a ask) (choice, bool) { return p.remoteAdult(a, true) }},
	{6, nil, (*Policy).anyInfantile},
	{7, nil, func(p *Policy, a ask) (choice, bool) { return p.localAdult(a, false) }},
	{7, nil, func(p *Policy, a ask) (choice, bool) { return p.remoteAdult(a, false) }},
	{8, relaxed, func(p *Policy, a ask) (choice, bool) { return p.hottest(a.lane, a.slot) }},
	{9, nil, func(p *Policy, a ask) (choice, bool) { return p.fromQueue(&p.early, a.slot, p.give) }},
	{9, relaxed, func(p *Policy, a ask) (choice, bool) { return p.fromQueue(&p.early, a.slot, p.giveHot) }},
}

func selfTune(s *settings) bool { return s.SelfTune }
func relaxed(s *settings) bool  { return s.HotPolicy == Relaxed }

// request decides what a free slot gets: the paper's Algorithm 1, in the form of the
// package comment. Except for UPDATE, it changes nothing.
func (p *Policy) request(l *lane, s sojourn.Slot) (choice, bool) {
	if p.set.AsPrinted {
		return p.requestAsPrinted(l, s)
	}
	p.update(l)
	a := ask{l, s, p.index.Watched(s.Node), p.last.get(s.ID)}
	for i := range steps {
		if when := steps[i].when; when != nil && !when(&p.set) {
			continue
		}
		if c, ok := steps[i].try(p, a); ok {
			c.step = steps[i].number
			return c, true
		}
	}
	return choice{}, false
}

// lastJob serves the job whose task ended last on the slot, if it is below its floor.
func (p *Policy) lastJob(a ask) (choice, bool) {
	j := a.last
	if j == nil || j.Data.lane != a.lane || !j.Data.teen && !j.Data.short || !p.behind(j) {
		return choice{}, false
	}
	return p.give(j, 0, a.slot)
}

// belowFloor serves tasks that go before all others, and then jobs below their
// floors.
func (p *Policy) belowFloor(a ask) (choice, bool) {
	if c, ok := p.fromQueue(&p.first, a.slot, p.give); ok {
		return c, true
	}
	for _, list := range [...][]*job{a.lane.teenaged, a.lane.short} {
		for _, j := range list {
			if !p.behind(j) {
				continue
			}
			if c, ok := p.give(j, 0, a.slot); ok {
				return c, true
			}
		}
	}
	return choice{}, false
}

// localInfantile serves the infantile job if it has a task close to the slot, below its
// upper bound (bounded) or not.
func (p *Policy) localInfantile(a ask, bounded bool) (choice, bool) {
	i := a.lane.infantile
	if i == nil || !a.lane.isLocal(i, a.near) || bounded && !p.underH(a.lane, i, p.demand(i)) {
		return choice{}, false
	}
	return p.local(i, 0, a.slot)
}

// anyInfantile serves the infantile job.
func (p *Policy) anyInfantile(a ask) (choice, bool) {
	if a.lane.infantile == nil {
		return choice{}, false
	}
	return p.give(a.lane.infantile, 0, a.slot)
}

// localAdult serves the first adult in the order of amt that has a task close to the
// slot. It looks at adults below their upper bounds (bounded) or at all: steps 3 and
// 7.
func (p *Policy) localAdult(a ask, bounded bool) (choice, bool) {
	for i := range a.lane.adults {
		r := &a.lane.adults[i]
		if !hasBit(a.near, r.seat) && !hasBit(a.lane.anywhere, r.seat) {
			continue
		}
		if bounded && !p.underH(a.lane, r.job, r.job.Data.demand) {
			continue
		}
		return p.local(r.job, 0, a.slot)
	}
	return choice{}, false
}

// remoteAdult serves the last adult in the order of amt that has a task to read
// from a node which is not hot: steps 5 and 7.
func (p *Policy) remoteAdult(a ask, bounded bool) (choice, bool) {
	for _, r := range slices.Backward(a.lane.adults) {
		if bounded && !p.underH(a.lane, r.job, r.job.Data.demand) {
			continue
		}
		if c, ok := p.remote(r.job, 0, a.slot); ok {
			return c, true
		}
	}
	return choice{}, false
}

// give is the function of Algorithm 3: it returns a task of a phase that is close to
// the slot, or otherwise one that reads from a node that is not hot. Unlike there, it
// may find none.
func (p *Policy) give(j *job, phase int, s sojourn.Slot) (choice, bool) {
	if c, ok := p.local(j, phase, s); ok {
		return c, true
	}
	return p.remote(j, phase, s)
}

// isLocal reports whether a co-scheduled job has a task close to a slot. near has the
// jobs that the index watches at the slot's node.
func (l *lane) isLocal(j *job, near []uint64) bool {
	return hasBit(near, j.Data.seat) || hasBit(l.anywhere, j.Data.seat)
}

// local returns the lowest task of a phase close to a slot.
func (p *Policy) local(j *job, phase int, s sojourn.Slot) (choice, bool) {
	if j.Room() == 0 {
		return choice{}, false
	}
	pick, ok := p.index.Find(j, phase, s, sojourn.NodeLocal)
	return choice{job: j, phase: phase, pick: pick}, ok && pick.Locality != sojourn.Remote
}

// remote returns the task of a phase that should read remotely. It reads from
// the node with the most remaining work among those that are not hot [Section
// IV-A2]. Tasks that have lost all replicas make no node hot, and come last.
func (p *Policy) remote(j *job, phase int, s sojourn.Slot) (choice, bool) {
	c := choice{job: j, phase: phase}
	if j.Room() == 0 {
		return c, false
	}
	source, ok := p.index.Heaviest(j, phase, p.cool)
	if ok {
		c.pick, ok = p.index.FindAt(j, phase, s, source)
	} else {
		c.pick, ok = p.index.FindLost(j, phase)
	}
	return c, ok
}

// hottest returns a task that reads from a hot spot because nothing else is left: of
// the job with the greatest amt, in any status, if it may start.
func (p *Policy) hottest(l *lane, s sojourn.Slot) (choice, bool) {
	q := append(p.queue[:0], l.teenaged...)
	for _, r := range l.adults {
		q = append(q, r.job)
	}
	if i := l.infantile; i != nil {
		q = append(q, i)
	}
	for h := range p.first.All(s.Class) {
		q = append(q, p.ledger.ByHandle(h))
	}
	slices.SortFunc(q, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.Data.amt, a.Data.amt), cmp.Compare(a.Seq(), b.Seq()))
	})
	defer clear(q)
	p.queue = q
	for _, j := range q {
		from, to := 0, 1
		if j.Data.status == senile {
			from, to = p.senilePhases(j)
		}
		if c, ok := p.each(j, from, to, s, p.giveHot); ok {
			return c, true
		}
	}
	return choice{}, false
}

// giveHot returns the task of a phase that reads from the node with the fewest reads;
// among these, from the node with the most remaining work, and then from the first.
func (p *Policy) giveHot(j *job, phase int, s sojourn.Slot) (choice, bool) {
	var best, reads, load = sojourn.NodeID(0), 0, uint64(0)
	for n, ok := p.index.NextHolder(j, phase, 1); ok; n, ok = p.index.NextHolder(j, phase, n+1) {
		r, w := p.hot.count[n], p.index.Load(n)
		if best == 0 || r < reads || r == reads && w > load {
			best, reads, load = n, r, w
		}
		if n == math.MaxUint32 {
			break
		}
	}
	pick, ok := p.index.FindAt(j, phase, s, best)
	return choice{job: j, phase: phase, pick: pick}, ok
}

// A giver finds a task of a phase for a slot.
type giver func(*job, int, sojourn.Slot) (choice, bool)

// fromQueue serves the first job of a queue, by arrival, for which give finds a
// task.
func (p *Policy) fromQueue(q *ready.Queue[uint64], s sojourn.Slot, give giver) (choice, bool) {
	h, _, ok := q.First(s.Class)
	if !ok {
		return choice{}, false
	}
	try := func(j *job) (choice, bool) {
		from, to := p.senilePhases(j)
		if q == &p.early {
			from, to = 1, j.NumPhases()
		}
		return p.each(j, from, to, s, give)
	}
	if c, ok := try(p.ledger.ByHandle(h)); ok {
		return c, true
	}
	all := p.queue[:0]
	for h := range q.All(s.Class) {
		all = append(all, p.ledger.ByHandle(h))
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.Seq(), b.Seq()) })
	defer clear(all)
	p.queue = all
	for _, j := range all[1:] {
		if c, ok := try(j); ok {
			return c, true
		}
	}
	return choice{}, false
}

// senilePhases returns the range of phases of a senile job that go first: its map phase if
// tasks of it came back, and after these have finished, all later phases.
func (p *Policy) senilePhases(j *job) (from, to int) {
	if j.Phase(0).Done() == j.Spec().Phases[0].Tasks {
		return 1, j.NumPhases()
	}
	return 0, 1
}

// each returns the first task that give finds in the phases from up to below to.
func (p *Policy) each(j *job, from, to int, s sojourn.Slot, give giver) (choice, bool) {
	for i := from; i < to; i++ {
		ph := j.Phase(i)
		if j.Startable(i) == 0 || j.Side(ph.Side()).Class() != s.Class {
			continue
		}
		if c, ok := give(j, i, s); ok {
			return c, true
		}
	}
	return choice{}, false
}
