package heap_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/heap"
)

// BenchmarkHeap measures the two operations that schedulers are made of: the
// item in front moves back by a random amount, and the item in front leaves
// while another one enters.
func BenchmarkHeap(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("op=rekey/n=%d", n), func(b *testing.B) {
			h, rng := filled(n)
			b.ReportAllocs()
			for b.Loop() {
				id, _ := h.Min()
				k, _ := h.MinKey()
				h.Set(id, key{k.major + rng.Uint64N(1<<32), k.seq})
			}
		})
		b.Run(fmt.Sprintf("op=replace/n=%d", n), func(b *testing.B) {
			h, rng := filled(n)
			seq := uint64(n)
			b.ReportAllocs()
			for b.Loop() {
				id, _ := h.Min()
				k, _ := h.MinKey()
				h.Remove(id)
				h.Set(id, key{k.major + rng.Uint64N(1<<32), seq})
				seq++
			}
		})
	}
}

// filled returns a heap of n items with random keys.
func filled(n int) (*heap.Heap[key], *rand.Rand) {
	rng := rand.New(rand.NewPCG(1, 2))
	h := heap.New(key.less, key.prefix)
	for id := range n {
		h.Set(uint32(id), key{rng.Uint64N(1 << 32), uint64(id)})
	}
	return h, rng
}
