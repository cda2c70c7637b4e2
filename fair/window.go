package fair

import (
	"math"
	"math/bits"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/sfq"
)

// firstAt returns what a free slot goes to: what first returns, or, with a Window, what is nearer to the slot within it.
func (p *Policy) firstAt(s sojourn.Slot) (*pool, *job) {
	if p.window == 0 || p.index == nil || p.index.Empty() || !p.root.offers(s.Class) {
		return p.first(s.Class)
	}
	n, j, _ := p.nearest(&p.root, s, false)
	return n, j
}

// nearest returns the job of pool n, or of the pools below it, that a slot goes to, its pool, and how far the slot is from the input of its
// next task. Of pools side by side within the window it is the nearest one, and of several the one that comes first. Of a pool with a policy of its
// own the job is nil, and nothing is known to be near.
func (p *Policy) nearest(n *pool, s sojourn.Slot, activeOnly bool) (at *pool, j *job, far sojourn.Locality) {
	if n.policy != nil {
		return n, nil, sojourn.Remote
	}
	c := s.Class
	activeOnly = activeOnly || n.jobsFull()
	j, first := p.next(n, c, activeOnly)
	if j != nil {
		pick, _, _ := p.pick(j, j.SideOf(c), s)
		return n, j, pick.Locality
	}
	at, j, far = p.nearest(first, s, activeOnly)
	if far <= sojourn.NodeLocal || !first.sated(c) {
		return at, j, far
	}
	best, limit := p.key(first, c), p.limitOf(first, c)
	ready := &n.readyPools
	if activeOnly {
		ready = &n.busyPools
	}
	ready.Walk(c, func(id uint32, filed poolKey) bool {
		if lessPool(limit, filed) || far == sojourn.NodeLocal && !lessPool(filed, best) {
			return false
		}
		if b := *n.pools.At(id); b != first {
			if k := p.key(b, c); !lessPool(limit, k) {
				m, i, d := p.nearest(b, s, activeOnly)
				if d != sojourn.AnyNode && (d < far || d == far && lessPool(k, best)) { // what runs equally well anywhere passes nobody
					at, j, far, best = m, i, d, k
				}
			}
		}
		return true
	})
	return at, j, far
}

// limitOf returns the last key that is within the window of a pool that comes first by its tag.
func (t *tree) limitOf(n *pool, c sojourn.Class) poolKey {
	least := t.effective(n, c)
	hi, lo := bits.Mul64(t.window, n.conf.weight)
	most := uint64(sfq.MaxCost)
	if hi < 1<<15 {
		most = hi<<48 | lo>>16 // the unit of weights is 2^-16
	}
	k := poolKey{turn: math.MaxUint64, sated: true}
	k.setTag(least.Plus(min(most, sfq.MaxCost)))
	return k
}

// leastBeside returns the instant to which virtual time passes when a pool is served that has a tag: the least tag of the pools beside it that could be
// served, which is another one only within a Window.
func (t *tree) leastBeside(n *pool, c sojourn.Class, tag sfq.Tag) sfq.Tag {
	if t.window == 0 {
		return tag
	}
	if id, ok := t.firstPool(n.parent, c, n.parent.activeOnly()); ok {
		if first := *n.parent.pools.At(id); first != n && first.sated(c) {
			if least := t.effective(first, c); least.Before(tag) {
				return least
			}
		}
	}
	return tag
}
