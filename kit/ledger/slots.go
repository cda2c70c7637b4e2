package ledger

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// slots are the slots and nodes of a ledger.
type slots struct {
	pages   []*slotPage // slot id is pages[id/pageSize][id%pageSize]
	classes []class     // by sojourn.Class, up to the highest one seen
	nodes   nodes
	pinned  map[sojourn.SlotID]struct{} // the slots whose attempts may not be killed
}

const pageSize = 64

type slotPage [pageSize]slot

type slotState uint8

const (
	absent slotState = iota
	free
	busy
	retiring // busy, and will leave with its attempt
)

// A slot has 40 bytes, and no pointer, so that collecting garbage does not look at it.
type slot struct {
	sojourn.Slot // as it was added

	start   sojourn.Time
	holder  uint32 // one more than the handle of the job whose live attempt it is; 0 if there is none
	index   uint32
	attempt uint32
	phase   uint16
	state   slotState
}

type class struct {
	capacity int // slots that are not absent
	free     bitset.Set
}

// at returns the entry of a slot, or nil if there never was one.
func (t *slots) at(id sojourn.SlotID) *slot {
	page := int(id / pageSize)
	if page >= len(t.pages) || t.pages[page] == nil {
		return nil
	}
	return &t.pages[page][id%pageSize]
}

// all iterates over the slots that are not absent, by ID.
func (t *slots) all() iter.Seq[*slot] {
	return func(yield func(*slot) bool) {
		for _, page := range t.pages {
			if page == nil {
				continue
			}
			for k := range page {
				if s := &page[k]; s.state != absent && !yield(s) {
					return
				}
			}
		}
	}
}

// add adds a slot, or ends the retirement of one.
func (t *slots) add(slot sojourn.Slot) {
	if s := t.at(slot.ID); s != nil && s.state == retiring {
		s.state = busy
		return
	}
	t.open(slot)
	n := t.nodes[slot.Node]
	n.slots++
	t.setNode(slot.Node, n, slot.Rack)
}

// open makes the entry of a free slot. It counts the slot for its class, but not for its
// node.
func (t *slots) open(add sojourn.Slot) {
	page := int(add.ID / pageSize)
	if more := page + 1 - len(t.pages); more > 0 {
		t.pages = append(t.pages, make([]*slotPage, more)...)
	}
	if t.pages[page] == nil {
		t.pages[page] = new(slotPage)
	}
	for int(add.Class) >= len(t.classes) {
		t.classes = append(t.classes, class{})
	}
	t.pages[page][add.ID%pageSize] = slot{Slot: add, state: free}
	t.classes[add.Class].capacity++
	t.classes[add.Class].free.Add(int(add.ID))
}

// pin keeps the attempt on a slot from being killed.
func (t *slots) pin(id sojourn.SlotID) {
	if t.pinned == nil {
		t.pinned = make(map[sojourn.SlotID]struct{})
	}
	t.pinned[id] = struct{}{}
}

// drop removes a slot that nothing runs on.
func (t *slots) drop(s *slot) {
	s.state = absent
	t.classes[s.Class].capacity--
	t.classes[s.Class].free.Remove(int(s.ID))
	n := t.nodes[s.Node]
	n.slots--
	t.setNode(s.Node, n, s.Rack)
}

// check reports whether a slot may be added.
func (t *slots) check(want sojourn.Slot) error {
	if want.ID >= sojourn.MaxSlots {
		return fmt.Errorf("%w: ID %d is not below %d", sojourn.ErrInvalidSlot, want.ID, sojourn.MaxSlots)
	}
	if want.Class >= sojourn.MaxClasses {
		return fmt.Errorf("%w: class %d is not below %d", sojourn.ErrInvalidSlot, want.Class, sojourn.MaxClasses)
	}
	if err := t.nodes.checkRack(want.Node, want.Rack); err != nil {
		return err
	}
	s := t.at(want.ID)
	if s == nil || s.state == absent || s.state == retiring && s.Slot == want {
		return nil
	}
	return sojourn.ErrDuplicateSlot
}

// nodes are the nodes that have slots or are down.
type nodes map[sojourn.NodeID]node

type node struct {
	rack  sojourn.RackID
	slots int
	down  bool
}

// sorted returns the IDs in order.
func (n nodes) sorted() []sojourn.NodeID {
	return slices.SortedFunc(maps.Keys(n), cmp.Compare)
}

// setNode stores the state of a node. It forgets a node that is up and has no slots.
func (t *slots) setNode(id sojourn.NodeID, n node, rack sojourn.RackID) {
	if id == 0 {
		return
	}
	if rack != 0 {
		n.rack = rack
	}
	if n.slots == 0 && !n.down {
		delete(t.nodes, id)
		return
	}
	if t.nodes == nil {
		t.nodes = make(nodes)
	}
	t.nodes[id] = n
}

// checkRack tests the rack that an event gives for a node.
func (n nodes) checkRack(id sojourn.NodeID, rack sojourn.RackID) error {
	if was := n[id].rack; id != 0 && was != 0 && rack != 0 && rack != was {
		return fmt.Errorf("%w: node %d is on rack %d, not %d", sojourn.ErrInvalidSlot, id, was, rack)
	}
	return nil
}

// checkChange tests a NodeDown or NodeUp event.
func (n nodes) checkChange(of sojourn.Slot, down bool) error {
	if of.Node == 0 {
		return sojourn.ErrInvalidEvent
	}
	if err := n.checkRack(of.Node, of.Rack); err != nil {
		return err
	}
	if n[of.Node].down == down {
		return sojourn.ErrNodeState
	}
	return nil
}
