package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A purpose distinguishes the streams of random numbers of one run.
type purpose uint64

const (
	estimateErrors purpose = iota + 1 // one stream a job
	slowness                          // one stream an attempt
	failures                          // one stream an attempt
	refusals                          // one stream an attempt
	nodeFailures                      // one stream a node
	blocks                            // one stream a job
	paths                             // one stream a name of jobs
)

// stream returns the random numbers for a purpose and the job, attempt or node
// that they concern. They depend on nothing else. So the luck of an attempt
// does not depend on when or where the policy starts it: runs of one seed under
// several policies are paired.
func (d *driver) stream(p purpose, ids ...uint64) *rand.Rand { return stream(d.cfg.Seed, p, ids...) }

func stream(seed uint64, p purpose, ids ...uint64) *rand.Rand {
	h := mix(mix(seed) ^ uint64(p))
	for _, id := range ids {
		h = mix(h ^ id)
	}
	return rand.New(rand.NewPCG(h, mix(h)))
}

// mix is the step of SplitMix64 (Steele, Lea and Flood, 2014), a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// attemptStream returns the stream of an attempt.
func (d *driver) attemptStream(p purpose, a sojourn.Assignment) *rand.Rand {
	return d.stream(p, uint64(a.Task.Job), uint64(a.Task.Phase)<<32|uint64(a.Task.Index), uint64(a.Attempt))
}

// chance reports whether an event of the given probability happens to an
// attempt.
func (d *driver) chance(probability float64, p purpose, a sojourn.Assignment) bool {
	return probability > 0 && d.attemptStream(p, a).Float64() < probability
}

// drawTimes decides how long an attempt works, and whether it fails.
func (r *attempts) drawTimes(s *slot, a sojourn.Assignment) error {
	factor := r.cfg.Remote.factor(s.locality)
	if r.chance(r.cfg.Stragglers.Probability, slowness, a) {
		factor *= r.cfg.Stragglers.Factor
	}
	var ok bool
	if s.need, ok = stretch(s.job.Times[a.Task.Phase].Of(int(a.Task.Index)), factor, s.speed); !ok {
		return outOfRange(s)
	}
	s.runs, s.fails = s.need, false
	if r.cfg.Faults.Task > 0 {
		dice := r.attemptStream(failures, a)
		if dice.Float64() < r.cfg.Faults.Task {
			s.fails = true
			s.runs = time.Duration(dice.Float64() * float64(s.need))
		}
	}
	return nil
}

// stretch returns d times factor over speed, rounded once to the nearest
// nanosecond. It reports false if that is out of range.
func stretch(d time.Duration, factor, speed float64) (time.Duration, bool) {
	if factor == speed {
		return d, true
	}
	x := math.Floor(float64(float64(d)*factor)/speed + 0.5)
	if !(x < math.MaxInt64) {
		return 0, false
	}
	return time.Duration(x), true
}

// outOfRange returns the error for an attempt whose end is after the last
// instant.
func outOfRange(s *slot) error {
	return fmt.Errorf("sim: task %v, started at %v: its end is out of the range of time", s.task, s.start)
}
