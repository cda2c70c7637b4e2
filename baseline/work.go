package baseline

import (
	"cmp"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
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

// phaseBuckets returns by phase the bucket of its longest task.
func phaseBuckets(j *sojourn.Job, unknown time.Duration) []uint8 {
	buckets := make([]uint8, len(j.Phases))
	for i := range j.Phases {
		buckets[i] = reserve.Bucket(reserve.Longest(&j.Phases[i], unknown))
	}
	return buckets
}

// reserveOptions returns the reserve that options ask for.
func reserveOptions(share float64, counted bool) reserve.Options {
	return reserve.Options{Share: reserve.ShareOf(share), Counted: counted}
}

// reserveHeader returns what the state rests on of a reserve: what of it is saved.
func reserveHeader(o reserve.Options) []snapshot.Option {
	return []snapshot.Option{
		snapshot.Opt("reserve", o.Share > 0),
		snapshot.Opt("counted", o.Share > 0 && o.Counted),
	}
}

// seconds converts slot-nanoseconds for people to read.
func seconds(x wide.Uint128) float64 {
	return (float64(float64(x.Hi)*(1<<64)) + float64(x.Lo)) / 1e9
}
