package shape

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// anyNode is what a cluster with [Options].AnyNode knows by class. The zero anyNode is that of a cluster
// with a slot on each node.
//
// Invariant: if a class fits on a node, and IDs are left, a slot of the class is open. A slot of another
// class that some node could hold may be open too, since it would open again soon. [Cluster.Policy] hides
// it, and withdraw closes it if other classes wait for it.
type anyNode struct {
	shared  []sojourn.SlotID // the open slot; none if there is none
	fits    []bitset.Set     // places of the nodes on which one more task may start
	nowhere *node            // of the open slots

	places []*node // nil where a node has left
	vacant []int   // these places
}

func newAnyNode(o Options) (a anyNode) {
	if o.AnyNode {
		a.shared = slices.Repeat([]sojourn.SlotID{none}, len(o.Shapes))
		a.fits = make([]bitset.Set, len(o.Shapes))
		a.nowhere = &node{at: -1}
	}
	return a
}

// settle gives a node a place.
func (a *anyNode) settle(n *node) {
	if k := len(a.vacant); k > 0 {
		n.place, a.vacant = a.vacant[k-1], a.vacant[:k-1]
		a.places[n.place] = n
		return
	}
	n.place = len(a.places)
	a.places = append(a.places, n)
}

// leave takes the place of a node, which offers nothing any more.
func (a *anyNode) leave(n *node) {
	a.places[n.place] = nil
	a.vacant = append(a.vacant, n.place)
}

// opened returns where the open slot of a class is noted, for a node.
func (c *Cluster) opened(n *node, class int) *sojourn.SlotID {
	if c.nowhere != nil {
		return &c.shared[class]
	}
	return &n.open[class]
}

// offers reports whether a task of a class may start on a node, because a slot is open.
func (c *Cluster) offers(n *node, class int) bool {
	if c.nowhere != nil {
		return c.fits[class].Has(n.place)
	}
	return n.open[class] != none
}

// nodeFor returns the node of a slot; nil if the slot is open and its class fits nowhere.
func (c *Cluster) nodeFor(s *placed) *node {
	if s.node != c.nowhere {
		return s.node
	}
	place := c.fits[s.class].Min()
	if place < 0 {
		return nil
	}
	return c.places[place]
}

// projectAny is project for a cluster with AnyNode. It closes a slot only if no node could hold its class.
func (c *Cluster) projectAny(dst []sojourn.Event, at sojourn.Time, n *node) []sojourn.Event {
	for class := range c.shapes {
		switch wants, has := c.wants(n, class), c.offers(n, class); {
		case wants && !has:
			c.fits[class].Add(n.place)
			c.open[class]++
		case !wants && has:
			c.fits[class].Remove(n.place)
			c.open[class]--
		}
		switch slot := c.shared[class]; {
		case slot == none && c.open[class] > 0:
			if id, ok := c.take(c.nowhere, sojourn.Class(class)); ok {
				c.shared[class] = id
				dst = append(dst, c.added(at, id))
			}
		case slot != none && c.holds[class] == 0: // it must not keep others waiting when a node is reserved
			dst = c.shut(dst, at, class)
		}
	}
	return dst
}

// withdraw appends the events that close slots whose classes fit nowhere, if the policy wants these slots and
// something else fits: under package fair, it may be the turn of such a class. The driver then offers again.
func (c *Cluster) withdraw(dst []sojourn.Event, at sojourn.Time) []sojourn.Event {
	if c.nowhere == nil || slices.Max(c.open) == 0 {
		return dst
	}
	for class, slot := range c.shared {
		if slot == none || c.open[class] > 0 {
			continue
		}
		if _, ok := c.seeker.Seek(sojourn.Class(class)); ok {
			dst = c.shut(dst, at, class)
		}
	}
	return dst
}

// shut closes the open slot of a class.
func (c *Cluster) shut(dst []sojourn.Event, at sojourn.Time, class int) []sojourn.Event {
	slot := c.shared[class]
	c.shared[class] = none
	c.drop(slot)
	return append(dst, sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: sojourn.Slot{ID: slot}})
}

// Policy returns the policy that the driver is to use. Without [Options].AnyNode it is the one that
// [New] was given. With AnyNode it is one around it, which declines slots of a class that fits nowhere at
// the moment, and does not seek them.
func (c *Cluster) Policy() sojourn.Policy {
	if c.nowhere == nil {
		return c.policy
	}
	return &fitting{c.policy, c}
}

// fitting is the policy of a cluster with AnyNode. It is a Seeker, and the policy inside is the rest.
type fitting struct {
	sojourn.Policy
	c *Cluster
}

// Unwrap returns the policy inside.
func (f *fitting) Unwrap() sojourn.Policy { return f.Policy }

// Assign implements [sojourn.Policy].
func (f *fitting) Assign(slot sojourn.SlotID) (sojourn.Assignment, bool) {
	if int(slot) < len(f.c.slots) {
		if s := &f.c.slots[slot]; s.node == f.c.nowhere && f.c.open[s.class] == 0 {
			return sojourn.Assignment{}, false
		}
	}
	return f.Policy.Assign(slot)
}

// Seek implements [sojourn.Seeker].
func (f *fitting) Seek(class sojourn.Class) (sojourn.SlotID, bool) {
	if int(class) >= len(f.c.open) || f.c.open[class] == 0 {
		return 0, false
	}
	return f.c.seeker.Seek(class)
}
