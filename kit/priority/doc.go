// Package priority lets any policy serve jobs of several priorities. Use it if some jobs come before others
// whatever their share or their length is:
//
//	p, err := priority.New(func() sojourn.Policy { return policy() }, priority.Options{}) // and p takes its place
//	...
//	sojourn.Job{ID: 1, Priority: 10, ...}  // before all jobs of lower priorities; others have 0
//
// # Example
//
// A nightly batch of 100 tasks of an hour and priority -1 waits on 4 slots. While any other job has a task to start, no
// task of the batch starts. With Options.Age of ten minutes, the batch starts one at least every ten minutes in which a
// slot becomes free, however many others wait (TestAge). With Options.Preempt of 4, a task of the batch that runs is
// asked for when another job has none of the slots (TestPreempt).
//
// # What is promised
//
// Strict: without Age, no task starts while the policy of a greater priority would take the slot (TestStrict).
//
// Nobody starves with Age: let n other priorities have live jobs. Once a priority has waited for n times Age for slots of a
// class, each of the others gets at most one more of them before it does, unless its policy declines (TestAge). Proof: it
// counts as at least as high as the greatest. One of the others that gets a slot has waited for less from then on, so
// it counts as lower until it has waited for longer. Which of its jobs gets the slot, its policy says.
//
// Each priority is by itself: its policy knows the jobs of this priority, and the slots on which nothing else runs.
// What it promises, it promises with these slots: a deadline at a low priority is void when others take them.
//
// Nothing is killed unless Preempt is set. Then only attempts of lower priorities are asked for, the lowest and
// there the youngest first, while no slot of their class is free and the policy would take one. An attempt that is pinned,
// leaves with its slot, or was started by Age, is left alone.
//
// # Over shares, or within them
//
// Around package fair, a priority comes before all shares: every tenant's urgent jobs go before anybody's others. Shares
// and limits of pools then hold for each priority by itself, and cannot be changed while the policy runs. If each
// tenant has priorities of its own, set Policy of the pools of package fair to one from here: then shares come first.
//
// # What it costs
//
// Each live priority has a policy, and each start and each end of an attempt is an event for all of them. So there are
// [Most] at a time: a job of one more is refused as [sojourn.ErrUnsupported]. Map yours onto a few. A
// policy without live jobs is kept with what it has learned, for the latest eight priorities. A revision that changes
// the priority of a job takes time in proportion to what runs and has run of it.
//
// # When it is wrong
//
//   - One kind of job is to get more than another, but not all: weights of package fair.
//   - Short jobs are to pass long ones: package leastwork does so without being told.
//   - Jobs have deadlines: package rtmr.
//
// Tier: kit.
package priority
