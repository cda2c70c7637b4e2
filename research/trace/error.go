package trace

import (
	"fmt"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// An Error is a fault of the input, and its place. Failures of the reader that
// delivers the input are not of this type.
type Error = history.Error

func errorAt(file string, line, column int, reason string) *Error {
	return &Error{File: file, Line: line, Column: column, Reason: reason}
}

// A fault is an Error whose place is relative to the text being read.
type fault struct {
	off    int // in bytes
	reason string
}

func faultf(off int, format string, args ...any) *fault {
	return &fault{off, fmt.Sprintf(format, args...)}
}

// brief returns the start of a piece of input for use in a reason, which must
// not grow with the input.
func brief[T string | []byte](text T) string {
	const most = 40
	if len(text) <= most {
		return string(text)
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return string(text[:n]) + "..."
}

// shown is brief for a text that stands in a reason without quotes.
func shown[T string | []byte](text T) string { return visible.Text(brief(text)) }

// checkUTF8 returns the fault of the first byte of text that is not part of a
// UTF-8 sequence, or nil.
func checkUTF8(text []byte) *fault {
	if utf8.Valid(text) {
		return nil
	}
	off := 0
	for {
		r, size := utf8.DecodeRune(text[off:])
		if r == utf8.RuneError && size == 1 {
			return faultf(off, "%s", visible.NotUTF8(text))
		}
		off += size
	}
}
