// Package queue ranks what has something to start: use it if your policy gives a free slot
// to the job, or the phase, that comes first by some key.
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
// passes. [Phases] ranks the phases of jobs, each by itself, and takes the
// tasks of a phase in an order of the policy's choice. Both are a [Queue], which has what
// remains of a policy: Seek, Admit, AppendRanking, Explain, Save and Restore. A policy may
// embed them. [Ready] is the piece below, for policies that rank something else.
//
// # What the policy owes
//
// Keys are kept as they were when they were filed. What the policy keeps of a job, its Data,
// is brought up to date between Apply and File. Whoever changes a key at another time calls
// Update.
//
// # Cost
//
// Apply, File and Assign take O(log n) for n startable jobs or phases, and allocate nothing
// except when a job arrives. What has nothing to start costs nothing. AppendRanking, Explain
// and Rank sort all live jobs.
package queue
