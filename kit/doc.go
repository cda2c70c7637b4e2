// Package kit is what the policies of this library are built of, for those who write a
// policy elsewhere. It has no code of its own: each part is a package.
//
//	what your policy does                                          which part
//
//	anything: it must know slots, jobs and attempts                kit/ledger
//	ranks jobs by a key, such as deadline, size, attained service  kit/queue: Jobs
//	ranks phases, or orders the tasks within a phase               kit/queue: Phases
//	ranks something else, such as pools                            kit/ledger, kit/queue: Ready
//	keeps slots free for short jobs although tasks are long        kit/reserve
//	starts tasks close to their input, or waits for such a slot    kit/locality
//	serves jobs as they would end under processor sharing          kit/vqueue
//	serves the shortest job that makes nobody late                 kit/slack
//	promises deadlines by when slots become available              kit/slotvec
//	saves its state and goes on from it                            kit/snapshot
//
// Begin with kit/queue: it holds a ledger and an index of inputs, and has all that a policy
// needs besides Observe. The example below is a complete policy of at most 60 lines. The
// eight steps to a policy are in CONTRIBUTING.md of the repository, and hold in any module:
// package sojourntest tests what the contract asks for, and a policy gets all of the command
// sojourn by cli.Main, as cmd/sojourn/examples/ownpolicy shows.
//
// # What is promised
//
// Equal calls have equal results on every platform and in every run: no part reads a clock,
// draws a number, or follows the order of a map. An event is applied whole or not at all.
// Nothing is logged. Input that can be wrong is answered by an error; a mistake of the
// caller's, such as a task that is not there, panics. Costs are in the comment of each
// package.
//
// Before v1, a minor version (v0.2.0) may change names and signatures, and CHANGELOG.md then
// says which; a patch version (v0.1.1) changes none. A snapshot is read by the version that
// wrote it; another one reads it or refuses it with an error that says so. Not promised are
// the texts of errors, the order of [ledger.Ledger.All] beyond that it is determined, what
// the bytes of a snapshot mean, and everything under internal/.
//
// A policy of which Observe and Assign are called by several goroutines is put into
// [sojourn.Locked]: no part of the kit may be used concurrently.
//
// [ledger.Ledger.All]: https://pkg.go.dev/github.com/sojourn-sched/sojourn/kit/ledger#Ledger.All
// [sojourn.Locked]: https://pkg.go.dev/github.com/sojourn-sched/sojourn#Locked
package kit
