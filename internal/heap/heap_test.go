package heap_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"pgregory.net/rapid"
)

// A key is ordered by its major part, and among equals by sequence.
type key struct{ major, seq uint64 }

func (a key) less(b key) bool {
	if a.major != b.major {
		return a.major < b.major
	}
	return a.seq < b.seq
}

func (a key) prefix() (hi, lo uint64) { return a.major, a.seq }

// prefixes are all that a key begins with, parts of it, and nothing.
func prefixes() *rapid.Generator[func(key) (hi, lo uint64)] {
	return rapid.SampledFrom([]func(key) (hi, lo uint64){
		key.prefix,
		func(k key) (hi, lo uint64) { return k.major >> 2, 0 },
		func(k key) (hi, lo uint64) { return 0, k.major },
		func(k key) (hi, lo uint64) { return 0, k.major<<40 | k.seq },
		nil,
	})
}

// TestHeapAgainstMap drives a heap and a map side by side. After every step the
// minimum is compared, at the end the order in which the items come out.
func TestHeapAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := heap.New(key.less, prefixes().Draw(t, "prefix"))
		want := map[uint32]key{}
		var seq uint64
		ids := rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Uint32Range(0, 5000))
		start := rapid.SampledFrom([]int{0, 10, 100, 300}).Draw(t, "start")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for ; seq < uint64(start); seq++ {
			want[uint32(seq)] = key{rng.Uint64N(uint64(start)), seq}
			h.Set(uint32(seq), want[uint32(seq)])
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				k := key{rapid.Uint64Range(0, 20).Draw(t, "major"), seq}
				seq++
				h.Set(id, k)
				want[id] = k
			},
			"remove": func(t *rapid.T) { remove(t, h, want, ids) },
			"removeMin": func(t *rapid.T) {
				if id, ok := h.Min(); ok {
					h.Remove(id)
					delete(want, id)
				}
			},
			"": func(t *rapid.T) { compare(t, h, want) },
		})
		for _, id := range sorted(want) {
			if got, ok := h.Min(); !ok || got != id {
				t.Fatalf("Min() = %d, %v while draining, want %d", got, ok, id)
			}
			h.Remove(id)
		}
		if id, ok := h.Min(); ok {
			t.Fatalf("Min() = %d in an empty heap", id)
		}
	})
}

func compare(t *rapid.T, h *heap.Heap[key], want map[uint32]key) {
	if h.Len() != len(want) {
		t.Fatalf("Len() = %d, want %d", h.Len(), len(want))
	}
	if got := maps.Collect(h.All()); !maps.Equal(got, want) {
		t.Fatalf("All() = %v, want %v", got, want)
	}
	var order []uint32
	c := h.Cursor()
	for id, k, ok := c.Next(); ok; id, k, ok = c.Next() {
		if order = append(order, id); k != want[id] {
			t.Fatalf("the cursor tells %v of %d, want %v", k, id, want[id])
		}
	}
	if !slices.Equal(order, sorted(want)) {
		t.Fatalf("the cursor goes through %v, want %v", order, sorted(want))
	}
	for id, k := range want {
		if got, ok := h.Key(id); !ok || got != k || !h.Contains(id) {
			t.Fatalf("Key(%d) = %v, %v, want %v", id, got, ok, k)
		}
	}
	if _, ok := h.Key(6000); ok || h.Contains(6000) {
		t.Fatalf("the heap contains 6000, which was never set")
	}
	id, ok := h.Min()
	k, _ := h.MinKey()
	if len(want) == 0 {
		if ok {
			t.Fatalf("Min() = %d in an empty heap", id)
		}
	} else if first := sorted(want)[0]; !ok || id != first || k != want[first] {
		t.Fatalf("Min() = %d (%v), %v, want %d (%v)", id, k, ok, first, want[first])
	}
}

func sorted(m map[uint32]key) []uint32 {
	return slices.SortedFunc(maps.Keys(m), func(a, b uint32) int {
		if m[a].less(m[b]) {
			return -1
		}
		return 1
	})
}

func TestHeapAllIsDeterministicAndStops(t *testing.T) {
	build := func() (ids []uint32) {
		h := heap.New(key.less, nil)
		for i := range uint64(100) {
			h.Set(uint32(i), key{i * 7919 % 101, i})
		}
		for i := range uint32(30) {
			h.Remove(3 * i)
		}
		for id := range h.All() {
			if ids = append(ids, id); len(ids) == 50 {
				break
			}
		}
		return ids
	}
	a, b := build(), build()
	if len(a) != 50 || !slices.Equal(a, b) {
		t.Errorf("All() = %v, then %v, want the same 50 items", a, b)
	}
}

func TestHeapDoesNotAllocateInSteadyState(t *testing.T) {
	h, rng := filled(1000)
	seq := uint64(1000)
	if n := testing.AllocsPerRun(1000, func() {
		id, _ := h.Min()
		h.Set(id, key{rng.Uint64N(1 << 32), seq})
		id, _ = h.Min()
		h.Remove(id)
		h.Set(id, key{rng.Uint64N(1 << 32), seq + 1})
		seq += 2
	}); n != 0 {
		t.Errorf("%v allocations a round, want 0", n)
	}
}
