// Package baseline has small, well-known policies that schedulers are compared with. Use it
// to see whether another policy is better on your workload, or if one of these simple rules
// is all that you need:
//
//	p, err := baseline.NewSRPT(baseline.SRPTOptions{}) // the least remaining work first
//	p, err := baseline.NewFSP(baseline.FSPOptions{})   // as fair sharing would end jobs
//	p, err := baseline.NewLAS(baseline.LASOptions{})   // the least served first; needs no sizes
//
// Tier: research.
//
// Each policy except Local and STF chooses a job, or a phase of a job; the slot then gets the
// task of it whose input is closest.
//
// # SRPT
//
// Shortest remaining processing time: a free slot goes to the job with the least
// estimated work in its unfinished tasks; ties go to the job that came first. On one
// slot with preemption and exact sizes no policy has a smaller mean sojourn time
// [Schrage 1968]; here tasks are not interrupted. Large jobs can wait for ever.
//
// # FSP
//
// The Fair Sojourn Protocol [Friedman and Henderson 2003]: a virtual cluster
// shares the slots of each class by weight among the phases that are ready
// (fluid processor sharing). A free slot goes to the phase that ends first there.
// Phases that have ended there but not in reality go before all others. They are served
// in the order of their virtual ends ([vqueue.LateFirst]), or share the slots among themselves
// ([vqueue.LateShare], as PSBS does [Dell'Amico, Carra, Michiardi 2016]).
//
// Theorem. Let the slots of a class be N, constant, and identical. Let tasks not be
// interrupted and not fail. Let sizes be exact. Let all tasks of a phase be ready, with
// their input, when the first may start: a phase waits for whole phases (the one before it, or
// those that it needs) or for none. With LateFirst, a phase i ends at
//
//	C_i <= D_i + P + (1 - 1/N) p
//
// where D_i is its end in fluid processor sharing when it enters at the instant
// at which it is really ready, p is its longest task and P the longest task of all
// other phases in that class, of this job or another.
//
// So it holds phase by phase for jobs whose phases form a graph ([sojourn.Phase] Needs): D_i counts from when i is
// really ready. docs/theory/fsp.md has the proofs.
//
// A job with Parallelism has its place as if it had none, so the theorem says nothing of it; of its phases that may start, the first one
// of a class does. With slow start the theorem fails: a task holds a slot while nothing is done that the
// fluid system counts.
//
// With a reserve of k slots in the counted form (Counted, see package kit/reserve) the virtual
// cluster has M = N - k slots, and as long as N stays the same
//
//	C_i <= D_i + P + (1 - 1/M) p
//
// under the same hypotheses, where D_i is the end in fluid processor sharing on M slots.
//
// The plain form of a reserve has no such bound; docs/theory/fsp.md has a counterexample. If late phases share, no
// bound is proved, with or without a reserve.
//
// A test checks the theorems against exact fluid completions, and the simulator's
// fairness audit counts violations in any run. Nothing is promised with wrong
// estimates, failures, or LateShare.
//
// # LAS
//
// Least attained service: a free slot goes to the job that has held slots for the least
// time so far, running attempts included. Ties go to the job with fewer running tasks,
// then to the one that came first. LAS needs no sizes. It prefers short jobs because a
// long job has soon had more service than a short job ever needs. Attempts count that are charged, and
// those that run: see [sojourn.Cause].
//
// # Local
//
// Local first: a free slot looks at the tasks of all jobs. It gets one whose input is on
// its node, or that has no input; otherwise one with its input on its rack; otherwise any.
// Among jobs with equally close tasks the one that came first goes first. This greedy rule
// is the yardstick for TD's restrictions on locality. It promises jobs nothing: a job whose
// input is on busy nodes waits for all others. An assignment looks at every live job.
//
// # Deadline Constraint
//
// The scheduler of Kc and Anyanwu [2010], as the RTMR paper describes it (Section III).
// Let a job arrive at A with M maps of at most epsM each, R reduces of at most epsR each
// and a deadline DL. It has to start its reduces by S = DL - epsR, all at once, and runs
// n = ceil(M / floor((S-A)/epsM)) maps at a time. It is rejected if no map ends by S, if R
// exceeds the reduce slots, if fewer than n map slots are free, or if the accepted jobs k
// with S_k <= S < DL_k leave fewer than R reduce slots at S. Free slots go to the job with
// the earliest deadline, never more than n map slots to one job.
//
// It promises nothing: the test looks at the instant S and not at the time from S to DL,
// and nobody keeps the slots free. It rejects jobs that could meet their deadlines: jobs
// with more reduces than slots, and jobs that find few free slots on arrival. With HoldSlots
// jobs hold reduce slots while their maps run, in the order of arrival. The test does not
// know of this: a job that comes later waits for slots on which nothing runs, and misses its
// deadline. Jobs without a deadline go last. Rejections make no offer. Jobs whose phases say what
// they need ([sojourn.Phase] Needs) are not supported: the test is about maps, and reduces that
// wait for all of them.
//
// # HUWF, HJWF, STF, HTWF
//
// List scheduling in the orders that the MarS paper compares its own with [Ling et al.
// 2016, Section 5.1.3]:
//
//   - HUWF: the highest weight of the job over the processing time of all its tasks
//   - HJWF: the highest weight of the job
//   - STF: the shortest task
//   - HTWF: the highest weight of the task
//
// Ties go by arrival, then by phase. A free slot gets the first task of the list that may
// start; the paper says so for STF. In the paper's HUWF and HJWF, as in package mars, a
// machine waits for a task that is next and may not start yet. This needs a plan made in
// advance, so the policies here do not wait, and do better than the paper's. The orders are
// static: finished tasks count. A job has one weight, so HTWF decides as HJWF does. STF alone
// looks at tasks one by one: when a job arrives, it sorts the tasks of each phase with
// estimates of their own, and starts them in that order wherever their inputs are. None of
// the four promises anything: a job of low weight, or of long tasks, can wait for ever.
//
// # FCFS, EASY, conservative backfilling
//
// These are the rules of parallel computers for rigid jobs, which need all their processors at
// once [Lifka 1995; Mu'alem, Feitelson 2001; Feitelson, Weil 1998]. A rigid job is a gang: one
// task, whose class says how many places it needs (see package gang). The estimate is its limit.
// FCFS starts jobs strictly in the order of arrival. With EASY, a job may overtake if it ends
// before the first job could start, or takes places that the first will not need. With
// conservative backfilling, each job has a reservation from its arrival on, and a job may overtake
// if it delays no reservation.
//
// Let the places stay the same, and let no job run for longer than its limit or fail. With EASY,
// a job that has become the first waiting one starts no later than the limits of the running jobs
// say at that instant. With conservative backfilling, each job starts no later than its reservation
// at arrival: when a job ends early, the others move one after the other, each to the earliest
// instant that the others leave to it, and its old place is always such an instant. What several
// events of one instant report counts as if one event had reported it. Explain tells both promises.
//
// A job whose attempt fails, or is preempted, refused or lost with its slot, has the reservation back with
// which the attempt started. That has passed, so all reservations are made anew in the order of arrival:
// the job keeps its place, as with FCFS and EASY, and jobs that came later may start later than they were
// told. Test: TestLostWorkKeepsItsPlace, in cmd/sojourn/catalog.
//
// A job of several tasks starts them one after the other, each as a gang. If as many run as it lets run (Parallelism), it does
// not wait, and keeps no other job from starting. When one of its tasks ends, it is in its place again, the next task takes the places that are
// free, and the first job was told of that with EASY. With conservative backfilling a task gets its reservation when it may start, behind those
// that stand: it delays no job that has one. Test: TestBackfillOfBoundedJobs.
//
// FCFS and EASY take O(log n) for an event. A choice of EASY looks at all running jobs, and at
// waiting jobs until it finds one. Conservative backfilling looks at all reservations for each
// waiting job, at each event about a job: O(n^2).
//
// # Common
//
// All policies except Deadline Constraint and those for rigid jobs are work conserving, unless SRPT, FSP or LAS have
// a Reserve. A reserve leaves slots free while only tasks wait that may not take them.
//
// All except Deadline Constraint and Local take O(log n) for Observe and Assign with n
// startable jobs; LAS may re-file every running job once. Deadline Constraint looks at all
// live jobs when one arrives; with HoldSlots it also looks at them when a reduce slot is free,
// up to the one by which all slots are held.
//
// If a task has no estimate, SRPT, FSP and the lists assume DefaultTaskTime. Deadline
// Constraint needs estimates. FSP applies Weight in its virtual cluster; SRPT, LAS and Local
// ignore weights. None looks at pools.
package baseline
