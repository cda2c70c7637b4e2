package catalog

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/detmath"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// noisy is an estimator whose sizes are wrong. For each phase of a job it multiplies the size of another estimator by
// exp(sigma Z), with Z drawn from the standard normal distribution. It shows what errors do. The factor of a phase depends on
// the seed, the ID of the job and the number of the phase.
type noisy struct {
	hfsp.Estimator
	sigma float64 // finite, and not negative
	seed  uint64
}

// Initial implements [hfsp.Estimator].
func (e *noisy) Initial(job *sojourn.Job, phase int) (time.Duration, bool) {
	size, known := e.Estimator.Initial(job, phase)
	return e.disturb(job, phase, size), known
}

// Final implements [hfsp.Estimator].
func (e *noisy) Final(job *sojourn.Job, phase int, samples []hfsp.Sample) time.Duration {
	return e.disturb(job, phase, e.Estimator.Final(job, phase, samples))
}

// disturb returns a time with the error of a phase, rounded down. Zero, which says
// that nothing is known, stays zero.
func (e *noisy) disturb(job *sojourn.Job, phase int, t time.Duration) time.Duration {
	if t == 0 {
		return 0 // also if the factor is infinite
	}
	r := rand.New(rand.NewPCG(e.seed, uint64(job.ID)<<16|uint64(phase)))
	x := float64(float64(t) * detmath.Exp(float64(e.sigma*detmath.Normal(r))))
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(x)
}

func (e *noisy) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp.Noisy", Version: 1, Options: []snapshot.Option{
		snapshot.Opt("sigma", e.sigma), snapshot.Opt("seed", e.seed),
	}}
}

// AppendBinary implements [sojourn.Snapshotter] together with UnmarshalBinary. The estimators of hfsp are all saved so.
func (e *noisy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, e.header(), func(w *snapshot.Writer) { w.Binary(e.Estimator.(sojourn.Snapshotter)) })
}

// UnmarshalBinary restores what AppendBinary has saved.
func (e *noisy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(e, data, e.header(), func() {}, func(r *snapshot.Reader) { r.Binary(e.Estimator.(sojourn.Snapshotter)) })
}
