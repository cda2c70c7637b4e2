package hfsp

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshot"
	"github.com/sojourn-sched/sojourn/internal/vqueue"
)

// A cluster is the virtual cluster of one class of slots: HFSP's aging module. It
// keeps the virtual size v of each phase, in slot-nanoseconds, and the order of
// service. Weights are in units of 2^-16.
type cluster interface {
	SetCapacity(slots int)
	// Advance lets the phases age until an instant.
	Advance(at sojourn.Time)
	// Arrive adds a phase that is not ready and runs nothing. It is late at once if
	// its size is 0. No more than limit slots are of use to it.
	Arrive(ph *phase, size, weight uint64, limit int)
	// Resize changes v by as much as the size of the phase changes, but not below 0.
	// A late phase stays late.
	Resize(ph *phase, size, weight uint64, limit int)
	// Reset sets v, and the size that Resize counts from. A late phase is not late any
	// more, unless v is 0.
	Reset(ph *phase, v, size uint64)
	// Finish takes note that a phase has finished or was cancelled. It goes on ageing.
	Finish(ph *phase)
	// SetReady says whether the phase has something to start, and SetRunning how
	// many of its tasks are running.
	SetReady(ph *phase, ready bool)
	SetRunning(ph *phase, tasks int)
	// First returns the ready phase that is to be served first.
	First() (*phase, bool)
	// All iterates over the phases that have not finished, in the order of service.
	All() iter.Seq[*phase]
	// Before reports whether a comes before b in the order of service. SetMark puts a
	// phase into a set; Marked iterates over it in that order, FirstMarked returns its first
	// phase, and LastMarked the last one that comes before another, unless that is nil.
	Before(a, b *phase) bool
	SetMark(ph *phase, m vqueue.Mark, on bool)
	Marked(m vqueue.Mark) iter.Seq[*phase]
	FirstMarked(m vqueue.Mark) (*phase, bool)
	LastMarked(m vqueue.Mark, before *phase) (*phase, bool)
	Remaining(ph *phase) uint64
	Late(ph *phase) bool

	// save writes the cluster, and calls value for each phase in it, with nil for
	// those that have finished. restore reads it, into an empty cluster that is at an
	// instant with so many slots.
	save(w *snapshot.Writer, value func(*phase))
	// holds reports whether a phase is in it as it must be.
	restore(r *snapshot.Reader, now sojourn.Time, slots int, value func() *phase)
	holds(ph *phase, size, weight uint64, ready bool) bool
}

// A place is where a phase is in its virtual cluster, whichever that is.
type place struct {
	item   *vqueue.Item[*phase]
	capped *capped
}

// pure is a virtual cluster without limits on parallelism.
type pure struct{ *vqueue.Queue[*phase] }

func newPure(late Late) pure {
	if late == LateShare {
		return pure{vqueue.New[*phase](vqueue.LateShare)}
	}
	return pure{vqueue.New[*phase](vqueue.LateFirst)}
}

func (q pure) Advance(at sojourn.Time) { q.Queue.Advance(at, nil) }

func (q pure) Arrive(ph *phase, size, weight uint64, _ int) {
	ph.place.item = q.Queue.Arrive(ph, size, weight)
}

func (q pure) Resize(ph *phase, size, weight uint64, _ int) {
	q.Queue.Revise(ph.place.item, size, weight)
}

func (q pure) Reset(ph *phase, v, size uint64) { q.Queue.Reset(ph.place.item, v, size) }

func (q pure) Finish(ph *phase) {
	q.Queue.Finish(ph.place.item)
	ph.place.item.Value = nil // the tag may stay for long, the phase must not
}

func (q pure) SetReady(ph *phase, ready bool)  { q.Queue.SetReady(ph.place.item, ready) }
func (q pure) SetRunning(ph *phase, tasks int) { q.Queue.SetRunning(ph.place.item, tasks) }

func (q pure) First() (*phase, bool) {
	it, ok := q.Queue.First()
	if !ok {
		return nil, false
	}
	return it.Value, true
}

func (q pure) All() iter.Seq[*phase] { return values(q.Queue.All()) }

func values(items iter.Seq[*vqueue.Item[*phase]]) iter.Seq[*phase] {
	return func(yield func(*phase) bool) {
		for it := range items {
			if !yield(it.Value) {
				return
			}
		}
	}
}

func (q pure) Before(a, b *phase) bool { return q.Queue.Before(a.place.item, b.place.item) }

func (q pure) SetMark(ph *phase, m vqueue.Mark, on bool) { q.Queue.SetMark(ph.place.item, m, on) }

func (q pure) Marked(m vqueue.Mark) iter.Seq[*phase] { return values(q.Queue.Marked(m)) }

func (q pure) FirstMarked(m vqueue.Mark) (*phase, bool) {
	it, ok := q.Queue.FirstMarked(m)
	if !ok {
		return nil, false
	}
	return it.Value, true
}

func (q pure) LastMarked(m vqueue.Mark, before *phase) (*phase, bool) {
	var of *vqueue.Item[*phase]
	if before != nil {
		of = before.place.item
	}
	it, ok := q.Queue.LastMarked(m, of)
	if !ok {
		return nil, false
	}
	return it.Value, true
}

func (q pure) Remaining(ph *phase) uint64 { return q.Queue.Remaining(ph.place.item) }
func (q pure) Late(ph *phase) bool        { return ph.place.item.Late() }
