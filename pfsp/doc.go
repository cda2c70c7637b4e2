// Package pfsp is a scheduler that keeps jobs short on average and promises each
// of them that it does not end much later than under fair sharing.
//
// It is H-PFSP [Li, Lin, Ren, Geng: H-PFSP: Efficient Hybrid Parallel PFSP
// Protected Scheduling for MapReduce System, TrustCom 2013], which brings PFSP
// [Friedman and Hurley, Protective Scheduling, 2003] to many slots, with the
// corrections that its promise needs. Numbers of equations and algorithms are those
// of the former. Choose it where sizes are known; where they are guessed badly, its
// late jobs share the slots and the promise is void, which Explain tells.
//
// # Algorithm
//
// For each class of slots there is a slack system (package slack): a virtual
// cluster V that shares the slots of the class by weight among the phases that are
// ready (generalised processor sharing). A phase enters when it becomes ready, with
// its work, and leaves when V has done that much for it, whether it is really
// finished or not. With v_j the work that phase j has left there, w_j what it has
// left in reality, and V in the order in which phases end there, its slack is
//
//	s_i = H_i - W_i,  H_i = sum_{j<i} v_j + (sum_{j>=i} phi_j) v_i/phi_i,  W_i = sum_{j<=i} w_j    (6)
//
// H_i being the work that V does until i ends there, if nobody else arrives, phi
// the weight, and all in slot time. Phases that have ended in V but not in reality
// are late and stay in front. A free slot goes to the first of these:
//
//   - a late phase (see [Late]), unless its size is an estimate and the next line
//     applies;
//   - a probe: the phase with the largest deficit, which is the one that has
//     started the fewest tasks, of those that have started fewer than
//     [Options.FairLimit] and are gated in: every phase before it in V that has
//     something to start has s >= 0, or its own size and that of the phase that is
//     worst off are estimates, so that there is nothing to keep and much to learn;
//   - the phase with the least w of those that are completable: s_j >= w for every
//     phase j before it in V that has something to start (Algorithm 4). The first
//     phase in V that has something to start always is.
//
// Of the tasks of that phase the slot gets the one whose input is closest; no phase
// waits for a closer slot.
//
// # What is promised
//
// In the fluid model, where work can be spread over the slots at will and moved at
// any time, no job ends later than under processor sharing: PFSP keeps s >= 0 for
// all [section 1.2 of the derivation in package slack; tested in internal/fluid].
// Tasks cannot be spread or interrupted. What holds then is this.
//
// Theorem. Let the slots of a class be N, constant, and identical; let tasks not
// be interrupted and not fail; let sizes be exact and weights constant; let all tasks of a phase be
// ready, with their input, when the first may start: a phase waits for the whole
// phase before it, or for none; let late phases be served in the order of their
// virtual ends; and let FairLimit be 0 or probes be gated. Then a phase i ends at
//
//	C_i <= D_i + P + (1 - 1/N) p
//
// where D_i is its end in fluid processor sharing with weights, without limits on
// parallelism, when it enters at the instant at which it is really ready; p is its
// longest task and P the longest task of all other phases in that class, of this
// job or another.
//
// Proof. Call a policy protective if it leaves no slot free while a task could
// start on it, and starts a task of phase k only if s_j >= 0 for every phase j
// before k in V that has an unstarted task that is ready; W has to count at least
// the unstarted work and the rest of running tasks. This policy is: late phases and
// the first in V have no such j before them; a completable phase has s_j >= w >= 0;
// a probe has s_j >= 0 by the gate.
//
// Take task starts one after the other, also those at one instant. Let S be the
// start of the task of i that ends last, p' <= p its time, and t0 the last moment
// before S at which a slot stayed free after all had been offered, or a phase behind
// i in V was given one. From t0 to S all slots are busy and only phases up to i
// start tasks. Three kinds of work keep them busy: what phases up to i that are
// there at t0 have left, what arrives with phases up to i until S, and what is left
// of running tasks of others. Let A be the second.
//
// If a slot stayed free, nothing that was ready waited. So i became ready later, and
// what is left of the first and the third kind is the rest of running tasks of other
// phases: at most N P. V does A until D_i, and at most N (D_i - t0) in all.
//
// If a phase behind i was given a slot, let j be the last phase up to i in V that had
// an unstarted task that was ready. If there is none, it is as before. Else s_j >= 0
// says that W_j <= H_j at t0. If j is not i, then i was not there yet, since all its
// tasks become ready together and one of them starts at S; and the phases between j
// and i in V have running tasks only. So the work of phases up to j is at most H_j,
// and all the rest that is there is running tasks of phases other than i: at most N
// P. Until D_i >= D_j, V does the H_j, because arrivals take nothing of it away but
// move D_j, and A: H_j + A <= N (D_i - t0).
//
// In each case N (S - t0) <= N P + N (D_i - t0) - p', hence C_i = S + p' <= D_i + P +
// (1 - 1/N) p. If there is no such t0, the same holds from the first arrival on with
// nothing running. That arrivals never change the order of those that are there is
// used throughout; it is why V has no limits on parallelism, with which the bound
// fails. Weights must not change because H_j counts on what V does for those behind j
// before D_j: if j gains weight or they lose it, D_j comes earlier than it was thought
// to when others were served in front of j. What is cancelled keeps its place in V, and takes real work
// away only. The rounding of virtual time adds at most n^2 R 2^-47
// nanoseconds, with n phases in that class since V was last empty, of weights of which the
// largest is R times the smallest: see package vclock. Explain leaves that out, as it is
// below a nanosecond up to a million phases of weights that differ by a factor of 100.
//
// The bound is nearly tight: where a phase of long tasks has just filled all slots
// and a phase of one task arrives, that one ends almost 2p after D.
//
// The same without a gate. With the probes of NoGate no constant bounds the lateness.
// What holds is
//
//	C_i <= D_i + P + (1 - 1/N) p + B/N
//
// where B is the time of the probes of phases behind i in V that were started since
// the last moment before S at which a slot stayed free: the proof is the same, with
// these as a fourth kind of work. The paper's claim that no job ends later than under
// fair sharing is wrong for it: with K = 1 there are jobs that end 8 times their
// longest task after D.
//
// A discrete fair scheduler is no fluid: it may serve a lucky job at once, and no
// constant bounds how much later it ends under this policy or any other that is
// protective.
//
// Two readings of the paper break the bound: to drop a phase when v = 0, which leaves
// its work unprotected, and limits on parallelism in V. Tests keep them as mutants.
//
// Slots may be added while phases wait. Then N is the most slots of the class up to the
// end of the phase, which is their number then, since none may be lost; D is that of a V
// which grows at the same instants. The proof is the same with the integral of the number
// of slots in the place of N times: N at t0 is no more than it is between D_i and S.
//
// Explain says for each phase whether the bound holds (bound_holds), or else which
// hypotheses do not (void): since the class had nothing waiting and V was empty, the size
// of some task was not known, wrong or revised, slots were lost, attempts failed, tasks
// were held, attempts or ready jobs were adopted, weights changed, tasks had to wait for
// input in their slots, or the phase before lost output. D is that of the sizes that were
// told: a size that is wrong counts from when it shows, at the end of a task that was
// shorter, or when one has held its slot for longer than was said. Till then it does no
// harm, because what has been started up to S has had no more than V knows. What is said
// holds for as long as nothing of this happens; with NoGate and probes, and with
// LateShare, it is never said.
//
// On the mean sojourn time nothing is promised, neither against FSP nor against fair
// sharing; PFSP is a few percent better than FSP on average and can be worse.
//
// # Sizes that are estimates
//
// Estimates are believed until a task has taken another time than was said, or a revision
// says something else of a task that is not finished, even if their sum stays.
// From then on, and from the beginning for tasks without an estimate, the work of a
// phase is estimated anew whenever the number of its finished tasks has doubled: the
// mean time of finished tasks in relation to what was thought takes the place of eqs.
// (1) and (2). w and v change by the same (eqs. 11 to 17), so that the phase keeps
// its age, but v not below 0. For a late phase v is 0: if its work turns out to be more, it
// is in V again with as much as it grows by.
//
// A phase that has attained as much as it was thought to need and still has tasks to
// start is not served for having little left: when its turn comes, the work that it
// has left is first taken to be as much as it has attained.
//
// Until a task has finished, reports on the progress of running attempts serve the
// same purpose for tasks without an estimate.
//
// # Departures from the paper
//
//   - A phase is what the paper calls a job, and each class of slots has a slack system
//     of its own. The paper adds up map and reduce work and tells stages by a progress
//     of 0.95; no bound is known for that.
//   - Work is slot time, not divided by N: eqs. (3), (4) and (10) are not needed, and
//     slots that come and go change rates and no order.
//   - In eq. (2) the sample is the time of the phase at the present parallelism and not
//     that of a task: r dt/(N_T dP) is, with r slots and N_T tasks. The mean of finished
//     tasks is the same and simpler.
//   - Eqs. (8) and (9) apply to elapsed time, not to jobs that were executed, and
//     intervals are split when a phase ends in V; (14) to (17) have wrong limits. See
//     package slack.
//   - What has ended in V stays until it has really ended; see above.
//   - Probes are gated; [Options.NoGate] is the paper's rule. Ties between them go by V.
//     Where sizes are not known the gate holds nobody back, since there is no promise to
//     keep: a new job shows early whether it works.
//   - Algorithm 3 counts tasks that were scheduled, the text tasks that have finished:
//     here it is those scheduled, of each phase.
//   - w counts what a running task has done as of the latest end of a task of its phase:
//     more than the truth, which the theorem allows, and one update an event.
//   - What the paper does with a late phase that grows it does not say. If it stayed
//     late, all phases that were thought much too small would be late for ever, and share:
//     on 50 jobs of Exp(200) tasks of 10 minutes that are thought to take 1 minute, without
//     probes, the mean slowdown would be 16.3 instead of 9.5 (F5B in docs/experiments.md).
//   - Weights, cancellation, failures and revisions are not in the paper. What is
//     cancelled is done: it keeps its place in V.
//
// # Cost
//
// With n phases in a class: Assign O(1) for as long as the choice stays, which between
// events is as long as the phase has tasks and is not late nor a probe; else, and for
// each event, what package slack says, and O(K) to look for a probe. Nothing is
// allocated but when jobs arrive.
package pfsp
