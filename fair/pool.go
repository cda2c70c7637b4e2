package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A pool is the account of a pool with live jobs, or of the whole cluster.
//
// What has something to start, within its limits, is in a heap of its parent for
// each class; what has not is nowhere, and costs nothing. In the subtree of a pool
// that limits its jobs, jobs with live attempts are apart from the others, as are
// the pools that have such jobs to serve, so that a pool whose limit is reached
// goes on with those.
type pool struct {
	name   string
	parent *pool
	conf   *conf
	id     uint32 // its number within the parent
	turn   uint64 // when it came to have jobs
	live   int    // jobs of the subtree

	below map[string]*pool
	pools []*pool // by id; nil where the id is free
	gaps  []uint32

	// Jobs have ids of their own in each pool, so that many small pools stay small.
	jobs  []*job // by id; nil where the id is free
	spare []uint32

	limited bool // the pool, or one that it is part of, limits its jobs
	active  int  // jobs of the subtree with live attempts; only if limited

	readyJobs  ready.Queue[key]     // ids; if limited, only active jobs
	freshJobs  ready.Queue[key]     // ids of jobs without live attempts; only if limited
	readyPools ready.Queue[poolKey] // ids of pools that can be served
	busyPools  ready.Queue[poolKey] // ids of pools with active jobs that can be served; only if limited

	classes []poolClass // by sojourn.Class

	policy   *guest         // its own, or nil
	lent     []sojourn.Slot // free slots that its policy has for now
	declined bool           // its policy declined what is being offered

	looks []look // at its share, by class
}

type poolClass struct {
	running int
	turn    uint64 // when it was served last; or when the pool came to have jobs
	queued  bool   // it is, or would be if nothing had declined, in a heap of the parent
	stamps  stamps

	// For Deficit only.
	started uint64       // since the pool last became busy
	base    wide.Uint128 // the tag it then began with
	virtual wide.Uint128 // the tag of the pool below that was served last
}

// A key orders jobs by what they have in relation to their weight, ties by turn: the
// job that came first. For pools it is the one that was served longest ago, or else
// pools that always have jobs would keep others from being served where there are
// fewer slots than pools.
type key struct {
	ratio wide.Uint128
	turn  uint64
}

func less(a, b key) bool {
	if a.ratio != b.ratio {
		return a.ratio.Less(b.ratio)
	}
	return a.turn < b.turn
}

// A poolKey orders pools: those below their minimum first, by what they have of it,
// then by what they have in relation to their weight, ties by turn.
type poolKey struct {
	key
	sated bool // it has its minimum
}

func lessPool(a, b poolKey) bool {
	if a.sated != b.sated {
		return b.sated
	}
	return less(a.key, b.key)
}

// ratio returns floor(n*2^96/w) for n < 2^32 and 0 < w < 2^48.
func ratio(n int, w uint64) wide.Uint128 {
	if w == 1<<16 { // of most pools, and no division
		return wide.Uint128{Hi: uint64(uint32(n)) << 16}
	}
	q, _ := wide.Uint128{Hi: uint64(uint32(n)) << 32}.QuoRem(wide.From64(w))
	return q
}

func newPool(name string, parent *pool, c *conf) pool {
	return pool{
		name: name, parent: parent, conf: c,
		limited:    c.MaxJobs > 0 || parent != nil && parent.limited,
		readyJobs:  ready.New(less),
		freshJobs:  ready.New(less),
		readyPools: ready.New(lessPool),
		busyPools:  ready.New(lessPool),
	}
}

// path returns the names of the pools on the way to n, joined by slashes.
func (n *pool) path() string {
	if n.parent == nil || n.parent.parent == nil {
		return n.name
	}
	return n.parent.path() + "/" + n.name
}

func (n *pool) class(c sojourn.Class) *poolClass {
	for int(c) >= len(n.classes) {
		n.classes = append(n.classes, poolClass{turn: n.turn})
	}
	return &n.classes[c]
}

// look returns what was found of a class.
func (n *pool) look(c sojourn.Class) *look {
	for int(c) >= len(n.looks) {
		n.looks = append(n.looks, look{})
	}
	return &n.looks[c]
}

// running returns r of a class.
func (n *pool) running(c sojourn.Class) int {
	if int(c) >= len(n.classes) {
		return 0
	}
	return n.classes[c].running
}

// full reports whether the pool runs as many tasks of a class as it may.
func (n *pool) full(c sojourn.Class) bool {
	return int(c) < len(n.conf.max) && n.conf.max[c] > 0 && n.running(c) >= n.conf.max[c]
}

// jobsFull reports whether as many jobs of the pool run tasks as may.
func (n *pool) jobsFull() bool { return n.conf.MaxJobs > 0 && n.active >= n.conf.MaxJobs }

// offersActive reports whether an active job of the pool can be served.
func (n *pool) offersActive(c sojourn.Class) bool {
	return (n.readyJobs.Any(c) || n.busyPools.Any(c)) && !n.full(c)
}

// offers reports whether the pool can be served.
func (n *pool) offers(c sojourn.Class) bool {
	switch {
	case n.declined || n.full(c):
		return false
	case n.jobsFull():
		return n.readyJobs.Any(c) || n.busyPools.Any(c)
	}
	return n.readyJobs.Any(c) || n.readyPools.Any(c) || n.freshJobs.Any(c)
}

// first returns what a free slot of class c goes to: a job and its pool, or a pool
// with a policy of its own and nil; nil and nil if there is nothing.
func (p *Policy) first(c sojourn.Class) (*pool, *job) {
	n := &p.root
	activeOnly := false
	if !n.offers(c) {
		return nil, nil
	}
	for n.policy == nil {
		activeOnly = activeOnly || n.jobsFull()
		pools := &n.readyPools
		if activeOnly {
			pools = &n.busyPools
		}
		id, k, isJob := n.readyJobs.First(c)
		if n.limited && !activeOnly {
			// A job that is let in has nothing, and comes first for that reason; in a
			// FIFO pool it has to be its turn.
			if f, fk, ok := n.freshJobs.First(c); ok && (!isJob || !n.conf.FIFO || fk.turn < k.turn) {
				id, k, isJob = f, key{turn: fk.turn}, true
			}
		}
		below, pk, isPool := pools.First(c)
		if isJob && isPool && p.order == Deficit {
			// Tasks started so far do not compare: r/w decides between the two.
			j, b := n.jobs[id], n.pools[below]
			k.ratio = ratio(j.SideOf(c).Running, j.Weight)
			if pk.sated {
				pk.ratio = ratio(b.running(c), b.conf.weight)
			}
		}
		if isJob && (!isPool || pk.sated && less(k, pk.key)) {
			return n, n.jobs[id]
		}
		n = n.pools[below]
	}
	return n, nil
}

// join makes a new job a member of its pool, whose policy, if it has one, is g.
func (p *Policy) join(j *job, g *guest) {
	p.turns++
	j.Data.turn = p.turns
	n := p.place(j.Spec.Pool)
	if g != nil && n.policy == nil {
		p.adopt(n, g)
	}
	for up := n; up != nil; up = up.parent {
		up.live++
	}
	j.Data.pool = n
	if p.delay.Node > 0 {
		j.Data.waits = make([]locality.Wait, len(j.Sides))
	}
	j.Data.id = number(&n.jobs, &n.spare, j)
}

// number puts x into list at a free number, which it returns.
func number[T any](list *[]*T, spare *[]uint32, x *T) (id uint32) {
	if n := len(*spare); n > 0 {
		id = (*spare)[n-1]
		*spare = (*spare)[:n-1]
		(*list)[id] = x
		return id
	}
	*list = append(*list, x)
	return uint32(len(*list) - 1)
}

// poolOf returns the pool that a job belongs to; nil if there is none yet.
func (p *Policy) poolOf(spec *sojourn.Job) *pool {
	n := &p.root
	for _, name := range split(spec.Pool) {
		if n.conf.leaf() {
			break
		}
		if n = n.below[name]; n == nil {
			break
		}
	}
	return n
}

// place returns the pool of a path. It makes what is not there.
func (p *Policy) place(path string) *pool {
	n := &p.root
	for _, name := range split(path) {
		if n.conf.leaf() {
			break
		}
		below := n.below[name]
		if below == nil {
			c, ok := n.conf.find(name)
			if !ok {
				c = p.plain
			}
			made := newPool(name, n, c)
			below = &made
			below.turn = p.turns
			below.id = number(&n.pools, &n.gaps, below)
			if n.below == nil {
				n.below = make(map[string]*pool)
			}
			n.below[name] = below
		}
		n = below
	}
	return n
}

// leave takes a job out of its pool, and forgets pools without jobs.
func (p *Policy) leave(j *job) {
	n := j.Data.pool
	n.jobs[j.Data.id] = nil
	n.spare = append(n.spare, j.Data.id)
	for ; n != nil; n = n.parent {
		n.live--
		if up := n.parent; n.live == 0 && up != nil {
			if n.policy != nil {
				p.dismiss(n)
			}
			delete(up.below, n.name)
			up.pools[n.id] = nil
			up.gaps = append(up.gaps, n.id)
		}
	}
}

// update puts one side of a job, and its pools, where they belong.
func (p *Policy) update(j *job, s *ledger.Side) {
	p.fileJob(j, s)
	for n := j.Data.pool; n.parent != nil; n = n.parent {
		p.file(n, s.Class)
	}
}

// fileJob puts one side of a job where it belongs within its pool.
func (p *Policy) fileJob(j *job, s *ledger.Side) {
	n, c := j.Data.pool, s.Class
	switch {
	case s.Startable == 0 || j.Data.passed:
		if w := waitOf(j, s); w != nil && s.Startable == 0 {
			w.Stop(p.ledger.Now())
		}
		n.readyJobs.Remove(c, j.Data.id)
		if n.limited {
			n.freshJobs.Remove(c, j.Data.id)
		}
	case !n.limited || j.Data.active:
		k := key{turn: j.Data.turn}
		if !n.conf.leaf() {
			k.ratio = ratio(p.measure(s), j.Weight)
		}
		n.readyJobs.Set(c, j.Data.id, k)
		if n.limited {
			n.freshJobs.Remove(c, j.Data.id)
		}
	default:
		// The jobs that were begun are finished first.
		k := key{turn: j.Data.turn}
		if !n.conf.FIFO && !begun(j) {
			k.ratio.Lo = 1
		}
		n.freshJobs.Set(c, j.Data.id, k)
		n.readyJobs.Remove(c, j.Data.id)
	}
}

// begun reports whether tasks of j were started.
func begun(j *job) bool {
	for i := range j.Sides {
		if j.Sides[i].Started > 0 {
			return true
		}
	}
	return false
}

// measure returns what the order counts for one side of a job.
func (p *Policy) measure(s *ledger.Side) int {
	if p.order == Deficit {
		return s.Started
	}
	return s.Running
}

// file puts a pool where it belongs among its siblings.
func (p *Policy) file(n *pool, c sojourn.Class) {
	up := n.parent
	if !n.offers(c) {
		up.readyPools.Remove(c, n.id)
		if up.limited {
			up.busyPools.Remove(c, n.id)
		}
		if !p.offering {
			n.class(c).queued = false
		}
		return
	}
	k := p.key(n, c)
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

// key returns the key of a pool that can be served.
func (p *Policy) key(n *pool, c sojourn.Class) poolKey {
	nc := n.class(c)
	k := poolKey{key{turn: nc.turn}, true}
	if p.order == Deficit && !nc.queued {
		// The pool could not be served. It goes on from where it was or from where the
		// others are, whichever is later: idleness earns nothing.
		nc.queued = true
		if v := n.parent.class(c).virtual; nc.tag(n.conf.weight).Less(v) {
			nc.base, nc.started = v, 0
		}
	}
	switch {
	case int(c) < len(n.conf.min) && nc.running < n.conf.min[c]:
		k.ratio, k.sated = ratio(nc.running, uint64(n.conf.min[c])), false
	case p.order == Deficit:
		k.ratio = nc.tag(n.conf.weight)
	default:
		k.ratio = ratio(nc.running, n.conf.weight)
	}
	return k
}

// tag returns base + started/weight, in units of 2^-64.
func (nc *poolClass) tag(weight uint64) wide.Uint128 {
	q, _ := wide.Mul64(nc.started, 1<<16).Shl(64).QuoRem(wide.From64(weight))
	return nc.base.Add(q)
}

// served notes that pools on the way to n are about to start a task. For Deficit it
// notes their tags as well; a pool that is served for its minimum says nothing of
// where the others are.
func (p *Policy) served(n *pool, c sojourn.Class) {
	p.turns++
	for ; n.parent != nil; n = n.parent {
		nc := n.class(c)
		nc.turn = p.turns
		if p.order == Deficit && (int(c) >= len(n.conf.min) || nc.running >= n.conf.min[c]) {
			n.parent.class(c).virtual = nc.tag(n.conf.weight)
		}
	}
}

// started counts a task that a pool has begun to run.
func (p *Policy) started(n *pool, c sojourn.Class) {
	for ; n != nil; n = n.parent {
		nc := n.class(c)
		nc.running++
		nc.started++
	}
}

// ended counts a task that has ended, or was never started.
func (p *Policy) ended(n *pool, c sojourn.Class, refused bool) {
	for ; n != nil; n = n.parent {
		nc := n.class(c)
		nc.running--
		if refused && nc.started > 0 {
			nc.started--
		}
	}
}

// updateAll puts j and its pools where they belong.
func (p *Policy) updateAll(j *job, gone bool) {
	recounted := p.recount(j, gone)
	for i := range j.Sides {
		p.update(j, &j.Sides[i])
	}
	if !recounted {
		return
	}
	for n := j.Data.pool; n.parent != nil; n = n.parent {
		for c := range n.classes {
			p.file(n, sojourn.Class(c))
		}
	}
}

// recount counts j among the active jobs of its pools, or not any more. It reports
// whether that has changed, which may change what pools can be served in all
// classes.
func (p *Policy) recount(j *job, gone bool) bool {
	n := j.Data.pool
	active := j.Running > 0 && !gone
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
