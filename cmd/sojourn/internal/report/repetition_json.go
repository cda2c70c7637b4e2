package report

import (
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// An Estimate is a number that was measured with several seeds, in JSON.
type Estimate struct {
	Mean   format.Real    `json:"mean"`
	CI     [2]format.Real `json:"ci"`              // ends of the confidence interval; null for one seed
	Best   bool           `json:"best,omitempty"`  // the least mean of the policies
	Close  bool           `json:"close,omitempty"` // not the least, but not significantly different from it
	Values []format.Real  `json:"values"`          // seed by seed
}

func newEstimate(j judgement) Estimate {
	e := Estimate{Mean: format.Real(j.Mean), CI: [2]format.Real{format.Real(j.Low()), format.Real(j.High())}, Best: j.best, Close: j.close}
	for _, v := range j.values {
		e.Values = append(e.Values, format.Real(v))
	}
	return e
}

// A distEstimate is a dist that was measured with several seeds.
type distEstimate struct {
	Mean   Estimate `json:"mean"`
	Median Estimate `json:"median"`
	P90    Estimate `json:"p90"`
	P99    Estimate `json:"p99"`
	Max    Estimate `json:"max"`
}

// A repeatedSummary is what a sample says of a policy. Times are in seconds.
type repeatedSummary struct {
	Value  string `json:"value,omitempty"` // of what a sweep varies
	Policy string `json:"policy"`

	Load map[string]Estimate `json:"load"`

	Finished    Estimate `json:"finished"`
	Rejected    Estimate `json:"rejected"`
	Unsupported Estimate `json:"unsupported"`
	Unfinished  Estimate `json:"unfinished"`

	BeyondBound     Estimate            `json:"beyond_bound"`
	LateVsPS        repeatedLate        `json:"late_vs_ps"`
	Sojourn         distEstimate        `json:"sojourn"`
	Slowdown        distEstimate        `json:"slowdown"`
	BoundedSlowdown distEstimate        `json:"bounded_slowdown"`
	Jain            Estimate            `json:"jain"`
	Makespan        Estimate            `json:"makespan"`
	Utilisation     map[string]Estimate `json:"utilisation"`
	Idle            map[string]Estimate `json:"idle"`

	// Local is the share of the tasks with inputs that ran on the node of theirs; none
	// if none has inputs. The others are there with --bandwidth.
	Local        *Estimate `json:"local,omitempty"`
	HotSpots     *Estimate `json:"hot_spots,omitempty"`
	TransferTime *Estimate `json:"transfer_time,omitempty"` // mean, in seconds

	WeightedCompletion Estimate `json:"weighted_completion"`
	WeightedSojourn    Estimate `json:"weighted_sojourn"`

	Accepted Estimate `json:"accepted"`
	Met      Estimate `json:"met"`
}

type repeatedLate struct {
	Jobs Estimate `json:"jobs"`
	Max  Estimate `json:"max"`
}

// repeatedSummaries describes samples that are compared with one another.
func repeatedSummaries(samples []*trial.Sample) []repeatedSummary {
	all := make([]repeatedSummary, len(samples))
	for i, s := range samples {
		all[i] = repeatedSummary{Value: s.Value, Policy: s.Spec.String(), Load: map[string]Estimate{}, Utilisation: map[string]Estimate{}, Idle: map[string]Estimate{}}
		for class, name := range s.Scenario.Cluster.Classes() {
			all[i].Load[name] = PlainEstimate(s.Load(class))
			all[i].Utilisation[name] = PlainEstimate(s.Values(func(res *sim.Result) float64 { return res.Utilisation[class] }))
			all[i].Idle[name] = PlainEstimate(s.Values(func(res *sim.Result) float64 { return res.Idle[class] }))
		}
	}
	measured := func(of func(*sim.Result) float64, field func(*repeatedSummary) **Estimate) {
		for i, j := range judge(trial.ValuesOf(samples, of)) {
			e := newEstimate(j)
			*field(&all[i]) = &e
		}
	}
	if len(samples[0].Results) > 0 && samples[0].Results[0].Transfers != nil {
		measured(trial.HotSpots, func(r *repeatedSummary) **Estimate { return &r.HotSpots })
		measured(trial.TransferTime, func(r *repeatedSummary) **Estimate { return &r.TransferTime })
	}
	if samples[0].Scenario.Workload.Facts().HasPlaces || samples[0].Scenario.Locality.Replicas > 0 {
		for i, s := range samples {
			e := PlainEstimate(s.Values(trial.LocalShare))
			all[i].Local = &e
		}
	}
	// least fills a field where less is better.
	least := func(of func(*sim.Result) float64, field func(*repeatedSummary) *Estimate) {
		for i, j := range judge(trial.ValuesOf(samples, of)) {
			*field(&all[i]) = newEstimate(j)
		}
	}
	dist := func(of func(*sim.Result) *sim.Dist, field func(*repeatedSummary) *distEstimate) {
		add := func(number func(*sim.Dist) float64, place func(*distEstimate) *Estimate) {
			least(func(res *sim.Result) float64 { return trial.Known(of(res), number) },
				func(r *repeatedSummary) *Estimate { return place(field(r)) })
		}
		add(trial.Mean, func(d *distEstimate) *Estimate { return &d.Mean })
		add(trial.Median, func(d *distEstimate) *Estimate { return &d.Median })
		add(trial.P90, func(d *distEstimate) *Estimate { return &d.P90 })
		add(trial.P99, func(d *distEstimate) *Estimate { return &d.P99 })
		add(trial.Max, func(d *distEstimate) *Estimate { return &d.Max })
	}
	// plain fills a field in which neither more nor less is better.
	plain := func(of func(*sim.Result) float64, field func(*repeatedSummary) *Estimate) {
		for i, s := range samples {
			*field(&all[i]) = PlainEstimate(s.Values(of))
		}
	}
	counted := func(of func(*sim.Result) int, field func(*repeatedSummary) *Estimate) {
		plain(func(res *sim.Result) float64 { return float64(of(res)) }, field)
	}
	counted(func(res *sim.Result) int { return res.Finished }, func(r *repeatedSummary) *Estimate { return &r.Finished })
	counted(func(res *sim.Result) int { return res.Rejected }, func(r *repeatedSummary) *Estimate { return &r.Rejected })
	counted(func(res *sim.Result) int { return res.Unsupported }, func(r *repeatedSummary) *Estimate { return &r.Unsupported })
	counted(func(res *sim.Result) int { return res.Unfinished }, func(r *repeatedSummary) *Estimate { return &r.Unfinished })
	least(trial.BeyondBound, func(r *repeatedSummary) *Estimate { return &r.BeyondBound })
	least(func(res *sim.Result) float64 { return float64(res.Audit.Late) }, func(r *repeatedSummary) *Estimate { return &r.LateVsPS.Jobs })
	least(func(res *sim.Result) float64 { return res.Audit.Latest.Seconds() }, func(r *repeatedSummary) *Estimate { return &r.LateVsPS.Max })
	dist(trial.SojournTime, func(r *repeatedSummary) *distEstimate { return &r.Sojourn })
	dist(trial.Slowdown, func(r *repeatedSummary) *distEstimate { return &r.Slowdown })
	dist(func(res *sim.Result) *sim.Dist { return &res.BoundedSlowdown }, func(r *repeatedSummary) *distEstimate { return &r.BoundedSlowdown })
	plain(func(res *sim.Result) float64 { return res.Jain }, func(r *repeatedSummary) *Estimate { return &r.Jain })
	least(trial.Makespan, func(r *repeatedSummary) *Estimate { return &r.Makespan })
	least(func(res *sim.Result) float64 { return res.WeightedCompletion }, func(r *repeatedSummary) *Estimate { return &r.WeightedCompletion })
	least(func(res *sim.Result) float64 { return res.WeightedSojourn }, func(r *repeatedSummary) *Estimate { return &r.WeightedSojourn })
	counted(func(res *sim.Result) int { return res.Accepted }, func(r *repeatedSummary) *Estimate { return &r.Accepted })
	counted(func(res *sim.Result) int { return res.Met }, func(r *repeatedSummary) *Estimate { return &r.Met })
	return all
}

func PlainEstimate(values []float64) Estimate {
	return newEstimate(judgement{Interval: stats.Mean(values), values: values})
}

// A RepetitionSummary is what compare --seeds and sweep print as JSON.
type RepetitionSummary struct {
	Workload    recorded.Workload `json:"workload"` // its tasks are those of the first seed if each seed has its own
	Cluster     recorded.Cluster  `json:"cluster"`
	Estimates   string            `json:"estimates,omitempty"` // none if varied
	Vary        string            `json:"vary,omitempty"`
	Seed        uint64            `json:"seed"` // the first
	Seeds       int               `json:"seeds"`
	Confidence  format.Real       `json:"confidence"`
	Policies    []repeatedSummary `json:"policies"`
	Interrupted string            `json:"interrupted,omitempty"` // after how many runs; then Seeds and Policies are those that are whole
	Schema      int               `json:"schema"`
}

// Summary returns the repetition in JSON.
func (r *Repetition) Summary() RepetitionSummary {
	sum := newRepetitionSummary(r.Samples[0])
	sum.Policies = repeatedSummaries(r.Samples)
	return sum
}

func newRepetitionSummary(s *trial.Sample) RepetitionSummary {
	common := (&Comparison{Scenario: s.Scenario}).Summary()
	w := common.Workload
	return RepetitionSummary{
		Workload:   w.Workload,
		Cluster:    common.Cluster,
		Estimates:  common.Estimates,
		Seed:       common.Seed,
		Seeds:      len(s.Results),
		Confidence: stats.Confidence,
		Schema:     format.Schema,
	}
}
