// Package slack tells how long each job could still wait without completing later than
// under processor sharing, and which job can be served next without making anybody late.
//
// Tier: kit.
//
// Use it for a policy that serves the job with the least work first, and promises each job
// the time at which fair sharing would complete it: protective scheduling, as in
// [github.com/sojourn-sched/sojourn/pfsp]. If jobs are only served in the order in which
// fair sharing would complete them, [github.com/sojourn-sched/sojourn/kit/vqueue] is
// enough.
//
//	s := slack.New[*job](vqueue.LateFirst)
//	s.SetCapacity(slots)                         // when slots come or go
//	s.Advance(now, nil)                          // at each event, before the event is applied
//	it := s.Arrive(j, work, weight, slack.Ready) // work in slot-nanoseconds, weight in units of 2^-16
//	s.SetState(it, slack.Drained)                // while the job has no task to start
//	s.SetWork(it, left)                          // when some of its work was done
//	first, ok := s.LeastCompletable()            // whom a free slot serves
//	s.Finish(it)                                 // when the last task has finished, or the job is cancelled
//
// # The system
//
// V is a virtual cluster, as in package vqueue: all jobs share its slots in proportion
// to their weights, however many slots a job could really use. Its jobs are in the order
// in which they complete there: by (F, arrival), where F is the virtual time at which a
// job completes. A job that is really finished stays in V until it is virtually
// complete. A job that is virtually complete and not really finished is late. It goes
// before all jobs in V.
//
// Let m jobs be in V, in that order. Job i has the weight phi_i, the virtual work v_i that it
// has left in V, and the real work w_i that it has left. The work that V does until i
// completes, if nobody else arrives, is
//
//	H_i = v_1 + ... + v_{i-1} + (phi_i + ... + phi_m) v_i / phi_i
//
// The slack of i is
//
//	s_i = H_i - (w_1 + ... + w_i)                                            (6)
//
// where late jobs count among those before i. Li et al. state it for equal weights: "H-PFSP:
// Efficient Hybrid Parallel PFSP Protected Scheduling for MapReduce System", 2013. Equation
// numbers are theirs.
//
// Job i is completable if it can be served to its end without interruption and nobody before
// it becomes late: s_j >= w_i for all j < i that have something to start. The job to serve is
// the completable one with the least w. The first job in V that has something to start is
// always completable.
//
// v, w and s are in slot time. The paper divides them by the number of slots, which
// changes no order.
//
// # Protectiveness
//
// Theorem [Friedman and Hurley, Protective scheduling, 2003]. On one processor of
// the speed C of all slots together, with exact sizes, free preemption, and a
// decision at each arrival and each real completion, no job completes later than
// under GPS.
//
// docs/theory/slack.md has the proof.
//
// The package pfsp extends the theorem to real tasks on many slots. It needs s_j >= 0 for the jobs
// that are passed over (see [System.Protected]), and a w that counts at least the work that is not
// started.
//
// docs/theory/slack.md says what each call does to s, where the printed rules fail, and how s is an exact integer.
//
// # Cost
//
// When time passes, s falls by the same amount for all jobs, which is one number. An arrival adds to
// all jobs before it an amount that is linear in F. The jobs are in a B+ tree. A node keeps the least
// s below it, the amount to be added to all jobs below it, and how much may be added until another job
// has the least s. With n jobs in V:
//
//	Advance, SetRunning           constant; O(log n) for each virtual completion
//	Arrive, Serve, SetWork, Revise, Finish, SetState, Guard
//	                              O(log n), and amortised O(log^2 n) where the heat
//	                              changes which job has the least slack
//	First, FirstRanked, Slack     O(log n); Slack of a late job: their number
//	LeastCompletable              constant if nothing has changed; else that of Completable for
//	                              each job that it looks at: the one with the least w of all; if
//	                              that is not completable, the one with the least w of those
//	                              up to its guard; and so on
//	Completable, Protected        constant if the least slack in V, which the root knows, is enough;
//	                              else that of Guard
//
// Late jobs are in a heap of their own. Memory is that of the greatest number of jobs there were at
// one time.
package slack
