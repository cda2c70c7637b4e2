// Package fair gives every pool of jobs its share of the slot time, and the jobs of a pool the same number of slots. A
// pool is a team, a user or a customer. Pools may be nested, and have weights, minimums, limits on tasks and on jobs, and
// policies of their own inside.
//
// Tier: stable.
//
// Use it if several teams, users or customers share a cluster, and none of them may fill it. If all work is of one
// owner, package leastwork serves it better: use it alone, or in the pools of this package.
//
//	p, err := fair.New(fair.Options{Pools: map[string]fair.Pool{
//		"etl": {Weight: 3, Min: fair.Slots{0: 10}}, // 10 slots of class 0 at least
//		"web": {Weight: 1, MaxJobs: 5},
//	}})
//	...
//	job.Pool = "etl" // before its JobArrived
//
// # Example
//
// Eight customers share 4 slots for 1,000 s, and always have work. Two have weight 4 and six weight 1; all tasks take a
// second. Each of the two gets 1,143 s of the slots and each of the six 286 s, although there are fewer slots than
// customers. If four of them, of equal weights, have tasks of 10 s and the others tasks of 1 s, each gets 500 s
// (TestMorePoolsThanSlots). A customer who comes with one task after a while waits a second at most, not for a round
// of all others (TestIdleTenantWaitsForNoRound).
//
// # What is promised
//
// W(x) is the slot time of the attempts of pool x that have ended on slots of a class, without what is not charged, and w(x) its weight;
// T(x), its tag, is W(x), and what its running attempts are expected to take, for each unit of w(x). N is the greatest number of slots of the class, c
// the longest time that is charged for an attempt, plus a sixteenth, and u = c/w(x) + c/w(y). r(x) are the running tasks of a job or pool on slots of the class,
// and min(x) and max(x) its limits there.
//
//   - Work conserving within limits: a slot stays free only if each startable task is in a pool that has reached a limit, is in a
//     pool whose policy declines, waits for locality, or is kept from it by the reserve
//     (TestSiblingsOfPairwiseDifferentWeightMinMax, TestBothLoopsStartEverything).
//   - Fair by service: sibling pools x and y that always have tasks, without minimums and limits, from a moment on at which they were level, as
//     pools are that come first, have |W(x)/w(x) - W(y)/w(y)| <= N u from then on, and 2 N u over any interval, also with lost and failed
//     attempts, slots that come and go, wrong estimates, in nested pools and in each class by itself (TestServiceWithinTheBound,
//     TestServiceExhaustive; the proof is in docs/theory/flow.md).
//   - So weights hold with more pools than slots, and however long the tasks of a pool are (TestMorePoolsThanSlots, TestHundredTenantsGetTheSame).
//   - With a Window, the first bound grows by it, and the second by twice as much (TestWindowWithinTheBound, TestWindowExhaustive).
//   - A tenant that comes seldom waits for no round of the others (TestIdleTenantWaitsForNoRound).
//   - Pools that come and go keep nobody waiting for ever (TestPools, TestPoolsThatComeAndGoLetOthersPass), gain nothing by it
//     (TestPoolThatLeavesKeepsItsDebt), and leave nothing behind (TestPoolsThatVanishLeaveNothing).
//   - An estimate or a cost that is wrong by far is paid by nobody else (TestWrongEstimateIsPaidByNoOther, TestWrongCostIsNoPrice, TestWrongCostsOfThoseThatHaveGone). An estimate
//     counts as 16 times the mean of late of its pool at most, so that a pool that always says too much has its share, too, and is behind by a constant (TestStorm, TestEstimatesThatAreAlwaysTooHigh).
//   - A pool of endless tasks leaves a quarter of the slots to one of short tasks at least (TestPoolWhoseTasksNeverEnd).
//   - What a pool has had beyond its siblings it has to wait for when it comes back, as long as they have not caught up. With a HalfLife that is halved by each
//     half-life in which it had nothing to start and ran nothing; a sixty-fourth is never forgotten, so that nobody waits for ever, and the bounds stay
//     (TestHalfLife, TestHalfLifeWithinTheBound, TestPoolsThatComeAndGoLetOthersPass).
//   - With a Credit, a pool that begins to have something to start gets as much before others as it left unused while it had nothing, up to the credit. Then the second bound grows by
//     Credit/w(x) + Credit/w(y), and nobody waits for ever (TestCredit, TestPoolsWithCreditLetOthersPass).
//   - All this holds together, for pools whose estimates are true or unknown, beside others that lie, come and go or never end, while weights change and the policy is restored (TestStorm).
//   - A pool that declines slots, or waits for locality, keeps its tag: when it takes slots again, it gets what it let pass before
//     others get anything, however much that is (TestPoolThatDeclinedIsServedFirst).
//   - Lost work is not charged: a job whose attempt was preempted, refused, or lost with its slot stands where it stood, in its pool and its pool among others. A job
//     whose attempt failed does so once, and is charged when its next attempt has ended: see [sojourn.Cause] (TestConformance). If the job ends before that, its pools
//     are charged then, so that who sends jobs that fail once each has no more than a share (TestFailuresHaveAShare).
//   - No preemption back and forth: a task is never killed if its pool, or a pool around it that does not contain the claiming pool, would then be below its
//     share or minimum. So without arrivals, ends and changes of slots, killing comes to an end (TestNoPreemptionBackAndForth).
//   - With the default Ties and one slot, a job that waits is never passed by a job of its pool that comes later (TestNewcomersDoNotPass). If jobs have one
//     weight and tasks of one length, none is served twice before every other waiting job was served once (TestEqualJobsTakeTurns).
//   - With the order [Running], pools are max-min fair in whole slots: whenever a slot is given to a pool x by weight while its sibling y could be served, y is not
//     below its minimum and r(x)/w(x) <= r(y)/w(y) held before (TestLeastRunningPerWeightFirst). If an empty cluster is filled, no pool gets more than its fluid share
//     plus one slot for each level of the tree, if the minimums of each pool's children add up to at most its own, and those at the top to at most
//     the slots (TestSlotsFillUpToTheFluidShare).
//   - With a Cost, users have the properties of dominant resource fairness, up to what whole tasks round: see "Several resources" (TestPropertiesOfDRF, TestStrategyProof).
//
// What the promises leave out:
//
//   - A pool that is served for its minimum is charged for it, and gets more only when it is its turn by tag. One with a minimum leaves no debt. A pool at a limit
//     counts as one that has nothing to start.
//   - With Places, a gang may be wider than what its pool lacks to its minimum. The pool then holds more, and others may lack as much to theirs for ever. Pools at the top hold
//     theirs if the minimums, and a gang more less one place for each of these pools, fit together (TestGangsHoldTheirMinimums). A pool within a pool may lack some even then: what runs beside it
//     counts for the minimum of the pool around.
//   - Jobs that stand beside pools have no tags: between a job and a pool r/w decides, also if there are more of them than slots. The pools keep their
//     bound among each other.
//   - With the order Running, a sibling that runs nothing is passed over at most n-1 times by n that always have tasks (TestPoolWithoutTasksIsServedAfterItsSiblings), but not if minimums add up to more
//     than the slots, nor beside a job of a few tasks that arrives again and again below its minimum. Preemption for the fair share does not change the order.
//   - There is no bound on how much later than under fluid fair sharing (processor sharing) a job finishes, since a job of few tasks can be unlucky in every
//     round.
//
// # What it costs
//
// With a Cost, an update concerns all classes of a pool: it takes O(k (log n + d log m)) for k classes
// that the pool has used, and to find out whose turn it is takes O(k d) for the k classes with a free
// slot, once after each event or assignment.
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
//
// # When it is wrong
//
//   - All jobs are of one owner. Jobs in one pool share the slots equally, which makes all of them slow: package leastwork.
//   - A pool needs slots at once. Running tasks keep their slots until they end, but for Preemption and Reserve.
//   - A pool is to have no more than so many tasks a second. Limits here count tasks that run, not rates.
//   - Nobody knows how long tasks take, and they take hours. Attempts count by the mean of late until they have run for longer, so
//     that a pool of long tasks may hold more than its share at first.
//   - No job may end later than under ideal fair sharing: package pfsp.
//
// # Algorithm
//
// It follows the Hadoop Fair Scheduler (Zaharia; Hadoop 0.20, MRv1) with the nested queues of
// YARN's. The order between pools is another one.
//
// Each class of slots is shared by itself, but for Places and Cost. A free slot goes down the tree of pools from the root.
// Among the pools that can be served, pools below their minimum come first, the least r/min at the
// front. The others follow, the least tag at the front, then the pool that was never served, then the one
// that was served longest ago. This is start-time fair queueing by service, that of package kit/flow.
// The mean of a pool is that of its latest attempts, or of those in the nearest pool around it that has had some. In the tag
//
//	what                            counts as
//	a running attempt               its estimate, up to 16 times the mean of its pool; without one, the mean; 0 at first
//	all that run in a pool          at least what they have held, rounded up by a sixteenth at most; what they have held beyond
//	                                their estimates when another one starts counts with that one
//	an attempt that has ended       what it took
//
// Once an end has a cost ([sojourn.Event].Cost), pools share costs instead of time, and all are level at that moment. From then on an
// estimate, or an end without a cost, counts as what such a time has cost of late, and how long something runs does not count.
//
// A pool that begins to have something to start is level with the least one that is served: idle time earns nothing, or a Credit at
// most. For that, what runs counts as what it has held, or as four times the mean of its pool if that is more, but as no
// more than it is charged: who comes does not pay for wrong estimates of others. A pool that goes with its last job and comes again has the
// tag that it had, while that is ahead. With the order [Running], what Hadoop does, the measure is r/w
// instead, and ties go to the pool that was served longest ago.
//
// Jobs of one pool come in the order of r/w. If jobs of a pool tie, Options.Ties decides. By
// default the job that has had the least slot time for its weight goes first, and then the one that
// was served longest ago. An arriving job starts level with the job that has had most. If a pool
// has both jobs and pools below it, they compete by r/w as equals, with their own weights.
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
// A pool changes while the policy runs: [sojourn.PoolChanged] says its weight, minimum and limits, and
// whether it is paused, in place of what Options.Pools says of that one pool. What runs goes on. Then the
// order is that of a policy which was made so (TestChangeIsLikeARestore). Only how the jobs of the pool are served,
// FIFO or by a policy, stays. A pool with nothing but a name is again what Options.Pools says. A change
// takes O(log n) for each class of the pool and each pool around it; one that gives the pool its first MaxJobs, or takes
// it away, takes time in proportion to the live jobs of the pool.
//
// # Several resources
//
// Tasks often need different amounts of CPU, memory and GPUs, and nodes have all of them. Then each
// shape of task is a class of slots, and the driver opens a slot of a class while one more such task
// fits somewhere: package shape does this. The classes are no longer worth the same, and a task of one
// class takes the room of others. With [Options.Cost], each class has a cost, and jobs and pools are
// compared by their dominant share over all classes:
//
//	s(x)    the greatest part of any resource that the running tasks of x take
//
// The least s/w goes first, at each level of the tree, among all classes that have a free slot. A
// class whose turn it is not is declined until the others have been served, or have nothing to start.
// So a driver has to repeat its passes over the classes until one starts nothing, as the comment of
// package sojourn says; then the order in which it goes through them does not matter. No free slot is
// left over for which something could start within limits. This is dominant resource fairness [Ghodsi,
// Zaharia, Hindman, Konwinski, Shenker, Stoica, NSDI 2011].
//
// Shares are integers in units of 2^-32 and exact, up to the rounding of the costs and a cap at the
// whole cluster. [Options.Ties] decides between jobs that tie, by the greatest of their values over
// the classes. Minimums, delays, preemption and policies in pools go by the slots of one class, so
// they are not available with costs; maximums by class and MaxJobs are.
//
// Let d(k) be the dominant share of one task of user k, where users are pools side by
// side that always have tasks, each of one class, on one machine that is filled when it is empty.
// Then user i gets a dominant share of more than w(i) (1 - sum of d) / sum of w (sharing incentive),
// no task of anybody fits any more (Pareto efficiency), and, up to the tasks that whole numbers
// round, nobody could run more with what another user has (envy-freeness, for equal weights) or by
// claiming other demands (strategy-proofness, if all need something of every resource). The comments
// of the tests have the exact statements with their proofs. The paper has them for tasks that can be
// divided. With several nodes, a share can end below these bounds, since a task must fit on one node.
//
// # Gangs
//
// Tasks that must start together are one task of a class that says how many places it needs: package gang. If each class
// were shared by itself, a pool with narrow gangs would hold nearly all places, since whenever something ends, something
// narrow fits. With [Options.Places], a task counts as many times as it has places, for shares and in Min and Max, and
// service is the time of places, over all classes together:
//
//	p, err := fair.New(fair.Options{Places: 16})
//	c, err := gang.New(gang.Options{Places: 16, Turns: p})
//
// The free slot of the class whose turn it is goes first, and other classes are declined until then, as with a Cost. If the
// gang whose turn it is does not fit yet, the Cluster keeps places for it: see [Policy.Turn]. So what is reserved
// counts against the share of the pool that it is for. Equal pools with gangs of 8 and of 1 on 16 places, or
// of 12, 4 and 1 on 24, hold equal numbers of places (TestGangsOfEqualPoolsHoldEqualPlaces).
//
// In a pool with a Max, too, room is kept for the gang that comes first: others there start only if they leave it enough of the maximum. Otherwise the narrow ones would
// hold nearly all of it (TestGangsOfEqualPoolsBelowAMaximum). While the cluster has lost so many places that this gang does not fit on it, those that would take its room wait for it, unless nothing runs.
//
// Let P be the places, no attempt be charged for more than L, and nobody know how long gangs run. Then pools that always
// have gangs satisfy |W(x)/w(x) - W(y)/w(y)| <= P L (1/w(x) + 1/w(y)) since they were level, where W is the time
// of places and L is rounded up by a sixteenth (TestGangsWithinTheBound). Below a pool with a Max, that is their P (TestGangsInTreesWithMaximums). The proof is that of the first line
// in package kit/flow: nothing starts but what has the least tag, and all that is out holds at most P places.
//
// Gangs that do not fit yet are backfilled as in EASY: docs/theory/fair.md.
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
// All these policies know the states and racks of all nodes.
//
// # Delay scheduling
//
// With Options.Delay, a job may be passed over at its turn if it has no task close to
// the slot. Others are then served, until the job has waited for Delay for a node, and
// then for RackDelay for a rack: see package internal/locality. Time counts while a slot is
// free that the job could use. Once another job was given a slot in its place, all time
// counts. Between being passed over and being served at its next turn, no job waits
// longer than Delay and RackDelay.
//
// Waits leave at most a sixteenth of the slot time unused that tasks have held near their inputs: docs/theory/locality.md.
//
// Jobs of a pool with a policy of its own wait as that policy says. That policy decides
// which task a job runs where, and which job goes first meanwhile. If fair declined
// slots for it, its account of waiting jobs would be wrong. If all pools have policies,
// a Delay is an error.
//
// # Locality within a window
//
// With Options.Window, no slot idles for locality, and no job waits for it. A slot goes down the tree as always, but at each level it goes to the
// nearest of the pools whose tags are at most the least one and Window, for a unit of weight, and of several to the one that comes first. How near a pool is
// follows from the next task of its first job: the input is on the node of the slot, on its rack, or elsewhere. If that task of the first pool runs equally well anywhere, no pool
// passes it, and a pool where it does passes no other. Pools below their minimum come first, wherever the slot is. Nothing is known of tasks in a pool with a policy of its own: the slot is
// far from them.
//
// A few times the length of a task is a good window: docs/choose.md has what it gains beside a Delay. A decision takes O(k) for the k pools in the window, and allocates
// nothing (TestWindowTakesTheNearest, TestWindowAllocatesNothing).
//
// # Reserve
//
// Tasks of an hour that were started together can hold all slots, and a job of ten seconds then
// waits for an hour, whatever its share is. With Options.Reserve, a few slots of each class are kept
// free: k of N. While at most k slots count as free,
//
//   - a job may start a task only if it runs nothing in the class;
//   - a pool with a policy that keeps to it (default, las, hfsp, and srpt, fsp and pfsp unless Counted)
//     starts what that policy would start if k of the N slots were its own reserve;
//   - a pool with another policy may start a task only if it runs nothing in the class;
//
// unless there is one live job. A slot counts as free if it is idle, or if its task started out of turn: while an earlier
// job or pool was held back by the reserve, or had declined. So no
// more than k slots run tasks that started out of turn, and all others are given by the order of the
// shares: a pool that always has jobs of many tasks gets what it would get of N-k slots, however
// many short jobs come to others. The proof is in package kit/reserve.
//
// Such a policy keeps no reserve of its own in a pool. One that is Counted keeps its pool small: use none inside pools.
//
// Under `sojourn compare -w kth.jsonl -c 100x1 -p fair:ties=arrival,fair:reserve=0.02 --estimates none`
// the mean slowdown is half of that without a reserve, and the mean sojourn time is the same; on
// Lublin (320x1) it is a third, and the mean sojourn time rises by 4 %.
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
// # Departures
//
// Ratios are exact integers, pools are served by service, ties are broken in turn, and a job counts against MaxJobs only
// while it runs tasks: docs/theory/fair.md.
package fair
