// Package pfsp keeps jobs short on average and promises each job that it does not end much
// later than under fair sharing.
//
// Tier: stable.
//
// Use it if sizes are known. If estimates are bad, late jobs share the slots and the promise is void, as Explain
// says; package hfsp is then the better choice.
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
// # Example
//
// No task takes longer than a minute, sizes are exact, and slots stay. Then every phase ends at most two minutes after its
// end in fluid fair sharing. With a Reserve (see package kit/reserve) short jobs also find a slot while long tasks run:
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
// # What is promised
//
//   - Under the hypotheses of the theorem below, each phase ends at most P + (1-1/N) p after its end in fluid fair sharing
//     (TestNoJobIsBeyondTheBound), and nearly that late at worst (TestBoundIsNearlyTight).
//   - With a Reserve that is Counted, the same holds of fluid fair sharing on the slots that are not reserved
//     (TestCountedReserveKeepsTheBound). With one that is not, nothing is promised (TestPlainReserveLosesWithoutBound).
//   - Explain says of each phase whether the bound holds, and never says so where it does not (TestExplainNeverPromisesTooMuch);
//     or else which hypotheses are void (TestExplainNamesEachHypothesis).
//   - With NoGate no constant bounds how late a phase is (TestUngatedProbesHaveNoConstantBound).
//
// # What it costs
//
// With n phases in a class, Assign takes O(1) for as long as the choice stays. Between events the
// choice stays for as long as the phase has tasks and is neither late nor a probe. Otherwise, and
// for each event, the cost is what package slack says, and O(K) to look for a probe. Nothing is
// allocated except when jobs arrive.
//
// # When it is wrong
//
//   - Sizes are wrong or unknown: the promise is void, and package hfsp measures sizes.
//   - The mean sojourn time is all that counts: nothing is promised about it, neither against FSP nor against fair sharing. PFSP
//     is a few percent better than FSP on average and can be worse.
//   - A slot close to the input is worth a wait: no phase waits for one, since that leaves slots free.
//   - Weights change while jobs run: the bound is void then (TestChangedWeightsBreakTheBound).
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
//   - A late phase (see [vqueue.Late]), unless its size is an estimate and the next line applies.
//   - A probe. A phase may be probed if it has started fewer tasks than [Options.FairLimit] and
//     is gated in. The one that has started the fewest tasks goes first. A phase is gated in if
//     every phase before it in V that has something to start has s >= 0. It is also gated in if
//     its own size and that of the phase that is worst off are estimates: there is then
//     nothing to keep and much to learn.
//   - The completable phase with the least w. A phase is completable if s_j >= w for every
//     phase j before it in V that has something to start (Algorithm 4). The first phase in V
//     that has something to start always is.
//
// The slot gets the task of that phase whose input is closest. With a Reserve it goes to that phase if its level lets it
// start, or else to the first phase in V whose level does. What may not start holds nobody back.
//
// # The theorem
//
// Assume that
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
// task of all other phases in that class, of this job or another. With k reserved slots in the counted form, V has M = N - k
// slots, and M takes the place of N.
//
// docs/theory/pfsp.md has the proofs, also for slots that are added, and the readings of the paper that break the bound.
//
// # When the promise holds
//
// Explain says for each phase whether the bound holds (bound_holds), or else which hypotheses
// do not (void). It looks back to when the class last had nothing waiting and V was empty.
// Since then one of these may have happened: the size of some task was not known, wrong or
// revised; slots were lost; attempts failed; tasks were held; attempts or ready jobs were
// adopted; weights changed; tasks had to wait for input in their slots; a phase that others
// wait for lost output; a job bounded how many of its tasks run (Parallelism), while V lets each job use all slots.
//
// D is that of the estimated sizes. A wrong size counts from when it shows: at the end of
// a task that was shorter, or when a task has held its slot for longer than its estimate. Until
// then it does no harm: what has been started has had no more service than V counts.
// What Explain says holds for as long as nothing of this happens. With NoGate and probes, with
// LateShare, and with a Reserve that is not Counted, it never says that the bound holds.
//
// # Sizes that are estimates
//
// Estimates are used until one shows to be wrong: a task has taken another time, or a revision
// changes the estimate of a task that is not finished, even if the sum stays the same. From then on the work of the phase is estimated again whenever the number of
// its finished tasks has doubled. For tasks without an estimate this is so from the beginning.
// The factor is the mean time of finished tasks in relation to what was expected, in the place
// of eqs. (1) and (2). w and v change by the same amount (eqs. 11 to 17), so that the phase
// keeps its age, but v does not fall below 0. For a late phase v is 0. If its work turns out to
// be more, it enters V again with the difference.
//
// A phase may have attained as much as it was expected to need, and still have tasks to start.
// Its remaining work is unknown then, and not small. So before it is served, that work is set to what it has
// attained.
//
// Until a task has finished, reports on the progress of running attempts serve the same purpose
// for tasks without an estimate.
//
// docs/theory/pfsp.md lists where this departs from the paper, and why.
package pfsp
