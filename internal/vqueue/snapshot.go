package vqueue

import (
	"github.com/sojourn-sched/sojourn/internal/snapshot"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// Save writes the queue. For each item, in the order of [Queue.All] under
// [LateFirst] with the finished ones that are still in the virtual cluster among
// them, it calls value, which writes what the caller needs to know the item again.
//
// Finished items that are virtually complete are in the queue no more, and are not
// written.
func (q *Queue[T]) Save(w *snapshot.Writer, value func(*Item[T])) {
	w.Uint(q.slots)
	w.Time(q.now)
	w.Uint(q.seq)
	w.Wide(q.g)
	w.Wide(q.carry)
	save := func(e entry[T]) bool {
		it := e.it
		w.Wide(it.tag)
		w.Uint(it.seq)
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

// Restore reads what Save has written into a new queue of the same mode. For each
// item it calls value, which reads what value wrote, sets Value, and keeps the item
// where the caller keeps it.
func (q *Queue[T]) Restore(r *snapshot.Reader, value func(*Item[T])) {
	q.slots = r.Below(1 << 31)
	q.now = r.Time()
	q.seq = r.Uint()
	q.g, q.carry = r.Wide(), r.Wide()
	var last entry[T]
	for range r.Len() {
		it := &Item[T]{
			tag:      r.Wide(),
			seq:      r.Uint(),
			work:     r.Below(1<<63 + 1),
			weight:   r.Below(1<<48 + 1),
			running:  r.Uint(),
			ready:    r.Bool(),
			finished: r.Bool(),
		}
		if !r.Check(it.weight > 0 && last.less(it.entry()) && it.seq <= q.seq, "an item does not fit") {
			return
		}
		last = it.entry()
		if it.Late() {
			r.Check(!it.finished, "a finished item is late")
			q.late.ReplaceOrInsert(it.entry())
		} else {
			most := ceilDiv(wide.Mul64(1<<63, unit), wide.From64(it.weight)).Add(wide.From64(1)) // of what Arrive may be given
			if !r.Check(it.tag.Hi < 1<<62 && q.g.Less(it.tag) && !most.Less(it.tag.Sub(q.g)), "a tag is out of range") {
				return
			}
			q.weight = q.weight.Add(wide.From64(it.weight))
			q.virtual.ReplaceOrInsert(it.entry())
		}
		q.enlist(it)
		value(it)
	}
	r.Check(q.carry.IsZero() || q.carry.Less(q.weight), "the carry is out of range")
	r.Check(q.virtual.Len() > 0 || q.g.IsZero(), "virtual time of nothing")
}
