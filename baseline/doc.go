// Package baseline holds the rivals that the papers compare their schedulers
// with.
//
// # SRPT
//
// Shortest remaining processing time: a free slot goes to the job with the least
// estimated work in its unfinished tasks, ties to the job that came first. On one
// slot with preemption and exact sizes no policy has a smaller mean sojourn time
// [Schrage 1968]; here tasks are not interrupted. Large jobs can wait for ever.
//
// # FSP
//
// The Fair Sojourn Protocol [Friedman and Henderson 2003]: a virtual cluster
// shares the slots of each class by weight among the phases that are ready
// (fluid processor sharing); a free slot goes to the phase that ends first there.
// Phases that have ended there but not in reality go before all others, in the
// order of their virtual ends ([LateFirst]), or share the slots among themselves
// ([LateShare], as PSBS does [Dell'Amico, Carra, Michiardi 2016]).
//
// Theorem. Let the slots of a class be N, constant, and identical; let tasks not
// be interrupted and not fail; let sizes be exact, and let each phase be ready
// from the moment at which it may start. With LateFirst, a phase i ends at
//
//	C_i <= D_i + P + (1 - 1/N) p
//
// where D_i is its end in fluid processor sharing when it enters at the instant
// at which it is really ready, p is its longest task and P the longest task of the
// other jobs in that class.
//
// Proof. Let S be when the task of i that ends last starts, and t0 <= S the last
// instant at which a slot idled or a phase behind i in the virtual order was
// started. From t0 to S all slots are busy, and only phases up to i are started. At
// t0 no phase up to i had an unstarted task, or it would have been started: so i
// became ready after t0, and all that was left to do at t0 for phases up to i was
// the rest of running tasks of others, at most N P. Arrivals do not change the
// virtual order of phases that are there. Every phase up to i that becomes ready
// after t0 and before S is done in the fluid system by D_i, which makes at most
// N (D_i - t0) of work. Hence N (S - t0) <= N P + N (D_i - t0) - p, and C_i = S + p.
// With slow start a task occupies its slot from its start, and p and P are to be
// read as occupancies.
//
// A test checks the theorem against exact fluid completions, and the simulator's
// fairness audit counts violations in any run. Nothing is promised with wrong
// estimates, failures, or LateShare.
//
// # LAS
//
// Least attained service: a free slot goes to the job that has held slots for the
// least time so far, running attempts included; ties go to the one with fewer
// running tasks, then to the one that came first. It needs no sizes, and prefers
// short jobs because long ones have soon had more than short ones ever need.
//
// # Common
//
// All three are work conserving, and take O(log n) for Observe and Assign with n
// startable jobs; LAS may re-file every running job once. Where a task has no
// estimate, SRPT and FSP assume DefaultTaskTime. FSP applies Weight in its virtual
// cluster; SRPT and LAS do not look at weights. None looks at pools.
package baseline
