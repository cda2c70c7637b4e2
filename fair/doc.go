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
// ago. Jobs of one pool come in the order of r/w. Options.Ties says who goes first among those that
// tie. By default it is the one that has had the least slot time for its weight, and then the one that
// was served longest ago. A job that comes starts level with the one that has had most. If a pool has
// both jobs and pools below it, they compete as equals, with their own weights. With [Deficit] the measure is a/w
// instead of r/w, except between a job and a pool.
//
// A pool can be served if something in it has a startable task and no limit is reached: fewer than
// max of its tasks run. If the pool limits its jobs, fewer than MaxJobs of them must have running
// tasks, or the job that is served must be one of these. When one more job may run, jobs that were
// begun come first, and then jobs in the order of arrival.
//
// # Pools
//
// [sojourn.Job.Pool] is a path, such as "etl/daily", split at each "/" into at most
// 16 names. Every name is a pool, the empty one as well: it is the pool of jobs that
// name none. A path leads through pools with FIFO or a Policy no further: what comes
// below is their own. Options.Pools describes pools by path; "*" describes those
// that are not listed. A pool that nothing describes has weight 1 and no limits. It
// comes into being with its first job and is forgotten with its last, unless
// Options.Strict refuses the job as [sojourn.ErrUnsupported].
//
// Limits for each user are those of a pool for each user: with Options.Pools
//
//	"users/*": {MaxJobs: 2, Max: fair.Slots{0: 20}}
//
// a job of alice names the pool "users/alice"; and with "etl/*", each user of etl is
// limited by themselves.
//
// # Policies inside pools
//
// A pool with a Policy is served by a policy of its own, which knows the jobs of the
// pool and the slots that the pool has: it sees [sojourn.SlotAdded] when the pool is
// given a slot and [sojourn.SlotRemoved] when the task there ends, so that its
// capacity is what the pool really has. A slot that it declines goes to the next
// pool. What it refuses is refused, with its own error; what it wants killed, waits
// for and explains is passed on. While a slot is free and time passes, and when it is
// asked about a job, it has one on loan of each class in which the pool could be served.
// A pool that is listed by name keeps its policy while it has no jobs.
//
// Time passes in all these policies together, when an event is observed, and never
// because something was asked. The first event of an instant is told to the policy of
// the pool that it is about, and to the others as a [sojourn.Tick]; each Tick is told
// to all. A policy that waits for this very instant, as one does that plans once all
// events of an instant are known, makes NextWake say that it is time. It is offered
// nothing before the Tick that is due then. Whether a driver asks for NextWake before it
// offers slots or after that, no wake is lost.
//
// What is known of nodes and their racks is known to all of them.
//
// # Delay scheduling
//
// With Options.Delay, a job whose turn it is but that has no task close to the slot is
// passed over, and others are served, until it has waited so long for a node and then
// for a rack: see package kit/locality. What counts is time in which a slot is
// free that the job could use, and all time from when a slot was given to another in
// its stead. No job waits longer than Delay and RackDelay between being passed over and
// being served at its next turn.
//
// Jobs of a pool with a policy of its own wait by that policy alone. Which task a job
// runs where, and which job goes before it meanwhile, is what that policy decides:
// if fair declined for it, its account of who waits would be wrong. Where all pools have
// policies, a Delay is an error.
//
// # Preemption
//
// A pool has a fair share: what max-min fair sharing of the slots among all that have
// tasks gives it, with weights, minimums, maximums and demands, computed exactly, as
// a fraction, when it is asked for. While tasks wait within limits and no slot of
// their class is free, shares are looked at every Preemption.Interval. A pool that was
// below its minimum at each look for MinTimeout, or below half of its share for
// FairTimeout, claims what it lacks to the minimum, or to the share rounded down. The
// youngest tasks are killed of pools that keep their share and their minimum without
// them, no more than Preemption.Limit at a time. With ReportOnly nothing is asked
// for, and Explain tells.
//
// # Guarantees
//
// Work conserving within limits: a slot stays free only if every startable task is in
// a pool that has reached a limit, is in a pool whose policy declines, or waits for
// locality.
//
// Max-min fair in whole slots: whenever a slot is given to a pool x by weight while
// its sibling y could be served, y is not below its minimum and
// r(x)/w(x) <= r(y)/w(y) held before. Filled from nothing, no pool has more than one
// slot above its fluid share for each level of the tree, if the minimums of each
// pool's children sum up to no more than its own and those of all to the slots.
//
// No starvation: without minimums, of n siblings that always have tasks, one that runs
// none is passed over at most n-1 times. Under Deficit there are, between two tasks of
// a pool, at most as many tasks of a sibling as its weight is a multiple of the
// pool's. Minimums that sum up to more than the slots, and a job of a few tasks that
// arrives again and again below its minimum, can keep pools without a minimum waiting;
// preemption for the fair share does not change the order.
//
// No preemption back and forth: a task is never killed for a pool by which, or by
// parts of which, the pool of that task would fall below its share or minimum. So
// without arrivals, ends and changes of slots, killing comes to an end.
//
// By the default ties a job that waits on one slot is never passed by one of its pool that
// comes later, and of jobs of one weight with tasks of one length, none is served twice
// before every other one that waits was served once.
//
// There is no bound on how much later than under fluid fair sharing (processor sharing)
// a job finishes, since a job of few tasks can be unlucky in every round.
//
// The order Deficit gives a new job every free slot until it has started as many
// tasks in relation to its weight as its neighbours have, which makes it a stricter
// fair sharing for short jobs and a slower one for long jobs. Pools follow start-time
// fair queueing [Goyal, Vin, Cheng 1997]: one that could not be served starts level
// with the pool that was served last.
//
// # Departures
//
// Hadoop compares floating point ratios. Here r/w is an exact integer: weights are
// below 2^48 units of 2^-16 and counts below 2^32, so that two different ratios differ
// by more than 2^-96 units, and floor(r*2^96/w) orders them without error.
//
// Hadoop breaks ties by the time of arrival. On one slot all jobs tie whenever it is free,
// so that this is FIFO; with the ties Arrival it is so here. RoundRobin cures that, but
// on many slots a job with short tasks loses its slot to one with long tasks each time.
// LeastService does not. LeastWork is best where sizes are known, and lets a large job wait
// for as long as smaller ones come.
//
// Hadoop breaks ties by arrival and then by name also between pools, so
// that with fewer slots than pools the last ones wait until others have no jobs. It
// compares r/min(min, demand) where this package compares r/min. It admits MaxJobs
// jobs until they end; here a job counts while it runs tasks, so that a job that
// cannot go on does not lock others out.
//
// # Cost
//
// At depth d, with n startable jobs and m pools that can be served side by side,
// Observe and Assign take O(log n + d log m), and allocate nothing except when a job
// arrives, a pool begins to be used, or a task is tried again. Idle jobs, pools and
// slots are not visited, but for policies of pools, which are all told that time
// passes. A pool with MaxJobs costs as much again for each class when
// a job of it begins or ceases to run tasks.
//
// Pools whose policies decline a slot, and jobs that are passed over for locality, cost
// a heap operation each for every slot that they leave. The passing of time costs a
// Tick for each policy of a pool, and while slots are free a loan, and with a delay as
// much for each job. NextWake asks each policy that is a [sojourn.Waker]. Seek may look at every free
// slot for them. Explain, and a look at the shares, take time in proportion to live
// jobs, pools and slots.
package fair
