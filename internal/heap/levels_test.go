package heap_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"pgregory.net/rapid"
)

// TestLevelsAgainstMap drives a heap of levels and a map side by side, and compares the
// least item of every level after every step.
func TestLevelsAgainstMap(t *testing.T) {
	type filed struct {
		key   key
		level int
	}
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SampledFrom([]int{1, 2, 15, heap.MaxLevels}).Draw(t, "levels")
		h := heap.NewLevels(key.less)
		want := map[uint32]filed{}
		var seq uint64
		ids := rapid.OneOf(rapid.Uint32Range(0, 20), rapid.Uint32Range(0, 2000))
		level := rapid.IntRange(0, levels-1)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				seq++
				f := filed{key{rapid.Uint64Range(0, 9).Draw(t, "major"), seq}, level.Draw(t, "level")}
				h.Set(id, f.level, f.key)
				want[id] = f
			},
			"remove": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				_, in := want[id]
				delete(want, id)
				if got := h.Remove(id); got != in {
					t.Fatalf("Remove(%d) = %v, want %v", id, got, in)
				}
			},
			"": func(t *rapid.T) {
				for up := range levels {
					var least uint32
					found := false
					for id, f := range want { // the keys are distinct
						if f.level <= up && (!found || f.key.less(want[least].key)) {
							least, found = id, true
						}
					}
					id, k, at, ok := h.MinUpTo(up)
					if ok != found || h.AnyUpTo(up) != found {
						t.Fatalf("MinUpTo(%d) finds %v, AnyUpTo %v, want %v", up, ok, h.AnyUpTo(up), found)
					}
					if f := want[least]; ok && (id != least || k != f.key || at != f.level) {
						t.Fatalf("MinUpTo(%d) = %d (%v) at %d, want %d (%v)", up, id, k, at, least, f)
					}
				}
				all := map[uint32]key{}
				maps.Insert(all, h.All)
				for id, f := range want {
					if l, ok := h.Level(id); !ok || l != f.level || !h.Contains(id) || all[id] != f.key || h.Key(id) != f.key {
						t.Fatalf("Level(%d) = %d, %v, key %v, want %v", id, l, ok, all[id], f)
					}
				}
				if _, ok := h.Level(3000); ok || len(all) != len(want) || h.Len() != len(want) {
					t.Fatalf("%d items, and Len() = %d, want %d", len(all), h.Len(), len(want))
				}
			},
		})
	})
}

func TestLevelsDoNotAllocateInSteadyState(t *testing.T) {
	h, rng := heap.NewLevels(key.less), rand.New(rand.NewPCG(1, 2))
	step := func() {
		id := rng.Uint32N(1000)
		h.Set(id, rng.IntN(16), key{rng.Uint64N(1 << 32), uint64(id)})
		h.Remove(rng.Uint32N(1000))
	}
	for range 100_000 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations a round, want 0", n)
	}
}
