package shape

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// reserve decides for which classes nodes are reserved.
type reserve struct {
	patience time.Duration // negative: no node is ever reserved
	limit    int           // of nodes that are reserved at a time

	// By class. since is when a task of the class was started last, or when the policy last had none
	// for a slot of it. nodeOf is the node that is reserved for it; nil if there is none.
	since  []sojourn.Time
	nodeOf []*node

	held int          // nodes that are reserved
	next sojourn.Time // no class is due before

	probes []sojourn.SlotID // scratch, by class
	wanted []int            // scratch
}

func newReserve(o Options) reserve {
	n := len(o.Shapes)
	r := reserve{patience: cmp.Or(o.Patience, time.Minute), limit: cmp.Or(o.Reserved, 1), since: make([]sojourn.Time, n), nodeOf: make([]*node, n), probes: make([]sojourn.SlotID, n)}
	r.next = sojourn.Time(0).Add(max(r.patience, 0))
	return r
}

// served records that a class was served, or wants nothing.
func (r *reserve) served(class int, at sojourn.Time) { r.since[class] = at }

// release ends the reservation of a node.
func (r *reserve) release(n *node) {
	r.nodeOf[n.reserved], n.reserved = nil, -1
	r.held--
	r.next = 0 // another class may have waited for it
}

// NextReserve returns when AppendReserve has something to do next; false if only another event can
// change that.
func (c *Cluster) NextReserve() (sojourn.Time, bool) {
	return c.next, c.patience >= 0 && c.held < c.limit && c.next < math.MaxInt64
}

// AppendReserve reserves nodes for classes that have waited for long, ends reservations that are not
// needed, and appends the events. Call it at the end of every instant at which something happens,
// when the policy wants no free slot any more, and at NextReserve. If it appends events, the driver
// offers the free slots again.
//
// With [Options].AnyNode, it first closes slots that the policy wants and that fit nowhere, so that they do
// not keep others waiting.
//
// To find out for which classes the policy has something to start, it adds one slot of each class
// that has none, asks Seek, and removes the slots at the same instant. By the laws of a policy this
// changes nothing. An error of these events is returned; then the policy and the driver disagree
// about the time.
func (c *Cluster) AppendReserve(dst []sojourn.Event, at sojourn.Time) ([]sojourn.Event, error) {
	before := len(dst)
	if dst = c.withdraw(dst, at); len(dst) > before || c.patience < 0 {
		return dst, nil
	}
	if c.held > 0 {
		for class, n := range c.nodeOf {
			if n != nil && c.offers(n, class) { // the policy did not want it
				c.served(class, at)
				c.release(n)
				dst = c.project(dst, at, n)
			}
		}
	}
	if c.held == c.limit || at < c.next {
		return dst, nil
	}
	c.next = math.MaxInt64
	c.wanted = c.wanted[:0]
	for class := range c.shapes {
		switch {
		case c.nodeOf[class] != nil || c.holds[class] == 0:
			continue
		case c.open[class] > 0 && c.ripe(class) <= at: // what has a free slot and does not take it waits for nothing
			c.served(class, at)
		case c.ripe(class) <= at:
			c.wanted = append(c.wanted, class)
			continue
		}
		c.next = min(c.next, c.ripe(class))
	}
	if len(c.wanted) == 0 {
		return dst, nil
	}
	if err := c.probe(at); err != nil {
		return dst, err
	}
	slices.SortStableFunc(c.wanted, func(a, b int) int { return cmp.Compare(c.since[a], c.since[b]) })
	for _, class := range c.wanted {
		n := (*node)(nil)
		if c.held < c.limit {
			n = c.emptiest(class)
		}
		if n == nil {
			continue // release makes it due again
		}
		n.reserved, c.nodeOf[class] = class, n
		c.held++
		dst = c.project(dst, at, n)
	}
	return dst, nil
}

// ripe returns when a class that is not served has waited long enough.
func (c *Cluster) ripe(class int) sojourn.Time { return c.since[class].Add(c.patience) }

// probe removes from c.wanted the classes that the policy has nothing for.
func (c *Cluster) probe(at sojourn.Time) error {
	ghost := &node{at: -1}
	for class := range c.shapes {
		c.probes[class] = none
		if c.open[class] > 0 || c.holds[class] == 0 || c.nowhere != nil && c.shared[class] != none {
			continue
		}
		id, ok := c.take(ghost, sojourn.Class(class))
		if !ok {
			continue
		}
		c.probes[class] = id
		if err := c.policy.Observe(c.added(at, id)); err != nil {
			return err
		}
	}
	c.wanted = slices.DeleteFunc(c.wanted, func(class int) bool {
		if _, ok := c.seeker.Seek(sojourn.Class(class)); ok {
			return false
		}
		c.served(class, at)
		c.next = min(c.next, c.ripe(class))
		return true
	})
	for _, id := range c.probes {
		if id == none {
			continue
		}
		if err := c.policy.Observe(sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: sojourn.Slot{ID: id}}); err != nil {
			return err
		}
		c.drop(id)
	}
	return nil
}

// emptiest returns the node that is closest to having room for a task of a class, among those that
// could hold one and are not reserved; nil if there is none. Ties go to the least ID.
func (c *Cluster) emptiest(class int) (best *node) {
	least := uint64(0)
	for _, n := range c.list {
		if n.reserved >= 0 {
			continue
		}
		lack, ok := n.lacks(c.shapes[class])
		if ok && (best == nil || lack < least || lack == least && n.id < best.id) {
			best, least = n, lack
		}
	}
	return best
}

// lacks returns the greatest part of a resource that must end on a node before a task fits, in
// units of 2^-32; false if the task never fits.
func (n *node) lacks(need Resources) (lack uint64, ok bool) {
	for i, amount := range need {
		room := n.room[i]
		if amount > room {
			return 0, false
		}
		if free := room - n.used[i]; amount > 0 && amount > free {
			part := uint64(math.MaxUint64)
			if hi, lo := bits.Mul64(uint64(amount)-uint64(free), 1<<32); hi < uint64(room) {
				part, _ = bits.Div64(hi, lo, uint64(room))
			}
			lack = max(lack, part)
		}
	}
	return lack, true
}
