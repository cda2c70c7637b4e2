package fair

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// A tree has the pools in pools, and the jobs in them, and decides which is served first.
//
// A pool has four queues of the jobs and pools that can be served in a class, by key:
//
//	             jobs                            pools below
//	no limit     readyJobs: all                  readyPools: all
//	on jobs
//	limited      readyJobs: active ones          readyPools: all
//	             freshJobs: the others           busyPools: those with active jobs
//
// A pool is limited if it, or a pool around it, has MaxJobs. Active jobs have running
// tasks. Once the limit of active jobs is reached, only readyJobs and busyPools count,
// in that pool and in all pools below.
type tree struct {
	ledger ledger.Ledger[member]
	order  Order
	ties   Ties
	strict bool
	root   pool
	plain  *conf  // of pools that nothing describes
	costs  *costs // nil unless the order is dominant
	turns  uint64 // arrivals and assignments so far

	// offering says that some pool has declined, or some job was passed over, while a slot
	// is being offered. Pools that could be served may then be missing in the heaps of their
	// parents.
	offering bool

	// outer, unless nil, counts the free slots of the cluster of which the policy has a part.
	outer func(sojourn.Class) int

	reserved reserve.Options
	reserve  *reserve.Reserve // of ledger

	version uint64   // counts changes
	looked  []uint64 // by class: the version of the latest look at shares
	turn    turn     // whose it is; only if the order is dominant
}

func newTree(order Order, ties Ties, strict bool, costs *costs, described, plain *conf, reserved reserve.Options) *tree {
	t := &tree{
		ledger: ledger.Ledger[member]{Supports: described.supports()},
		order:  order, ties: ties, strict: strict, costs: costs, root: newPool("", nil, described, ties, costs != nil), plain: plain, reserved: reserved,
	}
	t.reserve = reserve.New(&t.ledger, reserved)
	if costs != nil {
		t.order = dominant
		t.ledger.Supports |= sojourn.FeatureProjected
	}
	return t
}

// supports returns the features that the policies of c and all pools below it know.
func (c *conf) supports() sojourn.Features {
	known := option.Features | sojourn.FeatureParallelism
	c.each("", "", func(_ string, d *conf) {
		if d.said {
			known &= d.known
		}
	})
	return known
}

// Supports implements [sojourn.Supporter] for the policy: the features that the policies of all
// pools know.
func (t *tree) Supports() sojourn.Features { return t.ledger.Supports }

// confOf returns the description of the pool of a job.
func (t *tree) confOf(spec *sojourn.Job) (*conf, error) {
	if err := t.costs.check(spec); err != nil {
		return nil, err
	}
	c := t.root.conf
	for name := range split(spec.Pool) {
		if c.leaf() {
			break
		}
		d, ok := c.find(name)
		if !ok {
			if t.strict {
				return nil, fmt.Errorf("%w: unknown pool %q", sojourn.ErrUnsupported, spec.Pool)
			}
			return t.plain, nil
		}
		c = d
	}
	return c, nil
}

// first returns the job that a free slot of class c goes to, and its pool. For a pool with a
// policy of its own, the job is nil. It returns nil and nil if there is nothing to start.
func (t *tree) first(c sojourn.Class) (*pool, *job) {
	n := &t.root
	activeOnly := false
	if !n.offers(c) {
		return nil, nil
	}
	for n.policy == nil {
		activeOnly = activeOnly || n.jobsFull()
		id, k, isJob := n.readyJobs.First(c)
		if n.limited && !activeOnly {
			// A fresh job runs nothing, so it comes first; in a FIFO pool it must be its
			// turn.
			if f, fk, ok := n.freshJobs.First(c); ok && (!isJob || !n.conf.FIFO || fk.turn() < k.turn()) {
				id, k, isJob = f, newJobKey(0, 1, wide.Uint128{}, fk.turn()), true
			}
		}
		if len(n.below) == 0 {
			return n, n.jobs[id]
		}
		below, isPool := n.firstPool(c, activeOnly)
		if isJob && (!isPool || t.jobFirst(n.jobs[id], k, n.pools[below], t.key(n.pools[below], c), c)) {
			return n, n.jobs[id]
		}
		n = n.pools[below]
	}
	return n, nil
}

// firstPool returns the pool below n that comes first; false if there is none.
func (n *pool) firstPool(c sojourn.Class, activeOnly bool) (id uint32, ok bool) {
	switch {
	case n.ready != nil && activeOnly:
		id, _, ok = n.busy.first(c)
	case n.ready != nil:
		id, _, ok = n.ready.first(c)
	case activeOnly:
		id, _, ok = n.busyPools.First(c)
	default:
		id, _, ok = n.readyPools.First(c)
	}
	return id, ok
}

// jobFirst reports whether a job, with its key among jobs, goes before a pool that stands
// beside it, which has no tie.
func (t *tree) jobFirst(j *job, k jobKey, n *pool, pk poolKey, c sojourn.Class) bool {
	if t.order == Deficit {
		// Numbers of started tasks do not compare between a job and a pool: r/w decides.
		if pk.sated {
			pk.ratio = ratio(n.running(c), n.conf.weight)
		}
		return lessPool(poolKey{ratio(j.SideOf(c).Running(), j.Weight()), k.turn(), true}, pk)
	}
	return lessPool(poolKey{ratio(int(k.low>>32), k.high>>16), k.turn(), true}, pk)
}

// join makes a new job a member of its pool, and returns the pool.
func (t *tree) join(j *job) *pool {
	t.turns++
	j.Data.turn = t.turns
	n := t.place(j.Spec().Pool)
	for up := n; up != nil; up = up.parent {
		up.live++
	}
	j.Data.pool = n
	t.begin(j)
	j.Data.id = heap.Allot(&n.jobs, &n.spare, j)
	return n
}

// poolOf returns the pool that a job belongs to; nil if there is none yet.
func (t *tree) poolOf(spec *sojourn.Job) *pool {
	n := &t.root
	for name := range split(spec.Pool) {
		if n.conf.leaf() {
			break
		}
		if n = n.below[name]; n == nil {
			break
		}
	}
	return n
}

// place returns the pool of a path. It makes the pools that do not exist.
func (t *tree) place(path string) *pool {
	n := &t.root
	for name := range split(path) {
		if n.conf.leaf() {
			break
		}
		below := n.below[name]
		if below == nil {
			c, ok := n.conf.find(name)
			if !ok {
				c = t.plain
			}
			made := newPool(name, n, c, t.ties, t.costs != nil)
			below = &made
			below.turn, below.latest = t.turns, t.turns
			below.id = heap.Allot(&n.pools, &n.gaps, below)
			if n.below == nil {
				n.below = make(map[string]*pool)
			}
			n.below[name] = below
			if len(n.below) == 2 {
				t.fileBelow(n)
			}
		}
		n = below
	}
	return n
}

// leave removes a job from its pool, and drops pools without jobs. For a pool with a policy
// of its own it calls dismiss first.
func (t *tree) leave(j *job, dismiss func(*pool)) {
	n := j.Data.pool
	heap.Release(n.jobs, &n.spare, j.Data.id)
	for ; n != nil; n = n.parent {
		n.live--
		if up := n.parent; n.live == 0 && up != nil {
			if n.policy != nil {
				dismiss(n)
			}
			delete(up.below, n.name)
			heap.Release(up.pools, &up.gaps, n.id)
		}
	}
}

// served records that j, and the pools on the way to it, have started a task. For Deficit it also
// records their tags, except those of pools that are served for their minimum, since these say
// nothing about the others.
func (t *tree) served(j *job, s *ledger.Side) {
	t.turns++
	c, d := s.Class(), sideOf(j, s)
	if s.Running() == 1 {
		d.before = d.turn
	}
	d.turn = t.turns
	for n := j.Data.pool; n.parent != nil; n = n.parent {
		nc := n.class(c)
		if nc.running == 0 { // it is counted later
			nc.before = nc.turn
		}
		nc.turn, n.latest = t.turns, t.turns
		if t.order == Deficit && (int(c) >= len(n.conf.min) || nc.running >= n.conf.min[c]) {
			if up, tag := n.parent.class(c), nc.tag(n.conf.weight); up.virtual.Less(tag) {
				up.virtual = tag
			}
		}
	}
}

// started counts a task that a pool has begun to run.
func (t *tree) started(n *pool, c sojourn.Class) {
	for ; n != nil; n = n.parent {
		nc := n.class(c)
		if t.order == Deficit && !nc.queued && n.parent != nil { // an attempt that is adopted
			t.catchUp(n, c)
		}
		nc.running++
		nc.started++
		if t.costs != nil {
			n.used.add(t.costs, 1, c)
		}
	}
}

// ended counts an attempt that an event ends, at a task of a job and its pools: see package
// internal/charge. What is not charged is taken back.
func (t *tree) ended(ev *sojourn.Event, ch ledger.Change[member]) {
	j, c := ch.Job, ch.Slot.Class
	d := sideOf(j, j.SideOf(c))
	if due, ok := d.owed.End(ev, ev.At.Sub(ch.Start)); !ok {
		d.turn = d.before
	} else if t.ties == LeastService {
		t.charge(j, d, c, due)
	}
	for n := j.Data.pool; n != nil; n = n.parent {
		nc := n.class(c)
		nc.running--
		if t.costs != nil {
			n.used.add(t.costs, -1, c)
		}
		if !nc.charged(ev) {
			nc.turn = nc.before
			n.latest = n.lastTurn()
		}
	}
}

// charged reports whether an attempt that an event ends is charged now. It takes back what is not
// of what was started.
func (nc *poolClass) charged(ev *sojourn.Event) bool {
	back := uint8(min(nc.started, 1))
	switch {
	case charge.Lost(ev):
		nc.started -= uint64(back)
		return false
	case ev.Kind == sojourn.TaskFailed && nc.owed == 0:
		nc.started -= uint64(back)
		nc.owed = 1 + back
		return false
	case nc.owed > 0:
		nc.started += uint64(nc.owed - 1)
		nc.owed = 0
	}
	return true
}
