package sim

import (
	"iter"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A Job is one job of a workload: what a policy may be told about it, and its true
// times.
type Job struct {
	// Job is the description that the policy gets: identity, pool, weight,
	// absolute deadline, phases. If a phase has no estimate, [Config.Estimates]
	// decides which one the policy gets.
	sojourn.Job

	// AnyClass says, for each phase, that the workload leaves its class to the
	// cluster; see [Job.ClassOf]. Nil means that every phase has its class in
	// Phases.
	AnyClass []bool

	// At is the instant of arrival.
	At sojourn.Time

	// Times holds the true service times, one entry a phase.
	Times []Times
}

// Jobs yields the jobs of a list, as [Config] and package trace take them. The list is in the order of
// arrival.
func Jobs(list ...*Job) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		for _, j := range list {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// Times holds the true service times of the tasks of a phase, and what they cost.
type Times struct {
	Each time.Duration   // of every task, if List is nil
	List []time.Duration // of each task

	// Costs, unless nil, is what each task costs: the Cost of the event that ends an attempt. One that ends before its
	// time costs a part in proportion to its service, rounded down. Zero means the time on the slot.
	Costs []uint64

	// Added, unless nil, is when each task comes, after the arrival of the job: 0 for the first one, and no less for each than for the
	// one before it. The policy hears of it by a revision. Such a job is Open in its description, and no phase waits for one whose
	// tasks come later. The job ends when all its tasks have come and are done.
	Added []time.Duration
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

// ClassOf returns the class of slots that a phase of j runs on in a cluster that is not
// uniform. If the workload leaves the class open, it is [sojourn.MapClass] for the first
// phase of the job and [sojourn.ReduceClass] for the others.
func (j *Job) ClassOf(phase int) sojourn.Class {
	switch {
	case j.AnyClass == nil || !j.AnyClass[phase]:
		return j.Phases[phase].Class
	case phase == 0:
		return sojourn.MapClass
	}
	return sojourn.ReduceClass
}

// Tasks returns the number of tasks of all phases of j.
func (j *Job) Tasks() int {
	n := 0
	for i := range j.Phases {
		n += j.Phases[i].Tasks
	}
	return n
}
