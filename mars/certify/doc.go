// Package certify checks schedules and bounds of package mars/plan without the solver. Use it
// if you want to rely on a schedule or a bound:
//
//	err := certify.Verify(in, s) // nil, or the first thing that is wrong with s
//
// If you trust this package, you need not trust the solver: this package reads a
// [plan.Instance] and a result, and calls nothing of the solver. It is written to be
// checked by eye against the theorems that the documentation of package plan proves.
// Symbols and numbers of equations are the same. Read the files in this order:
//
//	verify.go     what is compared with what, and how nearly
//	schedule.go   the schedule: (1), (2), one task at a time on a machine
//	program.go    a point of the linear program: (1) to (4)
//	prices.go     Fact 3: what prices prove of the completion of jobs
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
// If jobs arrive over time, ratios pi_u of tasks prove more: see [SmithRatios].
//
// A point C of the linear program is not a schedule. Its value, Bound.UpperBoundLP, shows how
// near LowerBound is to the best bound that prices can prove. See [Point].
//
// # How it can be wrong
//
// It shares two things with the solver: internal/heap, and [plan.Instance.Check], which keeps
// all times far below the greatest [sojourn.Time]. Bounds are sums of float64. They are
// compared with a relative tolerance of 1e-9, which is far more than rounding adds and far
// less than a wrong term.
package certify
