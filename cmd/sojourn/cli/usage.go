package cli

import "fmt"

// A usageError is wrong usage of the command that is found after its arguments were
// read: the exit status is then 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// wrongUsage makes an error one of usage.
func wrongUsage(err error) error { return usageError{err} }

// usagef is fmt.Errorf for errors of usage.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
