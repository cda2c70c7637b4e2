package shape

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Resources are amounts of several resources, such as thousandths of a CPU, bytes of memory, GPUs
// and pods, each at least 0. All Resources of a [Cluster] name the same resources in the same order.
type Resources []int64

// fits reports whether a task that needs r fits into a node with this room, of which used is taken. What
// it does not need may be overdrawn.
func (r Resources) fits(room, used Resources) bool {
	for i, need := range r {
		if need > 0 && need > room[i]-used[i] { // at least -2^63+1, since neither is negative
			return false
		}
	}
	return true
}

// Options configure a [Cluster].
type Options struct {
	// Shapes are what tasks need: a task of class i needs Shapes[i]. There are at least one and at
	// most 256, and each needs something. If there are more, [Quantize] makes fewer of them.
	Shapes []Resources

	// Patience is how long a shape waits before a node is reserved for it. Zero means 1 minute;
	// negative means that no node is ever reserved.
	Patience time.Duration

	// Reserved is how many nodes may be reserved at a time. Zero means 1.
	Reserved int

	// AnyNode gives the policy one slot of each shape in the whole cluster, on no node, instead of one
	// on each node. The Cluster then fills nodes in the order in which they came, except that a node
	// takes the place of one that has left. This costs far fewer events. Use it if no task has an input on a node. The driver must use
	// [Cluster.Policy], and call AppendReserve also if Patience is negative.
	AnyNode bool
}

// Validate returns what is wrong with the options, or nil. The zero options are not valid, since
// there must be a shape.
func (o Options) Validate() error {
	if n := len(o.Shapes); n < 1 || n > maxShapes {
		return fmt.Errorf("shape: %d Shapes: want 1 to %d; Quantize makes fewer of many", n, maxShapes)
	}
	for i, s := range o.Shapes {
		if err := s.check(len(o.Shapes[0])); err != nil {
			return fmt.Errorf("shape: Shapes[%d] %w", i, err)
		}
		if slices.Max(s) == 0 {
			return fmt.Errorf("shape: Shapes[%d] needs nothing: want an amount above 0", i)
		}
	}
	if o.Reserved < 0 {
		return fmt.Errorf("shape: Reserved is %d: want at least 0", o.Reserved)
	}
	return nil
}

const maxShapes = math.MaxUint8 + 1

// check returns what is wrong with r, or nil.
func (r Resources) check(n int) error {
	if len(r) == 0 || len(r) != n {
		return fmt.Errorf("has %d resources: want %d, at least 1", len(r), n)
	}
	for i, amount := range r {
		if amount < 0 {
			return fmt.Errorf("has %d of resource %d: want at least 0", amount, i)
		}
	}
	return nil
}

// A Cluster is the account of nodes and of what is placed on them. It says which events the policy
// has to observe so that the free slots are what fits. It is not safe for concurrent use.
//
// Invariants: a node that is present has one open slot of each class of which one more task fits,
// unless the node is reserved for another class; nothing else is open. With [Options].AnyNode, all nodes
// have these slots together. Each open slot is a free slot of the policy, once the policy has
// observed the events that the methods append.
type Cluster struct {
	policy sojourn.Policy
	seeker sojourn.Seeker
	shapes []Resources

	nodes map[sojourn.NodeID]*node
	list  []*node  // in no useful order
	open  []int    // by class: nodes that offer to start a task
	holds []int    // by class: nodes that could hold a task if they were empty
	slots []placed // by SlotID
	spare []sojourn.SlotID

	reserve
	anyNode
}

// A node is present, or has left and still runs something.
type node struct {
	id       sojourn.NodeID
	rack     sojourn.RackID
	at       int // its place in the list; -1 if it has left
	room     Resources
	used     Resources        // by what is placed on it
	open     []sojourn.SlotID // by class; none where the slot is not open; nil with AnyNode
	reserved int              // the class for which it is reserved, or -1
	place    int              // in the order in which a cluster with AnyNode fills nodes
}

const none sojourn.SlotID = sojourn.MaxSlots

// A placed says what a slot is used for.
type placed struct {
	node  *node // nil: the ID is spare
	class sojourn.Class
	busy  bool // an attempt runs on it; otherwise it is open
}

// New returns a cluster without nodes, for a policy that has no slots. If the policy does not
// support [sojourn.FeatureProjected], the error wraps [sojourn.ErrUnsupported]; the comment of the
// package says which policies do. The cluster only asks the policy; the driver reports the events.
func New(p sojourn.Policy, opts Options) (*Cluster, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if err := sojourn.FeatureProjected.Check(sojourn.Supports(p)); err != nil {
		return nil, fmt.Errorf("shape: a %T on projected slots: %w", p, err)
	}
	seeker, ok := sojourn.As[sojourn.Seeker](p)
	if !ok {
		return nil, fmt.Errorf("shape: a %T is no Seeker", p)
	}
	c := &Cluster{
		policy: p, seeker: seeker, nodes: make(map[sojourn.NodeID]*node),
		open: make([]int, len(opts.Shapes)), holds: make([]int, len(opts.Shapes)),
		reserve: newReserve(opts), anyNode: newAnyNode(opts),
	}
	for _, s := range opts.Shapes {
		c.shapes = append(c.shapes, slices.Clone(s))
	}
	return c, nil
}

// AppendNode appends the events of a node that has come, and what it has. Its ID is not 0.
func (c *Cluster) AppendNode(dst []sojourn.Event, at sojourn.Time, id sojourn.NodeID, rack sojourn.RackID, room Resources) ([]sojourn.Event, error) {
	if err := room.check(len(c.shapes[0])); err != nil {
		return dst, fmt.Errorf("shape: node %d %w", id, err)
	}
	switch {
	case id == 0:
		return dst, fmt.Errorf("shape: a node without an ID")
	case c.nodes[id] != nil:
		return dst, fmt.Errorf("shape: node %d is there already, or still runs something", id)
	case c.nowhere == nil && (len(c.list)+1)*len(c.shapes) > maxOpen:
		return dst, fmt.Errorf("shape: node %d is one too many: want at most %d slots, one for each of %d shapes on each node", id, maxOpen, len(c.shapes))
	}
	n := &node{id: id, rack: rack, at: len(c.list), room: slices.Clone(room), used: make(Resources, len(room)), reserved: -1}
	if c.nowhere == nil {
		n.open = slices.Repeat([]sojourn.SlotID{none}, len(c.shapes))
	} else {
		c.settle(n)
	}
	c.nodes[id] = n
	c.list = append(c.list, n)
	c.count(n, 1)
	return c.project(dst, at, n), nil
}

// maxOpen bounds the slots that are open at a time. As many IDs again are left for those that run
// something.
const maxOpen = sojourn.MaxSlots / 2

// count adds by to the number of nodes that could hold each class.
func (c *Cluster) count(n *node, by int) {
	empty := make(Resources, len(n.room))
	for i, s := range c.shapes {
		if s.fits(n.room, empty) {
			c.holds[i] += by
		}
	}
}

// AppendResize appends the events of a node that has other room from now on. If that is less of a
// resource than what runs there takes, nothing that needs the resource starts there until enough has
// ended; nothing is killed.
func (c *Cluster) AppendResize(dst []sojourn.Event, at sojourn.Time, id sojourn.NodeID, room Resources) ([]sojourn.Event, error) {
	n := c.nodes[id]
	if n == nil || n.at < 0 {
		return dst, fmt.Errorf("shape: there is no node %d", id)
	}
	if err := room.check(len(c.shapes[0])); err != nil {
		return dst, fmt.Errorf("shape: node %d %w", id, err)
	}
	c.count(n, -1)
	copy(n.room, room)
	c.count(n, 1)
	if r := n.reserved; r >= 0 && !c.shapes[r].fits(n.room, make(Resources, len(room))) {
		c.release(n) // it will never fit
	}
	return c.project(dst, at, n), nil
}

// AppendLoss appends the events of a node that has left. The driver reports the ends of the attempts
// there by events of its own, and calls AppendEnd for each. The node may come back after the last.
func (c *Cluster) AppendLoss(dst []sojourn.Event, at sojourn.Time, id sojourn.NodeID) ([]sojourn.Event, error) {
	n := c.nodes[id]
	if n == nil || n.at < 0 {
		return dst, fmt.Errorf("shape: there is no node %d", id)
	}
	c.count(n, -1)
	last := len(c.list) - 1
	c.list[n.at], c.list[last].at = c.list[last], n.at
	c.list[last] = nil
	c.list, n.at = c.list[:last], -1
	if n.reserved >= 0 {
		c.release(n)
	}
	if dst = c.project(dst, at, n); c.nowhere != nil {
		c.leave(n)
	}
	running := false
	for id := range c.slots {
		if s := &c.slots[id]; s.node == n {
			running = true
			dst = append(dst, sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
		}
	}
	if !running {
		delete(c.nodes, id)
	}
	return dst, nil
}

// AppendStart appends the events of an attempt that the policy has just assigned to a slot. Call it
// after each assignment, and let the policy observe the events before the next offer. It panics if
// the slot is not one of the free slots, or fits nowhere because the driver does not use Policy.
func (c *Cluster) AppendStart(dst []sojourn.Event, at sojourn.Time, slot sojourn.SlotID) []sojourn.Event {
	s := c.slot(slot)
	if s.busy {
		panic(fmt.Sprintf("shape: AppendStart of slot %d, on which something runs", slot))
	}
	n := c.nodeFor(s)
	if n == nil {
		panic(fmt.Sprintf("shape: AppendStart of slot %d, whose class %d fits nowhere: want the driver to use Policy", slot, s.class))
	}
	s.node, s.busy = n, true
	*c.opened(n, int(s.class)) = none
	if c.nowhere == nil {
		c.open[s.class]--
	}
	for i, need := range c.shapes[s.class] {
		n.used[i] += need
	}
	c.served(int(s.class), at)
	if r := c.nodeOf[s.class]; r != nil {
		c.release(r)
		if r != n {
			dst = c.project(dst, at, r)
		}
	}
	return c.project(dst, at, n)
}

// AppendEnd appends the events of an attempt that has ended, or was never started. Report the end of
// the attempt itself first, and let the policy observe these events before the next offer. It panics
// if nothing runs on the slot.
func (c *Cluster) AppendEnd(dst []sojourn.Event, at sojourn.Time, slot sojourn.SlotID) []sojourn.Event {
	s := c.slot(slot)
	if !s.busy {
		panic(fmt.Sprintf("shape: AppendEnd of slot %d, on which nothing runs", slot))
	}
	n := s.node
	for i, need := range c.shapes[s.class] {
		n.used[i] -= need
	}
	if n.at < 0 { // the slot has left with its attempt
		c.drop(slot)
		for id := range c.slots {
			if c.slots[id].node == n {
				return dst
			}
		}
		delete(c.nodes, n.id)
		return dst
	}
	switch open := c.opened(n, int(s.class)); {
	case *open == none && c.nowhere == nil:
		*open, s.busy = slot, false // it goes on as the open one
		c.open[s.class]++
	case *open == none:
		*open, s.node, s.busy = slot, c.nowhere, false
	default:
		dst = append(dst, sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: sojourn.Slot{ID: slot}})
		c.drop(slot)
	}
	return c.project(dst, at, n)
}

// AppendAdopt appends the events before a [sojourn.TaskAdopted] of an attempt that was started
// before a restart, and returns its slot. The attempt counts as running from then on, whether or not
// it fits.
func (c *Cluster) AppendAdopt(dst []sojourn.Event, at sojourn.Time, id sojourn.NodeID, class sojourn.Class) ([]sojourn.Event, sojourn.SlotID, error) {
	n := c.nodes[id]
	if n == nil || n.at < 0 {
		return dst, 0, fmt.Errorf("shape: there is no node %d", id)
	}
	if int(class) >= len(c.shapes) {
		return dst, 0, fmt.Errorf("shape: there is no class %d", class)
	}
	for i, need := range c.shapes[class] {
		if n.used[i] > math.MaxInt64-need {
			return dst, 0, fmt.Errorf("shape: too much of resource %d runs on node %d", i, id)
		}
	}
	slot, ok := c.take(n, class)
	if !ok {
		return dst, 0, fmt.Errorf("shape: no ID is left for a slot: %d run or are open", len(c.slots))
	}
	c.slots[slot].busy = true
	for i, need := range c.shapes[class] {
		n.used[i] += need
	}
	dst = append(dst, c.added(at, slot))
	return c.project(dst, at, n), slot, nil
}

// Place returns the node and the class of a slot that is free or runs something. With
// [Options].AnyNode, the node of a free slot is the one where the next task on it would run, and ok is
// false if it fits nowhere.
func (c *Cluster) Place(slot sojourn.SlotID) (node sojourn.NodeID, class sojourn.Class, ok bool) {
	if int(slot) >= len(c.slots) || c.slots[slot].node == nil {
		return 0, 0, false
	}
	s := &c.slots[slot]
	n := c.nodeFor(s)
	if n == nil {
		return 0, s.class, false
	}
	return n.id, s.class, true
}

// Overdrawn reports whether a node lacks something that the attempt on a slot needs: since a resize,
// or since attempts were adopted, what runs on the node takes more of it than there is. A driver
// that has not started the attempt yet can give the slot back. Nothing is overdrawn on a node that
// has left. It panics if there is no such slot.
func (c *Cluster) Overdrawn(slot sojourn.SlotID) bool {
	s := c.slot(slot)
	if !s.busy || s.node.at < 0 {
		return false
	}
	for i, need := range c.shapes[s.class] {
		if need > 0 && s.node.used[i] > s.node.room[i] {
			return true
		}
	}
	return false
}

// Holds reports whether a node could hold a task of a class if nothing ran there. If none could,
// tasks of the class wait until a larger node comes.
func (c *Cluster) Holds(class sojourn.Class) bool {
	return int(class) < len(c.holds) && c.holds[class] > 0
}

// slot returns the entry of a slot that is free or runs something.
func (c *Cluster) slot(id sojourn.SlotID) *placed {
	if int(id) >= len(c.slots) || c.slots[id].node == nil {
		panic(fmt.Sprintf("shape: there is no slot %d", id))
	}
	return &c.slots[id]
}

// wants reports whether a node is to have an open slot of a class.
func (c *Cluster) wants(n *node, class int) bool {
	return n.at >= 0 && (n.reserved < 0 || n.reserved == class) && c.shapes[class].fits(n.room, n.used)
}

// project appends the events that make the open slots of a node those that it is to have.
func (c *Cluster) project(dst []sojourn.Event, at sojourn.Time, n *node) []sojourn.Event {
	if c.nowhere != nil {
		return c.projectAny(dst, at, n)
	}
	for class := range c.shapes {
		slot := n.open[class]
		switch wants := c.wants(n, class); {
		case wants && slot == none:
			id, ok := c.take(n, sojourn.Class(class))
			if !ok {
				continue // all IDs are taken: the room is offered when the next attempt there ends
			}
			n.open[class] = id
			c.open[class]++
			dst = append(dst, c.added(at, id))
		case !wants && slot != none:
			n.open[class] = none
			c.open[class]--
			c.drop(slot)
			dst = append(dst, sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: sojourn.Slot{ID: slot}})
		}
	}
	return dst
}

func (c *Cluster) added(at sojourn.Time, id sojourn.SlotID) sojourn.Event {
	s := &c.slots[id]
	slot := sojourn.Slot{ID: id, Class: s.class}
	if c.nowhere == nil {
		slot.Node, slot.Rack = s.node.id, s.node.rack
	}
	return sojourn.Event{Kind: sojourn.SlotAdded, At: at, Slot: slot}
}

// take takes an ID for a slot on a node; false if none is left.
func (c *Cluster) take(n *node, class sojourn.Class) (sojourn.SlotID, bool) {
	id := sojourn.SlotID(len(c.slots))
	if k := len(c.spare); k > 0 {
		id, c.spare = c.spare[k-1], c.spare[:k-1]
	} else if id == sojourn.MaxSlots {
		return 0, false
	} else {
		c.slots = append(c.slots, placed{})
	}
	c.slots[id] = placed{node: n, class: class}
	return id, true
}

// drop gives an ID back.
func (c *Cluster) drop(id sojourn.SlotID) {
	c.slots[id] = placed{}
	c.spare = append(c.spare, id)
}
