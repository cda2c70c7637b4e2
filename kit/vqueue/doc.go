// Package vqueue provides a virtual processor-sharing queue. It tells in which order jobs
// would complete if a cluster shared its slots among all of them, and serves them in
// that order.
//
// Tier: kit.
//
// Use it for a policy that serves one job after the other, small ones first, without
// letting large ones starve: that is Fair Sojourn Protocol scheduling [Friedman and
// Henderson, SIGMETRICS 2003]. The audit of fairness uses it to tell when fair sharing
// would have completed a job. If a job may also overtake others as long as none of them
// becomes late, use [github.com/sojourn-sched/sojourn/kit/slack].
//
//	q := vqueue.New[*job](vqueue.LateFirst)
//	q.SetCapacity(slots)            // when slots come or go
//	q.Advance(now, nil)             // at each event, before the event is applied
//	it := q.Arrive(j, work, weight) // work in slot-nanoseconds, weight in units of 2^-16
//	q.SetReady(it, true)            // while the job has a task to start
//	first, ok := q.First()          // whom a free slot serves
//	q.Finish(it)                    // when the last task has finished, or the job is cancelled
//
// # The virtual cluster
//
// In the virtual cluster all jobs run at once. They share its slots in proportion to
// their weights, however many slots a job could really use (generalised processor
// sharing, GPS). It ages by wall time, whichever jobs the real cluster runs. Virtual time
// is what a job of weight 1 would have received since the virtual cluster was empty. Three
// jobs of weight 1 share one slot; a (10) and b (30) come at 0, and c (10) comes at 10:
//
//	time              0          10         25         35         50
//	jobs              |   a b    |  a b c   |   b c    |    b     |
//	each receives         1/2        1/3        1/2         1
//	virtual time      0          5          10         15         30
//	completes                               a          c          b
//
// A job that comes with work x and weight w completes when virtual time has grown by x/w
// since then: a at 10, b at 30, c at 5 + 10. This tag is known when the job comes, and
// others that come or go do not change it. So the queue keeps jobs by their tags.
//
// A job that has received its whole work is virtually complete and leaves the virtual
// cluster. A job that is really finished before that keeps its share, or the others would
// be promised too much. A job that is virtually complete and not really finished is late.
// It goes before all others; see [LateFirst] and [LateShare].
//
// # Numbers
//
// All numbers are integers. No job is virtually complete before it would be by exact
// sharing. After a million arrivals of equal weight without a pause, none is later than
// that by a hundredth of a nanosecond. The package internal/vclock states the bound for
// all weights, and proves it.
package vqueue
