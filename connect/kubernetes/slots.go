package kubernetes

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	corev1 "k8s.io/api/core/v1"
)

// A node is a machine with slots. Invariant: of each class, slots, retiring and foreign together are
// at most want, unless more pods than that run there; then no slot is free.
type node struct {
	name    string
	id      sojourn.NodeID
	gone    bool // there is no such node: it is kept while pods are bound to it
	classes []supply
	excess  string // what an event has said of too few slots
	site    site

	pods  int                           // of the policy, with shapes
	taken map[corev1.ResourceName]int64 // by other pods, with shapes; nothing is 0
}

// A supply is the slots of one class on a node.
type supply struct {
	want     int              // how many the node has to give: 0 while it is cordoned or down
	slots    []sojourn.SlotID // in service
	retiring []sojourn.SlotID // busy, and leave with their attempts
	foreign  int              // slots taken by bound pods that are no attempts of the policy
	busy     int              // of slots and retiring
}

func (s *supply) taken() int { return len(s.slots) + len(s.retiring) + s.foreign }

// places is the layer of slots, and of which pods may go there.
type places struct {
	shaped
	room     bool // since the Jobs that were declined were asked, slots have come or jobs have gone
	spare    []sojourn.SlotID
	nextSlot sojourn.SlotID
}

func (c *known) nodeOf(name string) *node {
	n := c.nodes[name]
	if n == nil {
		c.nextNode++
		n = &node{name: name, id: c.nextNode, gone: true, classes: make([]supply, len(c.slots))}
		c.nodes[name] = n
	}
	return n
}

// node hears of a node, in whatever state.
func (c *places) node(o *corev1.Node) {
	n := c.nodeOf(o.Name)
	n.gone = false
	c.fits.epoch++
	c.see(n, o)
	if c.shapes != nil {
		c.resized(n)
		return
	}
	for i := range n.classes {
		s := &n.classes[i]
		s.want = 0
		if batch.Usable(o) && c.selector.Matches(nodeLabels(o)) {
			q := o.Status.Allocatable[c.slots[i]]
			s.want = int(max(0, min(q.Value(), 1<<16)))
		}
		c.resize(n, sojourn.Class(i))
	}
	before := n.excess
	if n.excess = c.excess(n); n.excess != before && n.excess != "" && batch.Usable(o) {
		c.act.warn(o, "TooFewSlots", n.excess)
	}
}

// excess says of which slots more are taken than a node has to give, empty if it is none.
func (c *places) excess(n *node) string {
	for i, s := range n.classes {
		if taken := s.taken(); taken > s.want {
			return fmt.Sprintf("%d slots of %s are taken, and the node offers %d: no pod is placed there until some have ended", taken, c.slots[i], s.want)
		}
	}
	return ""
}

// nodeGone hears that a node was deleted. What runs there ends when its pods do.
func (c *places) nodeGone(name string) {
	n := c.nodeOf(name)
	n.gone = true
	c.fits.epoch++
	c.see(n, nil)
	if c.shapes != nil {
		c.resized(n)
		c.forgotten(n)
		return
	}
	for i := range n.classes {
		n.classes[i].want = 0
		c.resize(n, sojourn.Class(i))
	}
	c.forget(n)
}

// forget drops a node that is gone, once nothing is bound to it.
func (c *places) forget(n *node) {
	if c.shapes != nil {
		c.forgotten(n)
		return
	}
	if c.nodes[n.name] == n && n.gone && !slices.ContainsFunc(n.classes, func(s supply) bool { return s.taken() > 0 }) {
		delete(c.nodes, n.name)
	}
}

// resize brings the slots of a class on a node to what the node has to give.
func (c *places) resize(n *node, class sojourn.Class) {
	if c.shapes != nil {
		return
	}
	s := &n.classes[class]
	defer func(before int) {
		if len(s.slots) != before {
			c.fits.epoch++
		}
	}(len(s.slots))
	for s.taken() > s.want { // free slots leave first
		i := slices.IndexFunc(s.slots, func(id sojourn.SlotID) bool { return c.on[id] == nil })
		if i < 0 {
			break
		}
		c.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.slots[i]}})
		c.spare = append(c.spare, s.slots[i])
		s.slots = slices.Delete(s.slots, i, i+1)
	}
	for len(s.slots) > 0 && len(s.slots)+s.foreign > s.want {
		last := len(s.slots) - 1
		c.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.slots[last]}})
		s.retiring = append(s.retiring, s.slots[last])
		s.slots = s.slots[:last]
	}
	for len(s.slots)+s.foreign < s.want && len(s.retiring) > 0 {
		last := len(s.retiring) - 1
		c.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: s.retiring[last], Node: c.toldOf(s.retiring[last], n), Class: class}})
		s.slots = append(s.slots, s.retiring[last])
		s.retiring = s.retiring[:last]
		c.room = true
	}
	for len(s.slots)+s.foreign < s.want {
		s.slots = append(s.slots, c.addSlot(n, class))
		c.room = true
	}
}

func (c *places) addSlot(n *node, class sojourn.Class) sojourn.SlotID {
	var id sojourn.SlotID
	if k := len(c.spare); k > 0 {
		id, c.spare = c.spare[k-1], c.spare[:k-1]
	} else {
		id = c.nextSlot
		c.nextSlot++
	}
	c.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: n.id, Class: class}})
	c.home[id] = n
	delete(c.fits.told, id)
	c.fits.freed[n] = true
	return id
}

// occupied notes that a pod has its slot.
func (c *places) occupied(p *pod) {
	c.on[p.slot] = p
	if c.shapes == nil {
		p.node.classes[p.class].busy++
	}
}

// vacate forgets what ran on a slot, after the policy was told.
func (c *places) vacate(p *pod) {
	if c.shapes != nil {
		c.left(p)
		return
	}
	delete(c.on, p.slot)
	c.fits.freed[p.node] = true
	s := &p.node.classes[p.class]
	s.busy--
	if i := slices.Index(s.retiring, p.slot); i >= 0 {
		s.retiring = slices.Delete(s.retiring, i, i+1)
		c.spare = append(c.spare, p.slot)
	}
	c.resize(p.node, p.class)
	c.forget(p.node)
}

// takeSlot returns a slot for a pod that runs on a node already: a free one, or one that leaves with
// the pod.
func (c *places) takeSlot(n *node, class sojourn.Class) sojourn.SlotID {
	if c.shapes != nil {
		return c.adopted(n, class)
	}
	s := &n.classes[class]
	for _, id := range s.slots {
		if c.on[id] == nil {
			return id
		}
	}
	id := c.addSlot(n, class)
	s.slots = append(s.slots, id)
	return id
}
