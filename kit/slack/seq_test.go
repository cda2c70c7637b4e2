package slack

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

func TestSequenceGoesOn(t *testing.T) {
	q := New[int](vqueue.LateFirst)
	q.SetCapacity(1)
	q.seq = 1<<62 - 3
	save := func(q *System[int]) []byte {
		data, err := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) {
			q.Save(w, func(it *Item[int]) { w.Count(it.Value) })
		})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	snapshottest.Sequence(t, func(item int) { q.Arrive(item, 9, 1, Drained) }, func() []byte { return save(q) },
		func(data []byte) (again []byte, items []int, err error) {
			r := New[int](vqueue.LateFirst)
			err = snapshot.Restore(r, data, snapshot.Header{}, func() {}, func(from *snapshot.Reader) {
				r.Restore(from, 0, 1, func(it *Item[int]) { it.Value = from.Count() })
			})
			for it := range r.All() {
				items = append(items, it.Value)
			}
			return save(r), items, err
		})
}
