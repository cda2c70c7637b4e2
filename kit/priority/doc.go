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
// task of the batch starts. With Options.Age of ten minutes, at most one slot that becomes free goes to the others once the
// batch has waited for ten minutes, and then one goes to the batch. With Options.Preempt of 4, tasks of the batch that
// run are asked for when a job of priority 0 has a task to start and no slot is free.
//
// # What is promised
//
// Strict: without Age, no task starts while the policy of a greater priority would take the slot, or waits for a Tick
// at this very instant (TestConformance, by the law of priorities; TestDue).
//
// Nobody starves with Age: while n other priorities have live jobs, and no job changes its priority, the following holds.
// Once a priority has waited for n times Age for slots of a class, each of the others gets at most one more of them before it
// does, unless its policy declines (TestAge). Proof: its rank and what it has waited for together are at least the rank of
// the greatest. One of the others that gets a slot then has waited for less, so it counts as lower as long as
// both wait, since ranks stay and ties go to the lower rank. Which of its jobs gets the slot, its policy says. To get a
// slot counts, whatever becomes of the attempt: so what fails or is lost waits for its age anew, and a stream of jobs that
// fail starves nobody (TestFailuresStarveNobody).
//
// Each priority is by itself: its policy knows the jobs of this priority, and the slots on which nothing else runs.
// So a deadline at a low priority is void when others take the slots, and one at a high priority is refused while
// lower ones hold them.
//
// Nothing is killed for a priority unless Preempt is set. Then attempts of lower priorities are asked for, of the lowest
// first, and there of those that began last, while no slot of their class is free, the policy would take the slot, and no
// lower priority would get it by its age. An attempt that is pinned, leaves with its slot, or was started by its age, is left alone
// (TestPreempt, TestWhoIsAskedFor). What the policies inside ask for among their own jobs is passed on.
//
// # Over shares, or within them
//
// Around package fair, a priority comes before all shares: every tenant's urgent jobs go before anybody's others. Shares
// and limits of pools then hold for each priority by itself, and cannot be changed while the policy runs. If each
// tenant has priorities of its own, set Policy of the pools of package fair to one from here: then shares come first.
// Package kit/release goes around this one: a sequence inside would hold for each priority by itself (TestWhatIsNotKept).
//
// # What it costs
//
// Each live priority has a policy, and each start and each end of an attempt is an event for all of them. Each policy has
// an account of all slots: 64 priorities and 100,000 slots take 300 MB. So there are [Most] at a time: a job that arrives with one
// more is refused as [sojourn.ErrUnsupported]; one that is adopted is not. Map yours onto a few. The first job of a
// priority, and a question whether it would be accepted, take time in proportion to the free slots. A
// policy without live jobs is kept with what it has learned, for the latest eight priorities. A revision that changes
// the priority of a job takes time in proportion to what runs and has run of it, and visits every slot if anything runs.
// With Preempt, each event tries as many slots as are asked for.
//
// # When it is wrong
//
//   - One kind of job is to get more than another, but not all: weights of package fair.
//   - Short jobs are to pass long ones: package leastwork does so without being told.
//   - Jobs have deadlines: package rtmr.
//
// Tier: kit.
package priority
