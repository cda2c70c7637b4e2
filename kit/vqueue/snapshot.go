package vqueue

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// Save writes the queue. It calls value for each item, in the order of [Queue.All]
// under [LateFirst], including the finished items that are still in the virtual
// cluster. value writes what the caller needs to recognise the item.
//
// Finished items that are virtually complete have left the queue and are not written.
// Save does not write the instant and the number of slots either, which the caller
// knows.
func (q *Queue[T]) Save(w *snapshot.Writer, value func(*Item[T])) {
	latest, seq := snapshot.Seqs(q.seq, func(add func(uint64)) {
		each := func(e entry[T]) bool { add(e.seq); return true }
		q.late.Ascend(each)
		q.virtual.Ascend(each)
	})
	w.Uint(latest)
	q.clock.Save(w)
	save := func(e entry[T]) bool {
		it := e.it
		it.tag.Save(w)
		w.Uint(seq(it.seq))
		w.Uint(it.work)
		w.Uint(it.weight)
		w.Uint(it.running)
		w.Bool(it.ready)
		w.Bool(it.finished)
		value(it)
		return true
	}
	w.Len(q.late.Len() + q.virtual.Len())
	q.late.Ascend(save)
	q.virtual.Ascend(save)
}

// Restore reads what Save has written into a new queue of the same mode, at the given
// instant and with the given number of slots. It calls value for each item. value
// reads what the other value wrote, sets Value, and stores the item where the caller
// needs it. It also tests that the item is finished, ready and running as it must be.
func (q *Queue[T]) Restore(r *snapshot.Reader, now sojourn.Time, slots int, value func(*Item[T])) {
	q.seq = r.Seq()
	q.clock.Restore(r, now, slots)
	last := (&Item[T]{}).entry()
	var seqs []uint64
	for range r.Len() {
		it := &Item[T]{
			tag:      wide.Restore192(r),
			seq:      r.Uint(),
			work:     r.Below(vclock.MaxWork + 1),
			weight:   r.Below(vclock.MaxWeight + 1),
			running:  r.Below(math.MaxInt32),
			ready:    r.Bool(),
			finished: r.Bool(),
		}
		if !r.Check(it.weight > 0 && last.less(it.entry()) && it.seq <= q.seq, "an item does not fit") {
			return
		}
		last = it.entry()
		seqs = append(seqs, it.seq)
		if it.Late() {
			r.Check(!it.finished, "a finished item is late")
			q.late.ReplaceOrInsert(it.entry())
		} else {
			if !q.clock.Admit(r, it.tag, it.weight) {
				return
			}
			q.virtual.ReplaceOrInsert(it.entry())
		}
		q.enlist(it)
		value(it)
	}
	q.clock.Restored(r)
	slices.Sort(seqs)
	r.Check(len(slices.Compact(seqs)) == len(seqs), "two items have one number")
}
