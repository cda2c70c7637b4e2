package fair

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// A tree holds the nested pools and their jobs, and decides which is served first.
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
	plain  *conf       // of pools that nothing describes
	made   *conf       // the description that it was made with
	costs  *costs      // nil unless the order is dominant
	widths gang.Widths // of the classes, if shares are of places
	turns  uint64      // arrivals and assignments so far

	// offering says that some pool has declined, or some job was passed over, while a slot
	// is being offered. Pools that could be served may then be missing in the heaps of their
	// parents.
	offering bool

	restoring bool // the tags of pools stay as they are

	// ranked says that the key of a pool is the same in all classes: shares are dominant ones, or of places.
	ranked bool

	// outer, unless nil, counts the free slots of the cluster of which the policy has a part.
	outer func(sojourn.Class) int

	reserved reserve.Options
	reserve  *reserve.Reserve // of ledger

	version uint64   // counts changes
	looked  []uint64 // by class: the version of the latest look at shares
	turn    turn     // whose it is; only if ranked
	charges charges  // of running attempts; only if the order is Service
	priced  bool     // an end has told of a cost; only if the order is Service

	halfLife time.Duration // of debts; 0 if none is forgotten
	credit   uint64        // for time without anything to start; 0 if that earns nothing
	window   uint64        // within which local work goes first; 0 if there is none

	gone gone // pools whose memory new ones use
}

func newTree(order Order, ties Ties, strict bool, costs *costs, widths gang.Widths, described, plain *conf, reserved reserve.Options) *tree {
	if costs != nil {
		order = dominant
	}
	t := &tree{
		ledger: ledger.Ledger[member]{Supports: described.supports()},
		order:  order, ties: ties, strict: strict, costs: costs, widths: widths, ranked: costs != nil || widths.Len() > 0, plain: plain, made: described, reserved: reserved,
	}
	t.root = t.newPool("", nil, described.fresh())
	t.ledger.Supports |= sojourn.FeaturePools // the policies of pools are not told
	t.reserve = reserve.New(&t.ledger, reserved)
	if t.ranked {
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
	if err := t.checkWidths(spec); err != nil {
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
		if c = d; t.widths.Len() > 0 {
			if err := t.checkMax(spec, c); err != nil {
				return nil, err
			}
		}
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
	if t.widths.Len() > 0 {
		return t.within(n, c, activeOnly)
	}
	for n.policy == nil {
		activeOnly = activeOnly || n.jobsFull()
		j, below := t.next(n, c, activeOnly)
		if j != nil {
			return n, j
		}
		n = below
	}
	return n, nil
}

// next returns the job of pool n, or the pool below it, that comes first.
func (t *tree) next(n *pool, c sojourn.Class, activeOnly bool) (*job, *pool) {
	if len(n.below) == 0 && !n.limited {
		id, _ := n.readyJobs.Least(c)
		return *n.jobs.At(id), nil
	}
	id, k, isJob := n.firstJob(c, activeOnly)
	if len(n.below) == 0 {
		return *n.jobs.At(id), nil
	}
	below, isPool := t.firstPool(n, c, activeOnly)
	if isJob && (!isPool || t.jobFirst(*n.jobs.At(id), k, *n.pools.At(below), t.key(*n.pools.At(below), c), c)) {
		return *n.jobs.At(id), nil
	}
	return nil, *n.pools.At(below)
}

// firstJob returns the job of pool n itself that comes first, with its key among jobs; false if there is none.
func (n *pool) firstJob(c sojourn.Class, activeOnly bool) (id uint32, k jobKey, ok bool) {
	id, k, ok = n.readyJobs.First(c)
	if n.limited && !activeOnly {
		// A fresh job runs nothing, so it comes first; in a FIFO pool it must be its
		// turn.
		if f, fk, fresh := n.freshJobs.First(c); fresh && (!ok || !n.conf.FIFO || fk.turn() < k.turn()) {
			return f, newJobKey(0, 1, wide.Uint128{}, fk.turn()), true
		}
	}
	return id, k, ok
}

// firstPool returns the pool below n that comes first; false if there is none. What a pool runs may have
// become overdue since its key was filed: then it is filed anew. A filed key is never ahead of what the key is
// now, so that the answer is the same whenever that happens, and questions may do it.
func (t *tree) firstPool(n *pool, c sojourn.Class, activeOnly bool) (id uint32, ok bool) {
	if len(n.below) == 1 && n.ready == nil && !activeOnly {
		return n.readyPools.Least(c)
	}
	for {
		id, k, ok := n.filedFirst(c, activeOnly)
		if !ok || t.order != Service || !k.sated {
			return id, ok
		}
		b := *n.pools.At(id)
		if t.overdue(b, t.counted(c)) == 0 {
			return id, true
		}
		fresh := t.key(b, c)
		switch {
		case !lessPool(k, fresh):
			return id, true
		case t.ranked:
			n.ready.move(b.id, fresh)
			n.busy.move(b.id, fresh)
		default:
			n.readyPools.Set(c, b.id, fresh)
			if n.busyPools.Contains(c, b.id) {
				n.busyPools.Set(c, b.id, fresh)
			}
		}
	}
}

// filedFirst returns the pool below n with the least key that is filed; false if there is none.
func (n *pool) filedFirst(c sojourn.Class, activeOnly bool) (id uint32, k poolKey, ok bool) {
	switch {
	case n.ready != nil && activeOnly:
		id, k, ok = n.busy.first(c)
	case n.ready != nil:
		id, k, ok = n.ready.first(c)
	case activeOnly:
		id, k, ok = n.busyPools.First(c)
	default:
		id, k, ok = n.readyPools.First(c)
	}
	return id, k, ok
}

// jobFirst reports whether a job, with its key among jobs, goes before a pool that stands
// beside it, which has no tie.
func (t *tree) jobFirst(j *job, k jobKey, n *pool, pk poolKey, c sojourn.Class) bool {
	if t.order == Service && pk.sated { // a job has no tag
		pk = poolKey{ratio: ratio(n.held(c), n.conf.weight), turn: pk.turn &^ beenServed, sated: true}
	}
	return lessPool(poolKey{ratio: ratio(int(k.low>>32), k.high>>16), turn: k.turn(), sated: true}, pk)
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
			below = t.begun(name, n, c)
			below.turn, below.latest = t.turns, t.turns
			t.turns++ // nobody else has the next one: it is the turn of a pool that comes with a debt
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

// remembers reports whether pool n keeps its account while it has no jobs. These are pools that are listed, so that there are no more of
// them than the options have.
func (t *tree) remembers(n *pool) bool { return t.credit > 0 && n.conf.named && n.conf.Policy == nil }

// leave removes a job from its pool, and drops pools without jobs. For a pool with a policy
// of its own it calls dismiss first.
func (t *tree) leave(j *job, dismiss func(*pool)) {
	n := j.Data.pool
	heap.Release(&n.jobs, &n.spare, j.Data.id)
	for ; n != nil; n = n.parent {
		n.live--
		if up := n.parent; n.live == 0 && up != nil && !t.remembers(n) {
			if n.policy != nil {
				dismiss(n)
			}
			delete(up.below, n.name)
			heap.Release(&up.pools, &up.gaps, n.id)
			if t.order == Service {
				n.keepDebts(t.priced)
			}
			t.gone.keep(n)
		}
	}
}

// served records that j, and the pools on the way to it, are about to start a task. For Service
// virtual time passes to their tags, except those of pools that are served for their minimum, since these
// say nothing about the others.
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
		if t.order != Service {
			continue
		}
		at := t.counted(c)
		tag := t.overrun(n, at)
		if n.sated(c) {
			n.parent.class(at).clock.Advance(t.leastBeside(n, c, t.proved(n, c, tag)))
		}
	}
}

// started counts an attempt of a job that its pools have begun to run.
func (t *tree) started(j *job, c sojourn.Class, task sojourn.TaskID, slot sojourn.SlotID) {
	n := j.Data.pool
	if t.order == Service {
		t.charge(n, c, t.expected(j, n, c, task), slot)
	}
	for ; n != nil; n = n.parent {
		nc := n.class(c)
		nc.running++
		if t.ranked {
			t.hold(n, c, 1)
		}
	}
}

// ended counts an attempt that an event ends, at a task of a job and its pools: see package
// internal/charge. What is not charged is taken back.
func (t *tree) ended(ev *sojourn.Event, ch *ledger.Change[member]) {
	j, c := ch.Job, ch.Slot.Class
	d := sideOf(j, j.SideOf(c))
	if ev.Cost != 0 && !t.priced && t.order == Service && !charge.Lost(ev) {
		t.price(ev, ch)
	}
	spent := t.costOf(ev, j.Data.pool, c, ev.At.Sub(ch.Start))
	due, ok := d.owed.End(ev, spent)
	if !ok {
		d.turn = d.before
	} else if t.ties == LeastService {
		t.addTie(j, d, c, due)
	}
	if t.order == Service {
		t.settle(ev, ch, spent, due, ok)
	}
	for n := j.Data.pool; n != nil; n = n.parent {
		nc := n.class(c)
		nc.running--
		if t.ranked {
			t.hold(n, c, -1)
		}
		if !nc.charged(ev) {
			nc.turn = nc.before
			n.latest = n.lastTurn()
		}
	}
}

// charged reports whether an attempt that an event ends is charged now, by the turns of the pool.
func (nc *poolClass) charged(ev *sojourn.Event) bool {
	if charge.Lost(ev) {
		return false
	}
	nc.owed = ev.Kind == sojourn.TaskFailed && !nc.owed
	return !nc.owed
}
