package heap_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"pgregory.net/rapid"
)

// TestTournamentAgainstMap drives a tournament and a map side by side. After every step the minimum and the ranking are compared.
func TestTournamentAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[uint32]key{}
		prefix := prefixes().Draw(t, "prefix")
		if prefix == nil {
			prefix = func(key) (hi, lo uint64) { return math.MaxUint64, math.MaxUint64 }
		}
		h := heap.NewTournament(func(a, b uint32) bool {
			x, ok := want[a]
			y, too := want[b]
			if !ok || !too {
				t.Fatalf("less(%d, %d) is asked, and one is not there", a, b)
			}
			return x.less(y)
		})
		var seq uint64
		set := func(id uint32, major uint64) {
			k := key{major, seq}
			seq++
			want[id] = k
			hi, lo := prefix(k)
			h.Set(id, hi, lo)
		}
		ids := rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Uint32Range(0, 3*heap.PageSize))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for id := range rapid.SampledFrom([]uint32{0, 10, 100, 300}).Draw(t, "start") {
			set(id, rng.Uint64N(300))
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) { set(ids.Draw(t, "id"), rapid.Uint64Range(0, 20).Draw(t, "major")) },
			"removeMin": func(t *rapid.T) {
				if id, ok := h.Min(); ok {
					delete(want, id)
					h.Remove(id)
				}
			},
			"remove": func(t *rapid.T) {
				if len(want) > 0 {
					id := rapid.SampledFrom(sorted(want)).Draw(t, "id")
					delete(want, id)
					h.Remove(id)
				}
			},
			"": func(t *rapid.T) {
				order := sorted(want)
				if id, ok := h.Min(); ok != (len(want) > 0) || ok && id != order[0] {
					t.Fatalf("Min() = %d, %v, want the first of %v", id, ok, order)
				}
				var got []uint32
				r := h.Ranking()
				for id, ok := r.Next(); ok; id, ok = r.Next() {
					got = append(got, id)
				}
				if _, ok := r.Next(); ok || !slices.Equal(got, order) {
					t.Fatalf("the ranking is %v, want %v", got, order)
				}
			},
		})
	})
}

// TestTournamentOfMany has more items than a group, which come from the last to the first, and changes the first one again and again.
func TestTournamentOfMany(t *testing.T) {
	const n = 3*heap.PageSize + 100
	keys := make([]uint64, n)
	h := heap.NewTournament(func(a, b uint32) bool { return a < b })
	rng := rand.New(rand.NewPCG(1, 2))
	for id := uint32(n); id > 0; id-- {
		keys[id-1] = rng.Uint64N(n / 3)
		h.Set(id-1, keys[id-1], 0)
	}
	var last uint64
	for range 5 * n {
		id, ok := h.Min()
		if !ok || keys[id] < last {
			t.Fatalf("Min() = %d (key %d), %v, after one of key %d", id, keys[id], ok, last)
		}
		last = keys[id]
		keys[id] += rng.Uint64N(n)
		h.Set(id, keys[id], 0)
	}
	for _, want := range slices.Sorted(slices.Values(keys)) {
		if id, ok := h.Min(); !ok || keys[id] != want {
			t.Fatalf("Min() = %d (key %d), %v, want the key %d", id, keys[id], ok, want)
		} else {
			h.Remove(id)
		}
	}
	if id, ok := h.Min(); ok {
		t.Errorf("Min() = %d of nothing", id)
	}
}
