// Package fair gives every job, and every pool of jobs, an equal share of the
// slots, after the Hadoop Fair Scheduler.
//
// # Notation
//
//	r(x)  running tasks of a job or pool x on slots of one class
//	w(x)  its weight
//	a(x)  tasks of x started so far on slots of that class
//
// # Algorithm
//
// Jobs belong to the pool that [sojourn.Job] names; the empty name is a pool like
// any other. Classes of slot are shared separately. A free slot goes to the pool
// with the least r/w among those that have a startable task for it, and within
// the pool to the job with the least r/w; ties go to the pool, or the job, that
// came first. With [Deficit] the measure is a/w instead.
//
// One pool level is built; pools have weights and nothing else.
//
// # Guarantees
//
// Work conserving. With the order Running, when tasks are short against the time
// that shares stay as they are, each busy job holds the max-min fair number of
// slots for its weight: whenever a slot is given to x while y has a startable task
// in the same pool, r(x)/w(x) <= r(y)/w(y) held before. No job waits for ever:
// every job in a busy pool gets its share as slots become free. There is no
// bound on how much later than under fluid fair sharing (processor sharing) a
// job finishes, since a job of few tasks can be unlucky in every round.
//
// The order Deficit gives a new job every free slot until it has started as many
// tasks in relation to its weight as its neighbours have, which makes it a
// stricter fair sharing for short jobs and a slower one for long jobs. Pools
// follow start-time fair queueing [Goyal, Vin, Cheng 1997]: one that was idle
// starts level with the pool that was served last.
//
// # Departures
//
// Hadoop compares floating point ratios. Here r/w is an exact integer: weights are
// below 2^48 units of 2^-16 and counts below 2^32, so that two different ratios
// differ by more than 2^-96 units, and floor(r*2^96/w) orders them without error.
//
// # Cost
//
// With n startable jobs and m busy pools, Observe and Assign take O(log n + log m).
// Nothing is allocated except when a job arrives, a pool begins to be used, or a
// task is tried again. Idle jobs, pools and slots are not visited.
package fair
