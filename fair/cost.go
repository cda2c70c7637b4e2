package fair

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// A Cost is, by class, the part of each resource that a slot of the class takes: one number for
// each resource, in units of 2^-32 of what the cluster has of it. A part of the whole cluster is
// 2^32-1. All classes have the same resources, at least one and at most [MaxResources], and each
// class takes something of at least one. Shares are capped at the whole cluster: so that they stay
// in proportion, the parts are those of a cluster that is as large as it may become. If all
// resources of the cluster grow or shrink alike, the costs remain right. If one becomes scarcer in
// relation to the others, restore a snapshot under other costs.
type Cost map[sojourn.Class][]uint32

// MaxResources bounds the number of resources of a [Cost].
const MaxResources = 16

// dominant is the order of a policy with costs: the least dominant share in relation to the weight.
const dominant Order = Running + 1

// validateCost returns what is wrong with Cost and the options that it excludes, or nil.
func (o *Options) validateCost() error {
	if o.Cost == nil {
		return nil
	}
	err := option.First("",
		option.Want(len(o.Cost) > 0, "Cost", o.Cost, "the costs of a class"),
		option.Want(o.Order == Service, "Cost", o.Cost, "none with the order %v", o.Order),
		option.Want(o.Places == 0, "Cost", o.Cost, "none with Places, of %d", o.Places),
		option.Want(o.Delay == 0, "Cost", o.Cost, "none with a Delay, of %v", o.Delay),
		option.Want(!o.Preemption.enabled(), "Cost", o.Cost, "none with a timeout of Preemption"))
	resources := -1
	for _, c := range slices.Sorted(maps.Keys(o.Cost)) {
		of, field := o.Cost[c], fmt.Sprintf("Cost of class %d", c)
		if resources < 0 {
			resources = len(of)
		}
		err = option.First("", err,
			option.Want(len(of) >= 1 && len(of) <= MaxResources, field, of, "1 to %d resources", MaxResources),
			option.Want(len(of) == resources, field, of, "%d resources, as other classes have", resources),
			option.Want(slices.ContainsFunc(of, func(part uint32) bool { return part > 0 }), field, of, "a part of some resource above 0"))
	}
	return err
}

// costs are what a slot of each class takes. A nil *costs means that there are none.
type costs struct {
	resources int
	parts     []uint32 // those of class c begin at c*resources; all are 0 if c has no cost
}

func newCosts(cost Cost) *costs {
	if cost == nil {
		return nil
	}
	k := new(costs)
	for _, c := range slices.Sorted(maps.Keys(cost)) {
		k.resources = len(cost[c])
		k.parts = append(k.parts, make([]uint32, int(c)*k.resources-len(k.parts))...)
		k.parts = append(k.parts, cost[c]...)
	}
	return k
}

// of returns what a slot of class c takes; nil if that is not known.
func (k *costs) of(c sojourn.Class) []uint32 {
	i := int(c) * k.resources
	if i >= len(k.parts) {
		return nil
	}
	return k.parts[i : i+k.resources]
}

// check returns an error if the costs of a class of job are not known.
func (k *costs) check(spec *sojourn.Job) error {
	if k == nil {
		return nil
	}
	for i := range spec.Phases {
		c := spec.Phases[i].Class
		if !slices.ContainsFunc(k.of(c), func(part uint32) bool { return part > 0 }) {
			return fmt.Errorf("%w: phase %d is of class %d, which has no cost", sojourn.ErrUnsupported, i, c)
		}
	}
	return nil
}

// A sum adds up, by resource, what tasks take. It cannot overflow: there are at most 2^24 slots.
type sum [MaxResources]uint64

// add adds n tasks of class c; -n takes them away.
func (s *sum) add(k *costs, n int, c sojourn.Class) {
	if n == 0 {
		return
	}
	for r, part := range k.of(c) {
		s[r] += uint64(n) * uint64(part) // modulo 2^64, so that n may be negative
	}
}

// share returns the greatest part of a resource, at most 2^32-1. Where an int has 32 bits, its bits are those of an uint32.
func (s *sum) share(k *costs) int {
	return int(min(slices.Max(s[:k.resources]), math.MaxUint32))
}

// share returns the dominant share of a job: the greatest part of a resource that its tasks take.
func (k *costs) share(j *job) int {
	var s sum
	for i := range j.NumSides() {
		s.add(k, j.Side(i).Running(), j.Side(i).Class())
	}
	return s.share(k)
}

// dominantKey returns the key of a pool in the dominant order, in which pools have no minimum.
func (n *pool) dominantKey() poolKey {
	return poolKey{ratio: ratio(n.share, n.conf.weight), turn: n.latest, sated: true}
}

// fileRanked is file if the key of a pool is the same in all classes.
func (t *tree) fileRanked(n *pool, c sojourn.Class) {
	ready, busy := n.parent.ready, n.parent.busy
	if !n.offers(c) {
		ready.remove(c, n.id)
		busy.remove(c, n.id)
		if t.order == Service && !t.offering && !t.restoring && !ready.contains(n.id) {
			t.unqueue(n, 0)
		}
		return
	}
	t.queue(n, t.counted(c))
	k := t.key(n, c)
	ready.set(c, n.id, k)
	if n.parent.limited && n.offersActive(c) {
		busy.set(c, n.id, k)
	} else {
		busy.remove(c, n.id)
	}
}

// A turn says which class is to be served next, as of a version of the tree.
type turn struct {
	version uint64 // plus one
	class   sojourn.Class
	any     bool // some class is
}

// isDue reports whether class c is to be served next: of all that could start on a free slot of any
// class, what comes first is of class c. Keys of jobs and pools do not depend on the class. So what
// comes first of all is the first one of those that come first in their class.
func (t *tree) isDue(c sojourn.Class) bool {
	if t.turn.version != t.version+1 {
		t.turn = turn{version: t.version + 1}
		t.turn.class, t.turn.any = t.due(func(c sojourn.Class) bool { return t.ledger.FreeSlots(c) > 0 })
	}
	return t.turn.any && t.turn.class == c
}

// due returns the class of what comes first of all that could start if each class that is asked for had a
// free slot; false if nothing could.
func (t *tree) due(asked func(sojourn.Class) bool) (due sojourn.Class, ok bool) {
	var best *job
	for i := range t.root.classes {
		c := sojourn.Class(i)
		if !t.root.offers(c) || !asked(c) {
			continue
		}
		if _, j := t.first(c); j != nil && (best == nil || t.before(j, c, best, due)) {
			best, due = j, c
		}
	}
	return due, best != nil
}

// Turn returns the class of the task that would be the next to start if a slot of each class that fits were
// free, and that nothing may pass it; false if nothing would. It needs a Cost or Places. A driver of gangs gives it to [gang.Options], so that
// places are kept for the pool whose turn it is, although its gang does not fit yet. It changes nothing.
func (p *Policy) Turn(fits func(sojourn.Class) bool) (c sojourn.Class, passes int, ok bool) {
	if !p.ranked {
		return 0, 0, false
	}
	c, ok = p.due(fits)
	return c, 0, ok
}

// before reports whether job a goes before job b: the one that would be served if a had tasks of
// class c alone, and b of class d alone.
func (t *tree) before(a *job, c sojourn.Class, b *job, d sojourn.Class) bool {
	var x, y *pool // the pools with a and b that stand side by side; nil where the job itself does
	n, m := a.Data.pool, b.Data.pool
	for deep, depth := n.depth(), m.depth(); n != m; {
		if deep >= depth {
			x, n, deep = n, n.parent, deep-1
		} else {
			y, m, depth = m, m.parent, depth-1
		}
	}
	switch {
	case x != nil && y != nil:
		return lessPool(t.key(x, c), t.key(y, d))
	case x != nil:
		return !t.jobFirst(b, t.jobKey(b, b.SideOf(d)), x, t.key(x, c), c)
	case y != nil:
		return t.jobFirst(a, t.jobKey(a, a.SideOf(c)), y, t.key(y, d), d)
	case n.limited && !n.conf.FIFO && !a.Data.active && !b.Data.active && begun(a) != begun(b):
		return begun(a)
	}
	return less(t.jobKey(a, a.SideOf(c)), t.jobKey(b, b.SideOf(d)))
}
