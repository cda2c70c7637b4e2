package slack

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

var sizes = []int{1000, 10_000, 100_000, 1_000_000}

// BenchmarkJob is the whole life of a job among n unfinished ones: it arrives and
// becomes ready, the least completable job is served to its end and finished, and
// time passes meanwhile. V holds the n jobs and up to n finished ones; time passes
// faster while there are more, so that one item leaves V for each that comes.
func BenchmarkJob(b *testing.B) {
	for _, n := range sizes {
		for _, weights := range []uint64{1, 1 << 20} {
			b.Run(fmt.Sprintf("jobs=%d/weights=%d", n, weights), func(b *testing.B) {
				r := newRun(n, weights)
				for range min(n, 200_000) {
					r.job()
				}
				r.late = 0
				b.ReportAllocs()
				jobs := 0
				for b.Loop() {
					r.job()
					jobs++
				}
				b.ReportMetric(float64(r.late)/float64(jobs), "late/op")
				b.ReportMetric(float64(r.s.Len())/float64(n), "V/job")
			})
		}
	}
}

// BenchmarkWave measures the cost of starting another task of the chosen job.
func BenchmarkWave(b *testing.B) {
	r := newRun(100_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		it, _ := r.s.LeastCompletable()
		r.s.SetRunning(it, 1)
		r.s.SetState(it, Ready)
	}
}

// A run keeps a system busy.
type run struct {
	s       *System[int]
	n       int
	rng     *rand.Rand
	weights uint64
	late    int
}

func newRun(n int, weights uint64) *run {
	r := &run{s: New[int](vqueue.LateFirst), n: n, rng: rand.New(rand.NewPCG(3, 4)), weights: weights}
	r.s.SetCapacity(1)
	for range n {
		r.arrive()
	}
	return r
}

func (r *run) arrive() {
	weight := uint64(one)
	if r.weights > 1 {
		weight = 1 + r.rng.Uint64N(r.weights)
	}
	r.s.Arrive(0, 1+r.rng.Uint64N(1<<40), weight, Ready)
}

func (r *run) job() {
	r.arrive()
	it, _ := r.s.LeastCompletable()
	if it.Late() {
		r.late++
	}
	now := r.s.clock.Now().Add(time.Duration(it.work))
	r.s.Finish(it)
	if r.s.Len() > 2*r.n {
		at, _ := r.s.NextCompletion()
		now = max(now, at)
	}
	r.s.Advance(now, nil)
}
