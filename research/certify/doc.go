// Package certify checks schedules and bounds of package research/plan without the solver. Use it
// if you want to rely on a schedule or a bound:
//
//	err := certify.Verify(in, s) // nil, or the first thing that is wrong with s
//
// Tier: research.
//
// If you trust this package, you need not trust the solver: this package reads a
// [plan.Instance] and a result, and calls nothing of the solver. It is written to be
// checked by eye against the theorems that docs/theory/plan.md proves.
// Symbols and numbers of equations are the same. Read the files in this order:
//
//	verify.go     what is compared with what
//	schedule.go   the schedule: (1), (2), one task at a time on a machine
//	round.go      all rounding: exact sums, and numbers that are surely below or above a result
//	program.go    a point of the linear program: (1) to (4)
//	prices.go     Fact 3: what prices prove of the completion of jobs
//	valley.go     the least payment of a job
//	barrier.go    the same for the completion of tasks
//	smith.go      what Smith ratios prove where jobs arrive over time
//
// # What is proved
//
// The instance has jobs j of weight w_j and release r_j. Task u of phase k takes p_u, on one
// of m machines. S_u is its start, M_u = S_u + p_u/2 its middle, and C_j the end of its job.
// A task v that waits for u starts no earlier than d_uv after the end of u.
//
// A schedule is right if (1), (2) and the machines allow all of its starts, machines and
// ends. This check is integer arithmetic, and exact.
//
// Prices N prove a lower bound. N is a function of time for each class of machines that
// does not increase and ends at 0. With N1(t) the integral of N from t on, every schedule
// costs at least
//
//	D(N) = sum over j of min over C >= c_j of [w_j C + sum over u of p_u N1(C - h_u)] - m integral of t N(t) dt.
//
// Here c_j is the least C_j, and h_u the least time from M_u to C_j. Any N proves a bound: an
// error of the solver can make D(N) small, but never false. See [Prices].
//
// If jobs arrive over time, ratios pi_u of tasks prove more of the completion of jobs: see [SmithRatios].
//
// A point C of the linear program is not a schedule. Its value, Bound.UpperBoundLP, shows how
// near LowerBound is to the best bound that prices can prove. See [Point].
//
// # Rounding
//
// A bound is never above the exact one. There is no tolerance: what is not exact is rounded
// towards a lower bound, by one of the functions of round.go. Times are integers of nanoseconds,
// weights are float64, and each sum is as follows.
//
//	objective               exact: a sum of products of integers and float64
//	sum of w_j C_j          exact for c_j; what C_j is later is rounded down
//	N                       rounded when it is read, before all else. It does not increase after that
//	                        either, so that it is a price and proves its own bound.
//	N1, payments            products of numbers >= 0, rounded down; their sums are exact
//	m integral of t N(t)    products of numbers >= 0, rounded up; their sum is exact
//	min over C              M = x + (c_j - h_u) with x = C - c_j >= 0: a sum of numbers >= 0, so that no
//	                        digits are lost if M is small beside C. N1 is taken at M rounded up. How much
//	                        less the minimum may be follows from slopes that are rounded away from 0.
//	pi                      rounded down when it is read: smaller ratios prove a bound, too
//	w_j - sum of pi_u p_u   exact, then rounded down
//	C_j - M_u               sums of products of integers; p(B)^2/2m is rounded down
//	Smith's rule            begins and ends at integers of 1/m ns; M and pi M are rounded down
//	a bound                 the sum of all of these is exact. It is rounded down once, to a float64.
//
// A sum of products is exact as it is kept in an integer of 2240 bits. TestSumsAreExact compares it
// with math/big, and TestBelowAndAboveEncloseTheExactResult the other functions of round.go.
// TestNothingProvesMoreThanTheOptimum and FuzzPrices compare bounds with the optimum, exactly.
//
// Three numbers are not bounds of schedules, and are given in float64. Objective may differ from
// the exact one by what a float64 sum of as many terms is off at most. Gap is exactly the formula of
// [plan.Bound]. UpperBoundLP is the value of a point that satisfies all inequalities after
// each completion is made later by at most 2^-36 of itself, which is 1.5e-11.
//
// # How it can be wrong
//
// It shares two things with the solver: internal/heap, and [plan.Instance.Check], which keeps
// all times far below the greatest [sojourn.Time], so that sums of times do not overflow.
package certify
