package heap_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"pgregory.net/rapid"
)

// A growing key has a value that grows by its rate while time passes.
type growing struct {
	value, rate int
	seq         uint64
}

func (k growing) at(now int) key { return key{uint64(k.value + k.rate*now), k.seq} }

// TestGroupsAgainstMap drives a heap of groups and a map side by side while time passes, and compares the
// least item of every level after every step.
func TestGroupsAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SampledFrom([]int{1, 2, 15}).Draw(t, "levels")
		now := 0
		less := func(a, b growing) bool { return a.at(now).less(b.at(now)) }
		prefix := rapid.SampledFrom([]func(growing) (hi, lo uint64){
			func(k growing) (hi, lo uint64) { return uint64(k.value), k.seq },
			func(k growing) (hi, lo uint64) { return uint64(k.value) / 4, 0 },
			nil,
		}).Draw(t, "prefix")
		h := heap.NewGroups(less, prefix, func(k growing) int { return k.rate })
		want := map[uint32]filed[growing]{}
		var seq uint64
		ids := rapid.OneOf(rapid.Uint32Range(0, 20), rapid.Uint32Range(0, 2000))
		level := rapid.IntRange(0, levels-1)
		rate := rapid.OneOf(rapid.IntRange(0, 2), rapid.IntRange(0, 70))
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				seq++
				f := filed[growing]{growing{rapid.IntRange(0, 99).Draw(t, "value"), rate.Draw(t, "rate"), seq}, level.Draw(t, "level")}
				h.Set(id, f.level, f.key)
				want[id] = f
			},
			"wait":   func(t *rapid.T) { now += rapid.IntRange(0, 9).Draw(t, "time") },
			"remove": func(t *rapid.T) { remove(t, h, want, ids) },
			"":       func(t *rapid.T) { compareLevels(t, h, want, levels, less) },
		})
	})
}

func TestGroupsDoNotAllocateInSteadyState(t *testing.T) {
	h := heap.NewGroups(func(a, b growing) bool { return a.at(0).less(b.at(0)) }, nil, func(k growing) int { return k.rate })
	rng := rand.New(rand.NewPCG(1, 2))
	step := func() {
		id := rng.Uint32N(1000)
		h.Set(id, rng.IntN(2), growing{rng.IntN(1 << 30), rng.IntN(16), uint64(id)})
		h.Remove(rng.Uint32N(1000))
	}
	for range 100_000 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations a round, want 0", n)
	}
}

func TestNilGroupsAreEmpty(t *testing.T) {
	var h *heap.Groups[growing]
	_, filed := h.Level(0)
	_, _, _, least := h.MinUpTo(3)
	if h.Contains(0) || h.Remove(0) || h.Len() > 0 || filed || h.AnyUpTo(3) || least {
		t.Error("something is in it")
	}
	for range h.All {
		t.Error("something is in it")
	}
}

// An item whose key gets another rate is in another group from then on.
func TestAKeyThatChangesItsGroup(t *testing.T) {
	now := 0
	h := heap.NewGroups(func(a, b growing) bool { return a.at(now).less(b.at(now)) }, nil, func(k growing) int { return k.rate })
	h.Set(0, 0, growing{5, 9, 0})
	h.Set(1, 0, growing{0, 9, 1})
	h.Set(0, 0, growing{5, 0, 0})
	now = 1
	if id, _, _, _ := h.MinUpTo(0); id != 0 {
		t.Errorf("the least is %d, want 0, which stays at 5", id)
	}
}
