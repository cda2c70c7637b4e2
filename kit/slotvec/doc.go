// Package slotvec keeps sorted vectors of the instants at which the slots of a
// cluster become available, in run-length form. Use it if your policy has to know when a
// job that is served after others would end, as the admission test of RTMR does:
//
//	free := slotvec.Vector{{T: 0, N: 4}, {T: 60, N: 2}} // four slots now, two more at 60
//	var f slotvec.Filler
//	after, end := f.Fill(nil, free, 10, 30, 0)          // ten tasks of 30 each, from 0 on
//	// end is when the last of them ends, after when the slots are available then
//	meets := end <= deadline
//
// Tier: kit.
//
// A [Vector] holds, for each distinct instant, how many slots become available
// then. Its canonical form has strictly increasing instants and positive counts,
// so that equal vectors are equal slices. All functions take and return canonical
// vectors, append their result to dst[:0] and leave their arguments alone; dst may
// not share memory with them.
//
// # FILL
//
// FILL schedules n equal tasks of length eps, none before rel, each on the slot that
// becomes available first (Algorithms II and III of the RTMR paper):
//
//	e := rel
//	repeat n times: t := max(v[1], rel) + eps; remove v[1]; insert t; e := t
//
// [Filler.Fill] returns the same in closed form, in O(r log r) for r runs, independent of
// the numbers of tasks and slots. Let a slot become available at a >= rel. It could
// start tasks at a, a+eps, a+2 eps, ..., and the loop starts the n tasks at the n
// least of all these instants, because it always takes the least one left. Let x be the
// level to which the n tasks rise if they are poured in like a fluid: the real number
// with
//
//	sum over slots of max(0, x - a) = n eps,
//
// and h = floor(x). With a, eps and h whole, floor((x-a)/eps) = floor((h-a)/eps) = k.
// Every slot with a <= h starts k tasks before its last start s = a + k eps within
// (h-eps, h]. Summed over these slots, k <= (x-a)/eps < k+1 gives
//
//	sum k <= n < sum (k+1),
//
// so that n - sum k more tasks start, at the least of the instants s, at most one on
// each slot. Those slots end at s + eps, the others at s.
//
// If at least n slots are available at rel, which is the common case for reduce
// tasks, no level is needed: n of the earliest end at rel + eps.
//
// # Range
//
// Instants are whole numbers of any unit, below [Never]. A result that is out of
// range becomes Never, an instant that does not come. So does the result for a
// vector without slots.
package slotvec
