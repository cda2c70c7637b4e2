// Package vclock is the virtual time of a virtual cluster, with its error bound. Packages
// kit/vqueue, which has a figure, and kit/slack use it.
//
//	done := clock.Pass(now)              // what was done since the last instant
//	clock.Complete(first, leave)         // calls leave for each job that is complete
//	tag := clock.Enter(units, weight)    // a job comes
//	clock.Leave(weight)                  // a job goes before it is complete
//
// # The virtual cluster
//
// All jobs of a virtual cluster of C slots share it in proportion to their weights, even
// if a job could not really use that many slots (generalised processor sharing, GPS
// [Parekh and Gallager, 1993]). The virtual cluster ages by wall time: it does not
// matter whether the real cluster runs these jobs, others or none. A job that has
// received its whole work is complete and leaves.
//
// # Virtual time
//
// Let W be the sum of the weights of the jobs. Virtual time g runs at dg/dt = C/W, so
// that each unit of weight receives work at the rate of g. So a job that comes with
// work x and weight w is complete when g reaches its tag F = g(arrival) + x/w. The tag
// never changes: arrivals and departures do not reorder the jobs that are there.
//
// Everything is an integer. Weights come in units of 2^-16. Work comes in
// slot-nanoseconds and is counted in units of 2^-96 slot-nanoseconds. g and F are in
// units of work for each unit of weight. With w and W in their units, time dt makes
//
//	C dt 2^96     units of work, which are carried first: c is the work that was
//	              done and is not in g;
//	floor(c/W)    of them for each unit of weight go into g when a job comes, goes or
//	              is revised, and the remainder is carried on. They could go into g at
//	              any time.
//
// The first job is complete when c reaches W(F-g), exactly; g is F then, and c what is
// left over. The tag of a new job is
//
//	F = g + ceil(x 2^96 / w) + (1 if c > 0, else 0).
//
// # Error bound
//
// Compare with exact GPS, fed with the same arrivals, revisions and changes of capacity.
// Let V be the virtual work that a job has left here, w(F - g - c/W) units, and V* its
// counterpart in exact GPS; both are 0 for a job that is complete. Then at all times
//
//	(a)  V >= V* for each job, and
//	(b)  the sum of V-V* over all jobs is at most E,
//
// where E is the sum, over the arrivals since the clock last had no jobs, of 2w, and over
// the revisions and resets of 3 times the larger weight (before or after).
//
// Hence no job is complete earlier than in exact GPS, and none later than
//
//	E Wmax / (w C 2^96) nanoseconds
//
// after it is complete there, where Wmax is the largest W meanwhile. docs/theory/clock.md has the proofs, and why no sum
// overflows 192 bits.
//
// In numbers: consider n arrivals without a pause, where the largest weight is R times the
// smallest. E is at most 2n times the largest weight, Wmax is at most n times the largest
// weight, and weights are at most 2^48 units. No job is late by more than
//
//	n^2 R 2^-47 nanoseconds,
//
// for any weights. This is less than a hundredth of a nanosecond for a million arrivals of
// equal weight. It is less than one nanosecond for a million arrivals whose weights differ
// by a factor of 100, or for a thousand whose weights differ by 10^8. It is 2 ms for a
// thousand arrivals with the least and the largest possible weights among them. A revision
// counts as two arrivals.
//
// Whether a revision finds a job complete may differ from exact GPS if it comes within
// this bound of its completion.
package vclock
