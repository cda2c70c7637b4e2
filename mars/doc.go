// Package mars is a policy for jobs with weights: it keeps the sum of weight times completion
// time small.
//
// Tier: stable.
//
// Use it if late jobs cost money, some more than others, and if you know roughly how long
// tasks take. Do not use it to keep users apart (package fair does) or to meet deadlines
// (package rtmr does).
//
//	p, err := mars.New(mars.Options{})
//	if err != nil {
//		return err // only options out of range give one
//	}
//	err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}) // and all other events
//	a, ok := p.Assign(slot)                                            // for each free slot
//
// [New] returns a [sojourn.Policy]; the documentation of package sojourn says how to drive
// one. This policy must be woken: it plans at the instants that NextWake names, when the
// driver reports a Tick there. Everything else has a default in [Options].
//
// Two packages beside this one work on whole instances, with all jobs known in advance:
//
//	research/plan     makes schedules, and lower bounds for any schedule of any policy
//	research/certify  checks schedules and bounds again, without the solver
//
// # What it does
//
// It is SO-MarS of Ling, Yuan, Wang, Liu and Yang, "Joint scheduling of MapReduce jobs with
// servers: Performance bounds and experiments", J. Parallel Distrib. Comput. 90-91, 2016,
// Section 5.3. A plan solves a linear program for the work that waits. The program says when
// the middle of each task should be, and free slots take startable tasks in that order:
//
//	M_u = C_j - h_u
//
// M_u is the middle of task u. C_j is the end of job j in the program. h_u is the time from the
// middle of u to the end of its job: half of p_u, the processing time of u; the delay of its
// output; and the tasks that wait for it, in a chain of the longest of each phase. So the map
// tasks of a job come before its reduce tasks, and within a phase the task with the longest
// p_u/2 + d_u starts first. If the tasks of a phase are alike by their description, the one
// whose input is closest to the slot starts first. Package plan derives the program and its
// solution.
//
// # When it plans
//
//	arrival of a job:   it is placed at once, where its C is best under the prices of the
//	                    latest plan; a plan is asked for
//	Options.Interval    after the plan before: all work that has not started is planned again
//	Options.Batch:      jobs wait for the end of the interval in which they arrive, and all
//	                    work that has not started is planned there
//	with Options.Commit as well: only the jobs of the batch are planned, and come after those
//	                    of the batches before
//
// The default, to plan again when jobs arrive, is not in the paper; Batch with Commit is the
// strict reading of the paper. A plan is made in Observe, never in Assign. At the instant at
// which a plan is due, the policy declines free slots until the Tick that the driver owes
// there, or a later event. Otherwise nothing that can start waits for a plan.
//
// A plan for many jobs is made in steps of Options.Step, half a millisecond apart, so that no
// driver waits long. Meanwhile the order is that of the plan before, with new jobs placed by
// its prices. In the last steps the new order takes over, job by job.
//
// # What it does not promise
//
// No factor is claimed: the proof for MarS needs to know all releases in advance, and a
// policy does not. Planner so-mars of package plan runs this policy on an instance and
// shows how far it is from the lower bound.
//
// A plan assumes an empty cluster: it ignores the rest of running tasks, and changes of
// slots before the next plan. A task without an estimate counts as
// Options.DefaultTaskTime. Wrong estimates change only the order of tasks.
//
// An attempt that is lost, preempted or refused leaves its job in its place if no plan is made while it runs
// (TestLostWorkIsNotCharged).
//
// Jobs whose phases say what they need ([sojourn.Phase] Needs) are not supported: h_u above,
// and the bounds of packages plan and certify, are about phases in a chain.
//
// # Cost
//
// Let P be the number of phases of live jobs. A plan has one item for each phase, with the
// mean h of its tasks. It takes O(P) for each of Options.Iterations, and O(P log P) in
// addition. The number of tasks does not matter, unless they have estimates of their own and some
// of the phase run. Between the steps of plans, Observe and Assign take O(log P). A snapshot in the
// middle of a plan does not contain the search for prices: the steps so far are made again where it
// is restored.
package mars
