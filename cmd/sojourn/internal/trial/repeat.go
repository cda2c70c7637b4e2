package trial

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// MaxSeeds is the greatest number of seeds, so that a typing error does not fill the
// memory.
const MaxSeeds = 100_000

// A Trial is a policy in a scenario, to be run with several seeds.
type Trial struct {
	Scenario *Scenario
	Spec     catalog.Spec
	Value    string // of what a sweep varies
	Keep     bool   // the records of jobs
	Watch    Watch  // unless nil, changes how it is run and sees what results do not tell
}

// Random reports whether anything depends on the seed.
func (t Trial) Random() bool { return t.Scenario.random() || drawsErrors(t.Spec) }

// A Watch may change the configuration of a run. It returns a function that returns,
// after the run, what the watch has seen.
type Watch func(cfg *sim.Config) (seen func() any, err error)

// A Sample has the results of a trial, seed by seed.
type Sample struct {
	Trial
	Results []*sim.Result // without records of jobs, unless they are kept
	Loads   [][]float64
	Planned []float64 // the numbers of a planner, which has no results
	Seen    []any     // by the trial's watch
}

// Repeat runs each trial with the seed of its scenario and the ones that follow.
// Equal seeds draw equally in all trials. As many runs go on at a time as there
// are processors, and the order of the samples is that of the trials. If ctx ends, Repeat returns an [Interrupted] error with what is
// whole: the seeds that all trials have ended, or, before there is one, the trials that have ended the first seed.
func Repeat(ctx context.Context, terminal io.Writer, trials []Trial, seeds int) ([]*Sample, error) {
	samples := make([]*Sample, len(trials))
	for i, t := range trials {
		samples[i] = &Sample{Trial: t, Results: make([]*sim.Result, seeds), Loads: make([][]float64, seeds), Seen: make([]any, seeds)}
	}
	bar := progress.New(terminal, "runs", len(trials)*seeds)
	// Seed by seed, so that an error that one seed has is found early.
	err := Keep(ctx, len(trials)*seeds, func(ctx context.Context, n int) (func(), error) {
		k, t := n/len(trials), samples[n%len(trials)]
		fail := func(err error) (func(), error) {
			return nil, fmt.Errorf("policy %s, seed %d: %w", t.Spec, t.Scenario.Seed+uint64(k), err)
		}
		s, err := t.Scenario.WithSeed(ctx, t.Scenario.Seed+uint64(k))
		if err != nil {
			return fail(err)
		}
		cfg, err := s.config(t.Spec)
		if err != nil {
			return fail(err)
		}
		seen := func() any { return nil }
		if t.Watch != nil {
			if seen, err = t.Watch(&cfg); err != nil {
				return fail(err)
			}
		}
		res, err := sim.Run(ctx, cfg)
		if err != nil {
			return fail(err)
		}
		saw, load := seen(), s.Workload.Load(s.Cluster)
		if !t.Keep {
			res.JobRecords = nil
		}
		return func() {
			t.Results[k], t.Loads[k], t.Seen[k] = res, load, saw
			bar.Add(1)
		}, nil
	})
	bar.Clear()
	switch {
	case ctx.Err() != nil:
		done := bar.Count()
		whole, first := seeds, []*Sample{}
		for _, t := range samples {
			ended := slices.Index(t.Results, nil)
			if ended < 0 {
				ended = seeds
			}
			if whole = min(whole, ended); ended > 0 {
				first = append(first, t)
			}
		}
		if whole == 0 {
			samples, whole = first, 1
		}
		for _, t := range samples {
			t.Results, t.Loads, t.Seen = t.Results[:whole], t.Loads[:whole], t.Seen[:whole]
		}
		return samples, &Interrupted{done, len(trials) * seeds, "runs"}
	case err != nil:
		return nil, err
	}
	return samples, nil
}

// Values returns a number of each seed.
func (s *Sample) Values(f func(*sim.Result) float64) []float64 {
	values := make([]float64, len(s.Results))
	for k, res := range s.Results {
		values[k] = f(res)
	}
	return values
}

// ValuesOf returns the same of each sample.
func ValuesOf(samples []*Sample, f func(*sim.Result) float64) [][]float64 {
	values := make([][]float64, len(samples))
	for i, s := range samples {
		values[i] = s.Values(f)
	}
	return values
}

// Load returns the load of a class, seed by seed.
func (s *Sample) Load(class int) []float64 {
	values := make([]float64, len(s.Loads))
	for k, load := range s.Loads {
		values[k] = load[class]
	}
	return values
}
