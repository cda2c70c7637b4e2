// Package vqueue provides a virtual processor-sharing queue: it tells in which
// order jobs would complete if a cluster shared its slots among all of them, and
// serves them in that order.
//
// # The virtual cluster
//
// A virtual cluster of C slots is shared by all jobs in the queue in proportion
// to their weights, without regard to how many slots a job could really use
// (generalised processor sharing, GPS [Parekh and Gallager, 1993]). It ages by
// wall time: whether the real cluster runs these jobs, others or none makes no
// difference. A job that has received its whole work there is virtually complete
// and leaves the virtual cluster; a job that is really finished before that
// keeps taking its share, or the others would be promised too much.
//
// Jobs are served one after the other, in the order in which they complete
// virtually: this is Fair Sojourn Protocol scheduling [Friedman and Henderson,
// SIGMETRICS 2003]. A job that is virtually complete and not really finished is
// late, and goes before all others; see [LateFirst] and [LateShare].
//
// # Virtual time
//
// Let W be the sum of the weights of the jobs that are not virtually complete.
// Virtual time g runs at dg/dt = C/W, so that each unit of weight receives work
// at the rate of g. A job that arrives with work x and weight w therefore
// completes when g reaches its tag F = g(arrival) + x/w, which never changes:
// neither arrivals nor departures reorder the jobs that are there.
//
// Everything is an integer. Weights come in units of 2^-16, work in
// slot-nanoseconds, and g and F in units of 2^-16 slot-nanoseconds per unit of
// weight. With w and W in their units, time dt makes
//
//	C dt 2^32     units of work, of 2^-32 slot-nanoseconds each;
//	floor(./W)    of them per unit of weight are added to g;
//	the remainder is carried: c units of work, c < W, that were made and are
//	              not yet in g.
//
// Intervals are split at every virtual completion: it takes exactly W(F-g)-c
// units to reach it, g is then F, and the carry is 0. The tag of a new job is
//
//	F = g + ceil(x 2^32 / w) + (1 if c > 0, else 0).
//
// # Error bound
//
// Compare with exact GPS, fed with the same arrivals, revisions and changes of
// capacity. Let V be the virtual work that a job has left here,
// w(F - g - c/W) units, and V* its counterpart in exact GPS; both are 0 for a
// job that is complete. Then at all times
//
//	(a)  V >= V* for each job, and
//	(b)  the sum of V-V* over all jobs is at most E,
//
// where E is the sum, over the arrivals since the queue was last virtually empty,
// of 2w, and over the revisions and resets of 3 times the larger weight (before or
// after).
//
// Proof of (a). Between events both systems are exact: real-valued virtual time
// g + c/W grows by C/W per unit of time. Suppose that (a) holds up to some
// instant. Then every job that is present in exact GPS is present here, hence W
// is no smaller here and no job gains on its counterpart while both are present.
// So (a) can only be broken by an event. Virtual completions happen at c = 0 and
// move nothing. An arrival lowers c/W, which lets V grow for jobs that are
// present, and the newcomer has V >= w(ceil(x 2^32/w) + [c>0] - c/W) >= x 2^32.
// A revision of work alone changes V and V* alike, but for rounding up. A
// revision of weight, or one that ends the job, takes its share of the carry
// along, so that c/W does not grow, and enters it again as an arrival. A reset does
// the same.
//
// Proof of (b). While both systems have work they do C units per unit of time,
// so the difference of the sums is constant; while only this one has, it falls.
// It is raised by an arrival, by less than 2w; and by a revision, by less than
// the old weight (the share of the carry that is forgotten, and a rounding of the
// carry by less than one unit) and twice the new one.
//
// Hence no job is virtually complete earlier than in exact GPS; when a job
// completes there, it has at most E units left here; and as it then receives at
// least the fraction w/W of all capacity, it completes here at most
//
//	E Wmax / (w C 2^32) nanoseconds
//
// later, where Wmax is the largest W meanwhile. Two jobs whose exact completions
// are further apart are never exchanged. The queue itself becomes empty at most
// E / (C 2^32) nanoseconds late. As an example, E is 2^-15 slot-nanoseconds for an
// arrival of weight 1: after a million arrivals without a pause, a cluster of one
// slot is 31 nanoseconds late.
//
// Whether a revision finds a job late may differ from exact GPS if it comes
// within this bound of its virtual completion.
//
// # Range
//
// Numbers have 128 bits. They do not overflow with up to 2^31 slots, fewer than
// 2^32 jobs at a time, work and weights up to the limits of [Queue.Arrive] and
// times up to the limit of [sojourn.Time]. As g starts again from 0 whenever the
// queue is virtually empty, they are usually much smaller.
package vqueue
