// Package pooled makes the policy that has pools, as package constructors makes the others.
//
// It is a package of its own because tests inside package fair compile every package anew that
// imports fair and that fair's tests import: constructors would be one, and takes five seconds.
package pooled

import (
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/constructors"
)

// Fair returns a new, empty policy, or what Validate of its options returns.
var Fair = constructors.Of(fair.New)
