package fair

import (
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"pgregory.net/rapid"
)

// TestRankingAgainstMap makes random calls, and looks for the first pool of each class among all pools.
// There are enough pools for many blocks, which become full and small again.
func TestRankingAgainstMap(t *testing.T) {
	classes := []sojourn.Class{0, 1, 63, 64, 130, 255}
	rapid.Check(t, func(t *rapid.T) {
		r := new(ranking)
		in := map[uint32]map[sojourn.Class]bool{}
		keys := map[uint32]poolKey{}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		pools := rapid.SampledFrom([]int{1, 3, limit, limit + 1, 5 * limit}).Draw(t, "pools")
		shares := rapid.SampledFrom([]uint64{1, 3, 1 << 40}).Draw(t, "shares")
		var turn uint64
		key := func() poolKey {
			turn++
			return poolKey{ratio: wide.Uint128{Hi: rng.Uint64N(shares)}, turn: turn, sated: true}
		}
		for range rapid.IntRange(1, 8).Draw(t, "phases") {
			most := rapid.SampledFrom([]int{10, 1000}).Draw(t, "calls")
			removes := rapid.IntRange(0, 8).Draw(t, "eighths of calls that remove")
			for range most {
				id, c := uint32(rng.IntN(pools)), classes[rng.IntN(len(classes))]
				switch {
				case rng.IntN(8) < removes:
					r.remove(c, id)
					delete(in[id], c)
				case rng.IntN(3) == 0:
					k := key()
					r.move(id, k)
					keys[id] = k
				default:
					k := keys[id]
					if len(in[id]) == 0 || rng.IntN(2) == 0 {
						k = key()
					}
					r.set(c, id, k)
					keys[id] = k
					if in[id] == nil {
						in[id] = map[sojourn.Class]bool{}
					}
					in[id][c] = true
				}
				checkFirst(t, r, c, in, keys)
			}
			for _, c := range classes {
				checkFirst(t, r, c, in, keys)
			}
			checkBlocks(t, r, pools)
		}
	})
}

func checkFirst(t *rapid.T, r *ranking, c sojourn.Class, in map[uint32]map[sojourn.Class]bool, keys map[uint32]poolKey) {
	var want uint32
	found := false
	for id := range in {
		if in[id][c] && (!found || lessPool(keys[id], keys[want])) {
			want, found = id, true
		}
	}
	id, k, ok := r.first(c)
	if ok != found || r.any(c) != found || ok && (id != want || k != keys[want]) {
		t.Fatalf("class %d: pool %d with %v comes first (%v), want %d with %v (%v)", c, id, k, ok, want, keys[want], found)
	}
}

// checkBlocks tells whether the blocks are as few as they should be, and know their classes exactly.
func checkBlocks(t *rapid.T, r *ranking, pools int) {
	if n := len(r.blocks); n > 1+4*pools/limit {
		t.Fatalf("%d pools stand in %d blocks", pools, n)
	}
	for i := range r.blocks {
		var want classSet
		for _, e := range r.blocks[i].list {
			for c := range sojourn.MaxClasses {
				if r.in[e.id].has(sojourn.Class(c)) {
					want.add(sojourn.Class(c))
				}
			}
		}
		if got := r.blocks[i].classes; got != want || want.empty() {
			t.Fatalf("block %d has classes %x, want %x", i, got, want)
		}
	}
}
