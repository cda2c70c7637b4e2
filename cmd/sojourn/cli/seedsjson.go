package cli

import (
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/sim"
)

// An estimate is a number that was measured with several seeds, in JSON.
type estimate struct {
	Mean   real    `json:"mean"`
	CI     [2]real `json:"ci"`              // ends of the confidence interval; null for one seed
	Best   bool    `json:"best,omitempty"`  // the least mean of the policies
	Close  bool    `json:"close,omitempty"` // not the least, but not significantly different from it
	Values []real  `json:"values"`          // seed by seed
}

func newEstimate(j judgement) estimate {
	e := estimate{Mean: real(j.Mean), CI: [2]real{real(j.Low()), real(j.High())}, Best: j.best, Close: j.close}
	for _, v := range j.values {
		e.Values = append(e.Values, real(v))
	}
	return e
}

// A distEstimate is a dist that was measured with several seeds.
type distEstimate struct {
	Mean   estimate `json:"mean"`
	Median estimate `json:"median"`
	P90    estimate `json:"p90"`
	P99    estimate `json:"p99"`
	Max    estimate `json:"max"`
}

// A repeatedSummary is what a sample says of a policy. Times are in seconds.
type repeatedSummary struct {
	Value  string `json:"value,omitempty"` // of what a sweep varies
	Policy string `json:"policy"`

	Load map[string]estimate `json:"load"`

	Finished    estimate `json:"finished"`
	Rejected    estimate `json:"rejected"`
	Unsupported estimate `json:"unsupported"`
	Unfinished  estimate `json:"unfinished"`

	BeyondBound     estimate            `json:"beyond_bound"`
	LateVsPS        repeatedLate        `json:"late_vs_ps"`
	Sojourn         distEstimate        `json:"sojourn"`
	Slowdown        distEstimate        `json:"slowdown"`
	BoundedSlowdown distEstimate        `json:"bounded_slowdown"`
	Jain            estimate            `json:"jain"`
	Makespan        estimate            `json:"makespan"`
	Utilisation     map[string]estimate `json:"utilisation"`
	Idle            map[string]estimate `json:"idle"`

	// Local is the share of the tasks with inputs that ran on the node of theirs; none
	// if none has inputs. The others are there with --bandwidth.
	Local        *estimate `json:"local,omitempty"`
	HotSpots     *estimate `json:"hot_spots,omitempty"`
	TransferTime *estimate `json:"transfer_time,omitempty"` // mean, in seconds

	WeightedCompletion estimate `json:"weighted_completion"`
	WeightedSojourn    estimate `json:"weighted_sojourn"`

	Accepted estimate `json:"accepted"`
	Met      estimate `json:"met"`
}

type repeatedLate struct {
	Jobs estimate `json:"jobs"`
	Max  estimate `json:"max"`
}

// repeatedSummaries describes samples that are compared with one another.
func repeatedSummaries(samples []*sample) []repeatedSummary {
	all := make([]repeatedSummary, len(samples))
	for i, s := range samples {
		all[i] = repeatedSummary{Value: s.value, Policy: s.spec.String(), Load: map[string]estimate{}, Utilisation: map[string]estimate{}, Idle: map[string]estimate{}}
		for class, name := range s.scenario.cluster.classes() {
			all[i].Load[name] = plainEstimate(s.load(class))
			all[i].Utilisation[name] = plainEstimate(s.values(func(res *sim.Result) float64 { return res.Utilisation[class] }))
			all[i].Idle[name] = plainEstimate(s.values(func(res *sim.Result) float64 { return res.Idle[class] }))
		}
	}
	measured := func(of func(*sim.Result) float64, field func(*repeatedSummary) **estimate) {
		for i, j := range judge(valuesOf(samples, of)) {
			e := newEstimate(j)
			*field(&all[i]) = &e
		}
	}
	if len(samples[0].results) > 0 && samples[0].results[0].Transfers != nil {
		measured(hotSpots, func(r *repeatedSummary) **estimate { return &r.HotSpots })
		measured(transferTime, func(r *repeatedSummary) **estimate { return &r.TransferTime })
	}
	if samples[0].scenario.workload.facts().placed || samples[0].scenario.locality.replicas > 0 {
		for i, s := range samples {
			e := plainEstimate(s.values(localShare))
			all[i].Local = &e
		}
	}
	// least fills a field where less is better.
	least := func(of func(*sim.Result) float64, field func(*repeatedSummary) *estimate) {
		for i, j := range judge(valuesOf(samples, of)) {
			*field(&all[i]) = newEstimate(j)
		}
	}
	dist := func(of func(*sim.Result) *sim.Dist, field func(*repeatedSummary) *distEstimate) {
		add := func(number func(*sim.Dist) float64, place func(*distEstimate) *estimate) {
			least(func(res *sim.Result) float64 { return known(of(res), number) },
				func(r *repeatedSummary) *estimate { return place(field(r)) })
		}
		add(distMean, func(d *distEstimate) *estimate { return &d.Mean })
		add(distMedian, func(d *distEstimate) *estimate { return &d.Median })
		add(distP90, func(d *distEstimate) *estimate { return &d.P90 })
		add(distP99, func(d *distEstimate) *estimate { return &d.P99 })
		add(distMax, func(d *distEstimate) *estimate { return &d.Max })
	}
	// plain fills a field of which neither more nor less is better.
	plain := func(of func(*sim.Result) float64, field func(*repeatedSummary) *estimate) {
		for i, s := range samples {
			*field(&all[i]) = plainEstimate(s.values(of))
		}
	}
	counted := func(of func(*sim.Result) int, field func(*repeatedSummary) *estimate) {
		plain(func(res *sim.Result) float64 { return float64(of(res)) }, field)
	}
	counted(func(res *sim.Result) int { return res.Finished }, func(r *repeatedSummary) *estimate { return &r.Finished })
	counted(func(res *sim.Result) int { return res.Rejected }, func(r *repeatedSummary) *estimate { return &r.Rejected })
	counted(func(res *sim.Result) int { return res.Unsupported }, func(r *repeatedSummary) *estimate { return &r.Unsupported })
	counted(func(res *sim.Result) int { return res.Unfinished }, func(r *repeatedSummary) *estimate { return &r.Unfinished })
	least(beyondBound, func(r *repeatedSummary) *estimate { return &r.BeyondBound })
	least(func(res *sim.Result) float64 { return float64(res.Audit.Late) }, func(r *repeatedSummary) *estimate { return &r.LateVsPS.Jobs })
	least(func(res *sim.Result) float64 { return res.Audit.Latest.Seconds() }, func(r *repeatedSummary) *estimate { return &r.LateVsPS.Max })
	dist(sojournTime, func(r *repeatedSummary) *distEstimate { return &r.Sojourn })
	dist(slowdown, func(r *repeatedSummary) *distEstimate { return &r.Slowdown })
	dist(func(res *sim.Result) *sim.Dist { return &res.BoundedSlowdown }, func(r *repeatedSummary) *distEstimate { return &r.BoundedSlowdown })
	plain(func(res *sim.Result) float64 { return res.Jain }, func(r *repeatedSummary) *estimate { return &r.Jain })
	least(makespan, func(r *repeatedSummary) *estimate { return &r.Makespan })
	least(func(res *sim.Result) float64 { return res.WeightedCompletion }, func(r *repeatedSummary) *estimate { return &r.WeightedCompletion })
	least(func(res *sim.Result) float64 { return res.WeightedSojourn }, func(r *repeatedSummary) *estimate { return &r.WeightedSojourn })
	counted(func(res *sim.Result) int { return res.Accepted }, func(r *repeatedSummary) *estimate { return &r.Accepted })
	counted(func(res *sim.Result) int { return res.Met }, func(r *repeatedSummary) *estimate { return &r.Met })
	return all
}

func plainEstimate(values []float64) estimate {
	return newEstimate(judgement{Interval: stats.Mean(values), values: values})
}

// A repetitionSummary is what compare --seeds and sweep print as JSON.
type repetitionSummary struct {
	Workload   repeatedWorkload  `json:"workload"`
	Cluster    clusterSummary    `json:"cluster"`
	Estimates  string            `json:"estimates,omitempty"` // none if varied
	Vary       string            `json:"vary,omitempty"`
	Seed       uint64            `json:"seed"` // the first
	Seeds      int               `json:"seeds"`
	Confidence real              `json:"confidence"`
	Policies   []repeatedSummary `json:"policies"`
}

// A repeatedWorkload describes a workload. Its tasks are those of the first seed
// if each seed has its own.
type repeatedWorkload struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty"`
	Scaled string `json:"scaled,omitempty"`
	Jobs   int    `json:"jobs"`
	Tasks  int    `json:"tasks"`
}

// summary returns the repetition in JSON.
func (r *repetition) summary() repetitionSummary {
	sum := newRepetitionSummary(r.samples[0])
	sum.Policies = repeatedSummaries(r.samples)
	return sum
}

func newRepetitionSummary(s *sample) repetitionSummary {
	common := newComparison(s.scenario, nil, nil)
	w := common.Workload
	return repetitionSummary{
		Workload:   repeatedWorkload{w.Name, w.SHA256, w.Scaled, w.Jobs, w.Tasks},
		Cluster:    common.Cluster,
		Estimates:  common.Estimates,
		Seed:       common.Seed,
		Seeds:      len(s.results),
		Confidence: stats.Confidence,
	}
}
