package paper

import (
	"math"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// A Summary is a Result in JSON.
type Summary struct {
	Experiment string                 `json:"experiment"`
	Title      string                 `json:"title"`
	Source     string                 `json:"source"`
	Measure    string                 `json:"measure"`
	Seed       uint64                 `json:"seed"` // the first
	Seeds      int                    `json:"seeds"`
	Confidence format.Real            `json:"confidence"`
	Workloads  []paperWorkloadSummary `json:"workloads"`
	Rows       []paperRowSummary      `json:"rows"`
	Network    string                 `json:"network,omitempty"`
	Extra      any                    `json:"extra,omitempty"`
	Notes      []string               `json:"notes"`
	Schema     int                    `json:"schema"`
}

type paperWorkloadSummary struct {
	Name     string                     `json:"name"`
	Workload string                     `json:"workload"`
	Cluster  string                     `json:"cluster"`
	Load     map[string]report.Estimate `json:"load"`
}

// A paperRowSummary is a row in JSON. Paper is null where the paper gives no number.
type paperRowSummary struct {
	Workload  string         `json:"workload"`
	Policy    string         `json:"policy"`             // "" for a number of none
	Over      string         `json:"over,omitempty"`     // the number is the ratio to this policy's
	Baseline  string         `json:"baseline,omitempty"` // on this workload, unless on the same
	Part      string         `json:"part,omitempty"`     // what is measured, unless what the experiment measures
	Paper     format.Real    `json:"paper"`
	Claim     string         `json:"claim,omitempty"`     // "> 1", say
	Tolerance format.Real    `json:"tolerance,omitempty"` // of paper, relative
	Mean      format.Real    `json:"mean"`
	CI        [2]format.Real `json:"ci"`
	Values    []format.Real  `json:"values,omitempty"` // seed by seed; none for a ratio
	Says      string         `json:"says,omitempty"`   // the statement of the paper that the row judges, by its name
	Kind      string         `json:"kind,omitempty"`   // of the statement: number, bound or sign
	SetUp     string         `json:"set_up,omitempty"` // in which it is judged, unless in the paper's
	Verdict   string         `json:"verdict,omitempty"`
	Why       string         `json:"why,omitempty"`
	Needed    int            `json:"seeds_needed,omitempty"` // for a verdict, if there is none
}

func (p *Result) Summary() Summary {
	sum := Summary{
		Experiment: p.Name, Title: p.Title, Source: p.Source, Measure: p.measure.Title,
		Seed: p.order[0].Scenario.Seed, Seeds: len(p.order[0].Loads), Confidence: stats.Confidence, Notes: p.notes, Schema: format.Schema,
	}
	if p.network.Bandwidth > 0 {
		sum.Network = p.network.String()
	}
	if p.extra != nil {
		_, sum.Extra = p.extra(p)
	}
	for _, w := range p.workloads {
		s := p.sampleOf(w.name)
		out := paperWorkloadSummary{w.name, w.gen, s.Scenario.Cluster.Name, map[string]report.Estimate{}}
		for class, name := range s.Scenario.Cluster.Classes() {
			out.Load[name] = report.PlainEstimate(s.Load(class))
		}
		sum.Workloads = append(sum.Workloads, out)
	}
	kinds := map[string]string{}
	for _, s := range statementsOf(p.Paper()) {
		kinds[s.name] = s.kind
	}
	for _, r := range p.rows {
		row := paperRowSummary{
			Workload: r.workload, Policy: r.policy, Over: r.over, Baseline: r.baseline, Part: r.part, Paper: format.Real(math.NaN()),
			Mean: format.Real(r.ours.Mean), CI: [2]format.Real{format.Real(r.ours.Low()), format.Real(r.ours.High())}, Says: r.says, Kind: kinds[r.says], SetUp: r.setUp,
			Verdict: r.is, Why: r.why, Needed: r.needed,
		}
		if r.value > 0 {
			row.Paper, row.Tolerance = format.Real(r.value), format.Real(r.allowed())
		} else if r.claim != noClaim {
			row.Claim = r.paper()
		}
		for _, v := range r.values {
			row.Values = append(row.Values, format.Real(v))
		}
		sum.Rows = append(sum.Rows, row)
	}
	return sum
}
