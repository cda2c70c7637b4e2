package paper

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Result is the result of an experiment.
type Result struct {
	*Experiment
	order   []*trial.Sample            // each policy on each workload
	samples map[paperRun]*trial.Sample // the same
	rows    []paperOutcome
}

// A paperRun names a sample of an experiment.
type paperRun struct{ workload, policy string }

// A paperOutcome is the result of a row.
type paperOutcome struct {
	paperRow
	ours   stats.Interval
	values []float64 // seed by seed, nil for a ratio
	digits int       // to show
	verdict
}

// Run runs all that the rows need: each policy once on each workload.
func (e *Experiment) Run(ctx context.Context, terminal io.Writer, f trial.Setup, seeds int) (*Result, error) {
	scenarios := map[string]*trial.Scenario{}
	for _, w := range e.workloads {
		with := f
		with.Source.Cluster = w.cluster
		with.Locality.Network = e.network
		with.Estimates, with.Preempt = e.estimates, e.preempt
		if sigma, ok := e.sigmas[w.name]; ok {
			with.Estimates = trial.Estimates{Mode: sim.LogNormal, Sigma: sigma}
		}
		with.Retest = slices.Contains(e.retest, w.name)
		if err := with.Source.Gen.Set(w.gen); err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		s, err := with.Open(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		scenarios[w.name] = s
	}
	var runs []paperRun
	var trials []trial.Trial
	parse, repeat := trial.ParsePolicies, trial.Repeat
	if e.plans != nil {
		parse, repeat = parsePlanners, e.plans.repeat
	}
	for _, row := range e.rows {
		for _, run := range []paperRun{{row.workload, row.policy}, row.other()} {
			if row.each != nil || run.policy == "" || slices.Contains(runs, run) {
				continue
			}
			specs, err := parse(f.Policies, []string{run.policy})
			if err != nil {
				return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
			}
			runs = append(runs, run)
			trials = append(trials, trial.Trial{Scenario: scenarios[run.workload], Spec: specs[0], Value: run.workload, Keep: e.keep, Watch: e.watches[run.policy]})
		}
	}
	samples, err := repeat(ctx, terminal, trials, seeds)
	if err != nil {
		return nil, err
	}
	p := &Result{Experiment: e, order: samples, samples: map[paperRun]*trial.Sample{}}
	for i, run := range runs {
		p.samples[run] = samples[i]
	}
	for _, row := range e.rows {
		o := paperOutcome{paperRow: row, digits: cmp.Or(e.digits, 3)}
		of := e.measure.Of
		if row.of != nil {
			of = row.of
		}
		if row.each == nil {
			o.values = p.values(paperRun{row.workload, row.policy}, of)
		} else if o.values, err = row.each(ctx, p); err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		o.ours = stats.Mean(o.values)
		if row.over != "" {
			o.ours = stats.Ratio(o.values, p.values(row.other(), of))
			o.values = nil
		}
		o.verdict = row.judge(o.ours, seeds)
		p.rows = append(p.rows, o)
	}
	return p, nil
}

// values returns a number of each seed: that of the plans, or of the results.
func (p *Result) values(run paperRun, of func(*sim.Result) float64) []float64 {
	s := p.samples[run]
	if p.plans != nil {
		return s.Planned
	}
	return s.Values(of)
}

// sampleOf returns a sample of a workload.
func (p *Result) sampleOf(workload string) *trial.Sample {
	for _, r := range p.rows {
		if r.workload == workload && r.each == nil {
			return p.samples[paperRun{r.workload, r.policy}]
		}
	}
	panic("experiment " + p.Name + ": no row of workload " + workload)
}
