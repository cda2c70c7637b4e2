// Package charge says which attempts count where jobs are ordered by the service that they have had:
// the table in the comment of [sojourn.Cause].
package charge

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// Lost reports whether an event ends an attempt that is never charged: it was refused, preempted, or
// lost with its slot.
func Lost(ev *sojourn.Event) bool {
	return ev.Kind == sojourn.TaskRefused || ev.Kind == sojourn.TaskFailed && ev.Cause != sojourn.CauseTask
}

// A Debt is the time of an attempt that has failed and is not charged yet: one nanosecond more than it
// held its slot, or 0 if nothing is owed.
type Debt uint64

// End takes in that an event ends an attempt, which held its slot so long. It returns what is charged
// now, and false if that is nothing: what is lost is not charged, and what fails only when the next
// attempt ends.
func (d *Debt) End(ev *sojourn.Event, held time.Duration) (due uint64, ok bool) {
	switch {
	case Lost(ev):
		return 0, false
	case ev.Kind == sojourn.TaskFailed && *d == 0:
		*d = Debt(held) + 1
		return 0, false
	}
	due = uint64(held)
	if *d > 0 {
		due += uint64(*d) - 1 // both are below 2^63
		*d = 0
	}
	return due, true
}

// Rest takes in that no attempt will end any more. It returns what is charged for one that has failed, and false if none is owed.
func (d *Debt) Rest() (due uint64, ok bool) {
	if *d == 0 {
		return 0, false
	}
	due, *d = uint64(*d)-1, 0
	return due, true
}

// Save writes d.
func (d Debt) Save(w *snapshot.Writer) { w.Uint(uint64(d)) }

// Restore reads what Save wrote.
func Restore(r *snapshot.Reader) Debt { return Debt(r.Below(math.MaxInt64 + 2)) }
