package ledger

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// all iterates over the slots that are not absent, by ID.
func (l *Ledger[J]) all() iter.Seq2[sojourn.SlotID, *slot[J]] {
	return func(yield func(sojourn.SlotID, *slot[J]) bool) {
		for i, page := range l.slots {
			if page == nil {
				continue
			}
			for k := range page {
				if s := &page[k]; s.state != absent && !yield(sojourn.SlotID(i*pageSize+k), s) {
					return
				}
			}
		}
	}
}

// AppendFree appends the free slots of class c, by ID. It visits every slot.
func (l *Ledger[J]) AppendFree(dst []sojourn.Slot, c sojourn.Class) []sojourn.Slot {
	for id, s := range l.all() {
		if s.state == free && s.class == c {
			dst = append(dst, s.whole(id))
		}
	}
	return dst
}

// Attempts iterates over the slots that are busy and their attempts, by ID of the
// slot. It visits every slot.
func (l *Ledger[J]) Attempts() iter.Seq2[sojourn.Slot, Attempt[J]] {
	return func(yield func(sojourn.Slot, Attempt[J]) bool) {
		for id, s := range l.all() {
			if a, ok := l.Attempt(id); ok && !yield(s.whole(id), a) {
				return
			}
		}
	}
}

// AppendDown appends the nodes whose data cannot be read, by ID, each as a slot of
// that node and its rack, as NodeDown wants it.
func (l *Ledger[J]) AppendDown(dst []sojourn.Slot) []sojourn.Slot {
	for _, id := range slices.SortedFunc(maps.Keys(l.nodes), cmp.Compare) {
		if n := l.nodes[id]; n.down {
			dst = append(dst, sojourn.Slot{Node: id, Rack: n.rack})
		}
	}
	return dst
}
