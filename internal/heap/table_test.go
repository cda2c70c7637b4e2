package heap_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/heap"
)

// Each entry keeps its handle, no two entries share one, and a table is never longer than the
// most entries that it had at once. A handle that became free last is used first.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table heap.Table[int]
		var free heap.Table[uint32]
		want := map[uint32]int{}
		var freed []uint32
		most := 0
		for x := range rapid.IntRange(1, 60).Draw(t, "calls") {
			if len(want) == 0 || rapid.Bool().Draw(t, "add") {
				h := heap.Allot(&table, &free, x+1)
				if _, used := want[h]; used {
					t.Fatalf("Allot = %d, which is in use", h)
				}
				if n := len(freed); n > 0 {
					if h != freed[n-1] {
						t.Fatalf("Allot = %d, want %d, which became free last", h, freed[n-1])
					}
					freed = freed[:n-1]
				}
				want[h] = x + 1
				most = max(most, len(want))
			} else {
				h := rapid.Uint32Range(0, uint32(table.Len()-1)).Draw(t, "handle")
				if _, used := want[h]; !used {
					continue
				}
				heap.Release(&table, &free, h)
				delete(want, h)
				freed = append(freed, h)
			}
			for h, x := range table.All() {
				if x != want[h] {
					t.Fatalf("entry %d is %d, want %d", h, x, want[h])
				}
			}
			if table.Len() != most {
				t.Fatalf("%d handles, want %d", table.Len(), most)
			}
		}
	})
}
