// Package locality finds the pending tasks whose input is close to a slot, and
// says how long a job should wait for such a slot. Use it if your policy picks among the
// tasks of a job. A policy over kit/queue has it already. A policy keeps an [Index]
// beside its ledger:
//
//	p.index = locality.New(&p.ledger)
//
//	// Observe
//	if err := p.ledger.Check(&ev); err != nil {
//		return err
//	}
//	c := p.ledger.Apply(&ev)
//	p.index.Update(&ev, &c) // every event
//
//	// Assign, for the job that the policy has chosen
//	s := p.ledger.Free(id)
//	phase := j.NextPhase(j.SideOf(s.Class))
//	if pick, ok := p.index.Find(j, phase, s, sojourn.Remote); ok { // or a lower limit
//		return p.index.Take(j, phase, pick, id), true
//	}
//
// Assign tasks by [Index.Take] and not by the ledger's own methods: the index would not notice
// these. Take fills in Assignment.Locality and Source.
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
// Because of rule 3, neighbours on a rack take work from different nodes. A limit of NodeLocal ends
// the list after 2, and a limit of RackLocal after 3.
//
// If all inputs of a task are on nodes that are down, the task is in 4 and always allowed, since no wait
// brings a slot close to it. It is Remote with Source 0: the driver may know another way to its input. For
// other tasks in 4, the source is the first node in the order of the inputs that is up.
//
// A pick depends on the account in the ledger, not on its history. So nothing of an index needs to be saved
// with a policy.
//
// Unless the ledger says otherwise, a node is up and its rack is unknown. If the rack of a slot is unknown,
// the slot is on the rack of its node. A node that is down is close to nothing, not even to its own slots.
//
// # Watched phases
//
// Some policies read from distant nodes on purpose, and need to know how much work each node has.
// For the phases that [Index.Watch] names, the index keeps which of them have tasks at a node, and
// the sum of their weights. [Index.Heaviest] looks at the nodes that hold input of a phase and
// finds the one with the greatest sum. [Index.FindAt] finds a task there. Loads are kept in blocks
// of 64 nodes by ID, with the maximum of each.
//
// # Delay scheduling
//
// A [Wait] is the rule of Zaharia, Borthakur, Sen Sarma, Elmeleegy, Shenker and Stoica, "Delay scheduling"
// (EuroSys 2010), section 3 and algorithm 3 of its appendix. If it is a job's turn but the job has no task
// close to the slot, the job is passed over. It waits at most W1 for a node, and then at most W2 for a rack.
// The policy keeps one Wait for each job and class:
//
//	// Observe, before the event is applied: the job has let n free slots go by
//	n := min(free slots of the class, startable tasks of the job)
//	w.Unused(n, p.ledger.Now(), ev.At) // if n > 0
//
//	// Observe, TaskFinished
//	if p.index.Near(j, ev.Task, c.Slot) {
//		w.Used(ev.At.Sub(c.Start))
//	}
//
//	// Assign, for one job after the other
//	pick, ok := p.index.Find(j, phase, s, w.Limit(delay, now))
//	if ok {
//		a := p.index.Take(j, phase, pick, id)
//		w.Launched(a, now)
//	}
//	// If all decline: the first job for which !w.Allows(n) starts its closest task. Otherwise, each job
//	// that was passed over starts its stop-watch: w.Start(now).
//
// [Wait.Next] is for NextWake, and [Index.FreeSlot] is for Seek. The paper adds up the time between two
// heartbeats if the job was passed over at the first one. A Wait counts the time itself, so the result does
// not depend on how often the policy is asked.
//
// The paper bounds the wait from one launch to the next. If all inputs of a job are on one node of ten,
// and that node launches a task each second, a wait of three seconds never ends, and nine nodes are idle.
// So here a job has an allowance, too. It is a sixteenth (1/[Share]) of the slot time of its finished
// tasks that ran near: on the node or on the rack of an input. Slots that it lets go by spend it. A job whose
// allowance does not last takes a slot that all others decline. A slot that another job takes costs nothing.
//
// Theorem. Let A be the slot time that the near tasks of a job have held by an instant at which they
// had finished. At each instant, let the job leave min(f, p) slots unused if it lets f free slots go by and
// has p startable tasks, and let U be the integral of that. Then U <= A/16, at any time. So in a class
// with such jobs, the slot time in which a slot is free and a job could use it, but for its waits, is
// at most a sixteenth of the slot time used. Hypotheses: the driver ticks at NextWake, and
// then offers each free slot until all are declined; the policy gives a slot that all decline to a job that is
// not allowed to wait. If a tick is late by d, U may exceed A/16 by the f d of that tick, and the job pays
// that back before it waits again.
//
// docs/theory/locality.md has the proof.
//
// Tests: TestUnusedIsAShare for one job; TestWaitsLeaveASixteenthUnused, in internal/constructors/pooled,
// for policies.
//
// # Cost
//
// With n nodes that hold inputs of a phase, and t tasks of it that have an input
// on one of them, Find takes O(log n), Take and the events of a task O(log n + log t)
// for each replica. They allocate nothing, except when all replicas of an input
// are lost. Arrival takes O(m log m) for m replicas in the phase, and so does a
// revision that adds or removes tasks, or moves inputs. NodeDown and NodeUp update the tasks that have
// an input there. If the rack of a node changes, the tables of racks of the phases
// that have inputs there are rebuilt. FreeSlot may look at every free slot if the
// limit is not Remote.
//
// Watch, Unwatch and Reweigh take O(n). While a phase is watched, a task that is taken or comes back takes
// O(1) more for each replica, and 64 comparisons if the node had the greatest load of its block. Heaviest
// looks at n/64 words, into the block of the greatest maximum, and into the blocks whose maximum exceeds what
// it found. That is O(n) at worst: when the greatest loads are at nodes that have no task of the phase or may
// not be read from.
//
// An index takes 4 bytes for each replica, and 48 bytes for each node of a phase. Jobs that have
// ended or are cancelled take no memory.
package locality
