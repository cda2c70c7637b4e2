// Package account keeps the state of the cluster as a policy was told of it: live jobs, running
// attempts, slots, held tasks, and the number of the last attempt at each task. Use it if your
// driver restarts, shows a status page, or exchanges one policy for another while jobs are live.
//
// Tier: kit.
//
//	a := account.New(policy) // a Policy that does what policy does
//	...
//	for at := range a.Attempts() {
//		... // at.Task runs on at.Slot for at.Service
//	}
//
// No policy answers these questions itself. Each keeps what it needs to decide, and a driver
// should not have to keep the same account again.
//
// # Another policy takes over
//
// [Account.Rebuild] tells another policy all that is true, as events: its slots, its jobs by
// JobAdopted, its tasks by TaskDone, TaskHeld and TaskReady, its attempts by TaskAdopted. The other
// policy may be of another kind, of another release, or have other options. No job, no attempt and
// no number is lost.
//
//	next := account.New(another)
//	if err := a.Rebuild(next); err != nil {
//		... // another does not support what is live; a goes on
//	}
//	// From here on, the driver uses next.
//
// What is not a fact is lost: what the old policy had learned, and how much service each job got.
// The age of each job is told. To keep these as well, save the policy, and restore it into one of
// the same kind: see [sojourn.Snapshotter].
//
// # A policy that does not fit
//
// An account knows what it was told. Around a policy that was told something before, or around a journal, it would say what
// is not true. [Account.Err] says so, and Observe refuses every event.
//
// # An account without a policy
//
// New(nil) returns an account of a cluster that somebody else schedules. It observes events,
// and [Account.Take] records the assignments that were made elsewhere.
//
// # Cost
//
// Questions about one job, task or slot take constant time. An event costs a call of Apply of
// package kit/ledger more than without the account, and the memory is that of one more ledger. The
// package starts no goroutine and reads no clock.
package account
