// Package queue ranks jobs, or phases, that have something to start. Use it if your policy
// gives a free slot to the job, or the phase, that comes first by some key.
//
// Tier: kit.
//
//	q := queue.NewJobs(queue.JobOrder[struct{}, uint64]{ // first in, first out
//		Key:  func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
//		Less: func(a, b uint64) bool { return a < b },
//	})
//
//	err := q.Ledger.Check(&ev)       // in Observe: does the event fit?
//	q.File(&ev, q.Apply(&ev))        // if it does, and the policy does not refuse it
//	a, ok := q.Assign(slot)          // in Assign
//
// [Jobs] ranks whole jobs: within a job, the first phase that has a startable task goes
// first, and there the task whose input is closest, or the lowest. Keys may grow while time
// passes. [Phases] ranks each phase of a job by itself, and takes the tasks of a phase in
// an order that the policy chooses. Both embed [Queue], which has the rest of a policy:
// Seek, Admit, AppendRanking, Explain, Save and Restore. A policy may embed either.
//
// # What the policy owes
//
// A queue keeps the key that a job or phase had when it was filed. The policy updates its
// own data about a job, Job.Data, between Apply and File. If a key changes at another time,
// the policy calls Update.
//
// # Cost
//
// Apply, File and Assign take O(log n) for n startable jobs or phases, and allocate nothing
// except when a job arrives. Jobs and phases with nothing to start cost nothing.
// AppendRanking sorts all live jobs; Explain and Rank look at each once.
//
// If keys change often, set Prefix: most comparisons then look at two words that lie side by side, and only keys that
// begin alike are compared by Less.
package queue
