package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"pgregory.net/rapid"
)

// lengths are those at which a table takes the next step: nothing, doublings of the first page, and the ends of pages.
func lengths() *rapid.Generator[int] {
	const page = heap.PageSize
	return rapid.SampledFrom([]int{0, 1, 2, 3, page/2 - 1, page / 2, page/2 + 1, page - 1, page, page + 1, 2*page - 1, 2 * page, 2*page + 1, 3 * page, 5*page + 7})
}

// A table and a slice have the same elements after each call, at the ends of pages too.
func TestTableAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := make([]int, lengths().Draw(t, "at first"))
		for i := range want {
			want[i] = i + 1
		}
		table := heap.TableOf(want)
		next := len(want)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.SampledFrom([]int{1, 2, heap.PageSize}).Draw(t, "so many") {
					next++
					table.Append(next)
					want = append(want, next)
				}
			},
			"grow": func(t *rapid.T) {
				n := lengths().Draw(t, "to")
				table.Grow(n)
				want = append(want, make([]int, max(0, n-len(want)))...)
			},
			"pop": func(t *rapid.T) {
				for range rapid.SampledFrom([]int{1, 2, heap.PageSize}).Draw(t, "so many") {
					if len(want) == 0 {
						return
					}
					if got, last := table.Pop(), want[len(want)-1]; got != last {
						t.Fatalf("Pop() = %d, want %d", got, last)
					}
					want = want[:len(want)-1]
				}
			},
			"set": func(t *rapid.T) {
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(t, "element")
					next++
					*table.At(uint32(i)), want[i] = next, next
				}
			},
			"reset": func(t *rapid.T) {
				table.Reset()
				want = nil
			},
			"": func(t *rapid.T) {
				if got := table.Slice(); !slices.Equal(got, want) || table.Len() != len(want) {
					t.Fatalf("the table has %d elements, want %d: %v, want %v", table.Len(), len(want), got, want)
				}
			},
		})
	})
}

// Elements that have left page 0 stay where they are, and the first page grows to its end before another one begins. So a call
// copies at most half a page.
func TestTableStaysWhereItIs(t *testing.T) {
	var table heap.Table[int]
	var was []*int
	moved := 0
	for i := range uint32(5 * heap.PageSize) {
		table.Append(int(i))
		n := 0
		for k, at := range was {
			if now := table.At(uint32(k)); now != at {
				was[k] = now
				n++
			}
		}
		moved = max(moved, n)
		was = append(was, table.At(i))
	}
	if moved != heap.PageSize/2 {
		t.Errorf("a call moved %d elements, want at most %d", moved, heap.PageSize/2)
	}
}

// A heap that grows and shrinks over the ends of its pages gives its items in their order.
func TestHeapOverPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	h := heap.New(key.less, key.prefix)
	levels := heap.NewLevels(key.less, key.prefix)
	want := map[uint32]key{}
	check := func() {
		t.Helper()
		var order []uint32
		for id, ok := h.Min(); ok; id, ok = h.Min() {
			if first, _, _, _ := levels.MinUpTo(2); first != id {
				t.Fatalf("the levels begin with %d, the heap with %d", first, id)
			}
			order = append(order, id)
			h.Remove(id)
			levels.Remove(id)
		}
		if !slices.Equal(order, sorted(want)) {
			t.Fatalf("%d items come in another order", len(order))
		}
	}
	for _, n := range []int{4*heap.PageSize - 4, 4*heap.PageSize - 3, 4*heap.PageSize - 2, 4 * heap.PageSize, 5*heap.PageSize + 1} {
		clear(want)
		for id := range uint32(n) {
			k := key{rng.Uint64N(uint64(n)), uint64(id)}
			want[id] = k
			h.Set(id, k)
			levels.Set(id, int(id%3), k)
		}
		for range n / 8 { // some move, and some leave
			id := rng.Uint32N(uint32(n))
			if k, ok := want[id]; ok && id%2 == 0 {
				want[id] = key{k.major / 2, k.seq}
				h.Set(id, want[id])
				levels.Set(id, int(id%3), want[id])
			} else {
				delete(want, id)
				h.Remove(id)
				levels.Remove(id)
			}
		}
		check()
	}
}
