// Package reserve keeps a few slots of each class free for tasks that are short, or belong
// to jobs that run little. Use it in a policy that serves one job after the other, where
// tasks are long and are not interrupted: without it all slots can be held by long tasks that
// were started together, and a job of ten seconds waits until they end.
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
// So the short job finds the last free slot, and a job that already runs something leaves
// it alone. A policy over kit/queue says what the level of a job is, and has the rest done:
//
//	p.queue = queue.NewJobs(queue.JobOrder[data, key]{
//		Key:     ...,
//		Less:    ...,
//		Reserve: reserve.Options{Share: reserve.DefaultShare},
//		Level: func(j *ledger.Job[data], s *ledger.Side) int {
//			lengths := p.queue.Reserve().Lengths(s.Class())
//			return reserve.Level(lengths.Rank(j.Data.buckets[j.NextPhase(s)]), s.Running())
//		},
//	})
//
//	p.queue.Reserve().Lengths(class).Add(bucket) // in Observe: a phase has arrived
//
// Any other policy holds a [Reserve], asks it for [Reserve.Highest] before it chooses, and tells
// it of [Reserve.Started] and [Reserve.Ended].
//
// # The rule
//
// Let a class have N slots, and let k of them be reserved: a share of N, rounded, and less than
// N. Let u be the part of the phases that have arrived whose longest task is shorter than that
// of a phase, where those about as long count half ([Lengths]), and let r be how many tasks of its
// job run in the class. Then
//
//	level      l = floor(15.999 (u+r)/(1+r)), from 0 to 15
//	threshold  t = floor(l k/15 + 1/2), from 0 to k
//
// and one of its tasks may start if more than t slots are free, or if its job is the only live
// one. Where lengths are not known, l is 0 if r = 0, and else 15 ([LevelUnknown]). Among the jobs
// that may start, the policy's order decides; if none may, the slot stays free. It is
// offered again after the next event, so that the reserve needs no timer.
//
// A level is computed when the job is filed, which is at its own events. The ranks of the others
// change by what arrives meanwhile, and that is let be: a level is part of the state.
//
// # Two forms
//
// The plain form counts free slots, and not who holds the others. Jobs that are in front by the
// order and may not take the last slots can see a stream of short jobs take each slot that
// becomes free, for as long as no more than k are free at once.
//
// With [Options.Counted] a slot counts as free while it is held by a task that was started out of
// turn: when a job that came before its own by the order was not allowed to start. Let q be the
// number of these slots and f that of free ones; then a task may start if f + q > t. A task is
// started out of turn only while f + q <= k, and this start leaves f + q as it is. So q <= k
// as long as k does not fall, and while a job waits that is not allowed to start,
// f + q <= k: at least N - k slots run what was started in its turn.
//
// # Cost
//
// Each call takes constant time, apart from [Lengths.Add], which takes 126 steps. Nothing is
// allocated but for the first phase or slot of a class.
package reserve
