package ledger

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// A map is the oracle. IDs are neighbours, lie at the ends of pages, or anywhere. No page stays without a job.
func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.Uint64Range(1, 2*idsPerPage+1), rapid.Uint64Range(math.MaxUint64-idsPerPage-1, math.MaxUint64), rapid.Uint64Min(1))
		handle := rapid.OneOf(rapid.Uint32Range(0, 2), rapid.Just(uint32(math.MaxUint32-1)))
		var got ids
		want := map[sojourn.JobID]uint32{}
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			id := sojourn.JobID(id.Draw(t, "id"))
			if _, live := want[id]; live {
				got.remove(id)
				delete(want, id)
			} else {
				want[id] = handle.Draw(t, "handle")
				got.add(id, want[id])
			}
			pages := map[sojourn.JobID]bool{}
			for id := range want {
				pages[id/idsPerPage] = true
			}
			if len(got.pages) != len(pages) {
				t.Fatalf("%d pages, want %d", len(got.pages), len(pages))
			}
			for _, id := range []sojourn.JobID{id, id - 1, id + 1, id ^ idsPerPage} {
				h, ok := got.find(id)
				if w, live := want[id]; ok != live || ok && h != w {
					t.Fatalf("job %d: handle %d, %v; want %d, %v", id, h, ok, w, live)
				}
			}
		}
		for id, w := range want {
			if h, ok := got.find(id); !ok || h != w {
				t.Fatalf("job %d: handle %d, %v; want %d", id, h, ok, w)
			}
		}
	})
}
