package fair

import (
	"math"
	"math/bits"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/internal/sfq"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A pool is the account of a pool with live jobs, or of the whole cluster.
//
// A job or pool that has something to start, within its limits, is in a heap of
// its parent for each class. Others are in no heap and cost nothing. In the
// subtree of a pool that limits its jobs, jobs with live attempts are in heaps of
// their own, and so are pools that have such jobs to serve. A pool that has
// reached its limit serves only these.
type pool struct {
	name   string
	parent *pool
	conf   *conf
	id     uint32 // its number within the parent
	turn   uint64 // when it got its first live job
	live   int    // jobs of the subtree

	below map[string]*pool
	pools heap.Table[*pool] // by id; nil where the id is free
	gaps  heap.Table[uint32]

	// Each pool gives its jobs ids of its own, so that many small pools stay small.
	jobs  heap.Table[*job] // by id; nil where the id is free
	spare heap.Table[uint32]

	limited bool // the pool, or a pool around it, limits its jobs
	joint   bool // what happens in one class may change places in others: it is limited, or the tree is ranked
	active  int  // jobs of the subtree with live attempts; only if limited

	readyJobs  ready.Queue[jobKey]  // ids; if limited, only active jobs
	freshJobs  ready.Queue[jobKey]  // ids of jobs without live attempts; only if limited
	readyPools ready.Queue[poolKey] // ids of pools that can be served; the key of an only one may be old
	busyPools  ready.Queue[poolKey] // ids of pools with active jobs that can be served; only if limited

	classes []poolClass // by sojourn.Class

	latest uint64 // when it was last served in any class

	// Needed only if the tree is ranked: the key of a pool is the same in all classes then, so that ready and
	// busy stand in for readyPools and busyPools. If there are costs, used is what its tasks take, and share
	// its dominant share as of when it was filed last. If shares are of places, share is how many it holds.
	widths *gang.Widths // nil unless shares are of places
	used   *sum
	share  int
	ready  *ranking
	busy   *ranking
	head   turn // the class of the gang that comes first in it; only if it has a maximum of places

	policy   *guest         // the pool's own policy, or nil
	lent     []sojourn.Slot // free slots that its policy has for now
	declined bool           // its policy declined the slot being offered

	looks []look // the latest look at its share, by class
}

type poolClass struct {
	running int
	turn    uint64 // when it was last served; or when the pool got its first live job
	before  uint64 // turn when it last began to run something: what turn is again when an attempt is not charged
	owed    bool   // an attempt that failed is not charged yet
	queued  bool   // it is in a heap of the parent, or would be if nothing had declined
	stamps  stamps

	// For LeastService only: the greatest tie of a job of the pool so far. Invariant: no
	// live job has a greater one.
	most wide.Uint128

	// For the order Service only.
	account sfq.Account // among its siblings; not of the root
	lifted  lifted
	idle    sojourn.Time // when it last ran something or had something to start; only if it does not now
	clock   sfq.Clock    // of the pools below
	mean    mean
	starts  wide.Uint128 // the sum of the instants at which what runs was started
	late    uint64       // by how much what runs was overdue when the pool was charged last, less what has ended
}

// A jobKey orders the jobs of a pool by their ratio to their weight, then by Options.Ties,
// and then by turn: the job that was served longest ago, or came first. It is packed into
// four words, so that a comparison gets both keys in registers.
type jobKey struct {
	high uint64 // the weight, below 2^48, and the upper 16 bits of the turn
	low  uint64 // what the job has, below 2^32, and the lower 32 bits of the turn
	tie  wide.Uint128
}

// maxTurns bounds turns, so that a jobKey has room for one. A million turns a second reach it
// after nine years.
const maxTurns = 1 << 48

// newJobKey returns the key of a job that has n, for n < 2^32 and 0 < weight < 2^48.
func newJobKey(n int, weight uint64, tie wide.Uint128, turn uint64) jobKey {
	return jobKey{weight<<16 | turn>>32, uint64(n)<<32 | turn&math.MaxUint32, tie}
}

func (k jobKey) turn() uint64 { return k.high&math.MaxUint16<<32 | k.low&math.MaxUint32 }

func less(a, b jobKey) bool {
	if n, m, w, v := a.low>>32, b.low>>32, a.high>>16, b.high>>16; n != m || w != v {
		nhi, nlo := bits.Mul64(n, v)
		mhi, mlo := bits.Mul64(m, w)
		if nhi != mhi || nlo != mlo {
			return nhi < mhi || nhi == mhi && nlo < mlo
		}
	}
	if a.tie != b.tie {
		return a.tie.Less(b.tie)
	}
	return a.turn() < b.turn()
}

// prefixes returns the function for what the keys of jobs begin with: see [queue.JobOrder].
func prefixes(ties Ties) func(jobKey) (hi, lo uint64) {
	if ties != LeastService {
		return func(k jobKey) (hi, lo uint64) { return k.prefix(k.tie, true) }
	}
	return func(k jobKey) (hi, lo uint64) {
		whole := wide.Uint128{Hi: k.tie.Hi >> 32, Lo: k.tie.Hi<<32 | k.tie.Lo>>32}
		return k.prefix(whole, k.tie.Lo<<32 == 0)
	}
}

// prefix returns what the key begins with, if the tie does so: exact says that it is no more than that. Where the first
// word is all of the ratio, or of the tie of a job that has nothing, the second one is of what comes next.
func (k jobKey) prefix(tie wide.Uint128, exact bool) (hi, lo uint64) {
	n, w := k.low>>32, k.high>>16
	short := tie.Hi == 0 && tie.Lo>>63 == 0
	switch {
	case n > 0 && n<<31%w == 0 && short:
		return 1<<63 | n<<31/w, tie.Lo
	case n > 0:
		return 1<<63 | n<<31/w, math.MaxUint64
	case short && exact:
		return tie.Lo, k.turn()
	case short:
		return tie.Lo, math.MaxUint64
	}
	return 1<<63 - 1, math.MaxUint64
}

// A poolKey orders pools: first those below their minimum, by the part of it that they
// have; then the others, by their ratio to their weight, or by their tags. Ties go by the turn of the latest
// task. If pools went by arrival, those that always have jobs would keep others from being
// served while there are fewer slots than pools.
type poolKey struct {
	ratio  wide.Uint128
	part   uint64 // of the ratio, in parts of the weight: part/weight is to be added; 0 if there is none
	weight uint64
	turn   uint64
	sated  bool // it has its minimum
}

func lessPool(a, b poolKey) bool {
	if a.sated != b.sated {
		return b.sated
	}
	if a.ratio != b.ratio {
		return a.ratio.Less(b.ratio)
	}
	if a.part != 0 || b.part != 0 {
		if x, y := wide.Mul64(a.part, b.weight), wide.Mul64(b.part, a.weight); x != y {
			return x.Less(y)
		}
	}
	return a.turn < b.turn
}

// prefix returns what the key begins with: see [queue.JobOrder].
func (k poolKey) prefix() (hi, lo uint64) {
	hi, lo = k.ratio.Hi>>1, math.MaxUint64
	if k.ratio.Lo == 0 && k.ratio.Hi&1 == 0 {
		lo = k.turn
	}
	if k.sated {
		hi |= 1 << 63
	}
	return hi, lo
}

// tagPrefix is prefix where pools that have their minimum go by tags.
func (k poolKey) tagPrefix() (hi, lo uint64) {
	if !k.sated {
		return k.prefix()
	}
	if k.ratio.Hi != 0 || k.ratio.Lo>>63 != 0 {
		return math.MaxUint64, math.MaxUint64
	}
	if lo = math.MaxUint64; k.part == 0 {
		lo = k.turn
	}
	return 1<<63 | k.ratio.Lo, lo
}

// ratio returns floor(n*2^96/w) for n < 2^32 and 0 < w < 2^48.
func ratio(n int, w uint64) wide.Uint128 {
	if w == 1<<16 { // true of most pools; needs no division
		return wide.Uint128{Hi: uint64(uint32(n)) << 16}
	}
	q, _ := wide.Uint128{Hi: uint64(uint32(n)) << 32}.QuoRem(wide.From64(w))
	return q
}

// newPool returns a pool without jobs.
func (t *tree) newPool(name string, parent *pool, c *conf) pool {
	prefix := poolKey.prefix
	if t.order == Service {
		prefix = poolKey.tagPrefix
	}
	n := pool{
		name: name, parent: parent, conf: c,
		limited:    c.MaxJobs > 0 || parent != nil && parent.limited,
		joint:      c.MaxJobs > 0 || t.ranked || parent != nil && parent.joint,
		readyJobs:  ready.New(less, prefixes(t.ties)),
		freshJobs:  ready.New(less, prefixes(t.ties)),
		readyPools: ready.New(lessPool, prefix),
		busyPools:  ready.New(lessPool, prefix),
	}
	if t.ranked {
		n.ready, n.busy = new(ranking), new(ranking)
	}
	if t.costs != nil {
		n.used = new(sum)
	}
	if t.widths.Len() > 0 {
		n.widths = &t.widths
	}
	return n
}

// gone are pools without jobs whose memory new ones use, so that a tenant that comes with one job at a time costs little. It is some
// of those that were small.
type gone []*pool

// maxGone bounds how many there are, and smallPool how many jobs and pools one has had at a time.
const (
	maxGone   = 64
	smallPool = 16
)

// keep keeps the memory of a pool that has lost its last job.
func (g *gone) keep(n *pool) {
	if len(*g) < maxGone && n.jobs.Len() <= smallPool && n.pools.Len() <= smallPool && n.policy == nil && n.ready == nil {
		*g = append(*g, n)
	}
}

// begun returns a new pool.
func (t *tree) begun(name string, parent *pool, c *conf) *pool {
	k := len(t.gone) - 1
	if k < 0 {
		n := t.newPool(name, parent, c)
		return &n
	}
	n := t.gone[k]
	t.gone[k], t.gone = nil, t.gone[:k]
	n.name, n.parent, n.conf = name, parent, c // its queues are empty, and it has no jobs
	n.limited, n.joint = c.MaxJobs > 0 || parent.limited, c.MaxJobs > 0 || parent.joint
	n.looks = n.looks[:0]
	n.pools.Reset()
	n.gaps.Reset()
	n.jobs.Reset()
	n.spare.Reset()
	n.classes = n.classes[:0]
	return n
}

// path returns the names of the pools on the way to n, joined by slashes.
func (n *pool) path() string {
	if n.parent == nil || n.parent.parent == nil {
		return n.name
	}
	return n.parent.path() + "/" + n.name
}

func (n *pool) class(c sojourn.Class) *poolClass {
	if int(c) < len(n.classes) {
		return &n.classes[c]
	}
	return n.newClass(c)
}

// newClass makes what is missing of the classes up to c.
func (n *pool) newClass(c sojourn.Class) *poolClass {
	for int(c) >= len(n.classes) {
		nc := poolClass{turn: n.turn, before: n.turn}
		if n.parent != nil {
			account, since, owes := n.parent.class(sojourn.Class(len(n.classes))).clock.Enter(n.name, n.conf.weight)
			nc.account, nc.idle = account, sojourn.Time(since)
			if owes {
				nc.turn, nc.before = n.turn+1, n.turn+1
				n.latest = max(n.latest, nc.turn)
			}
		}
		n.classes = append(n.classes, nc)
	}
	return &n.classes[c]
}

// look returns the latest look at a class.
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

// held returns r of a class, or how many places the pool holds.
func (n *pool) held(c sojourn.Class) int {
	if n.widths != nil {
		return n.share
	}
	return n.running(c)
}

// sated reports whether the pool has its minimum.
func (n *pool) sated(c sojourn.Class) bool {
	if n.widths != nil {
		c = 0
	}
	return int(c) >= len(n.conf.min) || n.held(c) >= n.conf.min[c]
}

// full reports whether the pool runs as many tasks of a class as it may. One that is paused may run none.
func (n *pool) full(c sojourn.Class) bool {
	if n.conf.paused {
		return true
	}
	if n.widths != nil {
		return len(n.conf.max) > 0 && n.share+n.widths.Width(c) > n.conf.max[0]
	}
	return int(c) < len(n.conf.max) && n.conf.max[c] > 0 && n.running(c) >= n.conf.max[c]
}

// jobsFull reports whether the pool has reached its limit on jobs that run tasks.
func (n *pool) jobsFull() bool { return n.conf.MaxJobs > 0 && n.active >= n.conf.MaxJobs }

// activeOnly reports whether only active jobs of the pool can be served: it, or a pool around it, has reached its limit on jobs.
func (n *pool) activeOnly() bool {
	for ; n != nil; n = n.parent {
		if n.jobsFull() {
			return true
		}
	}
	return false
}

// offersActive reports whether an active job of the pool can be served.
func (n *pool) offersActive(c sojourn.Class) bool {
	return (n.readyJobs.Any(c) || n.busyPools.Any(c) || n.busy.any(c)) && !n.full(c)
}

// offers reports whether the pool can be served.
func (n *pool) offers(c sojourn.Class) bool {
	switch {
	case n.declined || n.full(c):
		return false
	case n.jobsFull():
		return n.readyJobs.Any(c) || n.busyPools.Any(c) || n.busy.any(c)
	}
	return n.readyJobs.Any(c) || n.readyPools.Any(c) || n.freshJobs.Any(c) || n.ready.any(c)
}
