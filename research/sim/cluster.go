package sim

import (
	"errors"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn"
)

// A Cluster is a list of nodes. Node i of the list is sojourn.NodeID i+1; slots
// are numbered from 0 in the order of the list and, within a node, of the class.
type Cluster struct {
	Nodes []Node

	// Uniform says that every slot takes tasks of any class: all slots and phases
	// are given to the policy as class 0.
	Uniform bool
}

// A Node is one machine.
type Node struct {
	Name string

	// Rack names the rack; "" is unknown.
	Rack string

	// Speed divides service times: a task of 10 s takes 5 s at speed 2. Zero
	// means 1.
	Speed float64

	// Slots holds the number of slots of each class, from class 0 on. Classes that
	// it does not reach have none. A uniform cluster has them all in class 0.
	Slots []int
}

// Slots returns the slots of the cluster in the order of their ID. Racks are
// numbered from 1 in the order in which they first appear.
func (c *Cluster) Slots() []sojourn.Slot {
	var slots []sojourn.Slot
	racks := c.racks()
	for i, n := range c.Nodes {
		for class, count := range n.Slots {
			for range count {
				slots = append(slots, sojourn.Slot{
					ID: sojourn.SlotID(len(slots)), Node: sojourn.NodeID(i + 1), Rack: racks[i], Class: sojourn.Class(class),
				})
			}
		}
	}
	return slots
}

// racks returns the rack of each node.
func (c *Cluster) racks() []sojourn.RackID {
	ids := make(map[string]sojourn.RackID)
	racks := make([]sojourn.RackID, len(c.Nodes))
	for i, n := range c.Nodes {
		if n.Rack != "" && ids[n.Rack] == 0 {
			ids[n.Rack] = sojourn.RackID(len(ids) + 1)
		}
		racks[i] = ids[n.Rack]
	}
	return racks
}

// Capacity returns the number of slots of each class, from class 0 on. It is as long
// as the longest Slots of a node.
func (c *Cluster) Capacity() []int {
	var n []int
	for _, node := range c.Nodes {
		if more := len(node.Slots) - len(n); more > 0 {
			n = append(n, make([]int, more)...)
		}
		for class, count := range node.Slots {
			n[class] += count
		}
	}
	return n
}

// check returns the first thing that is wrong with c, or nil: no slots or too
// many, a count or a speed out of range, more than [sojourn.MaxClasses] classes, slots of
// another class than 0 in a uniform cluster.
func (c *Cluster) check() error {
	total := 0
	for i, n := range c.Nodes {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("node %d %q: %s", i+1, n.Name, fmt.Sprintf(format, args...))
		}
		if !(n.Speed >= 0 && n.Speed <= math.MaxFloat64) {
			return bad("speed %v", n.Speed)
		}
		if len(n.Slots) > sojourn.MaxClasses {
			return bad("slots of %d classes, more than %d", len(n.Slots), sojourn.MaxClasses)
		}
		for class, count := range n.Slots {
			if c.Uniform && class > 0 && count != 0 {
				return bad("%d slots of class %d in a uniform cluster", count, class)
			}
			if count < 0 {
				return bad("%d slots of class %d", count, class)
			}
			if count > sojourn.MaxSlots || total+count > sojourn.MaxSlots {
				return bad("more than %d slots", sojourn.MaxSlots)
			}
			total += count
		}
	}
	if total == 0 {
		return errors.New("the cluster has no slots")
	}
	return nil
}
