package journal

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// Open and Verify return errors that wrap one of these, or a [*DamageError].
var (
	// ErrLocked: another process has the journal open, or this one has it open twice.
	ErrLocked = errors.New("the journal is in use: end the process that has it open, or give this one a journal of its own")
	// ErrVersion: a later version of this package wrote the journal.
	ErrVersion = errors.New("a later version of sojourn wrote the journal: open it with that version")
	// ErrMissing: a segment is not there, although a later or an earlier one says so. The error says what to do. A folder that was
	// copied while a process wrote to it may lack the newest segment, if that began after the names of the files were read.
	ErrMissing = errors.New("a segment is missing: bring it back from a copy")
	// ErrDiffers: the policy decides otherwise than recorded, and has no snapshots by which it could begin anew.
	ErrDiffers = errors.New("the policy decides otherwise than recorded: open the journal with a new policy and Options.Rebuild")
	// ErrClosed: the journal was closed.
	ErrClosed = errors.New("the journal is closed")
	// ErrReadOnly: the store was opened for reading.
	ErrReadOnly = errors.New("the journal was opened for reading")
)

// A DamageError says which byte of a segment is wrong. What is before it is right. Nothing was
// changed. Bring the segment back from a copy; if there is none, cut the file at Offset to lose what
// comes after it.
type DamageError struct {
	File    string // as the store names the segment
	Segment uint64
	Offset  int64 // of the first record that is wrong
	Reason  string
}

// Error says what is wrong on one line.
func (e *DamageError) Error() string {
	return fmt.Sprintf("journal: %s: byte %d: %s", visible.Text(e.File), e.Offset, e.Reason)
}

// failure wraps an error of the store after which a journal takes no more records.
func failure(err error) error {
	return visible.Errorf("journal: %w: what was waited for is kept; remove the cause, then open the journal again", err)
}
