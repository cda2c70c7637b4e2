package locality

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// A table lists numbered items by place: tasks by node, or nodes by rack. Some of
// the items are open.
type table[P ~uint32] struct {
	places []P        // ascending
	ends   []uint32   // ends[i] is where the items of places[i] end
	items  []uint32   // of places[0], ascending, then of places[1], ...
	open   bitset.Set // positions in items
}

// entry packs a place and an item of it, so that entries sort as the table does.
func entry[P ~uint32](place P, item uint32) uint64 { return uint64(place)<<32 | uint64(item) }

// newTable returns a table of entries. Repeated entries count once. All items are
// open. It overwrites its argument.
func newTable[P ~uint32](entries []uint64) table[P] {
	slices.Sort(entries)
	entries = slices.Compact(entries)
	n := 0
	for i, e := range entries {
		if i == 0 || e>>32 != entries[i-1]>>32 {
			n++
		}
	}
	t := table[P]{
		places: make([]P, 0, n),
		ends:   make([]uint32, n),
		items:  make([]uint32, len(entries)),
		open:   bitset.Full(len(entries)),
	}
	for i, e := range entries {
		if i == 0 || e>>32 != entries[i-1]>>32 {
			t.places = append(t.places, P(e>>32))
		}
		t.ends[len(t.places)-1] = uint32(i + 1)
		t.items[i] = uint32(e)
	}
	return t
}

// place returns the index of a place. It needs no search if the phase has inputs
// on all nodes, as a large one does, and the driver numbers nodes without gaps.
func (t *table[P]) place(p P) (int, bool) {
	if len(t.places) == 0 || p < t.places[0] {
		return 0, false
	}
	if i := uint64(p - t.places[0]); i < uint64(len(t.places)) && t.places[i] == p {
		return int(i), true
	}
	return slices.BinarySearch(t.places, p)
}

// span returns the range of items of place i.
func (t *table[P]) span(i int) (from, to int) {
	if i > 0 {
		from = int(t.ends[i-1])
	}
	return from, int(t.ends[i])
}

// first returns the lowest open item of a place.
func (t *table[P]) first(p P) (uint32, bool) {
	i, ok := t.place(p)
	if !ok {
		return 0, false
	}
	from, to := t.span(i)
	at := t.open.Next(from)
	if at < 0 || at >= to {
		return 0, false
	}
	return t.items[at], true
}

// set opens or closes an item of place i, and reports whether this is a change.
func (t *table[P]) set(i int, item uint32, open bool) bool {
	from, to := t.span(i)
	at, _ := slices.BinarySearch(t.items[from:to], item)
	at += from
	if t.open.Has(at) == open {
		return false
	}
	if open {
		t.open.Add(at)
	} else {
		t.open.Remove(at)
	}
	return true
}
