// Package locality finds the pending tasks whose input is close to a slot, and
// says how long a job should wait for such a slot. Use it if your policy picks among the
// tasks of a job; kit/queue does so for you. A policy keeps an [Index] beside its ledger:
//
//	p.index = locality.New(&p.ledger)
//
//	// Observe
//	if err := p.ledger.Check(&ev); err != nil {
//		return err
//	}
//	c := p.ledger.Apply(&ev)
//	p.index.Update(&ev, c) // every event
//
//	// Assign, for the job that the policy has chosen
//	s := p.ledger.Free(id)
//	phase := j.NextPhase(j.SideOf(s.Class))
//	if pick, ok := p.index.Find(j, phase, s, sojourn.Remote); ok { // or a lower limit
//		return p.index.Take(j, phase, pick, id), true
//	}
//
// Tasks are assigned by [Index.Take] and not by the ledger's own methods, which
// the index would not hear of. Assignment.Locality and Source are filled in.
//
// The index covers the pending tasks of live jobs, for phases that have [sojourn.Inputs].
// Jobs and phases without inputs cost nothing: for them it answers what the ledger would.
//
// # Order
//
// For a slot, the tasks of a phase come in this order, lower indices first:
//
//  1. tasks with an input on the slot's node;
//  2. tasks without inputs, which run equally well anywhere;
//  3. tasks with an input on the slot's rack, those of the next node of the rack
//     first, in the cyclic order of IDs from the slot's node on;
//  4. all others.
//
// Neighbours of a rack therefore take work off different nodes. A limit of NodeLocal ends the list after 2, RackLocal after 3; but tasks whose
// inputs are all on nodes that are down are in 4 and always allowed, since no wait
// brings a slot close to them. They are Remote with Source 0: the driver may know
// another way to their input. For other tasks in 4, the source is the first node in the
// order of the inputs that is up.
//
// What a pick returns is a function of the account in the ledger, not of its
// history, so that nothing of an index needs to be saved with a policy.
//
// Nodes are up, and on an unknown rack, unless the ledger says something else. A
// slot whose own rack is unknown is on the rack of its node. A node that is down
// is close to nothing, also not to its own slots.
//
// # Watched phases
//
// A policy that reads from afar on purpose wants to know what each node has to do.
// [Index.Watch] makes the index keep, for the phases that are watched, which of them
// have tasks at a node and the sum of their weights; [Index.Heaviest] finds the
// node of the greatest sum among those that hold input of a phase, and
// [Index.FindAt] a task there. Loads are kept in blocks of 64 nodes by ID, with
// the maximum of each.
//
// # Delay scheduling
//
// A [Wait] is the rule of Zaharia, Borthakur, Sen Sarma, Elmeleegy, Shenker and
// Stoica, "Delay scheduling" (EuroSys 2010), section 3 and algorithm 3 of its
// appendix: a job whose turn it is but that has no task close to the slot is passed
// over. It waits at most W1 for a node, and then at most W2 for a rack. The policy
// keeps one Wait for each job and class:
//
//	// whenever that may have changed
//	if free slot of the class, and a startable task of the job {
//		w.Start(now)
//	} else {
//		w.Stop(now)
//	}
//
//	// Assign
//	pick, ok := p.index.Find(j, phase, s, w.Limit(delay, now))
//	...
//	w.Launched(a, now)
//
// [Wait.Next] is for NextWake, and [Index.FreeSlot] for Seek. Where the paper adds
// up the time between two heartbeats if the job was passed over at the first one,
// a Wait counts the time itself, so that the result does not depend on how often
// the policy is asked.
//
// # Cost
//
// With n nodes that hold inputs of a phase, and t tasks of it that have an input
// on one of them, Find takes O(log n), Take and the events of a task O(log n + log t)
// for each replica. They allocate nothing, except when all replicas of an input
// are lost. Arrival takes O(m log m) for m replicas in the phase, and so does a
// revision that adds or removes tasks. NodeDown and NodeUp update the tasks that
// have an input there; a change of a node's rack rebuilds what is kept of racks in
// the phases that have inputs there. FreeSlot may look at every free slot if the
// limit is not Remote.
//
// Watch, Unwatch and Reweigh take O(n). While a phase is watched, a task that is taken
// or comes back takes O(1) more for each replica, and 64 comparisons where the node
// had the greatest load of its block. Heaviest looks at n/64 words, into the block of the
// greatest maximum, and into those whose maximum exceeds what it found: O(n) at worst,
// where the greatest loads are at nodes that have no task of the phase or may not be read
// from.
//
// An index keeps 4 bytes a replica, and 48 bytes for each node of a phase. Nothing
// is kept of jobs that have ended or are cancelled.
package locality
