package fair

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/sfq"
)

// With Places, shares are of places. The account, the ties and the minimum of a pool in all classes are then
// those of class 0, in places and in time of places.

// validatePlaces returns what is wrong with Places and the options that it excludes, or nil.
func (o *Options) validatePlaces() error {
	if o.Places == 0 {
		return nil
	}
	return option.First("",
		option.Range("Places", o.Places, 1, sojourn.MaxSlots),
		option.Want(o.Order == Service, "Places", o.Places, "0 with the order %v", o.Order),
		option.Want(o.Delay == 0, "Places", o.Places, "0 with a Delay, of %v", o.Delay),
		option.Want(!o.Preemption.enabled(), "Places", o.Places, "0 with a timeout of Preemption"),
		option.Want(o.Reserve == 0, "Places", o.Places, "0 with a Reserve, of %v", o.Reserve))
}

// validateInPlaces returns what is wrong with a pool if shares are of places, or nil.
func (o *Options) validateInPlaces(p Pool) error {
	if o.Places == 0 {
		return nil
	}
	if p.Policy != nil {
		return fmt.Errorf("it has a Policy: want none with Places")
	}
	for _, of := range []Slots{p.Min, p.Max} {
		if c := slices.Max(append(slices.Sorted(maps.Keys(of)), 0)); c != 0 {
			return fmt.Errorf("it has a Min or a Max of class %d: want those of class 0 only with Places, which count places", c)
		}
	}
	return nil
}

// widths returns the widths of the classes; none unless there are Places.
func (o *Options) widths() (w gang.Widths) {
	if o.Places > 0 {
		w, _ = gang.MakeWidths(o.Places) // validated
	}
	return w
}

// checkWidths returns an error if a class of a job is not the class of a gang.
func (t *tree) checkWidths(spec *sojourn.Job) error {
	if t.widths.Len() == 0 {
		return nil
	}
	for i := range spec.Phases {
		if c := spec.Phases[i].Class; int(c) >= t.widths.Len() {
			return fmt.Errorf("%w: phase %d is of class %d, but gangs have classes below %d", sojourn.ErrUnsupported, i, c, t.widths.Len())
		}
	}
	return nil
}

// checkMax returns an error if a gang of a job is wider than what a pool may hold.
func (t *tree) checkMax(spec *sojourn.Job, c *conf) error {
	for i := range spec.Phases {
		if w := t.widths.Width(spec.Phases[i].Class); len(c.max) > 0 && w > c.max[0] {
			return fmt.Errorf("%w: phase %d needs %d places, but its pool %q, or one around it, may hold %d", sojourn.ErrUnsupported, i, w, spec.Pool, c.max[0])
		}
	}
	return nil
}

// counted returns the class in which the service of a class is counted.
func (t *tree) counted(c sojourn.Class) sojourn.Class {
	if t.widths.Len() > 0 {
		return 0
	}
	return c
}

// placesOf returns how many places a task of a class holds; 1 unless shares are of places.
func (t *tree) placesOf(c sojourn.Class) uint64 {
	if t.widths.Len() > 0 {
		return uint64(t.widths.Width(c))
	}
	return 1
}

// times returns x for each of so many places, at most [sfq.MaxCost].
func times(x, places uint64) uint64 {
	if places == 1 {
		return x
	}
	hi, lo := bits.Mul64(x, places)
	if hi > 0 {
		return sfq.MaxCost
	}
	return min(lo, sfq.MaxCost)
}

// hold counts tasks of a class that a pool has begun to run; -1 takes one away.
func (t *tree) hold(n *pool, c sojourn.Class, tasks int) {
	if t.costs != nil {
		n.used.add(t.costs, tasks, c)
		return
	}
	n.share += tasks * t.widths.Width(c)
}

// within returns the job in pool n that a free slot of class c goes to, and its pool; nil and nil if there is nothing to start.
//
// A maximum counts places. If whatever fits could start, a pool with a maximum would be held by those of narrow gangs in it, since whenever
// something ends, something narrow fits. So room there is kept for the gang that comes first: others start only if they leave it enough.
func (t *tree) within(n *pool, c sojourn.Class, activeOnly bool) (*pool, *job) {
	if len(n.conf.max) > 0 && !t.leavesRoom(n, c) {
		return nil, nil
	}
	return t.inside(n, c, activeOnly || n.jobsFull())
}

// leavesRoom reports whether a gang of class c may start in pool n, which has a maximum. Where nothing runs at all and there is no slot for the gang that comes first, it does not fit on the cluster
// now, and others do not wait for it.
func (t *tree) leavesRoom(n *pool, c sojourn.Class) bool {
	room := n.conf.max[0] - n.share - n.widths.Width(c)
	h, ok := t.head(n)
	return ok && room >= 0 && (h == c || room >= n.widths.Width(h) || t.root.share == 0 && t.ledger.FreeSlots(h) == 0)
}

// head returns the class of the gang that comes first in pool n, whether or not n has room for it now; false if there is none. A gang that is wider than
// the maximum, which has changed since it came, is none.
func (t *tree) head(n *pool) (sojourn.Class, bool) {
	if n.head.version != t.version+1 {
		n.head = turn{version: t.version + 1}
		var best *job
		activeOnly := n.activeOnly()
		for i := range n.classes {
			c := sojourn.Class(i)
			if n.widths.Width(c) > n.conf.max[0] {
				continue
			}
			if _, j := t.inside(n, c, activeOnly); j != nil && (best == nil || t.before(j, c, best, n.head.class)) {
				best, n.head.class, n.head.any = j, c, true
			}
		}
	}
	return n.head.class, n.head.any
}

// inside is within without the maximum of n itself.
func (t *tree) inside(n *pool, c sojourn.Class, activeOnly bool) (*pool, *job) {
	own, k, isJob := n.firstJob(c, activeOnly)
	order := n.ready
	if activeOnly {
		order = n.busy
	}
	id, bk, ok := order.first(c)
	for last := (poolKey{}); ok; id, bk, ok = order.after(c, last) {
		b := *n.pools.At(id)
		if fresh := t.key(b, c); lessPool(bk, fresh) { // see firstPool
			n.ready.move(id, fresh)
			n.busy.move(id, fresh)
			continue
		}
		if isJob && t.jobFirst(*n.jobs.At(own), k, b, bk, c) {
			break
		}
		if at, j := t.within(b, c, activeOnly); j != nil {
			return at, j
		}
		last = bk
	}
	if !isJob {
		return nil, nil
	}
	return n, *n.jobs.At(own)
}

// shareOf returns the dominant share of a job, or how many places it holds.
func (t *tree) shareOf(j *job) (held int) {
	if t.costs != nil {
		return t.costs.share(j)
	}
	for i := range j.NumSides() {
		s := j.Side(i)
		held += s.Running() * t.widths.Width(s.Class())
	}
	return held
}
