// Package kit documents the parts that the policies of this library are built of. Use them if
// you write a policy of your own, in any module. Each part is a package; package kit itself has
// no code.
//
// Tier: kit.
//
//	what your policy does                                          which part
//
//	anything: it must know slots, jobs and attempts                kit/ledger
//	ranks jobs by a key, such as deadline, size, attained service  kit/queue: Jobs
//	ranks phases, or orders the tasks within a phase               kit/queue: Phases
//	keeps slots free for short jobs although tasks are long        kit/reserve
//	starts tasks close to their input                              kit/queue: Jobs, Phases
//	shares service between tenants that each have a queue          kit/flow, also without a policy
//	serves jobs as they would end under processor sharing          kit/vqueue
//	serves the shortest job that makes nobody late                 kit/slack
//	promises deadlines by when slots become available              kit/slotvec
//	saves its state and goes on from it                            kit/snapshot
//	serves jobs that may not start yet, or not beside each other   kit/release, around the policy
//	serves jobs of several priorities                              kit/priority, around a policy for each
//
// Begin with kit/queue. It holds a ledger and an index of inputs, and has everything that a
// policy needs except Observe. The example below is a complete policy of some 60 lines.
// CONTRIBUTING.md in the repository has the eight steps to a policy; they work in any
// module. Package sojourntest tests that a policy keeps the contract. With cli.Main a policy
// gets everything that the command sojourn can do, as cmd/sojourn/examples/ownpolicy shows.
//
// # What is promised
//
// Equal calls have equal results on every platform and in every run: no part reads a clock,
// draws a number, or follows the order of a map. An event is applied completely or not at
// all. Nothing is logged. Wrong input gets an error. A mistake of the caller, such as a
// task that does not exist, panics. The comment of each package states costs.
//
// Before v1, a minor version (v0.2.0) may change names and signatures, and CHANGELOG.md then
// says which; a patch version (v0.1.1) changes none. The version that wrote a snapshot reads
// it; another version reads it or refuses it with an error that says so. There is no promise
// about the texts of errors, the meaning of the bytes of a snapshot, and everything under
// internal/. The order of [ledger.Ledger.All] is deterministic, but may change.
//
// No part of the kit may be used concurrently. If several goroutines call a policy, put it into
// [sojourn.Locked].
//
// [ledger.Ledger.All]: https://pkg.go.dev/github.com/sojourn-sched/sojourn/kit/ledger#Ledger.All
// [sojourn.Locked]: https://pkg.go.dev/github.com/sojourn-sched/sojourn#Locked
package kit
