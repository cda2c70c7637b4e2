package fair

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/sfq"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "fair", Version: 10, Options: p.options}
}

// saved returns the options that the state rests on, without those of the policies of pools,
// which have snapshots of their own. Weights, minimums and limits of pools are read again
// when the policy is restored, and may change.
func (o *Options) saved(tree *conf) []snapshot.Option {
	list := []snapshot.Option{snapshot.Opt("order", o.Order), snapshot.Opt("ties", o.Ties), snapshot.Opt("delays", o.Delay > 0), snapshot.Opt("preempts", o.Preemption.enabled()), snapshot.Opt("reserve", o.Reserve > 0)}
	if o.Cost != nil {
		list = append(list, snapshot.Opt("cost", true)) // the costs themselves may change
	}
	if o.Credit > 0 {
		list = append(list, snapshot.Opt("credit", true)) // its length may change
	}
	if o.Places > 0 {
		list = append(list, snapshot.Opt("places", o.Places))
	}
	tree.each("", "", func(path string, c *conf) {
		switch {
		case c.FIFO:
			list = append(list, snapshot.Opt("pools/"+path, "fifo"))
		case c.Policy != nil:
			list = append(list, snapshot.Opt("pools/"+path, "policy"))
		}
	})
	return list
}

// AppendBinary implements [sojourn.Snapshotter]. If a pool has a policy that is not a
// Snapshotter, the error wraps [errors.ErrUnsupported].
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.ledger.Save(w)
		p.saveChanges(w)
		p.saveKept(w)
		w.Uint(p.turns)
		w.Bool(p.priced)
		numbers := make(map[*pool]int)
		p.savePool(w, &p.root, numbers)
		w.Len(len(p.inner))
		for _, n := range p.inner {
			w.Uint(uint64(numbers[n]))
		}
		p.preempt.save(w)
		p.reserve.Save(w)
		if p.order == Service {
			p.saveCharges(w)
		}
	})
}

// saveKept writes the policies that pools keep, whether or not they have jobs.
func (p *Policy) saveKept(w *snapshot.Writer) {
	paths := make(map[*conf]string)
	p.root.conf.each("", "", func(path string, c *conf) { paths[c] = path })
	w.Len(len(p.kept))
	for _, c := range p.kept {
		w.String(paths[c])
		p.savePolicy(w, c.policy, paths[c])
	}
}

// savePolicy writes the policy of a pool.
func (p *Policy) savePolicy(w *snapshot.Writer, g *guest, path string) {
	s, ok := sojourn.As[sojourn.Snapshotter](g.Policy)
	if !ok {
		w.Fail(fmt.Errorf("%w: the policy of pool %q is a %T", errors.ErrUnsupported, path, g.Policy))
		return
	}
	w.Bool(g.due)
	w.Binary(s)
}

// savePool writes a pool and those below it, and numbers them.
//
// The account determines what runs in it and which of its jobs are active, and both
// determine what is ready. Numbers decide the order in which pools claim slots.
func (p *Policy) savePool(w *snapshot.Writer, n *pool, numbers map[*pool]int) {
	numbers[n] = len(numbers)
	w.Uint(n.turn)
	if n.policy != nil && !n.conf.named {
		p.savePolicy(w, n.policy, n.path())
	}
	w.Len(len(n.classes))
	for i := range n.classes {
		n.classes[i].save(w, p.order, n.parent == nil, p.ledger.Now())
	}
	w.Len(n.jobs.Len())
	for _, j := range n.jobs.All() {
		w.Bool(j != nil)
		if j == nil {
			continue
		}
		w.Uint(uint64(j.Handle()))
		w.Uint(j.Data.turn)
		for _, d := range j.Data.sides {
			w.Uint(d.turn)
			w.Uint(d.before)
			d.owed.Save(w)
			if p.ties == LeastService {
				d.tie.Save(w)
			}
		}
		for i := range j.Data.waits {
			j.Data.waits[i].Save(w)
		}
	}
	w.Free(n.spare.Slice())
	w.Len(n.pools.Len())
	for _, b := range n.pools.All() {
		w.Bool(b != nil)
		if b != nil {
			w.String(b.name)
			p.savePool(w, b, numbers)
		}
	}
	w.Free(n.gaps.Slice())
	if p.order == Service {
		for i := range n.classes {
			n.classes[i].clock.Save(w)
		}
	}
}

func (nc *poolClass) save(w *snapshot.Writer, order Order, root bool, now sojourn.Time) {
	w.Uint(nc.turn)
	w.Uint(nc.before)
	w.Bool(nc.owed)
	w.Bool(nc.queued)
	w.Time(nc.stamps.min)
	w.Time(nc.stamps.fair)
	w.Uint(nc.stamps.look)
	nc.most.Save(w)
	if order == Service {
		if !root {
			nc.account.Save(w)
			w.Uint(nc.late)
			nc.lifted.save(w, now)
			w.Time(nc.idle)
		}
		w.Uint(nc.mean.time)
		nc.mean.Save(w)
	}
}

// save writes the contention and the slots of the victims. The rest is in the account.
func (pr *preemption) save(w *snapshot.Writer) {
	w.Uint(pr.looks)
	w.Bool(pr.on)
	if pr.on {
		w.Time(pr.since)
	}
	w.Len(len(pr.victims))
	for _, v := range pr.victims {
		w.Uint(uint64(v.Slot))
		w.Uint(uint64(v.For))
	}
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		if p.index != nil {
			p.index.Rebuild()
		}
		p.restoreChanges(r)
		p.restoreKept(r)
		p.turns = r.Below(maxTurns / 2) // far from what a key has no room for
		p.priced = r.Bool()
		r.Check(!p.priced || p.order == Service, "costs are known that the order does not use")
		pools := p.restorePool(r, &p.root, nil)
		p.restoreInner(r, pools)
		r.Check(p.root.live == p.ledger.Live(), "a job is in no pool")
		p.restorePreemption(r)
		p.reserve.Restore(r)
		if p.order == Service {
			p.restoreCharges(r)
		}
		if r.Err() == nil {
			p.compareAccounts(r)
			p.countAll(r)
			p.each(func(n *pool) {
				if n.latest = n.lastTurn(); p.costs != nil {
					n.share = n.used.share(p.costs)
				}
				for c := range n.classes {
					r.Check(!n.classes[c].queued || p.order == Service && n.parent != nil, "a pool is queued that has no tag")
				}
			})
			// No pool gets a new tag: one that can be served because a limit has changed is level with others from its
			// next event on.
			p.restoring = true
			p.fileUnder(&p.root)
			p.restoring = false
		}
		p.version++
	})
}

func (p *Policy) restoreKept(r *snapshot.Reader) {
	for range r.Len() {
		path := r.String()
		c := p.root.conf
		for name := range split(path) {
			if c = c.below[name]; c == nil {
				break
			}
		}
		if r.Err() != nil || !r.Check(c != nil && c.named && c.Policy != nil && c.policy == nil, "a pool keeps no policy, or two") {
			return
		}
		c.policy = p.restorePolicy(r, c, path)
		p.kept = append(p.kept, c)
	}
}

// restorePolicy reads the policy of a pool.
func (p *Policy) restorePolicy(r *snapshot.Reader, c *conf, path string) *guest {
	g := p.newGuest(c)
	s, ok := sojourn.As[sojourn.Snapshotter](g.Policy)
	if !ok {
		r.Fail("the policy of pool %q is a %T, which cannot be restored", path, g.Policy)
		return g
	}
	g.due = r.Bool()
	r.Binary(accounted{s, g})
	now := p.ledger.Now()
	if r.Err() == nil {
		r.Check(g.isAt(now), "the policy of a pool is at another time")
		r.Check(!g.due || g.Due(now), "a policy waits that does not")
	}
	return g
}

// accounted is the policy of a pool while it is restored. It keeps the account that is read.
type accounted struct {
	sojourn.Snapshotter
	*guest
}

func (a accounted) UnmarshalBinary(data []byte) error {
	a.account = ledger.RestorePart(data)
	return a.Snapshotter.UnmarshalBinary(data)
}

// compareAccounts tests that the policies of pools know their jobs exactly as fair
// does. Otherwise an event could fit one and not the other. The format of foreign
// policies is not known, so they are trusted.
func (p *Policy) compareAccounts(r *snapshot.Reader) {
	for g, n := range p.guests {
		var jobs []*job
		if n != nil {
			jobs = n.jobs.Slice()
		}
		r.Check(g.account == nil || p.ledger.Covers(g.account, jobs), "the policy of a pool has another account")
		g.account = nil
	}
}

// isAt reports whether an instant is the present of a policy. It uses an event that
// never fits and changes nothing: one nanosecond earlier the error must be about
// time, and at the instant it must be about the event.
func (g *guest) isAt(now sojourn.Time) bool {
	ev := sojourn.Event{Kind: sojourn.SlotRemoved, At: now, Slot: sojourn.Slot{ID: sojourn.MaxSlots}}
	if !errors.Is(g.Observe(ev), sojourn.ErrUnknownSlot) {
		return false
	}
	ev.At--
	return errors.Is(g.Observe(ev), sojourn.ErrTimeReversed)
}

// restorePool reads a pool and those below it. It appends them to list, in the order
// of their numbers.
func (p *Policy) restorePool(r *snapshot.Reader, n *pool, list []*pool) []*pool {
	list = append(list, n)
	n.turn = p.restoreTurn(r)
	switch {
	case n.conf.Policy == nil:
	case n.conf.named:
		n.policy, n.conf.live = n.conf.policy, true
		r.Check(n.policy != nil, "a pool has lost its policy")
	default:
		n.policy = p.restorePolicy(r, n.conf, n.path())
	}
	n.classes = make([]poolClass, r.Len())
	r.Check(len(n.classes) <= sojourn.MaxClasses, "too many classes")
	for i := range n.classes {
		nc := &n.classes[i]
		nc.turn, nc.before = p.restoreTurn(r), p.restoreTurn(r)
		nc.restore(r, p.order, n.parent == nil, p.ledger.Now())
	}
	n.jobs.Grow(r.Len())
	for id := range uint32(n.jobs.Len()) {
		if r.Bool() {
			*n.jobs.At(id) = p.restoreJob(r, n, id)
		}
	}
	n.spare = heap.TableOf(r.Free(n.jobs.Len(), func(id int) bool { return *n.jobs.At(uint32(id)) == nil }))
	n.pools.Grow(r.Len())
	r.Check(n.pools.Len() == 0 || !n.conf.leaf(), "a pool has pools below it, but may not")
	for id := range uint32(n.pools.Len()) {
		if !r.Bool() {
			continue
		}
		name := r.String()
		c, ok := n.conf.find(name)
		if !ok {
			c = p.plain
		}
		if r.Err() != nil || !r.Check(n.below[name] == nil && n.depth() < maxDepth, "a pool is there twice, or too deep") {
			return list
		}
		b := p.newPool(name, n, c)
		b.id = id
		*n.pools.At(id) = &b
		if n.below == nil {
			n.below = make(map[string]*pool)
		}
		n.below[name] = &b
		list = p.restorePool(r, &b, list)
		r.Check(b.live > 0 || p.credit > 0 && b.conf.Policy == nil, "a pool has no jobs")
		n.live += b.live
	}
	n.gaps = heap.TableOf(r.Free(n.pools.Len(), func(id int) bool { return *n.pools.At(uint32(id)) == nil }))
	for i := 0; p.order == Service && i < len(n.classes); i++ {
		n.classes[i].clock = sfq.RestoreClock(r, len(n.below), int64(p.ledger.Now()))
	}
	return list
}

// depth returns how many pools a pool is part of.
func (n *pool) depth() (d int) {
	for ; n.parent != nil; n = n.parent {
		d++
	}
	return d
}

func (p *Policy) restoreJob(r *snapshot.Reader, n *pool, id uint32) *job {
	j := p.ledger.RestoreJob(r)
	if j == nil || !r.Check(j.Data.pool == nil && p.poolOf(j.Spec()) == n, "a job is in a pool twice, or in another's") {
		return nil
	}
	j.Data = member{pool: n, id: id, turn: p.restoreTurn(r)}
	j.Data.makeSides(j.NumSides())
	p.restoreSides(r, j)
	if p.delay.Node > 0 {
		j.Data.waits = make([]locality.Wait, j.NumSides())
		for i := range j.Data.waits {
			j.Data.waits[i].Restore(r, p.ledger.Now())
		}
	}
	n.live++
	return j
}

// restoreTurn reads a turn.
func (p *Policy) restoreTurn(r *snapshot.Reader) uint64 {
	return r.Below(p.turns + 1)
}

func (p *Policy) restoreSides(r *snapshot.Reader, j *job) {
	n := j.Data.pool
	for i := range j.Data.sides {
		d := &j.Data.sides[i]
		d.turn, d.before, d.owed = p.restoreTurn(r), p.restoreTurn(r), charge.Restore(r)
		r.Check(d.owed == 0 || j.Side(i).Started() > j.Side(i).Running(), "a job owes an attempt that was not started")
		if p.ties == LeastService {
			d.tie = wide.Restore128(r)
			c := int(p.counted(j.Side(i).Class()))
			r.Check(c < len(n.classes) && !n.classes[c].most.Less(d.tie), "a job has had more than any of its pool")
		}
	}
	if p.ties == LeastWork && r.Err() == nil {
		p.setWork(j)
	}
}

func (nc *poolClass) restore(r *snapshot.Reader, order Order, root bool, now sojourn.Time) {
	nc.owed = r.Bool()
	nc.queued = r.Bool()
	nc.stamps.min = r.Time()
	nc.stamps.fair = r.Time()
	nc.stamps.look = r.Uint()
	nc.most = wide.Restore128(r)
	if order == Service {
		if !root {
			nc.account, nc.late = sfq.RestoreAccount(r), r.Below(sfq.MaxCost+1)
			r.Check(nc.late == 0 || nc.account.Outstanding() > 0, "a pool is late that runs nothing")
			nc.lifted.restore(r, now)
			nc.idle = r.Time()
			tag := nc.account.Tag()
			r.Check(!nc.lifted.set || nc.queued && nc.lifted.from.Weight() == tag.Weight(), "a pool was made level that has nothing to start")
			r.Check(nc.idle <= now, "a pool is idle since an instant to come")
		}
		nc.mean = mean{r.Below(1 << 63), sfq.RestoreMean(r)}
		r.Check(nc.mean.Of > 0 || nc.mean.time == 0, "the mean of nothing")
	}
}

func (p *Policy) restoreInner(r *snapshot.Reader, pools []*pool) {
	n := r.Len()
	with := 0
	for _, m := range pools {
		if m.policy != nil {
			with++
		}
	}
	seen := make(map[*pool]bool)
	for range n {
		m := pools[r.Below(uint64(len(pools)))]
		if r.Err() != nil || !r.Check(m.policy != nil && !seen[m], "a pool has no policy, or is listed twice") {
			return
		}
		seen[m] = true
		p.inner = append(p.inner, m)
	}
	r.Check(n == with, "a pool with a policy is not listed")
}

func (p *Policy) restorePreemption(r *snapshot.Reader) {
	pr := &p.preempt
	pr.looks = r.Below(1 << 63)
	if pr.on = r.Bool(); pr.on {
		pr.since = r.Time()
	}
	for range r.Len() {
		slot, to := sojourn.SlotID(r.Below(sojourn.MaxSlots)), sojourn.JobID(r.Uint())
		a, ok := p.ledger.Attempt(slot)
		if r.Err() != nil || !r.Check(ok, "a victim does not run") {
			return
		}
		pr.victims = append(pr.victims, victim{
			Preemption: sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: slot, For: to},
			pool:       a.Job.Data.pool, start: a.Start,
		})
	}
	r.Check(!pr.on || pr.since <= p.ledger.Now(), "a contention begins in the future")
}

// countAll counts running tasks and active jobs of each pool, after all jobs were restored.
func (p *Policy) countAll(r *snapshot.Reader) {
	for j := range p.ledger.All() {
		p.recount(j, false)
		for i := range j.NumSides() {
			s := j.Side(i)
			for n := j.Data.pool; n != nil; n = n.parent {
				r.Check(int(s.Class()) < len(n.classes) || n.parent == nil && s.Running() == 0, "a pool has jobs of a class that it does not know")
				if s.Running() > 0 {
					n.class(s.Class()).running += s.Running()
					if p.ranked {
						p.hold(n, s.Class(), s.Running())
					}
				}
			}
		}
	}
}
