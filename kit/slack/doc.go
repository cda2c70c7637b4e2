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
// Proof. By induction over the events, s_i >= 0 for every job in V.
//
// (a) A job of size x arrives. It raises s of each job j before it by phi v_j/phi_j. It leaves s
// of the jobs behind it as it is, since H and the sum of w both grow by x. Its own slack is at
// least that of the job before it.
//
// (b) Job i is served for a time dt. All H fall by C dt. The sum of w falls by as much for i and
// the jobs behind it. So only s_j with j < i falls. If j is unfinished, s_j falls by at most w_i
// until i is finished, and s_j >= w_i. If j is finished, look at the last unfinished job before
// j. H does not fall from one place to the next, and finished jobs have no work, so s_j is no
// less than the slack of that job. If there is no such job, s_j is no less than 0.
//
// (c) A job is virtually complete. Then s_1 = 0 - w_1 >= 0: the job has no work left, and nothing
// changes for the others.
//
// So no job is virtually complete before it is finished, which is the theorem. Between events the
// choice stays right: time lowers only w of the job in service, and no slack rises.
//
// The package pfsp extends the theorem to real tasks on many slots. It needs s_j >= 0 for the jobs
// that are passed over (see [System.Protected]), and a w that counts at least the work that is not
// started.
//
// # The rules
//
// The table says what each call does to s, with C dt and work in slot time. Some rules
// differ from the paper's. The tests of the package have both, and show where the printed
// one fails.
//
//	Advance   s_j -= C dt for all (8), (9); split where a job leaves V. The paper
//	          counts the time of each job that was executed, which is the time once
//	          only if one job had all slots; slots that idle consume slack as well.
//	Serve     (and SetWork) s_j += done for i and all behind it (7), (9). (10) is n_i dt for n_i
//	          slots, not dt/N.
//	Arrive    s_j += phi v_j/phi_j for all before it. Not in the paper.
//	Revise    v becomes max(0, v + new w - w) (11)-(13). With v*, w* the new values,
//	          for equal weights:
//	          s_j += v_j - v_i + w_i    if i is now behind j and was not (14)
//	          s_j += v*_i - v_j - w*_i  if i was behind j and is not any more (16)
//	          s_j += dv - dw            if j is behind both places, where v is clipped
//	          The paper leaves j out whose place i takes, and the last rule. s_i is
//	          computed anew (15), (17), for which the paper's sums end one too early.
//	          A late job that grows is in V again, with v* = new w - w.
//	complete  A job leaves V: nothing. If it is late, those in V still wait for its
//	          work, so that s_j >= 0 keeps its meaning. The paper drops the job; with
//	          estimates or rounding it is then forgotten, see [System.Serve].
//	Finish    as Serve of what is left of w; from then on the job constrains nobody.
//
// All of these follow from (6) by subtraction. The difference of two neighbours is
//
//	s_i - s_{i-1} = (phi_i + ... + phi_m) (F_i - F_{i-1}) - w_i
//
// and does not depend on virtual time. The package finds s of a newcomer this way.
//
// # Numbers
//
// V has the clock of internal/vclock, as the virtual cluster of package vqueue has. No job is
// virtually complete earlier than under exact GPS, and that package bounds how much later a job
// can be. The package keeps its jobs in a tree of its own, since it needs sums over tags. With g
// the virtual time and c the carry of the clock, (6) is
//
//	s_i = sum_{j<i} phi_j (F_j - g) + (phi_i + ... + phi_m) (F_i - g) - c - sum w
//
// This is an integer. So s is not rounded, and follows from v and w by (6) at any time, whatever
// happened before. v is rounded up once, when a job arrives, so s >= 0 stays true in integers. Sums
// wrap around at 2^192 and need not fit. s fits as long as the work in V is below 2^95
// slot-nanoseconds, which are ten years of 10^11 slots. Virtual time starts again from zero whenever V
// is empty.
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
