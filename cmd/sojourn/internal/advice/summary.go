package advice

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// schema names the form of a summary and its version, which grows when a field goes away
// or changes its meaning.
const schema = "sojourn-advice/1"

// A Summary is advice in JSON. Times are in seconds.
type Summary struct {
	Schema string `json:"schema"`
	report.ScenarioSummary
	Objective string        `json:"objective"`
	Use       string        `json:"use"`
	Sentences []string      `json:"sentences"`
	Loads     []loadSummary `json:"loads"`
	Intervals *intervals    `json:"intervals"` // null where there are none
	Work      [3]float64    `json:"work"`      // the most of a job in each of the lower quarters
	Policies  []lineSummary `json:"policies"`  // the best first
	LeftOut   []leftOut     `json:"left_out"`
}

type loadSummary struct {
	Name string      `json:"name"`
	Load format.Real `json:"load"` // of the busiest class; null where all jobs arrive at once
}

type intervals struct {
	Confidence float64 `json:"confidence"`
	BlockJobs  int     `json:"block_jobs"`
	Blocks     int     `json:"blocks"`
	Resamples  int     `json:"resamples"`
}

type lineSummary struct {
	Policy  string        `json:"policy"`
	Tied    bool          `json:"tied"`              // with the best
	Values  []format.Real `json:"values"`            // of the objective, load by load
	Refused []format.Real `json:"refused,omitempty"` // the share of jobs with deadlines, load by load

	// Quotients, or for deadlines differences of shares.
	Best      effect   `json:"against_best"`
	Fair      effect   `json:"against_fair"`
	FIFO      effect   `json:"against_fifo"`
	Quarterly []effect `json:"quarters_against_fair"`
	Tail      *effect  `json:"p90_against_fair,omitempty"` // the 90th percentile of the sojourn time; not for deadlines
}

// An effect is a number with the ends of its interval, null where there is none.
type effect struct {
	Value format.Real `json:"value"`
	Low   format.Real `json:"low"`
	High  format.Real `json:"high"`
}

func (o *Objective) summary(i stats.Interval) effect {
	of := func(x float64) format.Real {
		if o.Deadlines() {
			return format.Real(x)
		}
		return format.Real(1 + o.amount(x)/100)
	}
	return effect{of(i.Mean), of(i.Low()), of(i.High())}
}

// Summary returns the advice in JSON.
func (a *Advice) Summary() Summary {
	o := &a.Objective
	sum := Summary{
		Schema: schema, ScenarioSummary: report.NewScenarioSummary(a.Scenario),
		Objective: o.Name, Use: a.Lines[a.Use].Policy, Sentences: a.Sentences(), Work: a.bounds, LeftOut: a.left,
	}
	if a.left == nil {
		sum.LeftOut = []leftOut{}
	}
	if a.Length > 0 {
		sum.Intervals = &intervals{stats.Confidence, a.Length, a.Blocks, a.Resamples}
	}
	for l, name := range a.Loads {
		sum.Loads = append(sum.Loads, loadSummary{name, format.Real(slices.Max(a.samples[0][l].Loads[0]))})
	}
	for i := range a.Lines {
		l := &a.Lines[i]
		line := lineSummary{Policy: l.Policy, Tied: l.Tied(), Best: o.summary(l.Best), Fair: o.summary(l.Fair), FIFO: o.summary(l.FIFO)}
		for k, value := range l.Values {
			line.Values = append(line.Values, format.Real(value))
			if o.Deadlines() && !math.IsNaN(l.Refused[k]) {
				line.Refused = append(line.Refused, format.Real(l.Refused[k]))
			}
		}
		for _, q := range l.Quarterly {
			line.Quarterly = append(line.Quarterly, o.summary(q))
		}
		if !o.Deadlines() {
			tail := o.summary(l.Tail)
			line.Tail = &tail
		}
		sum.Policies = append(sum.Policies, line)
	}
	return sum
}
