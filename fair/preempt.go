package fair

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// preemption finds the tasks to be killed for pools below their share.
//
// While a class has startable tasks within limits and no free slot, there is
// contention. During contention the policy looks at the shares once in each
// interval, counted from its beginning. Between two events nothing changes, so two
// looks in a gap are enough: the first sees the changes, and the last sees for how
// long they have lasted.
type preemption struct {
	Preemption
	since   sojourn.Time // when the contention began
	on      bool         // there is contention
	looks   uint64       // number so far, plus one for each end of a contention
	victims []victim
}

// stamps tell when a pool was last seen with its minimum, and with half of its share,
// or without further demand.
type stamps struct {
	min, fair sojourn.Time
	look      uint64 // the number of that look
}

// A victim is an attempt to be killed.
type victim struct {
	sojourn.Preemption
	pool  *pool
	start sojourn.Time
	kept  bool // it was listed before
}

func newPreemption(p Preemption) preemption {
	p.Interval = cmp.Or(p.Interval, 15*time.Second)
	p.Limit = cmp.Or(p.Limit, 10)
	return preemption{Preemption: p, looks: 1}
}

// drop removes the attempt on a slot, which has ended or may not be killed, from the list.
func (pr *preemption) drop(id sojourn.SlotID) {
	for i := range pr.victims {
		if pr.victims[i].Slot == id {
			pr.victims = slices.Delete(pr.victims, i, i+1)
			return
		}
	}
}

// AppendPreemptions implements [sojourn.Preemptor]. It lists the attempts to kill
// for pools below their share, unless ReportOnly is set, and the attempts that the
// policies of pools want killed.
func (p *Policy) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	start := len(dst)
	if !p.preempt.ReportOnly && len(p.preempt.victims) > 0 && p.contention() {
		for _, v := range p.preempt.victims {
			dst = append(dst, v.Preemption)
		}
	}
	own := dst[start:]
	for _, n := range p.inner {
		pre, ok := sojourn.As[sojourn.Preemptor](n.policy.Policy)
		if !ok {
			continue
		}
		for _, v := range pre.AppendPreemptions(nil) {
			if !slices.ContainsFunc(own, func(o sojourn.Preemption) bool { return o.Slot == v.Slot }) {
				dst = append(dst, v)
			}
		}
	}
	return dst
}

// NextWake implements [sojourn.Waker]. It returns the instant of the next look at the
// shares, of the first end of a wait for locality, or of the first wake of the policy
// of a pool, whichever comes first.
func (p *Policy) NextWake() (sojourn.Time, bool) {
	next, any := p.nextInner()
	if at, ok := p.nextWait(); ok && (!any || at < next) {
		next, any = at, true
	}
	pr := &p.preempt
	if !pr.enabled() || !p.contention() {
		return next, any
	}
	if at, ok := pr.next(p.ledger.Now()); ok && (!any || at < next) {
		next, any = at, true
	}
	return next, any
}

// next returns the instant of the first look after now, while there is contention. It
// reports false if that never comes.
func (pr *preemption) next(now sojourn.Time) (sojourn.Time, bool) {
	wait := pr.Interval
	if pr.on {
		wait -= now.Sub(pr.since) % pr.Interval
	}
	at := now.Add(wait)
	return at, at.Sub(now) == wait
}

// contention reports whether, for some class, a task could start within limits if
// there were a free slot, and there is none.
func (t *tree) contention() bool {
	for c := range t.root.classes {
		if _, free := t.ledger.FreeSlot(sojourn.Class(c)); !free && t.wants(sojourn.Class(c)) {
			return true
		}
	}
	return false
}

// wants reports whether a class has startable tasks within limits.
func (t *tree) wants(c sojourn.Class) bool {
	return t.ledger.Capacity(c) > 0 && t.root.offers(c)
}

// pass advances time to at, before an event of that instant is applied.
func (p *Policy) pass(at sojourn.Time) {
	pr := &p.preempt
	if !pr.enabled() {
		return
	}
	now := p.ledger.Now()
	if !p.contention() {
		if pr.on {
			pr.on, pr.looks, pr.victims = false, pr.looks+2, pr.victims[:0]
		}
		return
	}
	if !pr.on {
		pr.on, pr.since = true, now
	}
	first, ok := pr.next(now)
	if !ok || first > at {
		return
	}
	p.lookAt(first)
	if last := pr.since.Add(at.Sub(pr.since) / pr.Interval * pr.Interval); first < last {
		p.lookAt(last)
	}
}

// lookAt looks at the shares at an instant, and recomputes the list of victims.
func (p *Policy) lookAt(at sojourn.Time) {
	pr := &p.preempt
	pr.looks++
	old := pr.victims
	pr.victims = nil
	for c := range p.root.classes {
		if _, free := p.ledger.FreeSlot(sojourn.Class(c)); !free && p.wants(sojourn.Class(c)) {
			p.lookAtClass(sojourn.Class(c), at, old)
		}
	}
}

func (p *Policy) lookAtClass(c sojourn.Class, at sojourn.Time, old []victim) {
	p.version++ // the look itself has changed its result
	p.shares(c)
	p.root.claims(c, at, &p.preempt)
	if p.root.look(c).claim == 0 {
		return
	}
	var found []victim
	for s, a := range p.ledger.Attempts() {
		if s.Class != c || p.ledger.Pinned(s.ID) {
			continue
		}
		v := victim{sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: s.ID}, a.Job.Data.pool, a.Start, false}
		v.kept = slices.ContainsFunc(old, func(o victim) bool { return o.Slot == v.Slot && o.Task == v.Task })
		found = append(found, v)
	}
	slices.SortFunc(found, func(a, b victim) int {
		if a.kept != b.kept {
			if a.kept {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(a.Slot, b.Slot))
	})
	p.each(func(n *pool) {
		for range n.look(c).claim {
			i := slices.IndexFunc(found, func(v victim) bool { return v.pool.spares(n, c) })
			if i < 0 || len(p.preempt.victims) >= p.preempt.Limit {
				return
			}
			v := found[i]
			found = slices.Delete(found, i, i+1)
			for m := v.pool; !m.holds(n); m = m.parent {
				m.look(c).left--
			}
			v.For = n.next(c)
			p.preempt.victims = append(p.preempt.victims, v)
		}
	})
}

// claims finds how many slots of other pools each pool should get by now, minus the
// claims of the pools below it. It leaves the sum of all claims in the claim of the
// root.
func (n *pool) claims(c sojourn.Class, at sojourn.Time, pr *preemption) (sum int) {
	for _, b := range n.pools.All() {
		if b != nil {
			sum += b.claims(c, at, pr)
		}
	}
	if n.parent == nil {
		n.look(c).claim = sum
		return sum
	}
	lack := n.lacks(c, at, pr)
	n.look(c).claim = max(lack-sum, 0)
	return max(lack, sum)
}

// lacks returns how many slots a pool lacks by now.
func (n *pool) lacks(c sojourn.Class, at sojourn.Time, pr *preemption) (lack int) {
	r, st := n.running(c), &n.class(c).stamps
	least := n.look(c).least
	half := new(big.Rat).Mul(n.look(c).share, big.NewRat(1, 2))
	fresh := st.look != pr.looks-1
	st.look = pr.looks
	if fresh || r >= least {
		st.min = at
	}
	if fresh || integer(r).Cmp(half) >= 0 {
		st.fair = at
	}
	if pr.MinTimeout > 0 && r < least && at.Sub(st.min) >= pr.MinTimeout {
		lack = least - r
	}
	if pr.FairTimeout > 0 && integer(r).Cmp(half) < 0 && at.Sub(st.fair) >= pr.FairTimeout {
		lack = max(lack, floor(n.look(c).share)-r)
	}
	return lack
}

// spares reports whether a task of n may be killed for other: no pool that contains n
// but not other would then have less than its share or its minimum.
func (n *pool) spares(other *pool, c sojourn.Class) bool {
	if n.holds(other) || other.holds(n) {
		return false
	}
	for ; !n.holds(other); n = n.parent {
		if integer(n.look(c).left-1).Cmp(n.look(c).share) < 0 || n.look(c).left <= n.look(c).least {
			return false
		}
	}
	return true
}

// holds reports whether other is n or inside n.
func (n *pool) holds(other *pool) bool {
	for ; other != nil; other = other.parent {
		if other == n {
			return true
		}
	}
	return false
}

// next returns the job that would be next in a pool, although the pool is not served.
func (n *pool) next(c sojourn.Class) sojourn.JobID {
	for n != nil {
		if id, _, ok := n.readyJobs.First(c); ok {
			return (*n.jobs.At(id)).Spec().ID
		}
		if id, _, ok := n.freshJobs.First(c); ok {
			return (*n.jobs.At(id)).Spec().ID
		}
		id, _, ok := n.readyPools.First(c)
		if !ok {
			return 0
		}
		n = *n.pools.At(id)
	}
	return 0
}

// floor returns the greatest integer that is not above x, which is not negative.
func floor(x *big.Rat) int { return int(new(big.Int).Quo(x.Num(), x.Denom()).Int64()) }
