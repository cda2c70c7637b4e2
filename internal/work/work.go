// Package work counts the work in tasks by the estimates of jobs, exactly, in slot-nanoseconds.
package work

import (
	"cmp"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// OfTask returns the expected service time of a task, unknown if there is no estimate.
func OfTask(ph *sojourn.Phase, index uint32, unknown time.Duration) wide.Uint128 {
	return wide.From64(uint64(cmp.Or(ph.EstimateOf(int(index)), unknown)))
}

// OfPhase returns the sum of OfTask over the tasks of a phase that are not done. done is the
// number of tasks that are.
func OfPhase(ph *sojourn.Phase, unknown time.Duration, isDone func(uint32) bool, done int) (sum wide.Uint128) {
	if ph.Estimates == nil {
		return wide.Mul64(uint64(ph.Tasks-done), uint64(cmp.Or(ph.Estimate, unknown)))
	}
	for i := range uint32(ph.Tasks) {
		if !isDone(i) {
			sum = sum.Add(OfTask(ph, i, unknown))
		}
	}
	return sum
}

// Remaining returns the work in the unfinished tasks of j.
func Remaining[J any](j *ledger.Job[J], unknown time.Duration) (sum wide.Uint128) {
	for i := range j.NumPhases() {
		sum = sum.Add(OfPhase(&j.Spec().Phases[i], unknown, j.Phase(i).IsDone, j.Phase(i).Done()))
	}
	return sum
}
