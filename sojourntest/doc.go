// Package sojourntest checks that a [sojourn.Policy] keeps the contract of package sojourn.
// Use it if you have written a policy or a wrapper. One test is enough:
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
// Tier: kit.
//
// [Run] drives policies with random histories. Slots come, retire and go; nodes
// fail; jobs arrive, change and are cancelled; attempts finish, fail, are
// refused or adopted. Between these come all kinds of events that do not fit. A
// simple account of the cluster, which shares no code with any policy, predicts
// the answer to each event and judges each assignment. Then Run brings all jobs
// to their end, and replays the history in variations whose outcome is known.
// There are no false alarms: Run does not test what the documentation leaves
// open. A policy that passes can still be wrong.
//
// A failure says in this order: the broken law, what broke it, and the calls that break it, one on each
// line. No call of the list can be left out, and no field is greater than it needs to be. The list is a
// history. [Replay] repeats the failure from this text, so the text is all that a regression test
// needs; package history reads it, too. If the law compares two histories, the other one follows. If
// [Options.Changed] matter, the lines where the options changed say so.
//
// [Gangs] checks that a policy runs gangs, tasks that start together, as package gang has them: all or
// nothing, without deadlock and without starvation.
//
// [Pools] checks that no pool waits for ever while others come and go, for policies that share among pools.
//
// [All] checks the laws on every history of a small world, up to names, and [Walk] gives these histories to a check of yours: for
// what chance does not meet, and for bounds. With two slots and two jobs it takes a second or two.
//
// This package imports package rapid (pgregory.net/rapid, under the MPL 2.0), which
// sets the number of histories and draws the seed of each. In [FuzzEvents] the fuzz
// engine makes the choices instead. [FuzzUnmarshal] forges snapshots.
//
// # Laws
//
// These laws hold for all policies, and for the optional interfaces that [sojourn.As]
// finds:
//
//   - answers: an event that fits is accepted, and any other is refused with the documented
//     error. It is an *EventError that holds the event and wraps the sentinel, the first if
//     several fit
//   - atomicity: a refused event changes nothing
//   - assignments: Assign names the slot, a task that may start on it, and the number of its
//     next attempt
//   - declines: a declined Assign returns the zero Assignment and changes nothing, and
//     stands until the next event or assignment
//   - misuse: Assign panics with a *SlotError if the slot is unknown, retiring or busy, and
//     changes nothing
//   - panics: no event, and no offer of a free slot, makes a policy panic
//   - work conservation: after a round in which every free slot was offered and none taken,
//     no task could start on a free slot
//   - service: a task that could start on a free slot is served after finitely many
//     Ticks at NextWake
//   - completion: while there are slots of their classes and attempts succeed, all
//     jobs end
//   - forgetting: a job that has ended is forgotten, and its ID may be used again
//   - jobs: the policy does not change the jobs that it is given
//   - determinism: policies built alike and driven alike decide alike
//   - superfluous ticks: a Tick before NextWake changes no later decision
//   - flickering slots: a slot that is added, declined and removed at one instant
//     changes no later decision
//   - held phases: a phase that is held is one each of whose tasks was reported as held at
//     once
//   - names: IDs and names of jobs only tell them apart; orders end in the order of arrival
//   - alike slots: a driver that offers another free slot of the same class and node gets the
//     same task
//   - order of slots: the order in which the slots come or go that do so at one instant
//     changes no later decision
//   - epoch: only differences between times matter
//   - weights: a job that is served would also be served if its weight were greater
//   - greater weights: over whole histories, a job that has a greater weight from its arrival on,
//     or is of a pool that has, is served no later, except by chance. A policy may ignore weights
//   - revised weights: if weights matter, those that a revision tells do
//   - vain events: over whole histories, a task that is held and released at once, or a revision
//     that changes nothing, makes its job start tasks neither earlier nor later, except by chance
//   - long times: where tasks take months, the order of tasks does not change each time that all of
//     them take twice as long. It does so if a sum of times wraps around
//   - lost work: an attempt that is refused, preempted or lost with its slot leaves its job in its
//     place; so does one that fails, unless one has failed before. The place is that which it has if the
//     attempt was never started, while the same time passed. A refusal may cost it if one of the job was
//     refused before and none has finished since
//   - descriptions: what can be said in two ways means the same in both. These are a weight of
//     0 or 1, a speed of 0 or 100, one estimate for all tasks without inputs or a list of them
//   - fields: the fields that an event's kind does not use are ignored
//   - purity: questions change nothing, in any order, between any two calls. Questions are
//     NextWake, Seek, AppendPreemptions, AppendRanking, Explain, AppendVoid, Void,
//     AppendBinary and Admit. A policy that is asked nothing decides alike and has the same
//     snapshot. The Append methods keep the contents of dst
//   - seeking: Seek names a free slot of the class that Assign accepts, or says that
//     Assign declines all of them
//   - waking: after a Tick and a round without an assignment, NextWake is later than now,
//     or false, whether a driver asks before or after it offers
//   - priorities: no task starts on a slot on which one of a job of greater priority could
//     start. It is tested of policies that support priorities and do not idle on purpose
//   - releases: NextWake is no later than the release time of a job that waits only for it
//   - preemptions: AppendPreemptions lists attempts that are running and not pinned, each once
//   - explanations: AppendRanking lists the live jobs, each once; Explain knows no others; its
//     keys differ, and its numbers are finite. No key appears twice in a group. NaN and the
//     infinities have no JSON. Cancelled jobs that wait for their last attempts may be left out
//   - promises: AppendVoid lists live jobs, each once; Void gives a reason for these and
//     knows no others
//   - admission: Admit answers as Observe then does, and changes nothing
//   - rejections: a *RejectedError names the job, the live job that would be late, and a
//     deadline that would be accepted
//   - snapshots: a restored policy continues like the one that was saved; bytes that do not
//     fit are refused. Equal states have equal bytes. Damaged bytes, and bytes that rest on
//     other options, are an error and change nothing. The policy keeps nothing of the bytes.
//     All other options may change meanwhile
//   - wrappers: behind a wrapper and behind a lock a policy answers alike, and All finds
//     all else that it can do. It finds even interfaces that the wrapper does not know
//   - allocations: in steady state, assigning and finishing tasks allocates nothing
//   - memory: what a policy keeps does not grow with the jobs, nodes and names that have come and
//     gone. It may keep something of the latest jobs, if that is full after some sixteen thousand
//
// These laws hold for policies that state them in their options:
//
//   - scaled times: with Scaled, if all times are so many times longer, those of the options
//     too, the decisions are the same
//   - bypass: with Bypass, a job of which nothing runs is passed over for later jobs at most as
//     often as was stated, where a task of it could start
//
// A cancelled job is live until its last attempt has ended. This holds for errors and
// for AppendRanking, but a policy may leave the job out of the ranking, since no more of
// it is served.
//
// Two drivers that offer in different orders get the same tasks if the slots that change places
// are alike. No law says what happens with slots of other classes or nodes: a policy that counts
// running tasks, or looks for inputs, may decide otherwise.
//
// The law of lost work leaves out jobs with inputs, which may wait anew for a slot close to them, and
// what any event about a job changes: its place is compared with the one that it has after its task was
// held and released, too.
//
// The laws of weights are two, because a policy may read a weight when a job arrives, or when it last started a
// task. Single decisions are judged by the first. The second lets a few jobs compete, again with twice, half, 131,072
// times, the greatest or the least weight of one of them, or of its pool. A greater weight can move the turns of others so that the job
// loses once. So the second is broken only if a greater weight is worse in at least 16 histories,
// and in more than three times as many as it is better. The histories are the same each time.
//
// For the law of snapshots, a policy that was restored goes on with what was made without it, and elsewhere with ends of attempts that
// are rarer there: failures and refusals, one after the other. It is also restored after a thousand jobs or more.
//
// For the law of memory, short jobs come and go, with names, pools and nodes of their own, and nodes with
// them: half of them one after the other, and half with two others. Nothing is wrong if what the heap holds has stopped growing by the time that the number of jobs doubles
// from 128 on. Else the profile of the heap tells what is kept of the policy after 32,768 jobs, and where
// it was allocated.
//
// The cheap questions are asked after every call. The ranking, explanations and the
// snapshot are asked for after two calls of eight. In a quarter of the histories they are
// also asked for before and after the first call of each kind with each answer. In
// another quarter, numbers also come from the ends of their ranges, and each snapshot is
// restored.
//
// # What the options weaken
//
// IdlesOnPurpose replaces work conservation by service. MayStarve drops both: jobs that are
// left over at the end are cancelled. TellsSlotsApart drops the law of alike slots, and
// IgnoresWeights those of weights, greater and revised ones. Ages drops that of priorities. KeepsHistory drops the law of memory.
// ChargesLostWork drops the law of lost work, but for attempts that fail, and ChargesFailures
// drops it for these. Rejects allows the policy to refuse arrivals and revisions,
// but only with a [sojourn.RejectedError]. NeedsEstimates, MaxPhases, Classes
// and Supports say which jobs the policy must refuse as unsupported. Run tests that it
// does, and other histories do not contain such jobs. A Snapshotter may answer with
// [errors.ErrUnsupported] while a part of it cannot be saved.
package sojourntest
