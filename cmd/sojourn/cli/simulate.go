package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/sim"
)

// A scenario is what policies are compared in: a setup whose workload and cluster were
// read.
type scenario struct {
	setup
	workload *workload
	cluster  *cluster
	bound    *bound // of any run, once there is one; nil if there is no bound
	unbound  error  // why there is none
	rolls    []*roll
	part     int // in place of boundPart, unless 0
}

// config returns the configuration of a run of one policy.
func (s *scenario) config(spec catalog.Spec) (sim.Config, error) {
	p, err := newPolicy(s.policies, seeded(spec, s.seed))
	if err != nil {
		return sim.Config{}, err
	}
	jobs, err := s.locality.place(s.workload, s.cluster, s.seed)
	if err != nil {
		return sim.Config{}, err
	}
	remote, network := s.locality.reads()
	return sim.Config{
		Cluster:    s.cluster.Cluster,
		Jobs:       jobs,
		Policy:     p,
		Estimates:  sim.Estimates(s.estimates),
		Stragglers: s.stragglers,
		Remote:     remote,
		Network:    network,
		Faults:     s.faults,
		Progress:   s.progress,
		Preempt:    s.preempt,
		Retest:     s.retest,
		Seed:       s.seed,
		Records:    true,
	}, nil
}

// withSeed returns the scenario with another seed: a workload that comes from a
// generator is made anew, any other stays.
func (s *scenario) withSeed(ctx context.Context, seed uint64) (*scenario, error) {
	t := *s
	t.seed = seed
	if seed == s.seed || !s.source.gen.given() {
		return &t, nil
	}
	var err error
	if t.workload, err = s.source.gen.workload(ctx, seed, false); err != nil {
		return nil, err
	}
	return &t, s.load.apply(t.workload, t.cluster)
}

// runHooks are called as a run goes on. job is told the place of each job in the
// workload, from 0; sim.Hooks.Job is not used.
type runHooks struct {
	sim.Hooks
	job func(rank int, r *sim.JobRecord)
}

// run runs the policies, each by itself and as many at a time as there are
// processors, and returns their results in the order of specs; and finds the bound
// of them all, and the roll of each. hooks, if not nil, makes the hooks of the run of the
// i-th policy.
func (s *scenario) run(ctx context.Context, terminal io.Writer, specs []catalog.Spec, hooks func(i int) runHooks) ([]*sim.Result, error) {
	bar := newBar(terminal, "jobs", len(specs)*s.workload.facts().count)
	defer bar.Clear()
	return s.runCounted(ctx, bar, specs, hooks)
}

// runCounted is run with a progress bar that counts the jobs that are done.
func (s *scenario) runCounted(ctx context.Context, bar *progressbar.ProgressBar, specs []catalog.Spec, hooks func(i int) runHooks) ([]*sim.Result, error) {
	results := make([]*sim.Result, len(specs))
	s.rolls = make([]*roll, len(specs))
	err := parallel(ctx, len(specs)+1, func(ctx context.Context, i int) error {
		if i == len(specs) {
			s.bound, s.unbound = newBound(s.workload, s.cluster, cmp.Or(s.part, boundPart))
			return nil
		}
		cfg, err := s.config(specs[i])
		if err != nil {
			return err
		}
		var h runHooks
		if hooks != nil {
			h = hooks(i)
		}
		r := &roll{}
		s.rolls[i] = r
		places := places{live: map[sojourn.JobID]int{}}
		h.Hooks.Job = func(j *sim.JobRecord) {
			rank := places.take(j.ID)
			r.add(rank, j)
			if h.job != nil {
				h.job(rank, j)
			}
			bar.Add(1)
		}
		cfg.Jobs, cfg.Hooks = places.number(cfg.Jobs), h.Hooks
		cfg.Records, cfg.Quantiles = false, true // what is said of single jobs is in the roll
		if results[i], err = sim.Run(ctx, cfg); err != nil {
			return fmt.Errorf("policy %s: %w", specs[i], err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}
