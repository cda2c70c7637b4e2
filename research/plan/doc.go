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
// their numbers there. The rest of this page derives the bounds, proves the factors, and
// lists errata of the paper; it is not needed to use the package.
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
// # Fact 1: of all sets, prefixes are violated most
//
// Let B be the set that violates (4) most: it maximises p(B)^2/2m - sum of p_u M_u
// [Queyranne 1993]. Without u the violation of B is no greater, so M_u <= (p(B) - p_u/2)/m. With
// v in addition it is no greater either, so M_v >= (p(B) + p_v/2)/m. So every task in B has an
// earlier middle than every task outside: B is a prefix of the order of M. It is enough to test
// prefixes, and the set of all tasks is one of them. Constraint generation over prefixes therefore
// ends at the optimum of (1)-(4): the paper's "conditional" relaxation is the same as its classical
// one.
//
// # Fact 2: there is one variable for each job
//
// (4) only asks for later starts, and a late start costs nothing by itself. So let every task start
// as late as C_j allows:
//
//	q_u = p_u + max over v that wait for u of (d_uv + q_v)     the time from S_u to C_j
//	h_u = q_u - p_u/2                                          M_u = C_j - h_u
//	c_j = r_j + max over tasks u that wait for none of q_u
//
// The program then has one variable for each job. Minimise the sum of w_j C_j subject to
// C_j >= c_j and, for all B,
//
//	sum over B of p_u C_j(u) >= p(B)^2/2m + sum over B of p_u h_u.
//
// For example, 100 jobs of 4,500 tasks are 100 variables. Tasks of a job with the same h are one
// item. A test of the command's module compares this program with (1)-(4) as printed, with all sets,
// by the simplex method of gonum.
//
// # Fact 3: prices prove bounds
//
// p(B)^2/2m is the maximum over t of t p(B) - m t^2/2. So (4) for all B says: for all t, the
// sum of p_u (t-M_u)+ is at most m t^2/2, with x+ for the greater of x and 0. A price is a
// function N(t) >= 0 that does not increase and is 0 in the end; N1(t) is its integral from t
// on. The constraint of each t gets the weight -dN(t), which is not negative. The sum of all of
// them is a bound for every schedule:
//
//	sum of w_j C_j >= D(N) = sum over j of min over C >= c_j of [w_j C + sum of p_u N1(C-h_u)] - m integral of t N(t) dt.
//
// EVERY such N proves its bound. [Price] is one. certify.Verify computes D from it by code of its
// own, so no error of a solver can make a bound false. The maximum of D over N is the value of the
// program (duality of linear programs). Each minimum over C is that of a convex function. Let C lie
// in an interval that contains the minimum: the tangent at C bounds the function from below there. So
// D has a proved lower bound although the minimum is found only nearly.
//
// # How the program is solved
//
// Prices solve it at any size. The curve N has fixed levels, and the instants T at which these
// levels are reached move. Let W(t) be the work with M <= t. In the optimum W(t) = m t wherever N
// falls: the machines do first what is worth more. The derivative of D by T is the mean of W(t) - m t
// around T, times a positive factor. Each step moves all T to where this derivative would vanish if W
// stayed as it is, and a little further if D grows, or less far if D does not. The levels lie densely
// where jobs are, so there is no grid of time to choose. N is linear between them, so no plateau ties
// jobs to one another.
//
// Column generation solves it exactly, for up to 300 jobs. The simplex method solves the
// dual of the job form with some of the sets B, and then again with the sets that its solution
// violates most. Each stretch of the order of M gives one such set, both at that solution and half way
// to a feasible point. The first sets are the prefixes at the solution by prices. A dual solution y
// with sets B_i becomes the price that falls by y_i at p(B_i)/m. D of that price is no less than what
// y promises, because
//
//	integral of N from M_u on = sum of y_i (t_i-M_u)+ >= sum over i with u in B_i of y_i (t_i-M_u).
//
// So the package reports D of the prices, not what the simplex method believes.
//
// UpperBoundLP is the value of a feasible point. Such a point is made from any C >= c in three ways,
// and the cheapest counts: all C are raised by the greatest of (violation of a prefix)/(its work), or
// C is raised item by item (erratum 2), or each M is raised only to what its prefix lacks. The ends of
// any schedule are a feasible point as well. It is the better one if machines idle (FB-2009 at a load
// of 0.75: a gap of 0.0013 in place of 0.065). The value of the program lies between LowerBound and
// UpperBoundLP, and Gap says how close they are.
//
// The paper lacks the release-aware inequalities of Goemans, which are stronger than (4). For the
// tasks of jobs released at r or later,
//
//	sum over B of p_u M_u >= p(B) (r + p(B)/2m).
//
// They are (4) on a clock that starts at r. With [Options.ReleaseCuts] they enter BestLowerBound, with
// prices that only these jobs pay. LowerBound stays the bound that the paper compares with.
//
// # Jobs that arrive over time
//
// At any size, the package uses all of these inequalities at once [Goemans, Queyranne, Schulz,
// Skutella and Wang 2002]. For any numbers pi_u >= 0, the sum of pi_u p_u M_u is least in the
// preemptive schedule by Smith's rule: one machine that is m times as fast, which at any time does
// the released work with the highest pi. (For any value, this machine has done as much work with pi
// above the value as can be done by any time. The sum is an integral of this over values and time.)
// Let M_u be the mean of the time of u in that schedule. Let task u end no later than a_u before
// C_j, and let the work of a job take no more than its weight: the sum of pi_u p_u over its tasks
// is at most w_j. C_j >= c_j and p_u M_u <= p_u (C_j - a_u - p_u/2) give
//
//	sum of w_j C_j >= sum over j of [(w_j - sum of pi_u p_u) c_j + sum of pi_u p_u (M_u + a_u + p_u/2)].
//
// EVERY such pi proves its bound. For a set B of tasks of one phase with one pi, the time from M to the
// end counts once more: with time running backwards, (4) is
//
//	sum over B of p_u (C_j - M_u) >= p(B) (min of a_u) + p(B)^2/2m,
//
// and if all tasks take p, then at most m of them lie in each of the intervals of p before the end. A
// phase takes at least p(B)/m, and at least (tasks/m, rounded up) times its shortest task; c_j, a_u and
// the instants from which a phase can run use this. These bounds are beyond the paper's program, so they
// are only in BestLowerBound. Each phase has one pi. A job divides its weight among its phases by how
// late each of them ends in the mean of the schedules so far; this is Frank and Wolfe's method on a
// smooth maximum.
//
// # MarS, and why it is within 3
//
// MarS takes the tasks in the order pi of M in the program and starts each on the machine
// that is free first, as early as it may (Algorithm 2).
//
// Theorem 3. S_u <= (2+g) M_u for each task u, and C_j <= (2+g) times C_j of the program,
// with
//
//	g = max over links of (d+p_u)/(d+(p_u+p_v)/2), at least 1,
//
// A link is a task v that waits for a task u. The factor 2+g is 3 if no task takes longer than those
// that wait for it, which the paper assumes. It is at most 4 in any case.
//
// The proof, repaired: the tasks before u in pi form a prefix. Let W be their work. By (4),
// W/2m is at most their mean M, so W/m <= 2 M_u, and some machine k is busy for at most 2 M_u
// before u starts. Machine k idles for at most g M_u (Lemma 2):
//
//	Take the task x that ends an idle time on machine k. It starts when it may, at the
//	end of a chain u_1, ..., u_s = x of tasks that start as early as (1) and (2) allow, of
//	which u_1 is as long as can be: u_1 starts when a machine was free for it (or at 0, and
//	then u_1 stands for the release). Let v' be the last task on k when u_1 was placed. As
//	u_1 went where a machine was free first, v' ends no later than u_1 starts; all idle time
//	on k from v' to x lies in S_x - S_u1 = sum of (p + d) along the chain. In the program
//	each link is at least p_u + d + (p_v-p_u)/2 in M, which is at least (p_u+d)/g.
//
//	So that time is at most g (M_x - M_u1) <= g (M_x - M_v'), v' being before u_1 in pi.
//	The same holds for the idle times up to v', and the sum telescopes.
//
// The sum of both is the theorem. It holds for every feasible point, not only for an optimum, for
// general d_uv, for any of the machines that are free in time (best-fit), and for both objectives. It
// holds for classes of machines as long as each chain stays in one class. [Schedule.Guarantee] is 2+g
// times UpperBoundLP/LowerBound. No factor is claimed if chains change their class: machines of a class
// may then idle while its tasks wait for another class.
//
// The factor 3 is reached (TestTheorem3IsTight). Without the assumption it is exceeded: an instance has
// 3.8 for a task and 3.7 for the objective (TestTheorem3NeedsItsAssumption). The set-up of Section 5.1
// does not keep the assumption.
//
// Insertion and dispatch have no bound of their own. They are members of bestof, which keeps the bound of
// MarS since it never returns anything worse. If the machines are not always busy, (4) says little about
// who comes first. Greedy rules that take releases as they come are then better than the order of M. Even
// the policy is better then, although it does not know releases in advance. So they are members.
//
// # T-MarS
//
// The objective is the sum of w_u C_u over tasks (Section 4.4, [TaskCompletion]). Prices decompose the
// program into jobs with one barrier: an instant by which all maps have ended and arrived, and after which
// reduces start. That covers two phases in a chain and a delay for each map; anything else is refused.
//
// Theorem 5, after errata 9 to 11: blocks of doubling length, list scheduling in each, and a shift to the
// left keep C_u <= 7 C_u of the program. Proof: block n starts when the loads of the blocks before it and
// the longest chains in them, at most t_k each, have passed. List scheduling ends a task after the load of
// its block and its own chain, delays included, which is at most its C. MarS on the same program has the
// factor 2+g <= 4 for tasks as well, by the proof above.
//
// # Rivals
//
// HUWF, HJWF, STF and HTWF start tasks strictly in the order of their key: a task that has to wait holds
// its machine. Section 5.1.3 describes the first two so. It costs them a factor of nearly 2; dispatched,
// the same orders are within some per cent of MarS. For MARES and H-MARES see [Planner]. The paper says
// little about its reference [8], and this package does not claim the factor of [8].
//
// # Online
//
// Planner so-mars drives a [mars.Policy] through the instance. The policy learns of each job when it is
// released. Options.Online are its options. By default it plans all waiting work again when jobs arrive;
// with Batch and Commit it does what Section 5.3 says. No factor is claimed for it, since MarS places tasks
// with knowledge of all releases.
//
// # Errata
//
//  1. Algorithm 1, line 8: PGC(pi, i) sums to i-1 and i ends at |T|, so that the set of all
//     tasks is never tested, and i = 1 says nothing. i = 2..|T|+1 is meant.
//  2. Algorithm 1, lines 13-15: S^NV as printed is not feasible: a later offset overwrites
//     an earlier, larger one. Correct: acc = 0, run = 0; for i in pi: run += p_i (M_i+acc); if
//     run < R_i: acc += (R_i-run)/p_i, run = R_i; M_i += acc.
//  3. Line 18: S^LP, stopped at epsilon, violates PGC, and Theorem 3 does not apply to it. S^NV
//     has the same order and satisfies everything: the guarantee is 3/(1-epsilon).
//  4. Section 4.2: see Fact 1. Many constraints do not make a linear program hard: separation
//     decides.
//  5. Lemma 2: "there must be a task v' with S_v' <= S_u1 <= S_v' + p_v'": it may have
//     ended before. See the proof above.
//  6. Theorem 3 is true under its assumption and false without; see above.
//  7. Algorithm 2, line 10: the maximum over scheduled maps is wrong while maps are left:
//     with ties of M a reduce can come first. It is held back here. The maximum over
//     none is r_j. (3) has to cover jobs without reduces.
//  8. Algorithm 2, line 11: of the machines that are free in time, the one that is free
//     last leaves less idle time, with the same start and the same proof.
//  9. (12) must be C_v >= C_u + p_v, and + d_uv. (13) follows from (4), which in C has the sum
//     of p^2 times 1/2 in place of 1/2m.
//  10. Algorithm 3: line 5 lacks the logarithm, line 2 sorts by C and says middle times, line
//     8 has no block for C < 1, alpha of an empty block must be 0 and its t' defined,
//     `return` stands in the loop, line 19 needs the argmin.
//  11. GRAHAM in Algorithm 3 does not skip tasks that cannot start yet, so that Lemma 4 and
//     Theorem 5 fail: 22 times C for a task of the test's stages.
//  12. Theorem 1: the decision version is NP-complete; the problem as stated is NP-hard. The
//     proof of (13) mixes the sets T and I.
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
