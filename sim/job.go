package sim

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// AnyClass, as the class of a phase, leaves the class to the cluster: on one
// with map and reduce slots the first phase of a job runs on map slots and later
// ones on reduce slots.
const AnyClass sojourn.Class = 255

// A Job is one job of a workload: what a policy may be told of it, and what is
// really so.
type Job struct {
	// Job is what the workload says that the policy is told: identity, pool,
	// weight, absolute deadline, phases. Where a phase carries no estimate,
	// [Config.Estimates] decides what the policy is told. A phase may be of
	// [AnyClass].
	sojourn.Job

	// At is the instant of arrival.
	At sojourn.Time

	// Times holds the true service times, one entry a phase.
	Times []Times
}

// Times holds the true service times of the tasks of a phase.
type Times struct {
	Each time.Duration   // of every task, where List is nil
	List []time.Duration // of each task
}

// Of returns the true service time of a task.
func (t Times) Of(task int) time.Duration {
	if t.List != nil {
		return t.List[task]
	}
	return t.Each
}

// Longest returns the longest service time among the n tasks of a phase.
func (t Times) Longest() time.Duration {
	if t.List != nil {
		return slices.Max(t.List)
	}
	return t.Each
}

// Total returns the sum of the service times of the n tasks of a phase.
func (t Times) Total(n int) time.Duration {
	if t.List == nil {
		return t.Each * time.Duration(n)
	}
	var sum time.Duration
	for _, d := range t.List {
		sum += d
	}
	return sum
}

// Tasks returns the number of tasks of all phases of j.
func (j *Job) Tasks() int {
	n := 0
	for i := range j.Phases {
		n += j.Phases[i].Tasks
	}
	return n
}
