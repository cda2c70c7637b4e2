// Package inside has what policies share that have other policies inside: package fair, kit/priority, kit/release, account
// and research/shadow.
package inside

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Guest is a policy inside another one, with what that asks it at each event.
type Guest struct {
	sojourn.Policy
	Waker    sojourn.Waker    // nil if it is none; likewise the others
	Seeker   sojourn.Seeker   //
	Admitter sojourn.Admitter //
	outer    string
}

// New returns a policy inside one of a package.
func New(outer string, p sojourn.Policy) Guest {
	in := Guest{Policy: p, outer: outer}
	in.Waker, _ = sojourn.As[sojourn.Waker](p)
	in.Seeker, _ = sojourn.As[sojourn.Seeker](p)
	in.Admitter, _ = sojourn.As[sojourn.Admitter](p)
	return in
}

// Must reports an event that fits. It panics if the policy refuses it.
func (p *Guest) Must(ev sojourn.Event) {
	if err := p.Observe(ev); err != nil {
		panic(fmt.Sprintf("%s: a %T refuses what fits: %v", p.outer, p.Policy, err))
	}
}

// Due reports whether the policy waits for an instant that has come.
func (p *Guest) Due(now sojourn.Time) bool {
	if p.Waker == nil {
		return false
	}
	at, ok := p.Waker.NextWake()
	return ok && at <= now
}

// Refused returns the error of the outer policy for an event after a policy inside has refused what it was told of it.
func Refused(ev *sojourn.Event, err error) error {
	var e *sojourn.EventError
	if errors.As(err, &e) {
		err = e.Err
	}
	return &sojourn.EventError{Event: *ev, Err: err}
}

// Pass is for methods As: it sets *target to the policy inside if that is a T.
func Pass[T any](in sojourn.Policy, target *T) bool {
	t, ok := sojourn.As[T](in)
	if ok {
		*target = t
	}
	return ok
}

// Answer is for methods As: it sets *target to an answer for the policy inside if that is a T.
func Answer[T any](in sojourn.Policy, target *T, answer T) bool {
	_, ok := sojourn.As[T](in)
	if ok {
		*target = answer
	}
	return ok
}

// Save writes the snapshot of a policy inside. The error wraps [errors.ErrUnsupported] if that cannot be saved.
func Save(w *snapshot.Writer, in sojourn.Policy) {
	if s, ok := sojourn.As[sojourn.Snapshotter](in); ok {
		w.Binary(s)
	} else {
		w.Fail(fmt.Errorf("%w: a %T cannot be saved", errors.ErrUnsupported, in))
	}
}

// Saved is the snapshot of a policy inside that Save has written, for [snapshot.Reader.Binary]. The policy is restored from
// it after all else, so that it stays as it was if anything is damaged.
type Saved []byte

// UnmarshalBinary keeps a copy of the bytes.
func (s *Saved) UnmarshalBinary(data []byte) error {
	*s = slices.Clone(data)
	return nil
}

// Restore restores the policy inside.
func (s Saved) Restore(in sojourn.Policy) error {
	t, ok := sojourn.As[sojourn.Snapshotter](in)
	if !ok {
		return fmt.Errorf("%w: a %T cannot be restored", errors.ErrUnsupported, in)
	}
	return t.UnmarshalBinary(s)
}
