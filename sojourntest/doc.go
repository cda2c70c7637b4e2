// Package sojourntest checks that a [sojourn.Policy] keeps the contract of
// package sojourn. The author of a policy writes one test:
//
//	func TestConformance(t *testing.T) {
//		newPolicy := func() sojourn.Policy { return mypolicy.New(mypolicy.Options{}) }
//		sojourntest.Run(t, newPolicy, sojourntest.Options{})
//	}
//
// [Run] drives policies with random histories: slots that come, retire and go,
// nodes that fail, jobs that arrive, change and are cancelled, attempts that
// finish, fail, are refused or adopted, and between them all kinds of events
// that do not fit. A plain account of the cluster, which shares no code with
// any policy, predicts the answer to each event and judges each assignment.
// Then everything is brought to its end, and the history is replayed in
// variations whose outcome is known. There are no false alarms: what the
// documentation leaves open is not asked. A policy that passes can still be
// wrong.
//
// A failure quotes the law that is broken and lists the calls that break it, one a
// line, with none that could be left out. The list is a history: its lines in a
// file can be read and replayed by package history.
//
// # Laws
//
// Of all policies:
//
//   - answers: an event that fits is answered by nil, any other by the error
//     documented for it, the first where several fit
//   - atomicity: an event that is refused changes nothing; without it, the same
//     decisions follow
//   - assignments: a task that is assigned is pending, not held, of the slot's
//     class and may start; attempts are numbered without a gap; Source holds the
//     input and is not down
//   - declines: a declined Assign returns the zero Assignment and changes nothing
//   - misuse: Assign panics if the slot is unknown, retiring or busy
//   - panics: nothing else makes a policy panic
//   - work conservation: when every free slot has been offered, none is free on
//     which a task could start
//   - service: with [Options.IdlesOnPurpose], instead: such a task is served after
//     finitely many Ticks at NextWake
//   - completion: if attempts succeed, all jobs end
//   - forgetting: the ID of a job that has ended may be used again
//   - jobs: the jobs that a policy is told of are not changed
//   - determinism: the same calls have the same outcome, three times over
//   - superfluous ticks: a Tick before NextWake changes no later decision
//   - flickering slots: nor does a slot that is added, declined and removed at one
//     instant
//   - names: nor do other job IDs
//   - epoch: nor does another zero of time
//   - fields: nor does what is in fields that the kind of event does not use
//   - wrappers: nor does a wrapper, or [sojourn.Locked], which hide nothing
//   - allocations: in steady state, assigning and finishing allocates nothing
//
// Of the optional interfaces, where [sojourn.As] finds them:
//
//   - purity: asking changes nothing; what is appended leaves dst alone
//   - seeking: Seek names a free slot of the class that Assign takes, and says
//     that there is none if Assign declines them all
//   - waking: after a Tick and a round without an assignment, NextWake is later
//     than now, or false
//   - preemptions: AppendPreemptions lists attempts that run, each once
//   - explanations: AppendRanking lists the live jobs, each once; Explain knows
//     these and no others (cancelled jobs that wait for their last attempts may be
//     left out)
//   - admission: Admit answers as Observe then does
//   - rejections: a refusal says why, and its offer would be accepted
//   - snapshots: a policy restored at any point continues as if it had never
//     stopped, whatever it was before, and can be saved and restored again; equal
//     states have equal bytes; bytes with a flipped bit or of another length, and
//     those of a policy in [Options.Others], are an error and change nothing; nothing
//     is kept of the bytes
//
// The ranking and the snapshot are asked for after every call, explanations of all jobs,
// and everything a second time, after two calls of eight, and after each kind of call and
// answer when it comes first.
//
// # What the options weaken
//
// IdlesOnPurpose replaces work conservation by service. Rejects lets arrivals and
// revisions be refused, though only by a [sojourn.RejectedError]. NeedsEstimates,
// MaxPhases, Classes and Supports say which jobs the policy must refuse as
// unsupported: it is tested that it does, and all other histories are without
// such jobs. A Snapshotter may answer with [errors.ErrUnsupported], while a part of
// it cannot be saved.
package sojourntest
