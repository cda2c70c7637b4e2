package sojourntest

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
)

// A call is one call of Observe or of Assign, and what came of it.
type call struct {
	assign bool
	slot   sojourn.SlotID // of Assign
	ev     sojourn.Event  // of Observe

	err    error              // of Observe: nil, or a sentinel
	a      sojourn.Assignment // of Assign
	ok     bool
	panics bool

	after view            // what the optional interfaces said then
	idle  []sojourn.Class // the classes of which no task could start then
}

// A history is what was done with a policy, from the first call on.
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
func (h history) where(keep func(*call) bool) (kept history) {
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

// String lists the calls and their outcomes, one a line.
func (h history) String() string {
	var b strings.Builder
	for i := range h {
		fmt.Fprintf(&b, "%4d  %v = %s\n", i+1, &h[i], h[i].outcome())
	}
	return b.String()
}

// String tells what is called: an event with the fields that its String method
// leaves out.
func (c *call) String() string {
	if c.assign {
		return fmt.Sprintf("Assign(%d)", c.slot)
	}
	s := c.ev.String()
	if c.ev.Service != 0 {
		s += fmt.Sprintf(" Service: %d", c.ev.Service)
	}
	if c.ev.Job != nil && c.ev.Kind != sojourn.JobCancelled {
		s += " " + literal(c.ev.Job)
	}
	return "Observe(" + s + ")"
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

// literal returns the job as a Go literal without the zero fields.
func literal(j *sojourn.Job) string {
	var b strings.Builder
	next := func() {
		if !strings.HasSuffix(b.String(), "{") {
			b.WriteString(", ")
		}
	}
	field := func(name string, v any) {
		if reflect.ValueOf(v).IsZero() {
			return
		}
		next()
		if s, ok := v.(string); ok {
			v = strconv.Quote(s)
		}
		text := fmt.Sprintf("%v", v)
		if rv := reflect.ValueOf(v); rv.Kind() == reflect.Slice {
			text = "{" + strings.ReplaceAll(strings.Trim(text, "[]"), " ", ", ") + "}"
		}
		fmt.Fprintf(&b, "%s: %s", name, text)
	}
	b.WriteString("{")
	field("ID", j.ID)
	field("Name", j.Name)
	field("Pool", j.Pool)
	field("Weight", j.Weight)
	field("Deadline", int64(j.Deadline))
	field("Demand", j.Demand)
	next()
	b.WriteString("Phases: {")
	for i := range j.Phases {
		p := &j.Phases[i]
		next()
		b.WriteString("{")
		field("Tasks", p.Tasks)
		field("Class", p.Class)
		field("Estimate", int64(p.Estimate))
		field("Estimates", nanoseconds(p.Estimates))
		field("After", p.After)
		if p.Inputs.Len() > 0 {
			next()
			b.WriteString("Inputs: {")
			for k := range p.Inputs.Len() {
				next()
				fmt.Fprintf(&b, "%v", p.Inputs.Of(k))
			}
			b.WriteString("}")
		}
		field("Bytes", p.Bytes)
		field("Delays", nanoseconds(p.Delays))
		b.WriteString("}")
	}
	b.WriteString("}}")
	return b.String()
}

func nanoseconds[T ~int64](list []T) (out []int64) {
	for _, d := range list {
		out = append(out, int64(d))
	}
	return out
}
