// Package fewest serves the job with the fewest unfinished tasks first. Use it as shortest
// remaining processing time if nothing is known about the lengths of tasks.
//
// # Algorithm
//
// A free slot gets a task of the job with the fewest tasks that are not finished, running
// ones included, among those that have one for the slot's class. Ties go by arrival. Within
// the job, the first phase that has something to start goes first, and there the task whose
// input is closest.
//
// # Guarantees
//
// With one slot, tasks of equal length and all jobs there at the beginning, no order has a
// smaller mean sojourn time (Smith, Various optimizers for single-stage production, Naval
// Research Logistics Quarterly 3, 1956, theorem 3).
//
// # Cost
//
// With n jobs that have something to start, Observe and Assign take O(log n).
package fewest
