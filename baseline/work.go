package baseline

import (
	"time"

	"github.com/sojourn-sched/sojourn"

	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
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

// reserveHeader returns the options of a reserve that the saved state rests on.
func reserveHeader(o reserve.Options) []snapshot.Option {
	return []snapshot.Option{
		snapshot.Opt("reserve", o.Share > 0),
		snapshot.Opt("counted", o.Share > 0 && o.Counted),
	}
}

// seconds converts slot-nanoseconds to seconds, for people.
func seconds(x wide.Uint128) float64 {
	return (float64(float64(x.Hi)*(1<<64)) + float64(x.Lo)) / 1e9
}
