package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// update updates the places of one side of a job and of its pools.
func (t *tree) update(j *job, s *ledger.Side) {
	t.fileJob(j, s)
	for n := j.Data.pool; n.parent != nil; n = n.parent {
		t.file(n, s.Class())
	}
}

// updateAll files j and its pools anew in every class. Call it if a change in one class may move them in others:
// with a limit on jobs (recount), with costs, or with Places (ranked).
func (t *tree) updateAll(j *job, gone bool) {
	recounted := t.recount(j, gone)
	if !recounted && !t.ranked {
		for i := range j.NumSides() {
			t.update(j, j.Side(i))
		}
		return
	}
	for i := range j.NumSides() {
		t.fileJob(j, j.Side(i))
	}
	for n := j.Data.pool; n.parent != nil; n = n.parent {
		for i := range j.NumSides() {
			n.class(j.Side(i).Class()) // it may be the first job of the class
		}
		if t.costs != nil {
			n.share = n.used.share(t.costs)
		}
		if t.ranked && n.parent.ready.contains(n.id) {
			k := t.key(n, 0)
			n.parent.ready.move(n.id, k)
			n.parent.busy.move(n.id, k)
		}
		if recounted = recounted || n.widths != nil && len(n.conf.max) > 0; recounted {
			for c := range n.classes {
				t.file(n, sojourn.Class(c))
			}
			continue
		}
		for i := range j.NumSides() {
			t.file(n, j.Side(i).Class())
		}
	}
}

// recount counts j among the active jobs of its pools, or not any more. It reports
// whether that has changed, which may change what pools can be served in all
// classes.
func (t *tree) recount(j *job, gone bool) bool {
	n := j.Data.pool
	active := j.Running() > 0 && !gone
	if !n.limited || active == j.Data.active {
		return false
	}
	j.Data.active = active
	by := 1
	if !active {
		by = -1
	}
	for ; n != nil; n = n.parent {
		if n.limited {
			n.active += by
		}
	}
	return true
}

// refile puts a pool, and those around it, where they belong.
func (t *tree) refile(n *pool, c sojourn.Class) {
	for ; n.parent != nil; n = n.parent {
		t.file(n, c)
	}
}

// fileBelow updates the places of all pools below n. One that was alone there has an old key.
func (t *tree) fileBelow(n *pool) {
	for _, below := range n.pools.All() {
		if below == nil {
			continue
		}
		for c := range below.classes {
			t.file(below, sojourn.Class(c))
		}
	}
}

// fileJob updates the place of one side of a job within its pool.
func (t *tree) fileJob(j *job, s *ledger.Side) {
	n, c := j.Data.pool, s.Class()
	switch {
	case s.Startable() == 0 || j.Data.passed:
		if w := waitOf(j, s); w != nil && s.Startable() == 0 {
			w.Stop(t.ledger.Now())
		}
		n.readyJobs.Remove(c, j.Data.id)
		if n.limited {
			n.freshJobs.Remove(c, j.Data.id)
		}
	case !n.limited || j.Data.active:
		n.readyJobs.Set(c, j.Data.id, t.jobKey(j, s))
		if n.limited {
			n.freshJobs.Remove(c, j.Data.id)
		}
	default:
		// Jobs that were begun come first.
		k, had := t.jobKey(j, s), 0
		if !n.conf.FIFO && !begun(j) {
			had = 1
		}
		n.freshJobs.Set(c, j.Data.id, newJobKey(had, 1, k.tie, k.turn()))
		n.readyJobs.Remove(c, j.Data.id)
	}
}

// begun reports whether tasks of j were started.
func begun(j *job) bool {
	for i := range j.NumSides() {
		if j.Side(i).Started() > 0 {
			return true
		}
	}
	return false
}

// measure returns the number that the order uses for one side of a job.
func (t *tree) measure(j *job, s *ledger.Side) int {
	if t.ranked {
		return t.shareOf(j)
	}
	return s.Running()
}

// file updates the place of a pool among its siblings.
func (t *tree) file(n *pool, c sojourn.Class) {
	up := n.parent
	if t.ranked {
		t.fileRanked(n, c)
		return
	}
	if !n.offers(c) {
		up.readyPools.Remove(c, n.id)
		if up.limited {
			up.busyPools.Remove(c, n.id)
		}
		if !t.offering && !t.restoring {
			t.unqueue(n, c)
		}
		return
	}
	if len(up.below) == 1 && !up.limited && up.readyPools.Contains(c, n.id) {
		return // an only pool comes first with any key: see place
	}
	t.queue(n, c)
	k := t.key(n, c)
	up.readyPools.Set(c, n.id, k)
	if !up.limited {
		return
	}
	if n.offersActive(c) {
		up.busyPools.Set(c, n.id, k)
	} else {
		up.busyPools.Remove(c, n.id)
	}
}

// queue makes a pool level with others that begins to have something to start.
func (t *tree) queue(n *pool, c sojourn.Class) {
	if t.order == Service && !t.restoring {
		if nc := n.class(c); !nc.queued {
			nc.account.SetWeight(n.conf.weight)
			from := nc.account.Tag()
			t.lift(n, c)
			t.forget(n, c)
			nc.lifted = lifted{from, t.ledger.Now(), true}
			nc.queued = true
		}
	}
}

// unqueue takes the lift back of a pool that had something to start for no longer than this instant: one whose tasks are
// reported as held right after the event that brought them stands where it stood.
func (t *tree) unqueue(n *pool, c sojourn.Class) {
	nc, now := n.class(c), t.ledger.Now()
	if nc.lifted.holds(now) {
		nc.account.Return(nc.lifted.from)
	} else if nc.queued {
		nc.idle = now
	}
	nc.queued, nc.lifted = false, lifted{}
}

// key returns the key of a pool that can be served.
func (t *tree) key(n *pool, c sojourn.Class) poolKey {
	if t.order == dominant {
		return n.dominantKey()
	}
	nc := n.class(t.counted(c))
	k := poolKey{turn: nc.turn, sated: true}
	if n.widths != nil {
		c, k.turn = 0, n.latest
	}
	switch {
	case !n.sated(c):
		k.ratio, k.sated = ratio(n.held(c), uint64(n.conf.min[c])), false
	case t.order == Running:
		k.ratio = ratio(nc.running, n.conf.weight)
	default:
		k.setTag(t.effective(n, c))
		if k.turn != n.turn {
			k.turn |= beenServed
		}
	}
	return k
}
