package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// runFlags are the flags of the commands that run policies. What is told and
// what goes wrong is named as in sim.Config.
type runFlags struct {
	policies   catalog.Catalog
	input      inputFlags
	load       loadFlags
	locality   localityFlags
	estimates  estimatesFlag
	stragglers sim.Stragglers
	faults     sim.Faults
	progress   time.Duration
	preempt    bool
	retest     bool
	seed       uint64
	json       bool
	output     outputFlags
	quiet      bool
}

func (f *runFlags) register(policies catalog.Catalog, flags *pflag.FlagSet) {
	f.registerScenario(policies, flags)
	f.output.register(flags)
}

// registerScenario leaves out the flags that say where files go.
func (f *runFlags) registerScenario(policies catalog.Catalog, flags *pflag.FlagSet) {
	f.policies = policies
	flags.SortFlags = false
	f.input.register(flags)
	f.load.register(flags)
	f.locality.register(flags)
	flags.Var(&f.estimates, "estimates", "what policies are told of service times that the workload gives no estimate of: "+listed(estimatesModes))
	flags.Uint64Var(&f.seed, "seed", 0, "where all randomness comes from")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar and no hints on stderr")
	flags.BoolVar(&f.preempt, "preempt", false, "kill attempts when the policy asks for it")
	flags.BoolVar(&f.retest, "retest", false, "offer rejected jobs again whenever a job has finished")
	flags.DurationVar(&f.progress, "report-progress", 0, "tell policies how far attempts are, every `DURATION`")
	flags.Float64Var(&f.stragglers.Probability, "straggler-probability", 0, "probability `P` that an attempt is a straggler")
	flags.Float64Var(&f.stragglers.Factor, "straggler-factor", 0, "how many `TIMES` longer a straggler takes")
	flags.Float64Var(&f.faults.Task, "fault-task", 0, "probability `P` that an attempt fails")
	flags.Float64Var(&f.faults.Refuse, "fault-refuse", 0, "probability `P` that an assignment is refused")
	flags.DurationVar(&f.faults.MTBF, "fault-mtbf", 0, "mean `DURATION` between failures of a node")
	flags.DurationVar(&f.faults.MTTR, "fault-mttr", 0, "mean `DURATION` until a node is back")
	flags.BoolVar(&f.faults.LoseOutput, "fault-lose-output", false, "a failed node loses the output of its finished tasks")
}

// check finds values that no run accepts, and flags that need one another.
func (f *runFlags) check() error {
	slow, bad := f.stragglers, f.faults
	switch {
	case !(slow.Probability >= 0 && slow.Probability <= 1):
		return usagef("--straggler-probability %v is not in [0, 1]", slow.Probability)
	case (slow.Probability > 0) != (slow.Factor != 0):
		return usagef("--straggler-probability and --straggler-factor go together")
	case slow.Factor != 0 && !(slow.Factor >= 1 && slow.Factor <= math.MaxFloat64):
		return usagef("--straggler-factor %v is not a number from 1 on", slow.Factor)
	case !(bad.Task >= 0 && bad.Task < 1):
		return usagef("--fault-task %v is not in [0, 1)", bad.Task)
	case !(bad.Refuse >= 0 && bad.Refuse < 1):
		return usagef("--fault-refuse %v is not in [0, 1)", bad.Refuse)
	case f.progress < 0 || bad.MTBF < 0 || bad.MTTR < 0:
		return usagef("a duration is negative")
	case (bad.MTBF > 0) != (bad.MTTR > 0):
		return usagef("--fault-mtbf and --fault-mttr go together")
	}
	if err := f.locality.check(); err != nil {
		return err
	}
	return f.load.check()
}

// maxSlots is the most slots of a cluster that is simulated: each takes 400 bytes.
const maxSlots = 1 << 20

// A scenario is what policies are compared in.
type scenario struct {
	flags    *runFlags
	workload *workload
	cluster  *cluster
	seed     uint64
	bound    *bound // of any run, once there is one; nil if there is no bound
	unbound  error  // why there is none
	rolls    []*roll
	part     int // in place of boundPart, unless 0
}

// open reads what the flags name. It fails before it reads anything long if the
// output could not be written.
func (f *runFlags) open(cmd *cobra.Command) (*scenario, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := f.output.check(); err != nil {
		return nil, err
	}
	c, w, err := f.input.load(cmd, f.seed)
	if err != nil {
		return nil, err
	}
	if n := c.Capacity(); n[0]+n[1] > maxSlots {
		return nil, usagef("cluster %s: %s; what is simulated has at most %s", c.name, count(n[0]+n[1], "slot"), thousands(maxSlots))
	}
	if err := f.locality.checkWorkload(w); err != nil {
		return nil, err
	}
	return &scenario{flags: f, workload: w, cluster: c, seed: f.seed}, f.load.apply(w, c)
}

// config returns the configuration of a run of one policy.
func (s *scenario) config(spec catalog.Spec) (sim.Config, error) {
	p, err := newPolicy(s.flags.policies, seeded(spec, s.seed))
	if err != nil {
		return sim.Config{}, err
	}
	f := s.flags
	jobs, err := f.locality.place(s.workload, s.cluster, s.seed)
	if err != nil {
		return sim.Config{}, err
	}
	remote, network := f.locality.reads()
	return sim.Config{
		Cluster:    s.cluster.Cluster,
		Jobs:       jobs,
		Policy:     p,
		Estimates:  sim.Estimates(f.estimates),
		Stragglers: f.stragglers,
		Remote:     remote,
		Network:    network,
		Faults:     f.faults,
		Progress:   f.progress,
		Preempt:    f.preempt,
		Retest:     f.retest,
		Seed:       s.seed,
		Records:    true,
	}, nil
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
func (s *scenario) run(ctx context.Context, stderr io.Writer, specs []catalog.Spec, hooks func(i int) runHooks) ([]*sim.Result, error) {
	bar := newBar(stderr, "jobs", len(specs)*s.workload.facts().count, s.flags.quiet)
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

// places tells the places of jobs in a workload, from 0. It remembers those that a run has
// not told the outcome of.
type places struct {
	live map[sojourn.JobID]int
	next int
}

// number returns the jobs, and records their places.
func (p *places) number(jobs iter.Seq2[*sim.Job, error]) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		for j, err := range jobs {
			if err == nil {
				p.live[j.ID] = p.next
				p.next++
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// take returns the place of a job, and forgets it.
func (p *places) take(id sojourn.JobID) int {
	rank := p.live[id]
	delete(p.live, id)
	return rank
}

// newBar returns a progress bar that counts things up to max, or without end if max is
// -1. It shows nothing if stderr is not a terminal. It has no colours, so that NO_COLOR
// changes nothing.
func newBar(stderr io.Writer, things string, max int, quiet bool) *progressbar.ProgressBar {
	file, ok := stderr.(*os.File)
	if !ok || quiet || !term.IsTerminal(int(file.Fd())) {
		return progressbar.DefaultSilent(1 << 62) // one without end would spin
	}
	return progressbar.NewOptions(max,
		progressbar.OptionSetWriter(file),
		progressbar.OptionSetDescription(things),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(40),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}
