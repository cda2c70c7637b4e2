package usage

import "fmt"

// A Error is wrong usage of the command that is found after its arguments were
// read: the exit status is then 2.
type Error struct{ error }

func (e Error) Unwrap() error { return e.error }

// Wrap makes an error one of usage.
func Wrap(err error) error { return Error{err} }

// Errorf is fmt.Errorf for errors of usage.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }
