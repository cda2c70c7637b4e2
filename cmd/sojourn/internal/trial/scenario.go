package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Scenario is what policies are compared in: a setup whose workload and cluster were
// read.
type Scenario struct {
	Setup
	Workload *input.Workload
	Cluster  *input.Cluster
	Bound    *Bound // of any run, once there is one; nil if there is no bound
	Unbound  error  // why there is none
	Rolls    []*Roll
	Sojourns [][]float64 // of each job under each of several policies, in seconds; NaN if it did not finish
	Part     int         // in place of boundPart, unless 0
	NoBound  bool        // none is asked for

	changes []sojourn.Event // of pools
}

// config returns the configuration of a run of one policy.
func (s *Scenario) config(spec catalog.Spec) (sim.Config, error) {
	gangs, spec := s.gangs(spec)
	p, err := newPolicy(s.Policies, seeded(spec, s.Seed))
	if err != nil {
		return sim.Config{}, err
	}
	if err := s.Gangs.needed(spec); err != nil {
		return sim.Config{}, err
	}
	missing := s.Workload.Facts().Features &^ sojourn.Supports(p)
	if err := s.Workload.Refuse(missing&^sojourn.Features(s.Drop), fmt.Sprintf("policy %v does not know", spec), remedy(missing, spec)); err != nil {
		return sim.Config{}, err
	}
	if len(s.changes) > 0 && sojourn.Supports(p)&sojourn.FeaturePools == 0 {
		return sim.Config{}, usage.Errorf("policy %v does not know %v, which %s uses", spec, sojourn.FeaturePools, format.Visible(s.PoolChanges))
	}
	jobs, err := s.Locality.place(s.Workload, s.Cluster, s.Seed)
	if err != nil {
		return sim.Config{}, err
	}
	if missing != 0 {
		jobs = without(jobs, missing)
	}
	remote, network := s.Locality.reads()
	return sim.Config{
		Cluster:    s.Cluster.Cluster,
		Jobs:       jobs,
		Policy:     p,
		Estimates:  sim.Estimates(s.Estimates),
		Stragglers: s.Stragglers,
		Remote:     remote,
		Network:    network,
		Faults:     s.Faults,
		Progress:   s.Progress,
		Preempt:    s.Preempt,
		Retest:     s.Retest,
		Gangs:      gangs,

		PoolChanges: s.changes,
		Seed:        s.Seed,
		Records:     true,
	}, nil
}

// Made returns the spec by which the policy of a run is made: with what --gangs and the seed add to its options.
func (s *Scenario) Made(spec catalog.Spec) catalog.Spec {
	_, spec = s.gangs(spec)
	return seeded(spec, s.Seed)
}

// dropped returns the features that jobs lose under at least one of some policies. Where one cannot be made, its run says why.
func (s *Scenario) dropped(specs []catalog.Spec) (f sojourn.Features) {
	for _, spec := range specs {
		if p, err := newPolicy(s.Policies, s.Made(spec)); err == nil {
			f |= sojourn.Features(s.Drop) &^ sojourn.Supports(p)
		}
	}
	return f
}

// without yields jobs that use none of some features which they can do without.
func without(jobs iter.Seq2[*sim.Job, error], f sojourn.Features) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		for j, err := range jobs {
			if err == nil {
				if told := j.Without(f); told != &j.Job {
					less := *j
					less.Job = *told
					j = &less
				}
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// WithSeed returns the scenario with another seed: a workload that comes from a
// generator is made again, any other stays.
func (s *Scenario) WithSeed(ctx context.Context, seed uint64) (*Scenario, error) {
	t := *s
	t.Seed = seed
	if seed == s.Seed || !s.Source.Gen.Given() {
		return &t, nil
	}
	var err error
	if t.Workload, err = s.Source.Gen.Workload(ctx, seed, false); err != nil {
		return nil, err
	}
	return &t, s.Load.Apply(t.Workload, t.Cluster)
}

// RunHooks are called as a run goes on. job is told the place of each job in the
// workload, from 0; sim.Hooks.Job is not used.
type RunHooks struct {
	sim.Hooks
	Job   func(rank int, r *sim.JobRecord)
	Ended func(ctx context.Context) error // after the last job; a policy whose hook fails has no result
}

// Run runs the policies, each by itself and as many at a time as there are
// processors, and returns their results in the order of specs; and finds the bound
// of them all, without what one of them drops, the roll of each, and the sojourn times under several. hooks, if not nil, makes the hooks of the run of the
// i-th policy. If ctx ends, Run returns an [Interrupted] error with the results of the policies that have ended, and nil for the others.
func (s *Scenario) Run(ctx context.Context, terminal io.Writer, specs []catalog.Spec, hooks func(i int) RunHooks) ([]*sim.Result, error) {
	bar := progress.New(terminal, "jobs", len(specs)*s.Workload.Facts().Jobs)
	defer bar.Clear()
	return s.RunCounted(ctx, bar, specs, hooks)
}

// RunCounted is run with a progress bar that counts the jobs that are done.
func (s *Scenario) RunCounted(ctx context.Context, bar *progress.Bar, specs []catalog.Spec, hooks func(i int) RunHooks) ([]*sim.Result, error) {
	results := make([]*sim.Result, len(specs))
	s.Rolls = make([]*Roll, len(specs))
	s.Sojourns = make([][]float64, len(specs))
	s.Bound, s.Unbound = nil, nil
	err := Keep(ctx, len(specs)+1, func(ctx context.Context, i int) (func(), error) {
		if i == len(specs) && s.NoBound {
			return func() { s.Unbound = errors.New("none was asked for") }, nil
		}
		if i == len(specs) {
			b, none := newBound(until(ctx, without(s.Workload.All(), s.dropped(specs))), s.Cluster, cmp.Or(s.Part, boundPart))
			return func() { s.Bound, s.Unbound = b, none }, nil
		}
		cfg, err := s.config(specs[i])
		if err != nil {
			return nil, err
		}
		var h RunHooks
		if hooks != nil {
			h = hooks(i)
		}
		r := &Roll{}
		sojourns := slices.Repeat([]float64{math.NaN()}, s.Workload.Facts().Jobs)
		places := places{live: map[sojourn.JobID]int{}}
		h.Hooks.Job = func(j *sim.JobRecord) {
			rank := places.take(j.ID)
			r.Add(rank, j)
			if j.Outcome == sim.Finished {
				sojourns[rank] = j.Sojourn().Seconds()
			}
			if h.Job != nil {
				h.Job(rank, j)
			}
			bar.Add(1)
		}
		cfg.Jobs, cfg.Hooks = places.number(cfg.Jobs), h.Hooks
		cfg.Records, cfg.Quantiles = false, true // what is said of single jobs is in the roll
		res, err := sim.Run(ctx, cfg)
		if err != nil {
			res, err = nil, fmt.Errorf("policy %s: %w", specs[i], err)
		} else if h.Ended != nil {
			if err = h.Ended(ctx); err != nil {
				res = nil
			}
		}
		return func() { results[i], s.Rolls[i], s.Sojourns[i] = res, r, sojourns }, err
	})
	switch {
	case ctx.Err() != nil:
		if s.Bound == nil {
			s.Unbound = errors.New("interrupted before it was known")
		}
		ended := 0
		for _, res := range results {
			if res != nil {
				ended++
			}
		}
		return results, &Interrupted{ended, len(specs), "policies"}
	case err != nil:
		return nil, err
	}
	return results, nil
}

// until returns the jobs until ctx ends, which is an error.
func until(ctx context.Context, jobs iter.Seq2[*sim.Job, error]) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		n := 0
		for j, err := range jobs {
			if n++; n%4096 == 0 && ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// An Interrupted is the error of runs that were stopped before all had ended.
type Interrupted struct {
	Done, Of int
	Things   string // that are done
}

// Error says how many are done.
func (e *Interrupted) Error() string {
	return fmt.Sprintf("interrupted after %s of %s %s", format.Thousands(e.Done), format.Thousands(e.Of), e.Things)
}
