package catalog

import (
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
)

// Errors have the distribution that was asked for, and are the same for the same
// phase.
func TestNoise(t *testing.T) {
	e := &noisy{hfsp.NewOracle(hfsp.NewTrainer(1, 0)), 0.5, 7}
	const n = 4000
	var sum, squares float64
	for id := range sojourn.JobID(n) {
		job := &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: 1000, Estimate: time.Hour}}}
		got, known := e.Initial(job, 0)
		if again, _ := e.Initial(job, 0); got != again || !known {
			t.Fatalf("Initial = %v, %v, then %v", got, known, again)
		}
		x := math.Log(float64(got) / float64(1000*time.Hour))
		sum, squares = sum+x, squares+x*x
	}
	// Four standard errors: sigma/sqrt(n) and sigma/sqrt(2n).
	mean, sigma := sum/n, math.Sqrt(squares/n)
	if math.Abs(mean) > 4*0.5/math.Sqrt(n) || math.Abs(sigma-0.5) > 4*0.5/math.Sqrt(2*n) {
		t.Errorf("the logarithm of the error has mean %.4f and deviation %.4f, want 0 and 0.5", mean, sigma)
	}
	huge := &noisy{hfsp.NewOracle(hfsp.NewTrainer(1, 0)), 1e300, 0}
	if got, _ := huge.Initial(&sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 1}}}, 0); got < 0 {
		t.Errorf("a huge error makes a size of %d", got)
	}
}

// Zero says that nothing is known, and stays zero whatever the factor: one of a sigma
// without bounds is infinite, or zero.
func TestNoiseOfNothing(t *testing.T) {
	for seed := range uint64(20) {
		e := &noisy{hfsp.NewOracle(hfsp.NewTrainer(0, 0)), math.MaxFloat64, seed}
		job := &sojourn.Job{ID: 1, Name: "a", Phases: []sojourn.Phase{{Tasks: 1}}}
		if got := e.Final(job, 0, []hfsp.Sample{{Progress: sojourn.MaxProgress}}); got != 0 {
			t.Errorf("seed %d: Final of samples of length 0 = %v, want 0", seed, got)
		}
		job.Phases[0].Estimate = 1
		if got, _ := e.Initial(job, 0); got != 0 && got != math.MaxInt64 {
			t.Errorf("seed %d: Initial = %v, want 0 or the most", seed, got)
		}
	}
}

// A noisy estimator that is restored goes on, and refuses what one of another seed or sigma has saved.
func TestNoiseIsRestored(t *testing.T) {
	made := func(sigma float64, seed uint64) *noisy { return &noisy{hfsp.NewTrainer(1, 3), sigma, seed} }
	e := made(1, 2)
	e.Completed(&sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}, 0, 2, 10*time.Second)
	data, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	job := &sojourn.Job{ID: 7, Phases: []sojourn.Phase{{Tasks: 4}}}
	want, _ := e.Initial(job, 0)
	back := made(1, 2)
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if got, _ := back.Initial(job, 0); got != want || want == 0 {
		t.Errorf("Initial = %v, want %v", got, want)
	}
	for _, other := range []*noisy{made(2, 2), made(1, 3)} {
		if err := other.UnmarshalBinary(data); err == nil {
			t.Errorf("sigma %v, seed %d: another one's snapshot is accepted", other.sigma, other.seed)
		}
	}
}
