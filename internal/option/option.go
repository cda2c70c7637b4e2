// Package option has the common parts of the options of policies: the checks of values,
// and the defaults that are the same everywhere.
//
//	return option.First("hfsp",
//		option.Range("TrainingTasks", o.TrainingTasks, 0, math.MaxInt32),
//		option.AtLeast("Delta", o.Delta, 0),
//		option.Choice("Preemption", o.Preemption))
package option

import (
	"cmp"
	"encoding"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// DefaultTaskTime is the assumed time of a task about which nothing is known, unless the
// options say otherwise. It is the value of the HFSP authors' implementation.
const DefaultTaskTime = time.Minute

// Features are those of package sojourn that the policies of this repository know. A policy that
// does not know all of them says so in its doc.go.
const Features = sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts | sojourn.FeatureSpeed | sojourn.FeatureOpen

// First returns the first of the errors that is not nil, with the name of the package
// before it, or nil. Without a name it returns the error as it is.
func First(pkg string, errs ...error) error {
	for _, err := range errs {
		if err != nil && pkg == "" {
			return err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
	}
	return nil
}

// An Error says what is wrong with the value of a field. Field and Problem are its text in
// two parts. A program whose users know the field by another name can replace the first.
type Error struct{ field, problem string }

// Error returns the text, such as "Delta is -1s: want at least 0s".
func (e *Error) Error() string { return e.field + e.problem }

// Field returns the name of the field, such as "Delta" or "Preemption.Limit".
func (e *Error) Field() string { return e.field }

// Problem returns what follows the name, such as " is -1s: want at least 0s". It may name
// other fields.
func (e *Error) Problem() string { return e.problem }

// Want returns nil if ok, and otherwise an [*Error] that says which value was wanted.
func Want(ok bool, field string, value any, want string, args ...any) error {
	if ok {
		return nil
	}
	return &Error{field, fmt.Sprintf(" is %v: want %s", value, fmt.Sprintf(want, args...))}
}

// AtLeast wants a value that is not below least. NaN counts as below.
func AtLeast[N cmp.Ordered](field string, value, least N) error {
	return Want(value >= least, field, value, "at least %v", least)
}

// Range wants a value from least to most. NaN is not in the range.
func Range[N cmp.Ordered](field string, value, least, most N) error {
	return Want(value >= least && value <= most, field, value, "%v to %v", least, most)
}

// Choice wants a value that has a name: UnmarshalText must accept its text.
func Choice[E fmt.Stringer, P interface {
	*E
	encoding.TextUnmarshaler
}](field string, value E) error {
	if err := P(new(E)).UnmarshalText([]byte(value.String())); err != nil {
		return &Error{field, ": " + err.Error()}
	}
	return nil
}

// OrZero is a check of a value whose zero means the default.
func OrZero[N comparable](value N, check error) error {
	if value == *new(N) {
		return nil
	}
	return check
}

// Pointed applies a check to the value that a pointer points to. Nil is valid.
func Pointed[N any](p *N, check func(value N) error) error {
	if p == nil {
		return nil
	}
	return check(*p)
}
