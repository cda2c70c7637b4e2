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
// Proof of (a). Between events both systems are exact: real-valued virtual time g + c/W
// grows by C/W per unit of time. Suppose that (a) holds up to some instant. Then every
// job that is present in exact GPS is present here, hence W is no smaller here and no job
// gains on its counterpart while both are present. So (a) can only be broken by an event.
// A completion takes W(F-g) out of c, and w out of W. Since g + c/W is F at that moment,
// the rest of c was done after it. An arrival lowers c/W, which lets V grow for jobs that
// are present, and the newcomer has V >= w(ceil(x 2^96/w) + [c>0] - c/W) >= x 2^96. A
// revision leaves a job no less than 0 and no more than 2^63 slot-nanoseconds, in both
// systems. A revision of work alone changes V and V* alike, up to rounding up. A revision
// of weight, or one that ends the job, takes the job's share of the carry along, so that
// c/W does not grow, and enters the job again as an arrival. No revision leaves a job with
// more than a job has that comes now with 2^63 slot-nanoseconds, the greatest work, and V*
// is at most that. A job that gains weight and no work keeps its tag if the new one would be
// later: its V is then at least what it was. A reset is a revision.
//
// Proof of (b). While both systems have work they do C units per unit of time, so the
// difference of the sums is constant. While only this system has work, the difference
// falls. An arrival raises it by less than 2w. A revision raises it by less than the old
// weight (the share of the carry that is dropped, and a rounding of the carry by less
// than one unit) plus twice the new one.
//
// Hence no job is complete earlier than in exact GPS; when a job is complete there, it
// has at most E units left here; and as it then receives at least the fraction w/W of all
// capacity, it is complete here at most
//
//	E Wmax / (w C 2^96) nanoseconds
//
// later, where Wmax is the largest W meanwhile. Two jobs whose exact completions are
// further apart are never exchanged. The last job is complete at most E / (C 2^96)
// nanoseconds late.
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
//
// # Range
//
// Numbers have 192 bits. With up to 2^31-1 slots, fewer than 2^32 jobs at a time, and work,
// weights and times up to the limits, no sum overflows. The work that is ever done is below
// 2^94 slot-nanoseconds. g cannot exceed it, since W is at least 1, and
//
//	g < F <= g + ceil(2^159 / w) + 1
//
// for each job. This holds when the job comes, whose work is at most 2^63, and after each
// revision; g only grows while the job is there. Without that limit for revisions, a
// rounding at a large weight would be multiplied when the weight falls. g starts again
// from 0 whenever there are no jobs, so numbers are usually much smaller.
package vclock
