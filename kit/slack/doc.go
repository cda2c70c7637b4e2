// Package slack provides the slack system of protective scheduling: it tells how
// long each job could still wait without completing later than under processor
// sharing, and which job can be served next without making anybody late.
//
// # The system
//
// V is a virtual cluster that shares its slots among all jobs in proportion to
// their weights, without regard to how many slots a job could really use
// (generalised processor sharing, GPS). It ages by wall time. Its jobs are in the
// order in which they complete there: by (F, arrival), where F, the virtual time
// at which a job completes, never changes. A job that is really finished stays in
// V until it is virtually complete. A job that is virtually complete and not
// really finished is late: it stays in front of V.
//
// With m jobs in V, and for job i in that order its weight phi_i, the virtual work
// v_i that it has left in V, the real work w_i that it has left, and
//
//	H_i = v_1 + ... + v_{i-1} + (phi_i + ... + phi_m) v_i / phi_i,
//
// which is the work that V does until i completes if nobody else arrives, the
// slack of i is
//
//	s_i = H_i - (w_1 + ... + w_i)                                            (6)
//
// with late jobs counted among those before i. Li et al. have it for equal weights:
// "H-PFSP: Efficient Hybrid Parallel PFSP Protected Scheduling for MapReduce
// System", 2013; equation numbers are theirs. Job i is completable if it can be
// served to its end without interruption and nobody before it becomes late:
// s_j >= w_i for all j < i that have something to start. The job to serve is the
// completable one with the least w; the first job in V that has something to start
// is always completable.
//
// v, w and s are in slot time, and not divided by the number of slots as in the
// paper: capacity changes rates, and no order.
//
// # Protectiveness
//
// Theorem [Friedman and Hurley, Protective scheduling, 2003]. On one processor of
// the speed C of all slots together, with exact sizes, free preemption, and a
// decision at each arrival and each real completion, no job completes later than
// under GPS.
//
// Proof. By induction over the events, s_i >= 0 for every job in V. (a) An arrival
// of size x raises s of those before it by phi v_j/phi_j, leaves s of those behind
// it as it is, since H and the sum of w grow by x alike, and the newcomer has at
// least the slack that the one before it had. (b) In a time dt during which job i
// is served, all H fall by C dt, and the sum of w by as much for i and those behind
// it: only s_j with j < i falls. If j is unfinished, it falls by w_i at most until
// i is finished, and s_j >= w_i. If it is finished, look at the last job before it
// that is not, or at none: H does not fall from one place to the next, and the
// work of finished jobs is 0, so that s_j is no less than the slack of that one, or
// than 0. (c) At a virtual completion s_1 = 0 - w_1 >= 0: the job has no work left,
// and nothing changes for the others. Nobody is ever virtually complete before it is
// finished, which is the theorem. Between events the choice needs no second look:
// time lowers w of the job in service only, and no slack rises.
//
// With real tasks, see the package pfsp. It needs no more than s_j >= 0 for the
// jobs that are passed over, [System.Protected], and a w that counts at least the
// work that is not started.
//
// # The rules
//
// What each call does to s, with C dt and work in slot time. Where the paper says
// something else, it is wrong: the test of the package has both, and shows where
// the printed one fails.
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
// All follow from (6) by subtraction. For neighbours it gives
//
//	s_i - s_{i-1} = (phi_i + ... + phi_m) (F_i - F_{i-1}) - w_i,
//
// in which virtual time does not occur: this is how s of a newcomer is found.
//
// # Numbers
//
// V goes by the clock of package vclock, as that of vqueue does, so that its bound holds:
// no job is virtually complete earlier than under exact GPS, and later by what is bounded
// there. The package has a V of its own since the tree below needs the tags, is
// one tree instead of four, and takes its items back, so that a job costs no
// allocation. With the carry c of the clock, (6) is
//
//	s_i = sum_{j<i} phi_j (F_j - g) + (phi_i + ... + phi_m) (F_i - g) - c - sum w
//
// which is an integer: s is not rounded at all, and is what (6) makes of v and w at
// any time, whatever happened before. As v is rounded up, once, when a job arrives,
// s >= 0 stays true in integers. Sums wrap around at 2^192 and need not fit; s fits
// as long as the work in V is below 2^95 slot-nanoseconds, which are ten years of
// 10^11 slots. Virtual time starts anew whenever V is empty.
//
// # Cost
//
// Advancing time changes s of all jobs alike: one number. An arrival adds to all
// jobs before it an amount that is linear in F. The jobs are in a B+ tree whose nodes
// keep the least s below them, what they add to all below them, and how much of such
// heat it takes until another job has the least s. With n jobs in V:
//
//	Advance, SetRunning           constant; O(log n) for each virtual completion
//	Arrive, Serve, SetWork, Revise, Finish, SetState, Guard, Completable, Protected
//	                              O(log n), and amortised O(log^2 n) where the heat
//	                              changes which job has the least slack
//	First, Slack                  O(log n); Slack of a late job: their number
//	LeastCompletable              constant if nothing has changed; else as Guard, for each job
//	                              that is looked at: the one with the least w, and if that
//	                              is not completable, of those up to its guard the one with
//	                              the least w, and so on
//
// Late jobs are in a heap of their own. Memory is that of the most jobs there ever
// were at a time.
package slack
