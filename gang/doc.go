// Package gang lets any policy start tasks that must run together: all at once or none of them.
//
// Tier: kit.
//
// Use it in a driver whose jobs need several places at a time, such as MPI programs, distributed
// training, or a Spark stage with a barrier. A place is what one member of a gang takes: a
// processor, a node, a GPU. If tasks of several sizes share nodes and need not run together, use
// slots of several classes instead.
//
//	c, err := gang.New(gang.Options{Places: 100})
//	...
//	class, err := c.Class(8)      // a gang of width 8 is one task of this class
//	p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1,
//		Phases: []sojourn.Phase{{Tasks: 1, Class: class, Estimate: limit}}}})
//	err = c.Wait(gang.Gang{Task: sojourn.TaskID{Job: 1}, Width: 8, Limit: limit}, now)
//	...
//	for _, ev := range c.AppendChanges(nil, now) {
//		p.Observe(ev)            // gang slots come and go with the free places
//	}
//	slot, ok := seeker.Seek(class)
//	a, ok := p.Assign(slot)
//	c.Start(a, now)              // launch all 8 members
//	...
//	c.End(slot)                  // all 8 have ended; report TaskFinished or TaskFailed
//
// # One task on a slot of its own class
//
// If the members of a gang were tasks of their own, two gangs could take half of the places each
// and wait for each other for ever. So a gang is one task, and a [Cluster] makes slots for it: a
// slot of the class of width w exists while w places are free. Whatever the policy does, a gang
// gets all its places at once. No gang holds places while it waits for others, so there is no
// deadlock. The policy sees tasks, slots and classes as always: no method and no field is
// about gangs.
//
// It uses at most 256 classes. On at most 256 places each width has a class. On more, widths of few
// significant bits have one, and others are rounded up to the next: see [Widths].
//
// Guarantees that rest on the number of slots of a class, such as the bounds of fsp and pfsp, do
// not hold: gang slots of different classes share places.
//
// # No gang starves
//
// Narrow gangs could use all places for ever while a wide one waits. So the gang that has waited
// longest, if it has waited for [Options].Patience, has a reservation as in EASY backfilling
// [Lifka 1995; Mu'alem, Feitelson 2001]. Limits say how long gangs run at most. The shadow time is
// when enough running gangs have ended by their limits. The extra places are those that are then
// left over. Until the gang starts, a slot of another class exists only if whatever waits in that
// class ends by the shadow time, or fits into the extra places.
//
// Theorem. Let the places stay the same. Let no gang run for longer than its limit, and no limit
// be above L. Let the policy take each slot that exists while a gang of its class waits, and start
// gangs of one class in the order in which they came. Then a gang starts at most
// Patience + (a+1) L after it began to wait, where a is the number of gangs that waited before it.
//
// Proof. Suppose gang g has waited longest and for Patience, and that it has width w. Its shadow
// time s is at most L away, since all that runs ends by then. At each later instant until it
// starts, w places are free at s: what was started since ends by s, or took extra places only. So
// a slot of its class exists at s at the latest, and the policy takes it for g, the first of its
// class. Once a gang h has waited for Patience, so has every gang before it. Each of them starts at
// most L after it has become the first. So h starts at most
// Patience + (a+1) L after it began to wait.
//
// If a gang has no limit, or runs on after its limit, the shadow time is not known. Then nothing
// starts but gangs of the reserved class. With R the longest run, at most R goes by.
//
// # Turns
//
// If the policy says whose turn it is ([Options].Turns), places are reserved for a gang of the class that it names.
// Patience counts only while it says that it is nobody's, as fair and leastwork always do without their options Places and Gangs.
// Such a reservation counts against the share of the pool that it is for. Package fair does so: pools hold places in proportion to their weights. While the shadow time is known, places are reserved at once: little
// idles, since what ends in time may start. While it is not known, all places that become free would idle until the gang fits. So
// the policy may let others pass it: they take q times as many places as it needs, and only then is nothing started
// but it. Package leastwork does so, with q = 8:
//
//	p, err := leastwork.New(leastwork.Options{Gangs: true})
//	c, err := gang.New(gang.Options{Places: 100, Turns: p})
//
// Theorem. Let the places stay the same, and no gang run for longer than L. From t on let it be the turn of gang g until it starts, let no
// other gang of its class start, and let the policy take each slot that exists for g. If all gangs keep to limits of at most L, g starts
// by t+L. If there are no limits, it starts by t + (m+1) L, where m is q w/(P-w+1), rounded up, w the width of g and P the places.
//
// Proof. The first part is that of the theorem above. For the second, let g wait throughout L, and places not be reserved. What ran at its begin has ended
// at its end. Then w places are not free, since otherwise a slot would exist for g, and so P-w+1 at least are taken by gangs that
// started meanwhile. So after m times L others have taken q w places. From then on nothing else starts, and after another L nothing else
// runs. TestNoGangStarves has the bound.
//
// # Filling the places
//
// In which order does a driver offer gang slots of several classes? [Cluster.Order] takes the
// policy's ranking, takes as many gangs from its front as would fill the free places, and offers
// the widest of them first. This is the order of ServerFilling [Grosof, Harchol-Balter,
// Scheller-Wolf 2022], which for widths that are powers of two wastes nothing:
//
// Theorem. Let each of the widths divide the next greater one, and let the greatest divide the
// number of free places. If the widths add up to at least the free places, then [Cluster.Order] fills
// them all. Powers of two that divide the number of places are the usual case.
//
// Proof. Order goes through the widths from the greatest to the least. Before each, the places
// left are a multiple of the width: so are the free places, and all greater widths. So a width
// fits unless nothing is left. If something were left in the end, all gangs would have been
// placed, but together they take no fewer than the free places.
//
// # A member fails
//
// A gang is one task, and ends as a whole. If a member fails, or its place is lost, the driver ends all other members, calls
// [Cluster.End], and reports one TaskFailed: with CauseTask if the member is at fault, with CauseSlotLost if its place is gone. In
// the second case it calls [Cluster.Resize] before it asks for changes. The gang then waits again, as one that arrives at that instant,
// and starts with all its members anew. Package research/sim does so when a node fails.
//
// # Bad input
//
// A gang that is wider than the cluster will ever be gets [ErrTooWide], and a width below 1
// [ErrWidth]. If the cluster shrinks ([Cluster.Resize]) below what runs, no slot exists until
// enough gangs have ended; the driver kills those whose places are gone. A gang that is wider than
// what is left waits and has no reservation, until the cluster has grown again.
package gang
