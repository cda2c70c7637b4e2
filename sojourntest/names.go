package sojourntest

import (
	"maps"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// names are the IDs and classes of a trial. They are few, so that events often concern the
// same ones.
type names struct {
	jobs    []sojourn.JobID
	slots   []sojourn.SlotID
	nodes   []sojourn.NodeID
	rack    sojourn.RackID // of the first half of the nodes; the others have no known rack
	classes []sojourn.Class
}

// Names that are never live, never added and only mentioned in wrong events; and slots
// that exist only at the end, or for an instant.
const (
	noJob    sojourn.JobID  = 7
	noSlot   sojourn.SlotID = 7
	noNode   sojourn.NodeID = 5
	noRack   sojourn.RackID = 2
	lastSlot sojourn.SlotID = noSlot + 1 // of class 0; the slot of the next class has the next ID
	flicker  sojourn.SlotID = lastSlot + 1<<9
)

func smallNames(o *Options) names {
	return names{
		jobs:    []sojourn.JobID{1, 2, 3, 4, 5, 6},
		slots:   []sojourn.SlotID{0, 1, 2, 3, 4, 5, 6},
		nodes:   []sojourn.NodeID{1, 2, 3, 4},
		rack:    1,
		classes: o.classes(),
	}
}

// extremeNames draws names from the ends of their ranges, each kind by itself. The largest
// IDs of slots are rare, since the tables of policies are as long.
func (dr *draws) extremeNames() {
	n := &dr.names
	if dr.oneIn(2) {
		n.jobs = []sojourn.JobID{math.MaxUint64, 1, 1 << 63, 1<<63 - 1, 2, math.MaxUint64 - 1}
	}
	if dr.oneIn(2) {
		n.slots = []sojourn.SlotID{0, 1 << 12, 1, 1<<12 - 1, 63, 64, 1 << 10}
	}
	if dr.oneIn(16) {
		n.slots = []sojourn.SlotID{0, sojourn.MaxSlots - 1, 1, 1 << 23, sojourn.MaxSlots - 2, 1 << 12, 64}
	}
	if dr.oneIn(2) {
		n.nodes = []sojourn.NodeID{1, math.MaxUint32, math.MaxUint32 - 1, 1 << 31}
		n.rack = math.MaxUint32
	}
	if dr.oneIn(2) && dr.o.Classes == nil {
		n.classes = []sojourn.Class{0, 1, sojourn.MaxClasses - 1}
	}
}

// rackOf is the rack that sojourntest puts a node on.
func (n *names) rackOf(node sojourn.NodeID) sojourn.RackID {
	if i := slices.Index(n.nodes, node); i >= 0 && i < len(n.nodes)/2 {
		return n.rack
	}
	return 0
}

// sorted returns the keys of a map.
func sorted[K ~uint32 | ~uint64, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// classes returns list with the classes of h added, but for those that are refused.
func (h history) classes(list []sojourn.Class) []sojourn.Class {
	list = slices.Clone(list)
	for i := range h {
		found := []sojourn.Class{}
		if h[i].ev.Kind == sojourn.SlotAdded {
			found = append(found, h[i].ev.Slot.Class)
		}
		if h[i].ev.Job != nil {
			for k := range h[i].ev.Job.Phases {
				found = append(found, h[i].ev.Job.Phases[k].Class)
			}
		}
		for _, c := range found {
			if c < sojourn.MaxClasses && !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	return list
}
