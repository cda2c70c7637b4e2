// Package fair gives every job, and every pool of jobs, an equal share of the slots. Pools may
// be nested, and have weights, minimums, and limits on tasks and jobs. Inside a pool, jobs may
// be served in order of arrival or by any other policy. The package has delay scheduling and
// preemption.
//
// Use it if several teams or users share a cluster.
//
//	p, err := fair.New(fair.Options{Pools: map[string]fair.Pool{
//		"etl": {Weight: 3, Min: fair.Slots{0: 10}}, // 10 slots of class 0 at least
//		"web": {Weight: 1, MaxJobs: 5},
//	}})
//	...
//	job.Pool = "etl" // before its JobArrived
//
// It follows the Hadoop Fair Scheduler (Zaharia; Hadoop 0.20, MRv1) with the nested queues of
// YARN's.
//
// # Notation
//
//	r(x)    running tasks of a job or pool x on slots of one class
//	w(x)    its weight
//	min(x)  its minimum for that class; max(x) its maximum
//	a(x)    tasks of x started so far on slots of that class
//
// # Algorithm
//
// Each class of slots is shared by itself. A free slot goes down the tree of pools from the root.
// Among the pools that can be served, pools below their minimum come first, the least r/min at the
// front. The others follow, the least r/w at the front. Ties go to the pool that was served longest
// ago. Jobs of one pool come in the order of r/w. If jobs of a pool tie, Options.Ties decides. By
// default the job that has had the least slot time for its weight goes first, and then the one that
// was served longest ago. An arriving job starts level with the job that has had most. If a pool
// has both jobs and pools below it, they compete as equals, with their own weights. With [Deficit]
// the measure is a/w instead of r/w, except between a job and a pool.
//
// A pool can be served if something in it has a startable task and no limit is reached: fewer than
// max of its tasks run. If the pool limits its jobs, fewer than MaxJobs of them must have running
// tasks, or the job that is served must be one of these. When one more job may run, jobs that were
// begun come first, and then jobs in the order of arrival.
//
// # Pools
//
// [sojourn.Job.Pool] is a path, such as "etl/daily", split at each "/" into at most
// 16 names. Every name is a pool, the empty name as well: it is the pool of jobs
// that name none. A pool with FIFO or a Policy has no pools below it; jobs whose
// paths lead further belong to it. Options.Pools describes pools by path; "*"
// describes pools that are not listed. A pool that nothing describes has weight 1
// and no limits. It comes into being with its first job and is forgotten with its
// last, unless Options.Strict refuses the job as [sojourn.ErrUnsupported].
//
// To limit each user, give each user a pool. With Options.Pools
//
//	"users/*": {MaxJobs: 2, Max: fair.Slots{0: 20}}
//
// a job of alice names the pool "users/alice". With "etl/*", each user of etl has a limit of their
// own.
//
// # Policies inside pools
//
// A pool with a Policy has a policy of its own, which knows the jobs of the pool and the
// slots that the pool has. It sees [sojourn.SlotAdded] when the pool gets a slot and
// [sojourn.SlotRemoved] when the task there ends, so its capacity is what the pool
// really has. A slot that it declines goes to the next pool. If it refuses a job, fair
// refuses the job with the same error. Fair passes on its preemptions, wakes and
// explanations. While a slot is free and time passes, and when it is asked about a job,
// it has one slot on loan for each class in which the pool could be served. A pool that
// is listed by name keeps its policy while it has no jobs.
//
// A policy with a reserve (package kit/reserve) reserves a part of the slots that its pool has. Of
// these it sees one free at a time, so that what has to leave one free does not start while one is
// reserved: the pool stays small. Use no reserve inside pools. A policy with a method WithoutReserve,
// as package leastwork has, is told so before its first event.
//
// Time passes in all these policies together, when an event is observed, and never
// because of a question. The policy of the pool that an event is about gets the event.
// If it is the first event of an instant, the other policies get a [sojourn.Tick]. Every
// Tick goes to all policies. Some policies wait for this very instant, for example to
// plan once all events of an instant are known. Then NextWake says that a wake is due,
// and the policy is offered nothing before the Tick. A driver may ask for NextWake
// before or after it offers slots; no wake is lost.
//
// All these policies know the states and racks of all nodes.
//
// # Delay scheduling
//
// With Options.Delay, a job may be passed over at its turn if it has no task close to
// the slot. Others are then served, until the job has waited for Delay for a node, and
// then for RackDelay for a rack: see package kit/locality. Time counts while a slot is
// free that the job could use. Once another job was given a slot in its place, all time
// counts. Between being passed over and being served at its next turn, no job waits
// longer than Delay and RackDelay.
//
// Jobs of a pool with a policy of its own wait as that policy says. That policy decides
// which task a job runs where, and which job goes first meanwhile. If fair declined
// slots for it, its account of waiting jobs would be wrong. If all pools have policies,
// a Delay is an error.
//
// # Preemption
//
// The fair share of a pool follows from max-min fair sharing of the slots among all
// pools and jobs that have tasks, with weights, minimums, maximums and demands. It is
// computed exactly, as a fraction, when it is needed. While tasks wait within limits
// and no slot of their class is free, the policy looks at the shares every
// Preemption.Interval. A pool that was below its minimum at each look for MinTimeout
// claims what it lacks to the minimum. A pool that was below half of its share for
// FairTimeout claims what it lacks to the share, rounded down. The policy asks to kill
// the youngest tasks of pools that keep their share and their minimum without them, at
// most Preemption.Limit at a time. With ReportOnly it asks for nothing, and Explain
// shows what it would ask for.
//
// # Guarantees
//
// Work conserving within limits: a slot stays free only if each startable task is in
// a pool that has reached a limit, is in a pool whose policy declines, or waits for
// locality.
//
// Max-min fair in whole slots: whenever a slot is given to a pool x by weight while
// its sibling y could be served, y is not below its minimum and
// r(x)/w(x) <= r(y)/w(y) held before. If an empty cluster is filled, no pool gets
// more than its fluid share plus one slot for each level of the tree. This requires
// that the minimums of each pool's children add up to at most its own, and those at
// the top to at most the slots.
//
// No starvation: let n siblings always have tasks, without minimums. A sibling that
// runs nothing is passed over at most n-1 times. Under Deficit, let the weight of a
// sibling be m times that of a pool. Then at most m tasks of the sibling start between
// two tasks of the pool. Two things can keep pools without a minimum waiting: minimums
// that add up to more than the slots, and a job of a few tasks that arrives again and
// again below its minimum. Preemption for the fair share does not change the order.
//
// No preemption back and forth: a task is never killed if its pool, or a pool
// around it that does not contain the claiming pool, would then be below its
// share or minimum. So without arrivals, ends and changes of slots, killing comes
// to an end.
//
// With the default Ties and one slot, a job that waits is never passed by a job of its
// pool that comes later. If jobs have one weight and tasks of one length, none is served
// twice before every other waiting job was served once.
//
// There is no bound on how much later than under fluid fair sharing (processor sharing)
// a job finishes, since a job of few tasks can be unlucky in every round.
//
// The order Deficit gives a new job every free slot until it has started as many
// tasks for its weight as its neighbours have. This is stricter fair sharing for
// short jobs and slower for long jobs. Pools follow start-time fair queueing [Goyal,
// Vin, Cheng 1997]: a pool that could not be served starts level with the pool that
// was served last.
//
// # Departures
//
// Hadoop compares floating point ratios. Here r/w is an exact integer: weights are
// below 2^48 units of 2^-16 and counts below 2^32, so that two different ratios differ
// by more than 2^-96 units, and floor(r*2^96/w) orders them without error.
//
// Hadoop breaks ties by the time of arrival. On one slot all jobs tie whenever it is free,
// so this is FIFO; it is the same here with the ties Arrival. RoundRobin avoids that, but
// on many slots a job with short tasks loses its slot to one with long tasks each time.
// LeastService avoids both. LeastWork is best if sizes are known, and lets a large job wait
// for as long as smaller ones come.
//
// Hadoop also breaks ties between pools by arrival and then by name. With fewer
// slots than pools, the last pools wait until others have no jobs; here they take
// turns. It compares r/min(min, demand) where this package compares r/min. It
// admits MaxJobs jobs until they end. Here a job counts while it runs tasks, so a
// job that cannot go on does not lock others out.
//
// # Cost
//
// At depth d, with n startable jobs and m pools that can be served side by side,
// Observe and Assign take O(log n + d log m), and allocate nothing except when a job
// arrives, a pool begins to be used, or a task is tried again. Idle jobs, pools and
// slots are not visited. Only policies of pools are: all of them get the time. A
// pool with MaxJobs costs as much again for each class when one of its jobs begins
// or ceases to run tasks.
//
// Each pool whose policy declines a slot, and each job that is passed over for locality, costs a
// heap operation. When time passes, each policy of a pool costs a Tick, and a loan while slots are
// free. With a delay, each job costs as much. NextWake asks each policy that is a [sojourn.Waker].
// Seek may look at every free slot for them. Explain, and a look at the shares, take time in
// proportion to live jobs, pools and slots.
package fair
