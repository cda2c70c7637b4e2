package fair

import (
	"math/big"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A look is the state and demand of a pool in one class when shares were last
// computed.
type look struct {
	startable int // tasks of its own jobs
	demand    int // tasks that it could run at a time
	share     *big.Rat
	left      int // running tasks, without those that are to be killed
	claim     int // slots that it should get from other pools
	least     int // its minimum, at most its demand
}

// A portion is the part that one of several siblings gets of a number of slots.
type portion struct {
	weight   uint64
	min, max int // min <= max
	share    *big.Rat
}

// fill divides slots among siblings: max-min fair by weight, with lower and upper
// bounds. There is a level L such that each sibling gets L*weight, limited by its
// bounds, and together they get all slots, or as many as they can use. If there
// are too few slots for the minimums, they are divided in proportion to the
// minimums, as the order by running/min does.
func fill(slots *big.Rat, list []portion) {
	low, high := 0, 0
	for i := range list {
		low += list[i].min
		high += list[i].max
	}
	switch {
	case integer(high).Cmp(slots) <= 0:
		for i := range list {
			list[i].share = integer(list[i].max)
		}
	case integer(low).Cmp(slots) > 0:
		rate := new(big.Rat).Quo(slots, integer(low))
		for i := range list {
			list[i].share = new(big.Rat).Mul(integer(list[i].min), rate)
		}
	default:
		level := waterLevel(slots, integer(low), list)
		for i := range list {
			q := &list[i]
			q.share = new(big.Rat).Mul(level, rational(q.weight))
			if m := integer(q.min); q.share.Cmp(m) < 0 {
				q.share = m
			}
			if m := integer(q.max); q.share.Cmp(m) > 0 {
				q.share = m
			}
		}
	}
}

// waterLevel returns the level at which portions add up to slots. low is their sum
// at level 0.
func waterLevel(slots, low *big.Rat, list []portion) *big.Rat {
	type bend struct {
		at     *big.Rat // level at which a portion begins or ceases to grow
		weight *big.Rat // change of the rate of growth at this level
	}
	bends := make([]bend, 0, 2*len(list))
	for i := range list {
		w := rational(list[i].weight)
		bends = append(bends,
			bend{new(big.Rat).Quo(integer(list[i].min), w), w},
			bend{new(big.Rat).Quo(integer(list[i].max), w), new(big.Rat).Neg(w)})
	}
	slices.SortStableFunc(bends, func(a, b bend) int { return a.at.Cmp(b.at) })
	level, sum, rate := new(big.Rat), new(big.Rat).Set(low), new(big.Rat)
	for _, b := range bends {
		grown := new(big.Rat).Sub(b.at, level)
		grown.Add(grown.Mul(grown, rate), sum)
		if grown.Cmp(slots) >= 0 {
			break
		}
		level, sum = b.at, grown
		rate.Add(rate, b.weight)
	}
	if rate.Sign() == 0 {
		return level
	}
	rest := new(big.Rat).Sub(slots, sum)
	return rest.Add(rest.Quo(rest, rate), level)
}

func integer(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

func rational(n uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(n), big.NewInt(1))
}

// shares computes the demand of every pool and its fair share of the slots of class
// c.
func (t *tree) shares(c sojourn.Class) {
	for int(c) >= len(t.looked) {
		t.looked = append(t.looked, 0)
	}
	if t.looked[c] == t.version {
		return
	}
	t.looked[c] = t.version
	t.each(func(n *pool) { *n.look(c) = look{left: n.running(c), share: new(big.Rat)} })
	direct := make(map[*pool][]*job) // jobs that stand beside pools
	for _, j := range t.ledger.AppendJobs(nil) {
		n := j.Data.pool
		if s := j.SideOf(c); s != nil && (s.Running() > 0 || n.lets(j)) {
			if n.lets(j) && !n.stopped() {
				n.look(c).startable += s.Startable()
			}
			if len(n.below) > 0 {
				direct[n] = append(direct[n], j)
			}
		}
	}
	t.root.want(c)
	t.root.look(c).share.SetInt64(int64(min(t.root.look(c).demand, t.ledger.Capacity(c))))
	t.root.divide(c, direct)
}

// lets reports whether the limits on jobs let j start tasks.
func (n *pool) lets(j *job) bool {
	if !n.limited || j.Data.active {
		return true
	}
	for ; n != nil; n = n.parent {
		if n.jobsFull() {
			return false
		}
	}
	return true
}

// want computes the demand of a pool: its running tasks, and those that it could
// start within its limit and the limits below.
func (n *pool) want(c sojourn.Class) {
	demand := n.running(c) + n.look(c).startable
	for _, b := range n.pools.All() {
		if b != nil {
			b.want(c)
			demand += b.look(c).demand - b.running(c)
		}
	}
	if int(c) < len(n.conf.max) && n.conf.max[c] > 0 {
		demand = min(demand, n.conf.max[c])
	}
	n.look(c).demand = max(demand, 0)
}

// divide divides the share of a pool among its jobs and pools.
func (n *pool) divide(c sojourn.Class, direct map[*pool][]*job) {
	var list []portion
	for _, b := range n.pools.All() {
		if b == nil {
			continue
		}
		q := portion{weight: b.conf.weight, max: b.look(c).demand}
		if int(c) < len(b.conf.min) {
			q.min = min(b.conf.min[c], q.max)
			b.look(c).least = q.min
		}
		list = append(list, q)
	}
	if len(list) == 0 {
		return
	}
	for _, j := range direct[n] {
		s := j.SideOf(c)
		q := portion{weight: j.Weight(), max: s.Running()}
		if n.lets(j) && !n.stopped() {
			q.max += s.Startable()
		}
		list = append(list, q)
	}
	fill(n.look(c).share, list)
	for _, b := range n.pools.All() {
		if b != nil {
			b.look(c).share = list[0].share
			list = list[1:]
			b.divide(c, direct)
		}
	}
}

// each calls f for every pool, parents first.
func (t *tree) each(f func(*pool)) { t.root.each(f) }

func (n *pool) each(f func(*pool)) {
	f(n)
	for _, b := range n.pools.All() {
		if b != nil {
			b.each(f)
		}
	}
}
