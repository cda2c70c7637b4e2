// Package fifo serves jobs in the order of their arrival, as Hadoop did at first
// and as most work queues do.
//
// # Algorithm
//
// A free slot gets the lowest startable task of the first job, in the order of
// arrival, that has one for the slot's class. A job whose later phases are not
// ready, or whose tasks are all running, does not hold back the jobs behind it.
//
// # Guarantees
//
// Work conserving: no slot is left free while a task could run on it. No job
// waits for work that arrived after it, except for what is already running.
// There is no bound on slowdown: a short job waits for all that arrived before
// it, so that the mean sojourn time grows with the variance of the job sizes.
//
// # Cost
//
// With n jobs that have something to start, Observe and Assign take O(log n), and
// allocate nothing except when a job arrives or a task is tried again. Estimates,
// weights, pools, deadlines and the places of inputs are not looked at.
package fifo
