package baseline

import (
	"cmp"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// taskWork returns the expected service time of a task in nanoseconds.
func taskWork(ph *sojourn.Phase, index uint32, unknown time.Duration) wide.Uint128 {
	return wide.From64(uint64(cmp.Or(ph.EstimateOf(int(index)), unknown)))
}

// phaseWork returns the sum of taskWork over the tasks of a phase that are not
// done, of which there are the given number.
func phaseWork(ph *sojourn.Phase, unknown time.Duration, isDone func(uint32) bool, done int) (sum wide.Uint128) {
	if ph.Estimates == nil {
		return wide.Mul64(uint64(ph.Tasks-done), uint64(cmp.Or(ph.Estimate, unknown)))
	}
	for i := range uint32(ph.Tasks) {
		if !isDone(i) {
			sum = sum.Add(taskWork(ph, i, unknown))
		}
	}
	return sum
}

// seconds converts slot-nanoseconds for people to read.
func seconds(x wide.Uint128) float64 {
	return (float64(float64(x.Hi)*(1<<64)) + float64(x.Lo)) / 1e9
}
