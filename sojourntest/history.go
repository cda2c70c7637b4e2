package sojourntest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn"
	format "github.com/sojourn-sched/sojourn/history"
)

// A call is one call of Observe or of Assign, and its outcome.
type call struct {
	assign bool
	slot   sojourn.SlotID // of Assign
	ev     sojourn.Event  // of Observe

	err       error                  // of Observe: nil, or a sentinel
	rejection *sojourn.RejectedError // that err stands for, if any
	a         sojourn.Assignment     // of Assign
	ok        bool
	panics    bool

	after *view           // the answers of the optional interfaces after the call
	idle  []sojourn.Class // the classes in which no task could start after the call
}

// A history is the list of the calls to a policy, from the first one on.
type history []call

// sentinels lists the errors of package sojourn in the order in which the first
// one is reported.
var sentinels = [...]error{
	sojourn.ErrUnknownKind, sojourn.ErrTimeReversed, sojourn.ErrInvalidEvent,
	sojourn.ErrInvalidSlot, sojourn.ErrDuplicateSlot, sojourn.ErrUnknownSlot, sojourn.ErrNodeState,
	sojourn.ErrInvalidJob, sojourn.ErrDuplicateJob, sojourn.ErrUnknownJob, sojourn.ErrCancelledJob, sojourn.ErrInvalidRevision,
	sojourn.ErrUnknownTask, sojourn.ErrTaskState, sojourn.ErrStaleAttempt, sojourn.ErrSlotBusy, sojourn.ErrWrongClass,
	sojourn.ErrUnsupported, sojourn.ErrRejected,
}

// sentinel returns the sentinel that err wraps, or err itself if there is none.
func sentinel(err error) error {
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return s
		}
	}
	return err
}

// sameOutcome reports whether two calls had the same answer.
func sameOutcome(a, b *call) bool {
	return errors.Is(a.err, b.err) && errors.Is(b.err, a.err) && a.a == b.a && a.ok == b.ok
}

// where returns the calls of h that satisfy keep.
func (h history) where(keep func(*call) bool) history {
	kept := make(history, 0, len(h))
	for i := range h {
		if keep(&h[i]) {
			kept = append(kept, h[i])
		}
	}
	return kept
}

// mapped returns h with f applied to each of its calls.
func (h history) mapped(f func(*call)) history {
	out := make(history, len(h))
	for i, c := range h {
		f(&c)
		out[i] = c
	}
	return out
}

// String returns the calls and their outcomes in the format of package history.
// What the format cannot express, which only the last call has, becomes a
// comment.
func (h history) String() string {
	var b strings.Builder
	w := format.NewWriter(&b)
	for i := range h {
		switch c := &h[i]; {
		case c.panics:
			w.Comment(c.String() + " panics")
		case !c.assign:
			w.Event(c.ev, c.answer())
		default:
			w.Assign(c.slot, c.a, c.ok)
			if !c.ok && c.a != (sojourn.Assignment{}) {
				w.Comment("which returned " + c.outcome())
			}
		}
	}
	w.Flush() // to a builder, which has no errors
	return b.String()
}

// answer returns the answer of Observe, as far as a history records it.
func (c *call) answer() error {
	if c.rejection != nil {
		return c.rejection
	}
	return c.err
}

// String tells what is called.
func (c *call) String() string {
	if c.assign {
		return fmt.Sprintf("Assign(%d)", c.slot)
	}
	return fmt.Sprintf("Observe(%v)", format.Entry{Kind: format.Observe, Event: c.ev})
}

func (c *call) outcome() string {
	switch {
	case c.panics:
		return "panic"
	case !c.assign && c.err == nil:
		return "nil"
	case !c.assign:
		return c.err.Error()
	case !c.ok && c.a != sojourn.Assignment{}:
		return fmt.Sprintf("%+v, false", c.a)
	case !c.ok:
		return "declined"
	}
	return fmt.Sprintf("task %v attempt %d", c.a.Task, c.a.Attempt)
}

// describe returns the job as in a line of a history.
func describe(j *sojourn.Job) string {
	arrived := sojourn.Event{Kind: sojourn.JobArrived, Job: j}
	return strings.TrimPrefix(format.Entry{Kind: format.Observe, Event: arrived}.String(), "@0s JobArrived ")
}
