// Package hfsp serves small jobs first, although no job has an estimate of its size. It measures a
// job while it runs. Jobs that wait grow smaller, so none waits for ever.
//
// Tier: stable.
//
// Use it if jobs differ in size and have no good estimates. If sizes are known exactly,
// use FSP (package baseline) or package pfsp.
//
//	p, err := hfsp.New(hfsp.Options{})
//	...
//	err = p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
//	err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: phases}})
//	a, ok := p.Assign(1) // what the free slot 1 runs next
//
// The policy is the Hadoop Fair Sojourn Protocol [Pastorelli, Carra, Dell'Amico and Michiardi,
// "HFSP: Bringing Size-Based Scheduling To Hadoop", 2014].
//
// # Example
//
// Three traces, without estimates. A Reserve keeps a few slots of each class free for phases that
// run nothing there (see package kit/reserve). Use it where tasks are long and slots are many:
//
//	sojourn compare -w TRACE -c CLUSTER --estimates none -p fair,hfsp,hfsp:reserve=0.01
//
//	mean sojourn time in seconds, mean    KTH (100x1)    lublin (320x1)  FB-2009 (30x2+1)
//	slowdown
//	fair                                  11705, 20.1    11786, 18.9     128, 1.84
//	hfsp                                  12015, 61.2     9374, 62.2      74, 1.44
//	reserve=0.01                          11471, 19.3     8778, 14.8      76, 1.43
//
// # What is promised
//
//   - Nobody starves, however much work arrives and however wrong sizes are: see "Guarantees" for the bound and for what it
//     needs (TestNobodyStarves).
//   - With exact sizes, vqueue.LateFirst and equal slots no phase ends later than under fair sharing by more than a bound that is known
//     (TestKeepsTheBoundWithExactSizes).
//   - Kill stops no task twice, and none that has run for more than KillFraction of what its phase's tasks are
//     expected to take (TestNoTaskIsKilledTwice, TestKillSparesWhoHasLost).
//   - A job that bounds how many of its tasks run at a time (Parallelism) claims no more slots of others than it may
//     use (TestBoundedJobsClaimWhatTheyMayUse).
//
// # What it costs
//
// With n phases, Observe and Assign take O(log n), and O(t) for events of phases in training. They
// allocate when a job arrives or a phase becomes ready. A virtual completion costs O(log n) more.
// For a job with Parallelism they take O(log n) for each class that its phases use (catalog.TestGraphsGrowAsTheirPhases).
// With delays, a start that takes its last room, and an end that makes room again, take O(log n) for each of its phases
// that are ready. While slots are free, delay scheduling takes O(n) per event and for NextWake. With Kill or KillAny, events
// take another O(log n). AppendPreemptions takes O(log n) for each task that it names, and once if
// it names none; with delay scheduling it takes O(n slots) if a task that is served later could
// make room. The cancellation of a job that runs tasks takes O(slots). Explain and AppendRanking
// take O(n log n).
//
// # When it is wrong
//
// An estimate that is too large delays the phase itself by that much more, and no other phase.
// An estimate that is too small makes the phase late too soon, and it then shares with the phases
// that are late. Nothing more is proved of wrong sizes. Mean sojourn times have no bound in relation
// to fair sharing. If sizes and errors vary widely, the tail is heavy: a large job with a small
// estimate, together with small jobs with large ones, makes some workloads several
// times worse than under fair. See docs/papers/hfsp.md, "Wrong sizes". For example,
//
//	sojourn compare --gen hfsp-test:load=0.9 --seed 1007 --estimates lognormal:2 -p fair:ties=arrival,hfsp:estimator=oracle
//
// with a mean sojourn time of 302 s under fair, and of 1,461 s under hfsp.
//
// Without Kill a job of a few seconds waits for running tasks, as under every policy that interrupts none: keep tasks short,
// or set a Reserve.
//
// # Algorithm
//
// Each phase of a job is scheduled by itself, on the slots of its class, as soon as its first
// task may start (section III). This is the life of a phase of n tasks:
//
//	                    n < t                                   all tasks
//	ready --+--------------------------> tiny -------------------> end
//	        |                       size 0, late at once            ^
//	        | the estimator is sure                                 |
//	        +--------------------------> known ---------------------+
//	        |                       size by the estimator           |
//	        | else                          t samples               |
//	        +------> training ------------> trained ----------------+
//	                size S_i                size n s
//
// A tiny phase has the size 0. The first size of any other phase is S_i = n xi s. Here s is the
// mean task time in completed jobs, or s_0 before any job has completed. The first t tasks of
// the phase train it. Such a task is a sample once it has finished, after the time s_k, or once
// it has run for Delta and made the progress p_k. After t samples the size is known, and stays:
// s is the mean of all s_k and Delta/p_k, and what is left is S_f = s [(n-t) + sum of (1-p_k)].
//
// A virtual cluster has as many slots. There the phases share the slots by weight, and their
// virtual sizes v shrink: they age. When n s replaces S_i, v changes by the difference, but not
// below 0.
//
// A phase that has finished or was cancelled has cost c, the time for which its attempts
// have held slots, without those that were killed or lost with their slot. From then on the virtual cluster gives
// it the rest of c: v becomes c less what it was given there, but not below 0. So a tiny phase
// pays when it leaves, and so does a phase whose size was too small. Take two slots, and a phase of 100 s alone in the virtual cluster.
// A tiny phase takes 3 s and leaves. For 3 s the virtual cluster now gives both alike.
//
// As long as training tasks hold fewer than T slots of the class, a free slot goes to a
// training task, of the phase with the least S_i. Otherwise it goes to the phase that is
// virtually complete first. With equal weights, that is the phase with the least v. A phase that
// is virtually complete, but not complete in reality, is late and goes before all others. The
// slot gets the task of the phase whose input is closest, the lowest of several.
//
// With a Reserve the first phase in this order is served that may start. Training tasks keep to it,
// too, so that one task of each phase at a time may take the last slots, and shows how long they are.
// If training tasks may take all slots, the slowdown is twice as high or more, as measured.
//
// With Kill or KillAny, running tasks make room: see [Policy.AppendPreemptions]. With NodeDelay
// and RackDelay, phases wait for slots close to their inputs.
//
// # What killing costs
//
// With Kill no task that can work is named twice, whatever happens in between
// (TestNoTaskIsKilledTwice, TestKilledTasksAreRemembered). And none is named that has run for more
// than KillFraction, a tenth by default, of the expected time of its phase's tasks
// (TestKillSparesWhoHasLost, TestVictims). So if tasks take as long as is expected and the driver
// kills at once, a job loses at most a tenth of its work. Whatever is expected, killing wastes
// at most one attempt of a task. Tasks that only wait in their slots for the phase before do not count:
// they have no work to lose.
//
// How late a large job ends that shares the slots with a stream of small ones has no bound in relation to fair sharing, with
// or without Kill: docs/theory/hfsp.md has measurements.
//
// # Guarantees
//
// No phase starves, however much work arrives. Let D be the instant at which the phase's v
// reaches 0. That is its size divided by its share of the slots after it became ready; training
// may raise the size once more. From D on the phase goes before all phases that are not late. Let
// W be the work of all jobs that have arrived by D, and N the number of slots. Training tasks may
// hold T of them, with T < N, as is the default.
//
//   - With vqueue.LateFirst the phase also goes before all phases that become late after D, tiny ones
//     included. Until its last task is started, all slots that do not train run tasks of this W
//     only. So its last task is started by D + W/(N-T).
//   - With vqueue.LateShare and T = 0 the phase ends by D + W + p, where p is its longest task: once the
//     phases that were late before it are through, it runs at least one task at a time, since no
//     phase has fewer.
//
// With a Reserve of k slots neither is proved: phases that run nothing may take each slot that
// becomes free, for as long as no more than k are free at once.
//
// Both hold for wrong sizes as for right ones, since W is work and not an estimate. They need
// slots that stay, tasks that do not fail and have their input, and neither killing nor delays.
//
// docs/theory/hfsp.md bounds D, also beside many tiny phases, and says why the virtual cluster does the work of the real one.
//
// # Exact sizes
//
// With [NewOracle], exact estimates, vqueue.LateFirst and equal slots HFSP is FSP. It then keeps the
// bound that package baseline proves, for jobs that were not adopted. With training, errors,
// vqueue.LateShare or failures it promises no such bound: an estimate is a guess.
//
// # Departures from the paper
//
// Late phases share the slots, early tasks are limited, a size ends with its job, training tasks hold their slots until they
// end, and delay scheduling counts time. docs/theory/hfsp.md lists all, with what each is worth.
package hfsp
