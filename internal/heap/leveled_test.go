package heap_test

import (
	"maps"

	"pgregory.net/rapid"
)

// A leveled is what Levels and Groups have in common.
type leveled[K any] interface {
	Remove(id uint32) bool
	Contains(id uint32) bool
	Len() int
	Level(id uint32) (level int, ok bool)
	Key(id uint32) K
	AnyUpTo(level int) bool
	MinUpTo(level int) (id uint32, key K, at int, ok bool)
	All(yield func(id uint32, key K) bool)
}

// A filed is an item in the map beside a heap.
type filed[K any] struct {
	key   K
	level int
}

// remove removes the same item from a heap and from a map.
func remove[K any](t *rapid.T, h interface{ Remove(uint32) bool }, want map[uint32]K, ids *rapid.Generator[uint32]) {
	id := ids.Draw(t, "id")
	_, in := want[id]
	delete(want, id)
	if got := h.Remove(id); got != in {
		t.Fatalf("Remove(%d) = %v, want %v", id, got, in)
	}
}

// compareLevels compares a heap with a map: the least item up to each level, and all items. The keys are
// distinct, and the IDs below 3000.
func compareLevels[K comparable](t *rapid.T, h leveled[K], want map[uint32]filed[K], levels int, less func(a, b K) bool) {
	for up := range levels {
		var least uint32
		found := false
		for id, f := range want {
			if f.level <= up && (!found || less(f.key, want[least].key)) {
				least, found = id, true
			}
		}
		id, k, at, ok := h.MinUpTo(up)
		if ok != found || h.AnyUpTo(up) != found {
			t.Fatalf("MinUpTo(%d) finds %v, AnyUpTo %v, want %v", up, ok, h.AnyUpTo(up), found)
		}
		if h, is := h.(interface{ Least() (uint32, bool) }); is && up == levels-1 {
			if id, ok := h.Least(); ok != found || ok && id != least {
				t.Fatalf("Least() = %d, %v, want %d, %v", id, ok, least, found)
			}
		}
		if f := want[least]; ok && (id != least || k != f.key || at != f.level) {
			t.Fatalf("MinUpTo(%d) = %d (%v) at %d, want %d (%v)", up, id, k, at, least, f)
		}
	}
	all := map[uint32]K{}
	maps.Insert(all, h.All)
	for id, f := range want {
		if l, ok := h.Level(id); !ok || l != f.level || !h.Contains(id) || all[id] != f.key || h.Key(id) != f.key {
			t.Fatalf("Level(%d) = %d, %v, key %v, want %v", id, l, ok, all[id], f)
		}
	}
	if _, ok := h.Level(3000); ok || len(all) != len(want) || h.Len() != len(want) {
		t.Fatalf("%d items, and Len() = %d, want %d", len(all), h.Len(), len(want))
	}
}
