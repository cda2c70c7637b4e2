// Package slack provides the slack system of protective scheduling: it tells how
// long each job could still wait without completing later than under processor
// sharing, and which job can be served next without making anybody late.
//
// # The system
//
// V is a virtual cluster that shares its slots among all jobs in proportion to
// their weights, without regard to how many slots a job could really use
// (generalised processor sharing, GPS). It ages by wall time. Its jobs are in the
// order in which they complete there: by (F, arrival), where F, the virtual time
// at which a job completes, never changes. A job that is really finished stays in
// V until it is virtually complete. A job that is virtually complete and not
// really finished is late: it stays in front of V.
//
// With m jobs in V, and for job i in that order its weight phi_i, the virtual work
// v_i that it has left in V, the real work w_i that it has left, and
//
//	H_i = v_1 + ... + v_{i-1} + (phi_i + ... + phi_m) v_i / phi_i,
//
// which is the work that V does until i completes if nobody else arrives, the
// slack of i is
//
//	s_i = H_i - (w_1 + ... + w_i)                                            (6)
//
// with late jobs counted among those before i. Li et al. have it for equal weights:
// "H-PFSP: Efficient Hybrid Parallel PFSP Protected Scheduling for MapReduce
// System", 2013; equation numbers are theirs. Job i is completable if it can be
// served to its end without interruption and nobody before it becomes late:
// s_j >= w_i for all j < i that have something to start. The job to serve is the
// completable one with the least w; the first job in V that has something to start
// is always completable.
//
// v, w and s are in slot time, and not divided by the number of slots as in the
// paper: capacity changes rates, and no order.
package slack
