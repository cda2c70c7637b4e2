// Package sojourntest checks that a [sojourn.Policy] keeps the contract of
// package sojourn. The author of a policy writes one test:
//
//	func TestConformance(t *testing.T) {
//		newPolicy := func() sojourn.Policy {
//			p, err := mypolicy.New(mypolicy.Options{})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return p
//		}
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
// Package rapid (pgregory.net/rapid, under the MPL 2.0), which this package imports,
// says how many histories there are and draws the seed of each. [FuzzEvents] lets the
// fuzz engine make the choices instead, and [FuzzUnmarshal] forges snapshots.
//
// # Laws
//
// Of all policies, and of the optional interfaces where [sojourn.As] finds them:
//
//   - answers: an event that fits is answered by nil, any other by an *EventError that
//     holds the event and wraps the sentinel documented for it, the first where
//     several fit
//   - atomicity: an event that is refused changes nothing
//   - assignments: Assign names the slot, a pending task that is not held and may
//     start on it, and the number after that of the task's latest attempt
//   - declines: a declined Assign returns the zero Assignment and changes nothing, and
//     stands until the next event or assignment
//   - misuse: Assign panics with a *SlotError if the slot is unknown, retiring or busy, and
//     changes nothing
//   - panics: no event, and no offer of a free slot, makes a policy panic
//   - work conservation: when every free slot has been offered, none is free on which
//     a task could start
//   - service: a task that could start on a free slot is served after finitely many
//     Ticks at NextWake
//   - completion: while there are slots of their classes and attempts succeed, all
//     jobs end
//   - forgetting: nothing is kept of a job that has ended, and its ID may be used
//     again
//   - jobs: the policy does not change the jobs that it is told of
//   - determinism: policies built alike and driven alike decide alike
//   - superfluous ticks: a Tick before NextWake changes no later decision
//   - flickering slots: a slot that is added, declined and removed at one instant
//     changes no later decision
//   - names: job IDs are only names; orders end in the order of arrival
//   - epoch: only differences between times matter
//   - fields: the fields that an event's kind does not use are ignored
//   - purity: NextWake, Seek, AppendPreemptions, AppendRanking, Explain, AppendVoid, Void,
//     AppendBinary and Admit change nothing, in whatever order they are asked, between any two
//     calls: a policy that is asked nothing decides alike and has the same snapshot;
//     the Append methods keep what dst holds
//   - seeking: Seek names a free slot of the class that Assign accepts, or says that
//     Assign declines all of them
//   - waking: after a Tick and a round without an assignment, NextWake is later than
//     now, or false, whether a driver asks it before it offers or afterwards
//   - preemptions: AppendPreemptions lists attempts that are running, each once
//   - explanations: AppendRanking lists the live jobs, each once; Explain knows these
//     jobs and no others; no key is there twice; cancelled jobs that wait for their last
//     attempts may be left out
//   - promises: AppendVoid lists live jobs, each once; Void gives a reason for these and
//     knows no others
//   - admission: Admit answers as Observe then does, and changes nothing
//   - rejections: a refusal is a *RejectedError that names the job, the live job that
//     would be late, and a deadline that would be accepted
//   - snapshots: a policy restored from a snapshot continues as the one that it was
//     taken from; equal states have equal bytes; bytes that are damaged, or rest on other
//     options, are an error and change nothing, and nothing is kept of the bytes; other
//     options may change meanwhile
//   - wrappers: behind a wrapper and behind a lock a policy answers alike, and All finds
//     what it can do besides, even what the wrapper has not heard of
//   - allocations: in steady state, assigning and finishing tasks allocates nothing
//
// A cancelled job is live until its last attempt has ended, for errors as for
// AppendRanking; a policy may leave it out of the ranking, since nothing of it is served
// any more.
//
// What is cheap to ask is asked after every call. The ranking, explanations and the
// snapshot are asked for after two calls of eight, and in a quarter of the histories also
// before and after each kind of call and answer when it comes first. In another quarter,
// numbers come from the ends of their ranges as well, and each snapshot is restored.
//
// # What the options weaken
//
// IdlesOnPurpose replaces work conservation by service. MayStarve replaces both by nothing:
// what is left over when nothing else is to be done is cancelled. Rejects lets arrivals and
// revisions be refused, though only by a [sojourn.RejectedError]. NeedsEstimates,
// MaxPhases, Classes and Supports say which jobs the policy must refuse as
// unsupported: it is tested that it does, and all other histories are without
// such jobs. A Snapshotter may answer with [errors.ErrUnsupported], while a part of
// it cannot be saved.
package sojourntest
