// Package plan makes near-optimal schedules of jobs with weights, and lower bounds that
// hold for every schedule.
//
// Tier: research.
//
//	in := plan.Instance{Machines: []int{50}, Jobs: jobs}
//	s, err := plan.Plan(in, plan.Options{})
//	if err != nil {
//		return err
//	}
//	fmt.Println(s.Ratio(), certify.Verify(in, s)) // at most 1.04 times the optimum, say; <nil>
//
// Use it when all jobs are known in advance, or were recorded: to plan a batch, to see what
// a policy loses by not knowing the future, or to compare policies with a bound that nothing
// can beat. Four functions do this:
//
//	Plan         makes a schedule by one planner; bestof, the default, is the best of several
//	All          makes one by each of several planners, which share a bound
//	LowerBound   finds the bound alone, and takes instances of more work
//	COGE         runs the paper's own algorithm for the linear program, for comparison
//
// Each schedule and bound carries its proof. Package certify checks it with code of its own:
//
//	internal/lp   solves the linear program by prices
//	      |
//	mars               is the policy; it plans what waits
//	      |
//	research/plan          plans instances; the policy is one of the planners
//	      |
//	research/certify       reads instances, schedules and certificates, and calls nothing of the above
//
// The planners are MarS and its rivals from Ling, Yuan, Wang, Liu and Yang, "Joint
// scheduling of MapReduce jobs with servers: Performance bounds and experiments",
// J. Parallel Distrib. Comput. 90-91, 2016. Equations, algorithms and sections are cited by
// their numbers there.
//
// # The problem
//
//	j            a job; C_j is its end, r_j its release, w_j its weight
//	u, v         tasks, for example a map and a reduce of one job
//	p_u          the processing time of u; p(B) is the sum over a set B of tasks
//	S_u, M_u     the start of u, and its middle: M_u = S_u + p_u/2
//	d_uv         the delay from the end of u to the earliest start of v, which waits for it
//	m            the number of machines, which are identical and run one task at a time
//
// Tasks are not interrupted. Make the sum of w_j C_j small. For every schedule,
//
//	(1) S_u >= r_j     (2) S_v >= S_u + p_u + d_uv     (3) C_j >= S_v + p_v
//	(4) sum over B of p_u M_u >= p(B)^2/2m for every set B of tasks.
//
// (4) says that m machines need time: the middles of much work cannot all be early. These
// four, and no more, are a linear program. Its value is a lower bound. (The paper writes (4)
// in S.) Here a job may have any number of phases in a chain. If there are classes of machines,
// (4) holds for the tasks and the machines of each class.
//
// docs/theory/plan.md derives the bounds, proves the factors and lists the errata of the paper. In short:
//
//   - The linear program has one variable for each job (Facts 1 and 2 there). Every price curve, and every set of Smith
//     ratios, proves a bound (Fact 3), so an error of a solver can make a bound weaker but never false.
//     Tests: TestEveryPriceProvesABound, TestAllSmithRatiosProveABound.
//   - MarS takes the tasks in the order of M in the program and starts each on the machine that is free first. It
//     is within 3 of the optimum if no task takes longer than those that wait for it, and within 4 in any case
//     ([Schedule.Guarantee]). Tests: TestTheorem3IsTight, TestTheorem3NeedsItsAssumption.
//   - T-MarS, for the sum of w_u C_u over tasks ([TaskCompletion]), is within 7. It takes two phases in a chain, with a
//     delay for each map; anything else is refused. Test: TestTMarSBound.
//   - Insertion, dispatch and so-mars have no bound of their own. As members of bestof they keep that of MarS, since it
//     never returns anything worse.
//   - so-mars drives a [mars.Policy] through the instance, which learns of each job when it is released. No factor is
//     claimed for it, since MarS places tasks with knowledge of all releases.
//
// # Departures
//
// Instants and lengths are whole nanoseconds. Schedules are exact, and Verify checks them exactly. The
// linear program is in seconds and float64 with + - * / only, the same on every platform. Bounds allow for
// rounding (1e-12 of what is added). At the end, each is computed once more in a way that keeps the digits of
// M, and the lesser one counts; sum w_j c_j is rounded down. Verify accepts no bound that is above what is
// proved exactly. A weight of 0 means 1, as elsewhere in
// this module.
//
// (11) gives every task a release r_u of its own. Here tasks have the release of their job, as in (1).
// Jobs arrive as a whole, in instances as in the contract of policies. No trace or workload says more, and
// the bounds by Smith's rule assume that all work of a job is released at once. Make work that comes later
// a job of its own.
//
// # Cost
//
// With n tasks and J jobs, LowerBound takes O(n) for each of Options.Iterations, and O(n log n) once. Up to
// 300 jobs, each pivot of the column generation takes O(J^2). MarS and dispatch take O(n log n).
// Best-fit takes O(n m) moves of memory at worst. Insertion looks at idle times one by one. Memory
// is about 300 bytes for each task.
package plan
