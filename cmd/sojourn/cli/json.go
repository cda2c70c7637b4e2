package cli

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/sim"
)

// A dist is a sim.Dist in JSON.
type dist struct {
	Mean   real `json:"mean"`
	Median real `json:"median"`
	P90    real `json:"p90"`
	P99    real `json:"p99"`
	Max    real `json:"max"`
}

// newDist returns d in JSON, with null for all that nothing is known of.
func newDist(d sim.Dist) dist {
	if d.N == 0 {
		none := real(math.NaN())
		return dist{none, none, none, none, none}
	}
	return dist{real(d.Mean), real(d.Median), real(d.P90), real(d.P99), real(d.Max)}
}

// A summary is a sim.Result in JSON. Times are in seconds.
type summary struct {
	Policy      string `json:"policy"`
	Jobs        int    `json:"jobs"`
	Finished    int    `json:"finished"`
	Rejected    int    `json:"rejected"`
	Unsupported int    `json:"unsupported"`
	Unfinished  int    `json:"unfinished"`

	Phases      int     `json:"phases"`
	BeyondBound int     `json:"beyond_bound"`
	BeyondMax   seconds `json:"beyond_bound_max"`
	LateVsPS    lateVs  `json:"late_vs_ps"`

	Sojourn         dist            `json:"sojourn"`
	Slowdown        dist            `json:"slowdown"`
	BoundedSlowdown dist            `json:"bounded_slowdown"`
	Jain            real            `json:"jain"`
	Makespan        seconds         `json:"makespan"`
	Utilisation     map[string]real `json:"utilisation"`

	// Idle is in slot-seconds that were free although a task could have been started.
	Idle map[string]real `json:"idle"`

	// Locality counts finished tasks; "any" are those without inputs.
	Locality map[string]int `json:"locality"`

	Transfers *transfers `json:"transfers,omitempty"` // with --bandwidth

	WeightedCompletion real `json:"weighted_completion"`
	WeightedSojourn    real `json:"weighted_sojourn"`

	// What no schedule is below, by the linear program of package mars and with
	// stronger inequalities; the quotients are with the latter, null unless all jobs
	// finished.
	LowerBound     real `json:"lower_bound"`
	BestLowerBound real `json:"best_lower_bound"`
	Ratio          real `json:"ratio"`
	SojournRatio   real `json:"sojourn_ratio"`

	// NoLowerBound says why there is no bound; then all four are null.
	NoLowerBound string `json:"no_lower_bound,omitempty"`

	Deadlines int   `json:"deadlines"`
	Accepted  int   `json:"accepted"`
	Retested  int   `json:"retested,omitempty"` // of those accepted, rejected at first
	Met       int   `json:"met"`
	Void      int   `json:"void,omitempty"`      // promises that the policy gave up
	Tardiness *dist `json:"tardiness,omitempty"` // if there are deadlines

	Attempts uint64 `json:"attempts"`
	Wasted   uint64 `json:"wasted"`
	Events   uint64 `json:"events"`

	Bins []binSummary `json:"bins"`
}

// A transfers is a sim.Transfers in JSON.
type transfers struct {
	Finished        int    `json:"finished"`
	Cut             int    `json:"cut"`
	Moved           int    `json:"moved"`
	MeanTime        real   `json:"mean_time"`
	HotSpots        int    `json:"hot_spots"`
	HotSpotsByFifth [5]int `json:"hot_spots_by_fifth"`
}

type lateVs struct {
	Jobs int     `json:"jobs"`
	Max  seconds `json:"max"`
}

// A binSummary describes the jobs of a range of sizes. MaxTasks is null in the
// last one.
type binSummary struct {
	MinTasks int  `json:"min_tasks"`
	MaxTasks *int `json:"max_tasks"`
	Jobs     int  `json:"jobs"`
	Sojourn  dist `json:"sojourn"`
	Slowdown dist `json:"slowdown"`
}

func newSummary(s *scenario, spec catalog.Spec, res *sim.Result) summary {
	sum := summary{
		Policy:      spec.String(),
		Jobs:        res.Jobs,
		Finished:    res.Finished,
		Rejected:    res.Rejected,
		Unsupported: res.Unsupported,
		Unfinished:  res.Unfinished,

		Phases:      res.Audit.Phases,
		BeyondBound: res.Audit.BeyondBound,
		BeyondMax:   seconds(res.Audit.Furthest),
		LateVsPS:    lateVs{res.Audit.Late, seconds(res.Audit.Latest)},

		Sojourn:         newDist(res.Sojourn),
		Slowdown:        newDist(res.Slowdown),
		BoundedSlowdown: newDist(res.BoundedSlowdown),
		Jain:            real(res.Jain),
		Makespan:        seconds(res.Makespan),
		Utilisation:     map[string]real{},
		Idle:            map[string]real{},
		Locality:        map[string]int{},

		WeightedCompletion: real(res.WeightedCompletion),
		WeightedSojourn:    real(res.WeightedSojourn),

		LowerBound:     real(math.NaN()),
		BestLowerBound: real(math.NaN()),
		Ratio:          real(math.NaN()),
		SojournRatio:   real(math.NaN()),

		Deadlines: res.Deadlines,
		Accepted:  res.Accepted,
		Retested:  res.Retested,
		Met:       res.Met,
		Void:      res.Void,

		Attempts: res.Attempts,
		Wasted:   res.Wasted,
		Events:   res.Events,
	}
	for class, name := range s.cluster.classes() {
		sum.Utilisation[name] = real(res.Utilisation[class])
		sum.Idle[name] = real(res.Idle[class])
	}
	for l, n := range res.Locality {
		sum.Locality[sojourn.Locality(l).String()] = n
	}
	if s.unbound != nil {
		sum.NoLowerBound = s.unbound.Error()
	}
	if b := s.bound; b != nil {
		sum.LowerBound, sum.BestLowerBound = real(b.LowerBound), real(b.BestLowerBound)
		sum.Ratio, sum.SojournRatio = real(b.completionRatio(res)), real(b.sojournRatio(res))
	}
	if t := res.Transfers; t != nil {
		sum.Transfers = &transfers{t.Finished, t.Cut, t.Moved, real(t.MeanTime), t.HotSpots, t.HotSpotsByFifth}
	}
	if res.Deadlines > 0 {
		d := newDist(res.Tardiness)
		sum.Tardiness = &d
	}
	for _, b := range res.Bins {
		bin := binSummary{MinTasks: b.Min, Jobs: b.Sojourn.N, Sojourn: newDist(b.Sojourn), Slowdown: newDist(b.Slowdown)}
		if b.Max > 0 {
			bin.MaxTasks = &b.Max
		}
		sum.Bins = append(sum.Bins, bin)
	}
	return sum
}

// A comparisonSummary is what compare prints as JSON.
type comparisonSummary struct {
	Workload  workloadSummary `json:"workload"`
	Cluster   clusterSummary  `json:"cluster"`
	Estimates string          `json:"estimates"`
	Seed      uint64          `json:"seed"`
	Policies  []summary       `json:"policies"`
}

type workloadSummary struct {
	Name   string          `json:"name"`
	SHA256 string          `json:"sha256,omitempty"` // none if made by a generator
	Scaled string          `json:"scaled,omitempty"`
	Jobs   int             `json:"jobs"`
	Tasks  int             `json:"tasks"`
	Told   int             `json:"jobs_with_estimates,omitempty"` // of their own, whatever "estimates" says
	Load   map[string]real `json:"load"`                          // null where all jobs arrive at once
}

type clusterSummary struct {
	Name  string         `json:"name"`
	Nodes int            `json:"nodes"`
	Slots map[string]int `json:"slots"`
}

func newComparison(s *scenario, specs []catalog.Spec, results []*sim.Result) comparisonSummary {
	known := s.workload.facts()
	c := comparisonSummary{
		Workload: workloadSummary{
			Name: s.workload.name, SHA256: s.workload.sha256, Scaled: s.load.String(),
			Jobs: known.count, Tasks: known.tasks, Told: known.told, Load: map[string]real{},
		},
		Cluster:   clusterSummary{Name: s.cluster.name, Nodes: len(s.cluster.Nodes), Slots: map[string]int{}},
		Estimates: s.estimates.String(),
		Seed:      s.seed,
	}
	load, slots := known.load(s.cluster), s.cluster.Capacity()
	for class, name := range s.cluster.classes() {
		c.Workload.Load[name] = real(load[class])
		c.Cluster.Slots[name] = slots[class]
	}
	for i, res := range results {
		c.Policies = append(c.Policies, newSummary(s, specs[i], res))
	}
	return c
}
