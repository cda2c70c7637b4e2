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
	sojourn.ErrInvalidJob, sojourn.ErrDuplicateJob, sojourn.ErrUnknownJob, sojourn.ErrCancelledJob, sojourn.ErrInvalidRevision, sojourn.ErrInvalidPool,
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

// above is how many lines a history has before its first call: the title and a header.
const above = 2

// String returns the calls as text does.
func (h history) String() string { return h.text(repeatHeader, way{}.String(), nil) }

// text returns the calls and their outcomes in the format of package history, under a header unless its name is
// empty. note, if not nil, returns a comment on a call, or "". What the format cannot express, which only the last
// call has, becomes a comment.
func (h history) text(header, value string, note func(*call) string) string {
	var b strings.Builder
	b.WriteString("sojourn history 1\n")
	if header != "" {
		fmt.Fprintln(&b, format.Entry{Kind: format.Header, Name: header, Value: value})
	}
	var now sojourn.Time
	for i := range h {
		c := &h[i]
		e := format.Entry{Kind: format.Observe, Event: c.ev, Err: c.answer()}
		if c.assign {
			e = format.Entry{Kind: format.Assign, At: now, Slot: c.slot, Assignment: c.a, OK: c.ok}
		} else if c.err == nil {
			now = c.ev.At
		}
		b.WriteString(e.String())
		if said := c.comment(note); said != "" {
			b.WriteString(" # " + said)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// comment returns what a line of a history says of c after its end, or "".
func (c *call) comment(note func(*call) string) string {
	switch {
	case c.panics:
		return "panics"
	case c.assign && !c.ok && c.a != sojourn.Assignment{}:
		return "returned " + c.outcome()
	case note != nil:
		return note(c)
	}
	return ""
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
