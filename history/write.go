package history

import (
	"bufio"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn"
)

// firstLine is the format and its version.
const firstLine = "sojourn history 1"

// A Writer writes a history in its canonical form. It is buffered: the history
// is complete after Flush. The first error sticks: nothing is written after it,
// and Flush returns it.
//
// The methods Event and Assign fit the hooks of package sim.
type Writer struct {
	w     *bufio.Writer
	line  []byte
	now   sojourn.Time // of the latest event that was accepted
	calls bool         // a call was written
	err   error
}

// NewWriter returns a Writer that writes to w, beginning with the first line of a
// history.
func NewWriter(w io.Writer) *Writer {
	hw := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	hw.writeLine(append(hw.line, firstLine...))
	return hw
}

// Header writes a statement about the whole history, such as "policy" or "seed".
// Headers come before all calls. The name has letters, digits and -. The value
// is one line without white space at its ends.
func (w *Writer) Header(name, value string) {
	reason := checkHeader(name, value)
	if w.calls {
		reason = "headers come before calls"
	}
	if reason != "" && w.err == nil {
		w.err = fmt.Errorf("history: header %q: %s", name, reason)
	}
	e := Entry{Kind: Header, Name: name, Value: value}
	w.writeLine(e.append(w.line[:0]))
}

// Event writes a call of Observe with its answer.
func (w *Writer) Event(ev sojourn.Event, err error) {
	w.calls = true
	if err == nil {
		w.now = ev.At
	}
	e := Entry{Kind: Observe, Event: ev, Err: err}
	w.writeLine(e.append(w.line[:0]))
}

// Assign writes a call of Assign with its answer.
func (w *Writer) Assign(slot sojourn.SlotID, a sojourn.Assignment, ok bool) {
	w.calls = true
	e := Entry{Kind: Assign, At: w.now, Slot: slot, Assignment: a, OK: ok}
	w.writeLine(e.append(w.line[:0]))
}

func (w *Writer) writeLine(line []byte) {
	w.line = append(line, '\n')
	if w.err == nil {
		_, w.err = w.w.Write(w.line)
	}
}

// Flush writes the buffer, and returns the first error of the Writer.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// A recorder is a policy that records the calls of another one.
type recorder struct {
	p sojourn.Policy
	w *Writer
}

// NewRecorder returns a policy that does what p does and writes the calls of Observe and Assign to w. It decides
// nothing, and hides none of the optional interfaces. Two kinds of call bypass the
// record, so a recorded run must not make them: calls of p itself,
// and UnmarshalBinary of its Snapshotter.
func NewRecorder(p sojourn.Policy, w *Writer) sojourn.Policy { return &recorder{p, w} }

// Observe implements [sojourn.Policy].
func (r *recorder) Observe(ev sojourn.Event) error {
	err := r.p.Observe(ev)
	r.w.Event(ev, err)
	return err
}

// Assign implements [sojourn.Policy].
func (r *recorder) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := r.p.Assign(id)
	r.w.Assign(id, a, ok)
	return a, ok
}

// Unwrap returns the policy that is recorded; see [sojourn.As].
func (r *recorder) Unwrap() sojourn.Policy { return r.p }
