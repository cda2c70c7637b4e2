// Package mapreduce names the two classes of slot of MapReduce jobs. Use it if your cluster
// has map slots and reduce slots, as in Hadoop 1, or if a policy asks for jobs of
// that shape, as package rtmr does. If every slot can run every task, all slots and phases
// are of class 0, and this package is not needed.
//
//	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{
//		{Tasks: 40, Class: mapreduce.Map},
//		{Tasks: 4, Class: mapreduce.Reduce},
//	}}
package mapreduce

import "github.com/sojourn-sched/sojourn"

// The classes of slot that run map tasks and reduce tasks.
const (
	Map    sojourn.Class = 0
	Reduce sojourn.Class = 1
)
