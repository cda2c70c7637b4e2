package ready_test

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"pgregory.net/rapid"
)

// Of each class, the first of the phases that could start may, while there is room, and none otherwise. The oracle is a list.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l ready.Line
		phases := rapid.SampledFrom([]int{1, 3, 64, 65, 5000}).Draw(t, "phases")
		class := func(i int) sojourn.Class { return sojourn.Class(i % 3) }
		open := map[int]bool{}
		filed := map[int]bool{} // what Settle has said
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				i, on := rapid.IntRange(0, phases-1).Draw(t, "phase"), rapid.Bool().Draw(t, "open")
				open[i] = on
				l.Set(class(i), i, on)
			}
			room := rapid.Bool().Draw(t, "room")
			l.Settle(room, func(i int, first bool) {
				if !first && !filed[i] {
					t.Fatalf("phase %d may start no more, and never might", i)
				}
				filed[i] = first
			})
			want := [3]int{-1, -1, -1}
			for i := range phases {
				if room && open[i] && want[class(i)] < 0 {
					want[class(i)] = i
				}
			}
			for i := range phases {
				if first := slices.Contains(want[:], i); filed[i] != first || l.First(class(i), i) != first {
					t.Fatalf("phase %d: filed %v, first %v, want %v", i, filed[i], l.First(class(i), i), first)
				}
			}
		}
	})
}
