// Package fifo serves jobs in the order of their arrival, as Hadoop did at first
// and as most work queues do.
//
// Tier: stable.
//
// Use it if the order of arrival is the right order: jobs are of one size, or users expect
// their turn. If jobs differ in size, a short job waits for all long jobs before it; package
// leastwork is then better.
//
//	p, err := fifo.New(fifo.Options{})
//	if err != nil {
//		return err // only options out of range give one
//	}
//	err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}) // and all other events
//	a, ok := p.Assign(slot)                                            // for each free slot
//
// # Algorithm
//
// A free slot goes to the first job, in the order of arrival, that has a startable
// task for the slot's class. A job whose later phases are not ready, or whose tasks
// are all running, does not hold back the jobs behind it.
//
// The job runs the task of its first startable phase that has its input on the slot's
// node; else one that runs equally well anywhere; else one with its input on the
// slot's rack; else the lowest. This is what the FIFO scheduler of Hadoop 1 did. If
// no task has inputs, or with Options.IgnoreLocality, it is the lowest. The job takes
// what the slot at hand allows and never waits, so small jobs, whose inputs are on few
// nodes, mostly run far from their input (Zaharia et al., Delay scheduling, EuroSys
// 2010, section 3.1).
//
// # Guarantees
//
// Work conserving: no slot is left free while a task could run on it. No job
// waits for work that arrived after it, except for tasks that already run.
// There is no bound on slowdown: a short job waits for all jobs that arrived before
// it, so the mean sojourn time grows with the variance of the job sizes.
//
// # Cost
//
// With n jobs that have something to start, Observe and Assign take O(log n), and
// allocate nothing except when a job arrives or a task is tried again. Estimates,
// weights, pools and deadlines are not looked at. An assignment of a task with inputs
// costs O(log m) more for each replica of its input, with m replicas in the phase.
package fifo
