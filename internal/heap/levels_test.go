package heap_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"pgregory.net/rapid"
)

// TestLevelsAgainstMap drives a heap of levels and a map side by side, and compares the
// least item of every level after every step.
func TestLevelsAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SampledFrom([]int{1, 2, 15, heap.MaxLevels}).Draw(t, "levels")
		h := heap.NewLevels(key.less, prefixes().Draw(t, "prefix"))
		want := map[uint32]filed[key]{}
		var seq uint64
		ids := rapid.OneOf(rapid.Uint32Range(0, 20), rapid.Uint32Range(0, 2000))
		level := rapid.IntRange(0, levels-1)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				seq++
				f := filed[key]{key{rapid.Uint64Range(0, 9).Draw(t, "major"), seq}, level.Draw(t, "level")}
				h.Set(id, f.level, f.key)
				want[id] = f
			},
			"remove": func(t *rapid.T) { remove(t, h, want, ids) },
			"":       func(t *rapid.T) { compareLevels(t, h, want, levels, key.less) },
		})
	})
}

func TestLevelsDoNotAllocateInSteadyState(t *testing.T) {
	h, rng := heap.NewLevels(key.less, key.prefix), rand.New(rand.NewPCG(1, 2))
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
