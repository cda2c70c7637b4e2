// Package sojourn decides which task each free slot of a cluster runs next, for
// clusters that run jobs made of many tasks.
//
// The sojourn time of a job is the time between its arrival and its completion.
// The policies in the subpackages differ in whose sojourn time they keep short,
// and in what they promise:
//
//   - [github.com/sojourn-sched/sojourn/leastwork]: the job with the least work left, with
//     a few slots kept for short tasks; start with this one
//   - [github.com/sojourn-sched/sojourn/fifo]: jobs in the order of their arrival
//   - [github.com/sojourn-sched/sojourn/fair]: equal shares, for jobs and for weighted pools
//   - [github.com/sojourn-sched/sojourn/hfsp]: small jobs first although sizes are
//     not known: they are estimated, and age
//   - [github.com/sojourn-sched/sojourn/pfsp]: small jobs first, and none later than
//     under fair sharing, up to a proved bound
//   - [github.com/sojourn-sched/sojourn/rtmr]: an accepted job meets its deadline
//   - [github.com/sojourn-sched/sojourn/td]: many jobs at once, tasks where their
//     input is
//   - [github.com/sojourn-sched/sojourn/mars]: weighted completion times close to
//     the least, with certified bounds
//   - [github.com/sojourn-sched/sojourn/baseline]: the rivals that papers compare
//     with
//
// A [Policy] is a deterministic state machine. It is told what happens in the
// cluster, one [Event] at a time, and is asked, one slot at a time, what that
// slot should run. It starts no goroutine, reads no clock, draws no random number
// that was not seeded by its caller, and performs no input or output.
//
// # The duties of a driver
//
// A driver (a simulator, a pool of workers, a cluster manager) owns time, slots
// and tasks. It reports every change, in the order of time, through Observe, and
// offers free slots through Assign. At each instant at which something happens:
//
//	for _, ev := range eventsOfThisInstant {
//		if err := p.Observe(ev); err != nil {
//			... // the policy is unchanged; err tells what does not fit
//		}
//	}
//	for {
//		started := false
//		for class := range classes {
//			for {
//				slot, ok := seeker.Seek(class) // without a Seeker: each free slot of
//				if !ok {                       // the class once, in a fixed order
//					break
//				}
//				if a, ok := p.Assign(slot); ok {
//					launch(a)
//					started = true
//				}
//			}
//		}
//		if started {
//			continue // a slot that was declined before may be wanted now
//		}
//		victims = preemptor.AppendPreemptions(victims[:0]) // without a Preemptor: none
//		for _, v := range victims {
//			kill(v)
//			p.Observe(sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted, At: now,
//				Task: v.Task, Attempt: v.Attempt, Slot: sojourn.Slot{ID: v.Slot}})
//		}
//		at, ok := waker.NextWake() // without a Waker: never
//		switch {
//		case ok && at <= now:
//			p.Observe(sojourn.Event{Kind: sojourn.Tick, At: now})
//		case len(victims) == 0:
//			return // sleep until the next event or, if ok, until at
//		}
//	}
//
// A driver that needs time to kill an attempt reports its end when it ends. Until
// then the victim stays listed, so that such a driver remembers whom it kills, and
// sleeps.
//
// Three rules go with the loop.
//
// Assign commits: from the moment it returns, the policy counts the task as
// running. If the driver cannot start the attempt it says so by [TaskRefused],
// and the task is pending again. There is no other confirmation.
//
// A decline stands until the next event or assignment. A policy may decline one slot
// and want another one. What starts there can be what the first one waited for: a turn
// at the map slots, a node that is asked for less, a task that goes before. So a driver
// offers again what was declined, until nothing more is started. A policy that leaves
// no slot idle on purpose, as most do, takes nothing in the second round.
//
// An attempt is named by its task and its number, so that late and repeated
// reports are found: they get [ErrStaleAttempt] or [ErrUnknownJob] and change
// nothing. A driver may therefore report twice when in doubt.
//
// # Time
//
// Time enters a policy only through Event.At. It is an offset from an epoch that
// the driver chooses (see [Time]) and never decreases. Timers go off by time: any
// event at or past the instant of [Waker] sets them off, before it is applied. A
// driver that has nothing else to say sends [Tick].
//
// # Questions
//
// Observe and Assign change a policy, and nothing else does. NextWake, Seek,
// AppendPreemptions, AppendRanking, Explain, AppendVoid, Void, AppendBinary and Admit are
// questions, and an Assign that declines is one. A question changes nothing that anybody
// could find out: no later decision, no answer, no byte of a snapshot, whichever
// questions are asked, how often, and in whatever order between two calls. In
// particular no time passes in them. A driver may ask for NextWake before it offers
// slots or after that.
//
// A wrapper, or a policy that lets others decide for a part of the cluster, keeps
// this law for those inside it too. It passes time on when it observes something, so
// that whoever is asked is asked at the present. What is inside waits for a
// Tick of the driver: if it is due at this very instant, or already was, NextWake
// says so, and it is told of this instant by the Tick that the driver then sends, not
// when it is asked. What it may be lent for an answer is a slot that it does not
// keep: added, declined and removed at one instant, which changes nothing, unless a
// wake is due, which any event would set off.
//
// # What a policy promises
//
// Two policies built alike and driven alike decide alike, on every platform:
// orders are total and end in the order of arrival, and nothing depends on the
// order of a map, on a clock, or on the rounding of floating point numbers. An
// event that does not fit is refused and leaves no trace. A Tick that nobody
// asked for changes no later decision, nor does a slot that is added, declined
// and removed at one instant. Memory is bounded by what is live: nothing is kept
// of a job that has ended, and its ID may be used again. A live job takes memory for
// its phases and its lists, and for the tasks that were started, held or finished
// (see [Phase]): some kilobytes for two thousand million tasks that are only
// announced. A driver that lets strangers submit jobs needs to bound how many are live
// and how long their lists are, and not how many tasks they have.
//
// Package sojourntest checks these laws for any policy.
//
// # Optional interfaces
//
// A policy may also be an [Admitter], [Preemptor], [Waker], [Seeker], [Explainer],
// [Promiser] or [Snapshotter]. [As] finds these, also behind wrappers. [All] finds whatever
// else a policy can do, behind locks and in pools too.
//
// # Programs to start from
//
// examples/quickstart drives goroutines under two policies and prints who waited
// how long. examples/customscheduler puts a policy into a queue that exists, whose
// workers come to ask what to do next; tasks fail there, and a job is cancelled.
//
// # Concurrency
//
// A policy is not safe for concurrent use. Distinct policies share nothing. [Locked] adds
// a mutex, for drivers of several goroutines:
//
//	p := sojourn.NewLocked(policy)
//	a, ok := p.AssignNext(class) // seeks and assigns at once
//	...
//	p.Visit(func(p sojourn.Policy) { // all of this at once
//		done.At = clock() // read under the lock, so that time never runs backwards
//		err = p.Observe(done)
//		next, ok = p.Assign(done.Slot.ID)
//	})
//
// # What version 1 will promise
//
// Until version 1 anything may change in a minor version; CHANGELOG.md says what did.
// From then on:
//
//   - Policy keeps its two methods, and an optional interface the methods that it has. New
//     abilities are new optional interfaces. Kinds of event and fields may be added, with a
//     zero value that keeps the old meaning.
//   - A snapshot is restored by the minor version that took it and by all later ones, or
//     refused with [ErrForeignSnapshot], as its version then says; it is never misread.
//   - Decisions stay the same within a minor version, on every platform. Where a policy decides
//     otherwise from a minor version on, CHANGELOG.md says which and why.
//   - Names and values of options as text, on the command line and in snapshots, stay.
//   - Explain keeps the keys that the comment on it lists, policy by policy, and their units
//     and meanings. Keys may be added, and texts be worded anew: what programs need of these
//     has an interface, such as [Promiser].
//   - The packages under kit follow the rules that each of them states.
//
// # Limits
//
// Not covered are two live attempts at one task (speculative execution), tasks
// that must start together (gangs), slots of several resources, and dependencies
// between phases beyond a chain.
package sojourn
