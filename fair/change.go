package fair

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// checkChange returns why a valid [sojourn.PoolChanged] cannot be followed, or nil.
func (t *tree) checkChange(told *sojourn.Pool) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: pool %q: %s", sojourn.ErrUnsupported, told.Name, fmt.Sprintf(format, args...))
	}
	c, known, limited := t.root.conf, true, 0
	for name := range split(told.Name) {
		switch {
		case name == anyPool:
			return bad("a change names one pool, not %q", anyPool)
		case c.leaf():
			return bad("it is inside a FIFO pool, or one with a policy of its own")
		}
		limited = max(limited, c.MaxJobs)
		d, ok := c.find(name)
		if !ok {
			if t.strict {
				return bad("it is not described")
			}
			d, known = t.plain, false
		}
		c = d
	}
	switch {
	case told.IsZero():
		return nil
	case t.costs != nil && len(told.Min) > 0:
		return bad("it has a minimum, and there are costs")
	case t.widths.Len() > 0 && (len(byClass(told.Min)) > 1 || len(byClass(told.Max)) > 1):
		return bad("it has a minimum or maximum of another class than 0, which counts places")
	case known && told.MaxJobs > 0:
		if path, err := c.checkBelow(told.Name, told.Name+"/", told.MaxJobs); err != nil {
			return bad("pool %q: %v", path, err)
		}
	}
	return nil
}

// describe makes what was told of a pool its description, or, if that is nothing, what it was. There is no reason against
// it: see checkChange.
func (t *tree) describe(told *sojourn.Pool) {
	way := []*conf{t.root.conf}
	for name := range split(told.Name) {
		up := way[len(way)-1]
		d := up.below[name]
		if d == nil {
			like, ok := up.find(name)
			if !ok {
				like = t.plain
			}
			d = like.fresh()
			d.like, d.made = d.Pool, true
			up.list(name, d)
		}
		way = append(way, d)
	}
	d := way[len(way)-1]
	by := 0
	if d.told != nil {
		by--
	} else if !d.made {
		d.like = d.Pool
	}
	if told.IsZero() {
		*d = *d.describedAs(d.like)
		d.told, d.paused = nil, false
	} else {
		by++
		*d = *d.describedAs(Pool{
			Weight: told.Weight, Min: told.Min, Max: told.Max, MaxJobs: told.MaxJobs, FIFO: d.like.FIFO, Policy: d.like.Policy,
		})
		d.told, d.paused = told, told.Paused
	}
	for _, c := range way {
		c.changes += by
	}
	// What nothing describes any more goes.
	names := slices.Collect(split(told.Name))
	for i := len(names); i > 0 && way[i].made && way[i].changes == 0; i-- {
		delete(way[i-1].below, names[i-1])
	}
}

// change follows a [sojourn.PoolChanged].
func (t *tree) change(told *sojourn.Pool) {
	t.describe(told)
	n := &t.root
	for name := range split(told.Name) {
		if n = n.below[name]; n == nil {
			return // it has no jobs
		}
		n.reads(t)
	}
	if limited := n.parent.limited || n.conf.MaxJobs > 0; limited != n.limited {
		t.relimit(n)
	}
	if t.ranked && n.parent.ready.contains(n.id) {
		k := t.key(n, 0)
		n.parent.ready.move(n.id, k)
		n.parent.busy.move(n.id, k)
	}
	for i := range n.classes {
		t.refile(n, sojourn.Class(i))
	}
}

// reads looks up the description of a pool again.
func (n *pool) reads(t *tree) {
	c, ok := n.parent.conf.find(n.name)
	if !ok {
		c = t.plain
	}
	n.conf = c
}

// relimit brings the pools from n on up to date after n has got a limit on its jobs, or has one no longer, and no pool
// around it has one. It takes time in proportion to their jobs.
func (t *tree) relimit(n *pool) {
	n.each(func(b *pool) {
		b.limited = b.conf.MaxJobs > 0 || b.parent.limited
		b.joint = b.limited || b.parent.joint
		b.active = 0
		for i := range b.classes {
			c := sojourn.Class(i)
			for _, below := range b.pools.All() {
				if below != nil {
					b.busyPools.Remove(c, below.id)
				}
			}
			for _, j := range b.jobs.All() {
				if j != nil {
					b.freshJobs.Remove(c, j.Data.id)
					b.readyJobs.Remove(c, j.Data.id)
				}
			}
		}
	})
	n.each(func(b *pool) {
		for _, j := range b.jobs.All() {
			if j != nil {
				j.Data.active = false
				t.recount(j, false)
			}
		}
	})
	t.fileUnder(n)
}

// fileUnder files the jobs and pools of a pool, lower ones first.
func (t *tree) fileUnder(n *pool) {
	for _, b := range n.pools.All() {
		if b == nil {
			continue
		}
		t.fileUnder(b)
		for c := range b.classes {
			t.file(b, sojourn.Class(c))
		}
	}
	for _, j := range n.jobs.All() {
		for i := 0; j != nil && i < j.NumSides(); i++ {
			t.fileJob(j, j.Side(i))
		}
	}
}

// saveChanges writes what was told of pools.
func (t *tree) saveChanges(w *snapshot.Writer) {
	var told []*sojourn.Pool
	t.root.conf.each("", "", func(_ string, c *conf) {
		if c.told != nil {
			told = append(told, c.told)
		}
	})
	slices.SortFunc(told, func(a, b *sojourn.Pool) int { return cmp.Compare(a.Name, b.Name) })
	w.Pools(told)
}

// restoreChanges reads what saveChanges has written.
func (t *tree) restoreChanges(r *snapshot.Reader) {
	for _, p := range r.Pools() {
		if err := t.checkChange(p); err != nil {
			r.Fail("%v", err)
			return
		}
		t.describe(p)
	}
}

// stopped reports whether a pool is paused, or a pool around it.
func (n *pool) stopped() bool {
	for ; n != nil; n = n.parent {
		if n.conf.paused {
			return true
		}
	}
	return false
}

// Pool implements [sojourn.Sharer]. The pool of jobs whose path leads into a FIFO pool, or one with a policy of its own, is
// that pool.
func (p *Policy) Pool(name string) (sojourn.Pool, bool) {
	c, path := p.root.conf, ""
	for element := range split(name) {
		if c.leaf() {
			break
		}
		d, ok := c.find(element)
		if !ok {
			if p.strict {
				return sojourn.Pool{}, false
			}
			d = p.plain
		}
		if c != p.root.conf {
			path += "/"
		}
		c, path = d, path+element
	}
	return sojourn.Pool{Name: path, Weight: float64(c.weight) / (1 << 16), Min: c.Min, Max: c.Max, MaxJobs: c.MaxJobs, Paused: c.paused}, true
}

// AppendShares implements [sojourn.Sharer]. Shares are those of [Policy.Explain]; with a Cost, there are none, and Entitled
// is 0. It takes time in proportion to the live jobs.
func (p *Policy) AppendShares(dst []sojourn.Share, c sojourn.Class) []sojourn.Share {
	p.shares(c)
	return p.root.appendShares(dst, "", c, p.order != dominant)
}

// appendShares appends the shares of the pools below n, whose paths begin with prefix.
func (n *pool) appendShares(dst []sojourn.Share, prefix string, c sojourn.Class, entitled bool) []sojourn.Share {
	pools := slices.DeleteFunc(n.pools.Slice(), func(b *pool) bool { return b == nil })
	slices.SortFunc(pools, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	for _, b := range pools {
		if b.live == 0 { // its account is kept
			continue
		}
		s := sojourn.Share{Pool: prefix + b.name, Running: b.running(c), Demand: b.look(c).demand}
		if entitled {
			s.Entitled, _ = b.look(c).share.Float64()
		}
		dst = b.appendShares(append(dst, s), prefix+b.name+"/", c, entitled)
	}
	return dst
}
