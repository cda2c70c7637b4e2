// Package vqueue provides a virtual processor-sharing queue: it tells in which
// order jobs would complete if a cluster shared its slots among all of them, and
// serves them in that order.
//
// The virtual cluster, its clock and the bound on the error of virtual time are those
// of package vclock. A job that has received its whole work there is virtually complete
// and leaves the virtual cluster; a job that is really finished before that keeps taking
// its share, or the others would be promised too much.
//
// Jobs are served one after the other, in the order in which they complete
// virtually: this is Fair Sojourn Protocol scheduling [Friedman and Henderson,
// SIGMETRICS 2003]. A job that is virtually complete and not really finished is
// late, and goes before all others; see [LateFirst] and [LateShare].
package vqueue
