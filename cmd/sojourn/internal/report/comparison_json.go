package report

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paired"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/internal/detmath"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A dist is a sim.Dist in JSON.
type dist struct {
	Mean   format.Real `json:"mean"`
	Median format.Real `json:"median"`
	P90    format.Real `json:"p90"`
	P99    format.Real `json:"p99"`
	Max    format.Real `json:"max"`
}

// newDist returns d in JSON, with null for all that nothing is known of.
func newDist(d sim.Dist) dist {
	if d.N == 0 {
		none := format.Real(math.NaN())
		return dist{none, none, none, none, none}
	}
	return dist{format.Real(d.Mean), format.Real(d.Median), format.Real(d.P90), format.Real(d.P99), format.Real(d.Max)}
}

// A Summary is a sim.Result in JSON. Times are in seconds.
type Summary struct {
	Policy      string `json:"policy"`
	Jobs        int    `json:"jobs"`
	Finished    int    `json:"finished"`
	Rejected    int    `json:"rejected"`
	Unsupported int    `json:"unsupported"`
	Unfinished  int    `json:"unfinished"`

	Phases      int            `json:"phases"`
	BeyondBound int            `json:"beyond_bound"`
	BeyondMax   format.Seconds `json:"beyond_bound_max"`
	LateVsPS    lateVs         `json:"late_vs_ps"`

	Sojourn         dist                   `json:"sojourn"`
	Slowdown        dist                   `json:"slowdown"`
	BoundedSlowdown dist                   `json:"bounded_slowdown"`
	Jain            format.Real            `json:"jain"`
	Makespan        format.Seconds         `json:"makespan"`
	Utilisation     map[string]format.Real `json:"utilisation"`

	// Idle is in slot-seconds that were free although a task could have been started.
	Idle map[string]format.Real `json:"idle"`

	// Locality counts finished tasks; "any" are those without inputs.
	Locality map[string]int `json:"locality"`

	Transfers *transfers `json:"transfers,omitempty"` // with --bandwidth

	WeightedCompletion format.Real `json:"weighted_completion"`
	WeightedSojourn    format.Real `json:"weighted_sojourn"`

	// Lower bounds for every schedule, by the linear program of package mars and
	// with stronger inequalities; the quotients are with the latter, null unless all
	// jobs finished.
	LowerBound     format.Real `json:"lower_bound"`
	BestLowerBound format.Real `json:"best_lower_bound"`
	Ratio          format.Real `json:"ratio"`
	SojournRatio   format.Real `json:"sojourn_ratio"`

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
	Finished        int         `json:"finished"`
	Cut             int         `json:"cut"`
	Moved           int         `json:"moved"`
	MeanTime        format.Real `json:"mean_time"`
	HotSpots        int         `json:"hot_spots"`
	HotSpotsByFifth [5]int      `json:"hot_spots_by_fifth"`
}

type lateVs struct {
	Jobs int            `json:"jobs"`
	Max  format.Seconds `json:"max"`
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

func newSummary(s *trial.Scenario, spec catalog.Spec, res *sim.Result) Summary {
	sum := Summary{
		Policy:      spec.String(),
		Jobs:        res.Jobs,
		Finished:    res.Finished,
		Rejected:    res.Rejected,
		Unsupported: res.Unsupported,
		Unfinished:  res.Unfinished,

		Phases:      res.Audit.Phases,
		BeyondBound: res.Audit.BeyondBound,
		BeyondMax:   format.Seconds(res.Audit.Furthest),
		LateVsPS:    lateVs{res.Audit.Late, format.Seconds(res.Audit.Latest)},

		Sojourn:         newDist(res.Sojourn),
		Slowdown:        newDist(res.Slowdown),
		BoundedSlowdown: newDist(res.BoundedSlowdown),
		Jain:            format.Real(res.Jain),
		Makespan:        format.Seconds(res.Makespan),
		Utilisation:     map[string]format.Real{},
		Idle:            map[string]format.Real{},
		Locality:        map[string]int{},

		WeightedCompletion: format.Real(res.WeightedCompletion),
		WeightedSojourn:    format.Real(res.WeightedSojourn),

		Deadlines: res.Deadlines,
		Accepted:  res.Accepted,
		Retested:  res.Retested,
		Met:       res.Met,
		Void:      res.Void,

		Attempts: res.Attempts,
		Wasted:   res.Wasted,
		Events:   res.Events,
	}
	for class, name := range s.Cluster.Classes() {
		sum.Utilisation[name] = format.Real(res.Utilisation[class])
		sum.Idle[name] = format.Real(res.Idle[class])
	}
	for l, n := range res.Locality {
		sum.Locality[sojourn.Locality(l).String()] = n
	}
	sum.addBound(s, res)
	if t := res.Transfers; t != nil {
		sum.Transfers = &transfers{t.Finished, t.Cut, t.Moved, format.Real(t.MeanTime), t.HotSpots, t.HotSpotsByFifth}
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

// addBound says how far a result is above what no schedule is below.
func (sum *Summary) addBound(s *trial.Scenario, res *sim.Result) {
	none := format.Real(math.NaN())
	sum.LowerBound, sum.BestLowerBound, sum.Ratio, sum.SojournRatio = none, none, none, none
	if s.Unbound != nil {
		sum.NoLowerBound = s.Unbound.Error()
	}
	if b := s.Bound; b != nil {
		sum.LowerBound, sum.BestLowerBound = format.Real(b.LowerBound), format.Real(b.BestLowerBound)
		sum.Ratio, sum.SojournRatio = format.Real(b.CompletionRatio(res)), format.Real(b.SojournRatio(res))
	}
}

// A ComparisonSummary is what compare prints as JSON.
type ComparisonSummary struct {
	ScenarioSummary
	Policies []Summary      `json:"policies"`
	Chance   *chanceSummary `json:"mean_sojourn_chance"` // null where nothing is known of chance

	// Interrupted is there only of runs that were stopped; then Policies are those that have ended.
	Interrupted *interruption `json:"interrupted,omitempty"`

	Schema int `json:"schema"`
}

// A chanceSummary says which policies may have the least mean sojourn time, as far as chance goes.
type chanceSummary struct {
	Best       string       `json:"best"`
	Tied       []string     `json:"tied"` // with the best
	Against    []quotientOf `json:"against_best"`
	Confidence float64      `json:"confidence"`
	BlockJobs  int          `json:"block_jobs"`
	Blocks     int          `json:"blocks"`
	Resamples  int          `json:"resamples"`
}

// A quotientOf is the mean sojourn time of a policy over that of the best, with its interval.
type quotientOf struct {
	Name  string      `json:"name"`
	Value format.Real `json:"value"`
	Low   format.Real `json:"low"`
	High  format.Real `json:"high"`
}

// newChance returns what is known of chance in JSON.
func newChance(r *Comparison) *chanceSummary {
	n := r.chance()
	if n == nil {
		return nil
	}
	best := n.Best()
	sum := &chanceSummary{r.Specs[best].String(), []string{}, nil, stats.Confidence, n.Block, n.Blocks, paired.Resamples}
	for _, i := range n.Ties() {
		sum.Tied = append(sum.Tied, r.Specs[i].String())
	}
	of := func(effect float64) format.Real { return format.Real(detmath.Exp(effect)) }
	for i := range n.Values {
		a := n.Against(i, best)
		sum.Against = append(sum.Against, quotientOf{r.Specs[i].String(), of(a.Mean), of(a.Low()), of(a.High())})
	}
	return sum
}

// A RunSummary is what run prints as JSON.
type RunSummary struct {
	Summary
	Schema int `json:"schema"`
}

// A ScenarioSummary says in JSON what is simulated.
type ScenarioSummary struct {
	Workload  workloadSummary  `json:"workload"`
	Cluster   recorded.Cluster `json:"cluster"`
	Estimates string           `json:"estimates"`
	Seed      uint64           `json:"seed"`
}

type workloadSummary struct {
	recorded.Workload
	Told int                    `json:"jobs_with_estimates,omitempty"` // of their own, whatever "estimates" says
	Load map[string]format.Real `json:"load"`                          // null where all jobs arrive at once
}

// NewScenarioSummary returns a scenario in JSON.
func NewScenarioSummary(s *trial.Scenario) ScenarioSummary {
	sum := ScenarioSummary{Workload: newWorkloadSummary(s.Workload, s.Cluster), Cluster: newClusterSummary(s.Cluster), Estimates: s.Estimates.String(), Seed: s.Seed}
	sum.Workload.Scaled = s.Load.String()
	return sum
}

func newWorkloadSummary(w *input.Workload, c *input.Cluster) workloadSummary {
	known := w.Facts()
	sum := workloadSummary{recorded.Workload{Name: w.Name, SHA256: w.SHA256, Jobs: known.Jobs, Tasks: known.Tasks}, known.Told, map[string]format.Real{}}
	load := known.Load(c)
	for class, name := range c.Classes() {
		sum.Load[name] = format.Real(load[class])
	}
	return sum
}

func newClusterSummary(c *input.Cluster) recorded.Cluster {
	sum := recorded.Cluster{Name: c.Name, Nodes: len(c.Nodes), Slots: map[string]int{}}
	slots := c.Capacity()
	for class, name := range c.Classes() {
		sum.Slots[name] = slots[class]
	}
	return sum
}

// Summary returns the comparison in JSON.
func (r *Comparison) Summary() ComparisonSummary {
	c := ComparisonSummary{ScenarioSummary: NewScenarioSummary(r.Scenario), Chance: newChance(r), Schema: format.Schema}
	for i, res := range r.Results {
		c.Policies = append(c.Policies, newSummary(r.Scenario, r.Specs[i], res))
	}
	return c
}
