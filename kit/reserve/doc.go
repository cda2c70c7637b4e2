// Package reserve keeps a few slots of each class free for tasks that are short, or belong
// to jobs that run little. Use it in a policy that serves one job after the other, if tasks
// are long and are not interrupted. Without it, long tasks that were started together can
// hold all slots, and a job of ten seconds waits until they end.
//
// Tier: kit.
//
// A cluster has 300 slots, of which 1 % are kept: 3. Half of the phases that have arrived have
// shorter tasks than job a, whose level is therefore at least 7 of 15:
//
//	level  slots that must be free
//	0..2   1
//	3..7   2   a, while nothing of it runs
//	8..12  3   a, while one of its tasks runs: 11
//	13..15 4   a, while four of its tasks run: 14
//
// So a short job finds the last free slot, since a job that already runs something may not take
// it. A policy over kit/queue gives the level of a job, and the queue does the rest:
//
//	p.queue = queue.NewJobs(queue.JobOrder[data, key]{
//		Key:     ...,
//		Less:    ...,
//		Reserve: reserve.Options{Share: reserve.ShareOf(0.01)},
//		Level: func(j *ledger.Job[data], s *ledger.Side) int {
//			lengths := p.queue.Reserve().Lengths(s.Class())
//			return reserve.Level(lengths.Rank(j.Data.buckets[j.NextPhase(s)]), s.Running())
//		},
//	})
//
//	p.queue.Reserve().Lengths(class).Add(bucket) // in Observe: a phase has arrived
//
// Any other policy holds a [Reserve], calls [Reserve.Highest] before it chooses a task, and
// reports starts and ends by [Reserve.Started] and [Reserve.Ended].
//
// # The rule
//
// Let a class have N slots, and let k of them be reserved: a share of N, rounded, and less than N.
// Take a phase of a job. Let u be the part of all arrived phases whose longest task is shorter
// than that of this phase, where phases about as long count half ([Lengths]). Let r be the number
// of tasks of the job that run in the class. Then
//
//	level      l = floor(15.999 (u+r)/(1+r)), from 0 to 15
//	threshold  t = floor(l k/15 + 1/2), from 0 to k
//
// and a task of the phase may start if more than t slots are free. It may also start if the job is the only live
// one and the phase has fewer than 8 N tasks. If lengths are not known, l is 0 for r = 0, and 15 otherwise ([LevelUnknown]). Among the
// jobs that may start, the policy's order decides. If none may start, the slot stays free. The
// driver offers it again after the next event, so the reserve needs no timer.
//
// The level of a job is computed when the job is filed, which is at its own events. Ranks change
// when other jobs arrive, but the level stays until the job's next event. So a level is part of
// the state.
//
// # Two forms
//
// The plain form counts free slots, and does not ask who holds the others. Consider a job that
// is first in the order but may not take the last slots. A stream of short jobs can take each
// slot that becomes free, as long as no more than k are free at once.
//
// With [Options.Counted] a slot also counts as free while a task that was started out of turn
// holds it. A task starts out of turn if a job before its own in the order was not allowed to
// start. Let q be the number of these slots and f the number of free ones; then a task may start
// if f + q > t. A task starts out of turn only while f + q <= k, and this start does not change f
// + q. So q <= k as long as k does not fall. While a job waits that is not allowed to start, f +
// q <= k: at least N - k slots run tasks that were started in turn.
//
// # In a part of a cluster
//
// A policy that has a part of a cluster, as the policy of a pool of package fair does, sees few free
// slots, and they may come one at a time. With [Options.In] it keeps to the reserve of the whole
// cluster: k and the number of free slots are that of the cluster, and levels are its own. What
// starts out of turn is then between the parts. It is for who divides the cluster to report.
//
// # Cost
//
// Each call takes constant time, apart from [Lengths.Add], which takes 126 steps. Only the first
// phase or slot of a class allocates memory.
package reserve
