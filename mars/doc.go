// Package mars makes near-optimal schedules of MapReduce jobs, with a proof of how
// good they are.
//
// It implements MarS and its rivals from Ling, Yuan, Wang, Liu and Yang, "Joint
// scheduling of MapReduce jobs with servers: performance bounds and experiments",
// J. Parallel Distrib. Comput. 2016.
package mars
