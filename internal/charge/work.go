package charge

import (
	"cmp"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// TaskWork returns the expected service time of a task in nanoseconds, unknown if there is no estimate.
func TaskWork(ph *sojourn.Phase, index uint32, unknown time.Duration) wide.Uint128 {
	return wide.From64(uint64(cmp.Or(ph.EstimateOf(int(index)), unknown)))
}

// Tasks are the tasks of a phase: which are done, and how many are.
type Tasks interface {
	IsDone(index uint32) bool
	Done() int
}

// PhaseWork returns the sum of TaskWork over the tasks of a phase that are not done.
func PhaseWork(ph *sojourn.Phase, tasks Tasks, unknown time.Duration) (sum wide.Uint128) {
	if ph.Estimates == nil {
		return wide.Mul64(uint64(ph.Tasks-tasks.Done()), uint64(cmp.Or(ph.Estimate, unknown)))
	}
	for i := range uint32(ph.Tasks) {
		if !tasks.IsDone(i) {
			sum = sum.Add(TaskWork(ph, i, unknown))
		}
	}
	return sum
}

// NoneDone are the tasks of a phase of which none is done.
type NoneDone struct{}

// IsDone returns false.
func (NoneDone) IsDone(uint32) bool { return false }

// Done returns 0.
func (NoneDone) Done() int { return 0 }

// RemainingWork returns the work in the tasks of a job that are not done.
func RemainingWork[T Tasks](job *sojourn.Job, phase func(int) T, unknown time.Duration) (sum wide.Uint128) {
	for i := range job.Phases {
		sum = sum.Add(PhaseWork(&job.Phases[i], phase(i), unknown))
	}
	return sum
}
