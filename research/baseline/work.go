package baseline

import (
	"time"

	"github.com/sojourn-sched/sojourn"

	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// phaseBuckets returns, by phase, the bucket of the longest task.
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

// seconds converts slot-nanoseconds to seconds, for people.
func seconds(x wide.Uint128) float64 {
	return (float64(float64(x.Hi)*(1<<64)) + float64(x.Lo)) / 1e9
}
