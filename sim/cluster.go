package sim

import (
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

	// Slots holds the number of slots of each class. A uniform cluster has them
	// all in class 0.
	Slots [2]int
}

// Slots returns the slots of the cluster in the order of their ID. Racks are
// numbered from 1 in the order in which they first appear.
func (c *Cluster) Slots() []sojourn.Slot {
	var slots []sojourn.Slot
	racks := map[string]sojourn.RackID{}
	for i, n := range c.Nodes {
		rack := racks[n.Rack]
		if rack == 0 && n.Rack != "" {
			rack = sojourn.RackID(len(racks) + 1)
			racks[n.Rack] = rack
		}
		for class, count := range n.Slots {
			for range count {
				slots = append(slots, sojourn.Slot{
					ID: sojourn.SlotID(len(slots)), Node: sojourn.NodeID(i + 1), Rack: rack, Class: sojourn.Class(class),
				})
			}
		}
	}
	return slots
}

// Capacity returns the number of slots of each class.
func (c *Cluster) Capacity() (n [2]int) {
	for _, node := range c.Nodes {
		for class, count := range node.Slots {
			n[class] += count
		}
	}
	return n
}
