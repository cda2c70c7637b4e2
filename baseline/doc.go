// Package baseline holds the rivals that the papers compare their schedulers
// with.
//
// Each but Local and STF chooses a job, or a phase of one; of its tasks the slot gets the
// one whose input is closest.
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
// be interrupted and not fail; let sizes be exact, and let all tasks of a phase be
// ready, with their input, when the first may start: a phase waits for the whole
// phase before it, or for none. With LateFirst, a phase i ends at
//
//	C_i <= D_i + P + (1 - 1/N) p
//
// where D_i is its end in fluid processor sharing when it enters at the instant
// at which it is really ready, p is its longest task and P the longest task of all
// other phases in that class, of this job or another.
//
// Proof. Take task starts one after the other, also those at one instant. Consider
// the task of i that ends last, which starts at S, and the last moment t0 before
// that start at which a slot stayed free after all had been offered, or a phase
// behind i in the virtual order was given one. At that moment no phase up to i had
// an unstarted task that was ready, or it would have been served: so i became ready
// later, and what was left to do for phases up to i was the rest of running tasks of
// other phases, at most N P. From then on to S no slot is free and only phases up to
// i are started. Arrivals do not change the virtual order of phases that are there,
// and those of them that come before i and become ready by S are done in the fluid
// system by D_i, which does at most N (D_i - t0) of work until then. Hence N (S - t0)
// <= N P + N (D_i - t0) - p', where p' <= p is the task that starts at S, and C_i = S +
// p'. If there is no such moment, the same holds with t0 = 0 and nothing running. The
// rounding of virtual time adds at most n^2 R 2^-47 nanoseconds, with n phases in that
// class since it was last virtually empty, of weights of which the largest is R times the
// smallest: see package vclock.
//
// With slow start the theorem fails: a slot is held while nothing is done that the
// fluid system counts.
//
// With a reserve of k slots in the counted form (Counted, see package kit/reserve) the virtual
// cluster has M = N - k slots, and as long as N stays the same
//
//	C_i <= D_i + P + (1 - 1/M) p
//
// under the same hypotheses, where D_i is the end in fluid processor sharing on M slots.
//
// Proof. A task is started in turn if no phase that has something to start comes before its
// own. While something waits after all offers, at least M slots run tasks that were
// started in turn: see package kit/reserve. Let S be as before, and let t0 be the latest instant
// up to which no phase up to i had an unstarted task that was ready. What runs at t0 belongs to other
// phases, since i is not ready before, and has ended by t0 + P. From t0 to S a phase up to i
// waits at all times, so that all that is started in turn belongs to phases up to i, and to
// such as become ready from t0 on. So from t0 + P to S at least M slots at a time run
// tasks of these phases, which are done in the fluid system by D_i: it does at most M (D_i - t0) of
// work until then, and p' of that is left to do at S. Hence M (S - t0 - P) <= M (D_i - t0) - p', and
// C_i = S + p'. If S is before t0 + P, then D_i >= t0 + p'/M is enough.
//
// The plain form keeps no such bound. The smallest case: two slots, of which one is reserved, and two
// jobs of tasks of a second, one half a second ahead of the other. A slot becomes free every half
// second, never two at once, and each is taken by the job that runs nothing then. A task of ten seconds that comes
// meanwhile needs two free slots, and waits until these jobs end, although it is first by
// the order from its virtual end on. With late phases shared no bound is proved, as without a reserve.
//
// A test checks the theorems against exact fluid completions, and the simulator's
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
// # Local
//
// Local first: a free slot gets, of the tasks of all jobs, one whose input is on its
// node, or has none; else one with its input on its rack; else any. Among jobs
// with equally close tasks the one that came first goes first. It is the greedy rule
// that TD's restrictions on locality are measured by, and promises jobs nothing: one
// whose input is on busy nodes waits for all others. An assignment looks at every
// live job.
//
// # Deadline Constraint
//
// The scheduler of Kc and Anyanwu [2010], as the RTMR paper describes it (Section III).
// A job that arrives at A with M maps of at most epsM each, R reduces of at most epsR
// each and a deadline DL has to start its reduces by S = DL - epsR, all at once, and
// runs n = ceil(M / floor((S-A)/epsM)) maps at a time. It is rejected if no map ends by
// S, if R exceeds the reduce slots, if fewer than n map slots are free, or if fewer than
// R reduce slots are left at S by the accepted jobs k with S_k <= S < DL_k. Free slots go
// to the job with the earliest deadline, never more than n map slots to one job.
//
// It promises nothing: the test looks at the instant S and not at the time from S to DL,
// and nobody keeps the slots free. It rejects what could be done: jobs with more reduces
// than slots, and jobs that find few free slots on arrival. With HoldSlots jobs hold reduce
// slots while their maps run, in the order of arrival, which the test does not know of: who
// comes later waits for slots on which nothing runs, and misses. Jobs without a deadline
// go last. Rejections make no offer.
//
// # HUWF, HJWF, STF, HTWF
//
// List scheduling in the orders that the MarS paper compares its own with [Ling et al.
// 2016, Section 5.1.3]: the highest weight of the job over the processing time of all
// its tasks, of the job, the shortest task, the highest weight of the task. Ties go by
// arrival, then by phase. A free slot gets the first task of the list that may
// start, which the paper says of STF; in its HUWF and HJWF, as in package mars, a
// machine is held for a task that is next and has to wait, which without a plan made in
// advance nobody can do: these here do better than the paper's. The orders are static:
// finished tasks count. A job has one weight, so that HTWF decides as HJWF does. STF
// alone, of all policies here, looks at tasks one by one: it sorts those of a phase with
// estimates of their own when the job arrives, and starts them in that order wherever
// their inputs are. None promises anything: a job of low
// weight, or of long tasks, can wait for ever.
//
// # Common
//
// All but Deadline Constraint are work conserving, unless SRPT, FSP or LAS have a Reserve,
// which leaves slots free while only tasks wait that may not take them. All but Deadline
// Constraint and Local take O(log n) for Observe and Assign with n startable jobs; LAS may re-file every running job once. Where a task has no
// estimate, SRPT, FSP and the lists assume DefaultTaskTime. FSP applies Weight in its virtual
// cluster; SRPT, LAS and Local do not look at weights. None looks at pools.
// Deadline Constraint wants estimates, and looks at all live jobs when one arrives; with
// HoldSlots also when a reduce slot is free, up to the one by which all slots are held.
package baseline
