package vqueue

import (
	"cmp"

	"github.com/sojourn-sched/sojourn/internal/option"
)

// Late says how late items are served: items that are virtually complete and not
// really finished. They always go before the others. All policies with this option
// use this type.
type Late uint8

const (
	// LateDefault is the policy's default, which its options document.
	LateDefault Late = iota
	// LateFirst serves late items one after the other, in the order of their
	// virtual completion. With exact sizes it keeps the bound on lateness.
	LateFirst
	// LateShare serves the late item with the fewest running tasks per unit of
	// weight; among equals, the one that was virtually complete first. With
	// estimated sizes it keeps a large job whose size was underestimated from
	// blocking the others [Dell'Amico, Carra and Michiardi, PSBS, 2016].
	LateShare
)

var lateNames = [...]string{LateDefault: "default", LateFirst: "first", LateShare: "share"}

// Or returns l, or other if l is LateDefault.
func (l Late) Or(other Late) Late { return cmp.Or(l, other) }

// String returns "default", "first" or "share".
func (l Late) String() string { return option.Name("Late", lateNames[:], l) }

// MarshalText implements encoding.TextMarshaler.
func (l Late) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (l *Late) UnmarshalText(text []byte) error {
	return option.SetName(l, "late rule", lateNames[:], text)
}
