package vqueue

import (
	"bytes"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/snapshot"
)

// Sequence numbers that only a forger comes to are no end: items go on arriving in their
// order, and what is saved can be restored.
func TestSequenceGoesOn(t *testing.T) {
	q := New[int](LateFirst)
	q.SetCapacity(1)
	save := func(q *Queue[int]) []byte {
		data, err := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) {
			q.Save(w, func(it *Item[int]) { w.Count(it.Value) })
		})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	q.seq = 1<<62 - 3
	for i := range 5 {
		q.Arrive(i, 9, 1)
		data := save(q)
		again := New[int](LateFirst)
		err := snapshot.Restore(again, data, snapshot.Header{}, func() {}, func(r *snapshot.Reader) {
			again.Restore(r, 0, 1, func(it *Item[int]) { it.Value = r.Count() })
		})
		if err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		if !bytes.Equal(save(again), data) {
			t.Errorf("item %d: what was restored saves something else", i)
		}
		want := 0
		for it := range again.All() {
			if it.Value != want {
				t.Errorf("item %d: item %d comes where %d does", i, it.Value, want)
			}
			want++
		}
	}
}
