// Package sojourn decides which task each free slot of a cluster runs next, for
// clusters that run jobs made of many tasks.
//
// Tier: stable.
//
// The sojourn time of a job is the time between its arrival and its completion.
// The policies in the subpackages differ in the jobs whose sojourn times they
// keep short, and in what they promise:
//
//   - [github.com/sojourn-sched/sojourn/leastwork]: the job with the least work left, with
//     a few slots kept for short tasks; start with this one
//   - [github.com/sojourn-sched/sojourn/fifo]: jobs in the order of their arrival
//   - [github.com/sojourn-sched/sojourn/fair]: equal shares, for jobs and for weighted pools
//   - [github.com/sojourn-sched/sojourn/hfsp]: small jobs first when sizes are not known:
//     sizes are estimated, and waiting jobs age
//   - [github.com/sojourn-sched/sojourn/pfsp]: small jobs first, and none later than
//     under fair sharing, up to a proved bound
//   - [github.com/sojourn-sched/sojourn/rtmr]: an accepted job meets its deadline
//   - [github.com/sojourn-sched/sojourn/td]: many jobs at once, tasks where their
//     input is
//   - [github.com/sojourn-sched/sojourn/mars]: weighted completion times close to
//     the least, with certified bounds
//   - [github.com/sojourn-sched/sojourn/research/baseline]: the policies that papers compare with
//
// A [Policy] is a deterministic state machine. It is told what happens in the
// cluster, one [Event] at a time, and is asked, one slot at a time, what that
// slot should run. It starts no goroutine, reads no clock and performs no input
// or output. If it draws random numbers, its caller gives the seed.
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
// Killing an attempt may take time. The driver then reports the end of the attempt
// when it ends. Until then the victim stays listed: the driver has to remember
// which attempts it is killing, and sleeps.
//
// Package [github.com/sojourn-sched/sojourn/driver] is this loop, for any policy and any
// workers. Use it unless you have a reason to write your own. Package
// [github.com/sojourn-sched/sojourn/live] runs Go functions in one process.
//
// Three rules go with the loop.
//
// Assign commits: from the moment it returns, the policy counts the task as
// running. The driver confirms nothing. If it cannot start the attempt, it
// reports [TaskRefused], and the task is pending again.
//
// A decline stands until the next event or assignment. A policy may decline one slot
// and take another one, and the start there may be what the first slot waited for. For
// example, a job without maps has passed the map slots (rtmr with Chain), a node has fewer readers (td with
// Strict), or another class had to be served first (fair with a Cost). So a driver repeats its passes over the classes until one
// starts nothing. Most policies leave no slot idle on purpose; they start nothing in the
// second pass.
//
// A task and a number name an attempt. A late or repeated report therefore gets
// [ErrStaleAttempt] or [ErrUnknownJob] and changes nothing. A driver that is in
// doubt may report twice.
//
// # Time
//
// Time enters a policy only through Event.At. It is an offset from an epoch that
// the driver chooses (see [Time]) and never decreases. Timers depend on time
// alone: any event at or after the instant that a [Waker] names sets the timer
// off before the event itself is applied. A driver that has nothing else to
// report sends [Tick].
//
// # Questions
//
// Only Observe and Assign change a policy. NextWake, Seek, AppendPreemptions,
// AppendRanking, Explain, AppendVoid, Void, AppendBinary and Admit are questions, and so
// is an Assign that declines. A question changes nothing that can be observed: no later
// decision, no answer, no byte of a snapshot. It does not matter which questions are
// asked, how often, and in which order. No time passes in a question. A driver may ask
// for NextWake before or after it offers slots.
//
// Some policies contain others: a wrapper, or a policy that lets others decide for a
// part of the cluster. Such a policy keeps this law for the policies inside it as
// well. It passes time on when it observes an event, so that a question to a policy
// inside is asked at the present. If a policy inside is due at this instant or
// earlier, the outer NextWake says so. The policy inside then learns of the instant
// from the Tick that the driver sends, not from a question. To find an answer, the
// outer policy may lend a slot to an inner one: the slot is added, declined and
// removed at one instant. This changes nothing unless a wake is due, since any event
// sets a due wake off.
//
// # What a policy promises
//
// Two policies that are built alike and driven alike decide alike, on every platform.
// Orders are total and end in the order of arrival. Nothing depends on the order of a
// map, on a clock, or on the rounding of floating point numbers.
//
// An event that does not fit is refused and leaves no trace. A Tick that nobody asked
// for changes no later decision. A slot that is added, declined and removed at one
// instant changes none either.
//
// What others did to an attempt is never charged to its job: it may be preempted, lost with its
// slot, or refused, and the job keeps its place. The comment of [Cause] says what is charged.
//
// Memory is bounded by what is live. A policy forgets a job that has ended, and the ID
// may be used again. A live job takes memory for its phases, for its lists, and for
// the tasks that were started, held or finished (see [Phase]). Two thousand million
// tasks that are only announced take some kilobytes. A driver that lets strangers
// submit jobs needs to bound the number of live jobs and the length of their lists,
// but not their numbers of tasks.
//
// Package sojourntest checks these laws for any policy.
//
// # Optional interfaces
//
// A policy may also be a [Supporter], [Admitter], [Preemptor], [Waker], [Seeker],
// [Explainer], [Promiser], [Sharer] or [Snapshotter]. [As] finds these, also behind wrappers. [All]
// finds anything else that a policy can do, also behind locks and in pools.
//
// # Features
//
// The contract grows: a later version may add fields. A policy that was written before does
// not look at them. That is harmless if a field only helps to decide, as an estimate does. If
// a policy would decide wrongly without it, the field belongs to the [Features]. A policy says by
// [Supporter] which of them it knows, and one that says nothing knows none. A driver that uses a feature
// checks first:
//
//	if err := ev.CheckSupport(sojourn.Supports(p)); err != nil {
//		... // wraps ErrUnsupported and names what p does not know
//	}
//
// Package driver does that, and a policy that keeps its account with package kit/ledger refuses unknown features itself. The
// policies of this module know them so:
//
//	feature                              known by
//	attempts of held tasks               all
//	Phase.Needs                          all but td, mars, rtmr, and dc of package baseline: see "Limits"
//	Phase.Held                           all but rtmr: no end can be promised to tasks that wait for something else
//	Job.Parallelism                      all; rtmr with Chain, which books whole jobs, does not
//	Job.Open                             all but rtmr, and the backfilling of package baseline: they plan for all tasks of a job
//	Slot.Speed                           all but rtmr, dc and the backfilling: they promise ends
//	Job.Priority                         kit/priority, which goes around any policy
//	Job.Release, Job.Sequence            kit/release, which goes around any policy
//	PoolChanged                          fair
//	projected slots (package shape)      fifo, las and srpt without a Reserve, and fair with a Cost
//
// A policy around others, such as fair with policies in its pools, knows what all of these know (catalog.TestWhoKnowsWhat).
//
// # After a restart
//
// A policy lives in memory. Package journal makes it durable: it is a Policy around a policy, and
// writes events and decisions to a folder before the driver acts on them.
//
//		j, err := journal.Open(store, policy, journal.Options{})
//
//	 1. Open makes the policy what it was. If it is another policy now, or has other options, it
//	    is told the facts.
//	 2. Time goes on: events happen at j.Time(time.Now()). IDs go on above j.MaxJob().
//	 3. The driver looks what became of the attempts that j.Account().Attempts() lists. An attempt
//	    that still runs needs no report. One that has ended meanwhile is reported as always; one that
//	    died with the process is a [TaskFailed] with [CauseSlotLost].
//	 4. Slots that are gone are a [SlotRemoved] each, new ones a [SlotAdded]. Tasks that
//	    j.Account().Held lists are released by a [TaskReady], if what they waited for is over.
//	 5. The loop goes on. Before the driver acknowledges a job or starts an attempt, it waits:
//	    j.Wait(j.End()).
//
// Without a journal, a driver that knows its jobs reports them to a new policy by [JobAdopted],
// [TaskDone], [TaskHeld], [TaskReady] and [TaskAdopted], in this order for each job, after
// its slots. Package account does this from the account of another policy.
//
// # Programs to start from
//
// examples/quickstart drives goroutines under two policies and prints how long
// each job waited. examples/customscheduler puts a policy between jobs and workers
// that are there already, with package driver. Tasks fail there, a job is cancelled, and a slot
// is taken back. examples/restart is killed, and goes on.
//
// These run Go functions with package live: examples/wordcount as map and reduce, examples/cifarm
// with pools and limits, examples/inference with short requests among batches, and
// examples/shadowrun with a second policy that watches. examples/proxy stands before a model server.
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
// Before version 1 anything may change in a minor version; CHANGELOG.md lists the changes. From
// version 1 on, what a package promises depends on its tier, which its comment names:
//
//	stable      this package, driver, live, journal, and the policies leastwork, fair, fifo, pfsp, hfsp, td,
//	            rtmr and mars: changes as Go's compatibility promise allows
//	kit         the packages under kit, and all others that are not under research, those of other
//	            modules included: may change in a minor version, and CHANGELOG.md says what to do
//	research    the packages under research: may change at any time
//
// An option of a stable package whose comment says that it is for research is of that tier. An interface of a
// stable package that other modules implement may get more methods: its comment says that it is of the tier kit. In the stable tier:
//
//   - Policy keeps its two methods, and each optional interface keeps the methods that it
//     has. New abilities are new optional interfaces. Kinds of event and fields may be
//     added, with a zero value that keeps the old meaning. If it would be wrong
//     to ignore an addition, a policy that does not know it refuses it: see Features.
//   - The version that took a snapshot restores it, and so do later ones, or they refuse it with
//     [ErrForeignSnapshot], since the snapshot says how it was written. A snapshot is never misread.
//   - Decisions stay the same within a minor version, on every platform. If a policy decides
//     differently from some minor version on, CHANGELOG.md says which policy and why.
//   - Names and values of options as text, on the command line and in snapshots, stay.
//   - Explain keeps the keys that its comment lists, policy by policy, with their units and
//     meanings. Keys may be added, and texts may be reworded: facts that programs need have
//     an interface, such as [Promiser].
//
// # Limits
//
// The contract does not cover two live attempts at one task. A driver can run a copy of a slow
// task as a job of its own: package sim has an example. Slots have no amounts of resources:
// package shape makes each shape of task a class, with a slot where one more such task fits. The
// contract has no tasks that must start together either: package gang makes such a gang one
// task, on a slot of a class of its own. Phases may wait for any phases
// before them, but td and mars take chains only, rtmr and dc of package baseline a map and a reduce
// phase, and the backfilling of package baseline one phase.
package sojourn
