package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/sim"
)

// maxSeeds keeps a typing error from filling the memory.
const maxSeeds = 100_000

// A trial is a policy in a scenario, to be run with several seeds.
type trial struct {
	scenario *scenario
	spec     catalog.Spec
	value    string // of what a sweep varies
	keep     bool   // the records of jobs
	watch    watch  // unless nil, changes how it is run and sees what results do not tell
}

// random reports whether anything depends on the seed.
func (t trial) random() bool { return t.scenario.random() || drawsErrors(t.spec) }

// A watch changes how a run is made, and returns what returns, after the run, what was
// seen.
type watch func(cfg *sim.Config) (seen func() any, err error)

// A sample is what came out of a trial, seed by seed.
type sample struct {
	trial
	results []*sim.Result // without records of jobs, unless they are kept
	loads   [][2]float64
	planned []float64 // the numbers of a planner, which has no results
	seen    []any     // by the trial's watch
}

// repeat runs each trial with the seed of its scenario and the ones that follow.
// Equal seeds draw equally in all trials. As many runs go on at a time as there
// are processors, and the order of the samples is that of the trials.
func repeat(ctx context.Context, terminal io.Writer, trials []trial, seeds int) ([]*sample, error) {
	samples := make([]*sample, len(trials))
	for i, t := range trials {
		samples[i] = &sample{trial: t, results: make([]*sim.Result, seeds), loads: make([][2]float64, seeds), seen: make([]any, seeds)}
	}
	bar := newBar(terminal, "runs", len(trials)*seeds)
	// Seed by seed, so that an error that one seed has is found early.
	err := parallel(ctx, len(trials)*seeds, func(ctx context.Context, n int) error {
		k, t := n/len(trials), samples[n%len(trials)]
		fail := func(err error) error {
			return fmt.Errorf("policy %s, seed %d: %w", t.spec, t.scenario.seed+uint64(k), err)
		}
		s, err := t.scenario.withSeed(ctx, t.scenario.seed+uint64(k))
		if err != nil {
			return fail(err)
		}
		cfg, err := s.config(t.spec)
		if err != nil {
			return fail(err)
		}
		seen := func() any { return nil }
		if t.watch != nil {
			if seen, err = t.watch(&cfg); err != nil {
				return fail(err)
			}
		}
		res, err := sim.Run(ctx, cfg)
		if err != nil {
			return fail(err)
		}
		t.seen[k] = seen()
		if !t.keep {
			res.JobRecords = nil
		}
		t.results[k], t.loads[k] = res, s.workload.load(s.cluster)
		bar.Add(1)
		return nil
	})
	bar.Clear()
	if err != nil {
		return nil, err
	}
	return samples, nil
}

// values returns a number of each seed.
func (s *sample) values(f func(*sim.Result) float64) []float64 {
	values := make([]float64, len(s.results))
	for k, res := range s.results {
		values[k] = f(res)
	}
	return values
}

// valuesOf returns the same of each sample.
func valuesOf(samples []*sample, f func(*sim.Result) float64) [][]float64 {
	values := make([][]float64, len(samples))
	for i, s := range samples {
		values[i] = s.values(f)
	}
	return values
}

// load returns the load of a class, seed by seed.
func (s *sample) load(class int) []float64 {
	values := make([]float64, len(s.loads))
	for k, load := range s.loads {
		values[k] = load[class]
	}
	return values
}
