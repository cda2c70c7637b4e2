// Package pfsp keeps jobs short on average and promises each job that it does not end much
// later than under fair sharing.
//
// Tier: stable.
//
// Use it if sizes are known. If sizes are guessed badly, late jobs share the slots and the
// promise is void, which Explain tells; package hfsp is then the better choice.
//
//	p, err := pfsp.New(pfsp.Options{})
//	if err != nil {
//		return err // only options out of range give one
//	}
//	err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}) // Phase.Estimate is the size
//	a, ok := p.Assign(slot)                                            // for each free slot
//
// The policy is H-PFSP [Li, Lin, Ren, Geng: H-PFSP: Efficient Hybrid Parallel PFSP Protected
// Scheduling for MapReduce System, TrustCom 2013], which brings PFSP [Friedman and Hurley,
// Protective Scheduling, 2003] to many slots. It has the corrections that its promise needs.
// Numbers of equations and algorithms are those of H-PFSP.
//
// # Algorithm
//
// Each class of slots has a slack system (package slack). That is a virtual cluster V, which
// shares the slots of the class by weight among the phases that are ready (generalised
// processor sharing). A phase enters V with its work when it becomes ready. It leaves when V
// has done that much work for it, whether it is really finished or not.
//
// Order the phases of V by when they end there. Let v_j be the work that phase j has left in
// V, w_j the work that it has left in reality, and phi_j its weight, all in slot time. The
// slack of a phase is
//
//	s_i = H_i - W_i,  H_i = sum_{j<i} v_j + (sum_{j>=i} phi_j) v_i/phi_i,  W_i = sum_{j<=i} w_j    (6)
//
// H_i is the work that V does until i ends there, if nobody else arrives. A phase that has
// ended in V but not in reality is late and stays in front. A free slot goes to the first of
// these:
//
//   - A late phase (see [Late]), unless its size is an estimate and the next line applies.
//   - A probe. A phase may be probed if it has started fewer tasks than [Options.FairLimit] and
//     is gated in. The one that has started the fewest tasks goes first. A phase is gated in if
//     every phase before it in V that has something to start has s >= 0. It is also gated in if
//     its own size and that of the phase that is worst off are estimates: there is then
//     nothing to keep and much to learn.
//   - The completable phase with the least w. A phase is completable if s_j >= w for every
//     phase j before it in V that has something to start (Algorithm 4). The first phase in V
//     that has something to start always is.
//
// The slot gets the task of that phase whose input is closest. No phase waits for a closer
// slot.
//
// # What is promised
//
// Example: no task takes longer than a minute, and the hypotheses of the theorem below hold.
// Every phase then ends at most two minutes after its end in fluid fair sharing.
//
// In the fluid model, work can be spread over the slots at will and moved at any time. No job
// then ends later than under processor sharing, since PFSP keeps s >= 0 for all [proved in
// package slack, tested in internal/fluid]. Real tasks cannot be spread or interrupted. For
// these the following holds.
//
// Theorem. Assume that
//
//   - the number N of slots of a class is constant, and the slots are identical;
//   - tasks are not interrupted and do not fail;
//   - sizes are exact, and weights are constant;
//   - all tasks of a phase are ready, with their input, when the first may start: a phase waits
//     for whole phases (the one before it, or those that it needs) or for none;
//   - late phases are served in the order of their virtual ends;
//   - FairLimit is 0, or probes are gated.
//
// Then a phase i ends at
//
//	C_i <= D_i + P + (1 - 1/N) p
//
// D_i is its end in fluid processor sharing with weights, without limits on parallelism, if it
// enters at the instant at which it is really ready. p is its longest task. P is the longest
// task of all other phases in that class, of this job or another.
//
// Proof. Call a policy protective if it leaves no slot free while a task could start on it, and
// if it starts a task of phase k only if s_j >= 0 for every phase j before k in V that has an
// unstarted task that is ready. W has to count at least the unstarted work and the rest of
// running tasks. This policy is protective: late phases and the first phase in V have no such j
// before them, a completable phase has s_j >= w >= 0, and a probe has s_j >= 0 by the gate.
//
// Take task starts one after the other, also those at one instant. Let S be the start of the
// task of i that ends last, and p' <= p its time. Let t0 be the last moment before S at which a
// slot stayed free after all had been offered, or at which a phase behind i in V was given a
// slot. From t0 to S all slots are busy, and only phases up to i start tasks. Three kinds of
// work keep the slots busy:
//
//   - what the phases up to i that are there at t0 have left;
//   - what arrives with phases up to i until S; call it A;
//   - what is left of running tasks of other phases.
//
// Case 1: a slot stayed free at t0. Then nothing that was ready waited, so i became ready
// later. What is left of the first and the third kind is the rest of running tasks of other
// phases: at most N P. V does A until D_i, and V does at most N (D_i - t0) in all.
//
// Case 2: a phase behind i was given a slot at t0. Let j be the last phase up to i in V that
// had an unstarted task that was ready. If there is none, the argument is that of case 1. Else
// s_j >= 0 says that W_j <= H_j at t0. If j is not i, then i was not there yet, since all its
// tasks become ready together and one of them starts at S. The phases between j and i in V
// have running tasks only. So the work of phases up to j is at most H_j. All other work that
// is there is running tasks of phases other than i: at most N P. V does H_j and A until D_i >=
// D_j, because arrivals take nothing of H_j away but move D_j. So H_j + A <= N (D_i - t0).
//
// In each case N (S - t0) <= N P + N (D_i - t0) - p', hence C_i = S + p' <= D_i + P +
// (1 - 1/N) p. If there is no such t0, the same holds from the first arrival on, with nothing
// running.
//
// The proof uses throughout that arrivals never change the order of the phases that are there.
// This is why V has no limits on parallelism; with such limits the bound fails. Weights must
// not change, because H_j counts on what V does for the phases behind j before D_j: if j gains
// weight or they lose it, D_j comes earlier than expected when others were served in front of
// j. A cancelled job keeps its place in V, and takes real work away only. The rounding of
// virtual time adds at most n^2 R 2^-47 nanoseconds, with n phases in that class since V was
// last empty, and with weights of which the largest is R times the smallest: see package
// vclock. Explain leaves that out: it is below a nanosecond for up to a million phases of
// weights that differ by a factor of 100.
//
// Nothing in the proof depends on which phases i waits for: D_i counts from when i is really
// ready. So the theorem holds phase by phase for jobs whose phases form a graph ([sojourn.Phase]
// Needs). It says nothing about the job as a whole, except that it ends with its last phase.
//
// The bound is nearly tight. Let a phase of long tasks fill all slots, and let a phase of one
// task arrive just then: it ends almost 2p after D.
//
// Without a gate: with the probes of NoGate no constant bounds the lateness. What holds is
//
//	C_i <= D_i + P + (1 - 1/N) p + B/N
//
// Take the last moment before S at which a slot stayed free. B is the time of the probes of
// phases behind i in V that were started since then. The proof is the same, with these probes
// as a fourth kind of work. The paper's claim that no job ends later than under fair sharing is
// wrong for NoGate: with K = 1 there are jobs that end 8 times their longest task after D.
//
// A discrete fair scheduler is no fluid. It may serve a lucky job at once, and no constant
// bounds how much later that job ends under this policy or any other protective policy.
//
// Two readings of the paper break the bound: to drop a phase when v = 0, which leaves its work
// unprotected, and limits on parallelism in V. Tests keep both as mutants.
//
// Slots may be added while phases wait. Then N is the greatest number of slots of the class up
// to the end of the phase, which is their number at that end, since none may be lost. D is that
// of a V that grows at the same instants. The proof is the same with the integral of the number
// of slots in the place of N times a length: N at t0 is no more than it is between D_i and S.
//
// # With a reserve
//
// Tasks are not interrupted, so that short jobs wait for hours where all slots are held by long
// tasks that were started together. With Reserve a few slots of each class are kept free for
// short tasks and for phases that run little: see package kit/reserve. A free slot goes to the
// phase that the algorithm says, if its level lets it start, or else to the first phase in V
// whose level does. What may not start holds nobody back. On recorded loads this is worth more than
// any order of jobs:
//
//	sojourn compare -w TRACE -c CLUSTER -p fair,pfsp,pfsp:reserve=0.01,pfsp:reserve=0.01,counted=true
//
//	mean sojourn time in seconds, mean    KTH (100x1)    lublin (320x1)  FB-2009 (30x2+1)
//	slowdown
//	fair                                  11705, 20.1    11786, 18.9     128, 1.84
//	pfsp                                  11551, 56.8     8589, 44.2      73, 1.43
//	reserve=0.01                          10986,  5.9     8293,  4.8      76, 1.42
//	reserve=0.01,counted=true             11050, 12.1     8244, 13.6      74, 1.30
//
// The plain form keeps no promise: jobs in front of the order can see a
// stream of short jobs take each slot that becomes free. Package baseline has the smallest case,
// which is the same here. Counted keeps the promise, with fewer slots.
//
// Theorem. Let V have M = N - k slots, of which k are reserved in the counted form. Under the
// hypotheses above, a phase i ends at
//
//	C_i <= D_i + P + (1 - 1/M) p
//
// where D_i is its end in fluid processor sharing on M slots.
//
// Proof. Call a start in turn if it is the one that the algorithm says. Such a start is
// protective, with the slack of V. While something waits after all offers, at least M slots
// run tasks that were started in turn: see package kit/reserve. Let S and p' be as above. Let t0 be the
// last moment before S at which no phase up to i had an unstarted task that was ready, or at
// which a phase behind i in V was given a slot in turn. After t0 a phase up to i waits at all times
// until S, and all that is started in turn belongs to phases up to i.
//
// Case 1: no phase up to i had such a task at t0. Then i became ready later, and what is started in
// turn from t0 to S belongs to phases that became ready after t0. V does their work by D_i. What runs
// at t0 belongs to phases other than i.
//
// Case 2: a phase behind i was given a slot in turn at t0. Let j and A be as in case 2 above. What
// is started in turn from t0 to S belongs to A, or to what the phases up to j have left at t0, which
// is at most H_j. V does both by D_i. All else that runs at t0 belongs to phases other than i.
//
// In each case this work is at most M (D_i - t0), and p' is part of it. What else runs at t0 has
// ended by t0 + P, so that from then to S at least M slots at a time do this work, of which p' is left
// at S: M (S - t0 - P) <= M (D_i - t0) - p', and C_i = S + p'. If S is before t0 + P, then p' <= M (D_i -
// t0) is enough. What is started out of turn only takes work away.
//
// Slots may be added while phases wait, as without a reserve: then k does not fall, and neither
// does M. If slots were lost, more than k may be held out of turn for a while, but no longer than
// until P after the next moment at which nothing waits: what ran at that moment has ended by then, and
// nothing is started out of turn while k slots are held so.
//
// # When the promise holds
//
// Explain says for each phase whether the bound holds (bound_holds), or else which hypotheses
// do not (void). It looks back to when the class last had nothing waiting and V was empty.
// Since then one of these may have happened: the size of some task was not known, wrong or
// revised; slots were lost; attempts failed; tasks were held; attempts or ready jobs were
// adopted; weights changed; tasks had to wait for input in their slots; a phase that others
// wait for lost output.
//
// D is that of the sizes that were told. A wrong size counts from when it shows: at the end of
// a task that was shorter, or when a task has held its slot for longer than was said. Until
// then it does no harm, because what has been started up to S has had no more than V knows.
// What Explain says holds for as long as nothing of this happens. With NoGate and probes, with
// LateShare, and with a Reserve that is not Counted, it never says that the bound holds.
//
// Nothing is promised about the mean sojourn time, neither against FSP nor against fair
// sharing. PFSP is a few percent better than FSP on average and can be worse.
//
// # Sizes that are estimates
//
// Estimates are believed until they show to be wrong: a task has taken another time than was
// said, or a revision changes what is said of a task that is not finished, even if the sum
// stays the same. From then on the work of the phase is estimated again whenever the number of
// its finished tasks has doubled. For tasks without an estimate this is so from the beginning.
// The factor is the mean time of finished tasks in relation to what was expected, in the place
// of eqs. (1) and (2). w and v change by the same amount (eqs. 11 to 17), so that the phase
// keeps its age, but v does not fall below 0. For a late phase v is 0. If its work turns out to
// be more, it is in V again with as much as it grows by.
//
// A phase may have attained as much as it was expected to need, and still have tasks to start.
// It is not served for having little left. When its turn comes, the work that it has left is
// first taken to be as much as it has attained.
//
// Until a task has finished, reports on the progress of running attempts serve the same purpose
// for tasks without an estimate.
//
// # Departures from the paper
//
//   - A phase is what the paper calls a job, and each class of slots has a slack system of its
//     own. The paper adds up map and reduce work and tells stages apart by a progress of 0.95;
//     no bound is known for that.
//   - Work is slot time, not divided by N: eqs. (3), (4) and (10) are not needed, and slots that
//     come and go change rates and no order.
//   - In eq. (2) the sample is the time of the phase at the present parallelism and not that of a
//     task: it is r dt/(N_T dP), with r slots and N_T tasks. The mean of finished tasks is the
//     same and simpler.
//   - Eqs. (8) and (9) apply to elapsed time, not to jobs that were executed, and intervals are
//     split when a phase ends in V. Eqs. (14) to (17) have wrong limits. See package slack.
//   - What has ended in V stays until it has really ended; see above.
//   - Probes are gated; [Options.NoGate] is the paper's rule. Ties between probes go by V. If
//     sizes are not known, the gate holds nobody back, since there is no promise to keep: a job
//     that arrives shows early whether it works.
//   - Phases whose sizes are told probe too, as in the paper: sizes that are told may be wrong, and a
//     probe finds that out before the phase has been served too early or too late for long. If
//     all sizes are exact, nothing is found: set FairLimit to 0 then. What this costs and what it is worth is in
//     docs/papers/hpfsp.md; TestProbesFindWrongSizes.
//   - Algorithm 3 counts tasks that were scheduled; the text counts tasks that have finished.
//     Here the tasks count that were scheduled, of each phase, without attempts that are not charged:
//     see [sojourn.Cause].
//   - w counts what a running task has done as of the latest end of a task of its phase. That is
//     more than the truth, which the theorem allows, and it is one update an event.
//   - The paper does not say what happens to a late phase that grows. If it stayed late, all
//     phases that were expected to be much too small would be late for ever, and share. Take 50
//     jobs of Exp(200) tasks of 10 minutes that are expected to take 1 minute, without probes:
//     the mean slowdown would be 16.3 instead of 9.5 (F5B in docs/papers/hpfsp.md).
//   - The paper's experiments use delay scheduling. Here no phase waits for a closer slot: a wait
//     leaves slots free while tasks could start, which the theorem excludes.
//   - In eq. (5) w_min keeps the work of a job above zero when its estimate has run out. Here w is
//     at least one nanosecond while a task is not finished. A phase that has ended in
//     V before its tasks is late, and stays in front.
//   - In the paper, reduces without a finished one are expected to take the average of the maps.
//     Here a phase is scheduled by itself, and learns from tasks of its own only. Until one has
//     finished, a task without an estimate counts as [Options.DefaultTaskTime].
//   - Weights, cancellation, failures and revisions are not in the paper. A cancelled job is done:
//     it keeps its place in V. A job that gains weight comes earlier in V, where fewer phases must
//     wait for it, so one that would have been served may wait: the law of weights of package
//     sojourntest does not hold.
//
// # Cost
//
// With n phases in a class, Assign takes O(1) for as long as the choice stays. Between events the
// choice stays for as long as the phase has tasks and is neither late nor a probe. Otherwise, and
// for each event, the cost is what package slack says, and O(K) to look for a probe. Nothing is
// allocated except when jobs arrive.
package pfsp
