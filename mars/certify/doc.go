// Package certify proves schedules and bounds of package mars/plan anew.
//
//	err := certify.Verify(in, s) // nil, or the first thing that is wrong with s
//
// Whoever trusts a schedule or a bound of package plan trusts this package alone: it
// reads a [plan.Instance] and what was made of it, and nothing of the solver. It is
// written to be checked by eye against the theorems, which the documentation of package
// plan proves; symbols and numbers of equations are the same. The order of reading is
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
// of m machines; S_u is its start, M_u = S_u + p_u/2 its middle; C_j is the end of its job.
// A task v that waits for u starts no earlier than d_uv after the end of u.
//
// A schedule is right if all of its starts, machines and ends are what (1) and (2) and the
// machines allow. That is integer arithmetic, and exact.
//
// A lower bound is proved by prices N, a function of time for each class of machines that
// does not increase and ends at 0. With N1(t) the integral of N from t on, every
// schedule costs at least
//
//	D(N) = sum over j of min over C >= c_j of [w_j C + sum over u of p_u N1(C - h_u)] - m integral of t N(t) dt.
//
// Here c_j is the least C_j, and h_u the least time from M_u to C_j. Any N will do: an error
// of the solver makes D(N) small, and never false. See [Prices].
//
// Where jobs arrive over time, ratios pi_u of tasks prove more: see [SmithRatios].
//
// A point C of the linear program, whose value is Bound.UpperBoundLP, is no schedule: it
// shows how near LowerBound is to the best that prices can prove. See [Point].
//
// # How it can be wrong
//
// It shares [plan.Instance.Check] with the solver, which keeps all times far below the
// greatest that can be told, and internal/heap. Bounds are sums of float64: they are
// compared with a tolerance of 1e-9, relatively, which is far more than rounding adds and far
// less than a wrong term.
package certify
