package live

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// A line and a slice have the same jobs after each call, at the ends of pages too, and each page has room for no more than it should.
func TestLineAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		var want []*entry
		next := sojourn.JobID(0)
		times := func(t *rapid.T) int {
			return rapid.SampledFrom([]int{1, 1, 2, linePage - 1, linePage, linePage + 1, 3 * linePage}).Draw(t, "times")
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range times(t) {
					next++
					e := &entry{Ended: Ended{ID: next}}
					l.push(e)
					want = append(want, e)
				}
			},
			"pop": func(t *rapid.T) {
				for range min(times(t), len(want)) {
					if first, got := l.first(), l.pop(); got != want[0] || first != got {
						t.Fatalf("first and pop give %d and %d, want %d", first.ID, got.ID, want[0].ID)
					}
					want = want[1:]
				}
			},
			"in turn": func(t *rapid.T) {
				for range times(t) {
					e := new(entry)
					if l.push(e); len(want) == 0 && l.pop() != e {
						t.Fatal("another one comes out")
					} else if len(want) > 0 {
						want = append(want, e)
					}
				}
			},
			"remove": func(t *rapid.T) {
				if l.remove(new(entry)) {
					t.Fatal("a job was removed that was not there")
				}
				if len(want) > 0 {
					i := rapid.OneOf(rapid.Just(0), rapid.Just(len(want)-1), rapid.IntRange(0, len(want)-1)).Draw(t, "which")
					if !l.remove(want[i]) {
						t.Fatalf("job %d of %d was not there", i, len(want))
					}
					want = slices.Delete(want, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				if got := slices.Concat(l.pages...); l.n != len(want) || !slices.Equal(got, want) {
					t.Fatalf("%d jobs, and %d in pages, want %d", l.n, len(got), len(want))
				}
				for p, page := range l.pages {
					if len(page) == 0 && len(l.pages) > 1 || cap(page) > linePage {
						t.Fatalf("page %d of %d has %d jobs and room for %d", p, len(l.pages), len(page), cap(page))
					}
				}
			},
		})
	})
}
