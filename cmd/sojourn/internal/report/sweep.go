package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

// A Sweep prints the samples of a sweep.
type Sweep struct {
	Vary    *trial.Vary
	Samples []*trial.Sample
	Partial bool // some are missing, so that there is no verdict
}

// compared returns the samples that are compared with one another: all if an
// option varies, else those of one value.
func (sw *Sweep) compared() [][]*trial.Sample {
	if sw.Vary.Policy != "" {
		return [][]*trial.Sample{sw.Samples}
	}
	var groups [][]*trial.Sample
	for i, s := range sw.Samples {
		if i == 0 || s.Value != sw.Samples[i-1].Value {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], s)
	}
	return groups
}

func (sw *Sweep) Write(w io.Writer) error {
	s := sw.Samples[0]
	t := sw.table()
	if sw.Vary.What() == trial.VaryLoad {
		for class, name := range s.Scenario.Cluster.Classes() {
			loads := make([]string, len(sw.Samples))
			for i, s := range sw.Samples {
				loads[i] = PlusMinus(stats.Mean(s.Load(class)), 2)
			}
			t.AddMinor("load", name, loads)
		}
	}
	const group = "sojourn time (s)"
	for _, m := range []trial.Measure{
		trial.MeasureDist(group, "mean", trial.SojournTime, trial.Mean),
		trial.MeasureDist(group, "median", trial.SojournTime, trial.Median),
		trial.MeasureDist(group, "p90", trial.SojournTime, trial.P90),
		trial.MeasureDist("slowdown", "mean", trial.Slowdown, trial.Mean),
		{Title: "beyond_bound", Of: trial.BeyondBound},
	} {
		var judged []judgement
		for _, samples := range sw.compared() {
			judged = append(judged, judge(trial.ValuesOf(samples, m.Of))...)
		}
		add := t.Add
		if m.Group == "" {
			add = t.AddMinor
		}
		add(m.Group, m.Title, judgedColumn(judged))
	}

	place := "column"
	if sw.Vary.Policy == "" {
		place = "column for that " + sw.Vary.Name
	}
	blocks := []string{seedsHeader(s, sw.Vary.What()), t.String()}
	if verdict := sw.verdict(); verdict != "" && !sw.Partial {
		blocks = append([]string{verdict}, blocks...)
	}
	if text := LeftOver(sw.Samples); text != "" {
		blocks = append(blocks, text)
	}
	blocks = append(blocks, seedsLegend(len(s.Results), place))
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// verdict says which policy has the least mean sojourn time for which values.
func (sw *Sweep) verdict() string {
	var best []string
	groups := sw.compared()
	for _, samples := range groups {
		mean := judge(trial.ValuesOf(samples, trial.MeasureDist("", "", trial.SojournTime, trial.Mean).Of))
		least := 0
		for i := range mean {
			if mean[i].Mean < mean[least].Mean {
				least = i
			}
			if math.IsNaN(mean[i].Mean) {
				return ""
			}
		}
		name := samples[least].Spec.String()
		if len(samples) == 1 {
			return ""
		}
		if len(groups) > 1 {
			name += " at " + samples[least].Value
		}
		best = append(best, name)
	}
	return format.Verdict("least mean sojourn time: " + strings.Join(best, ", "))
}

// table returns a table with a line for each value and policy.
func (sw *Sweep) table() *format.Table {
	width := len(sw.Vary.Name)
	for _, s := range sw.Samples {
		width = max(width, len(s.Value))
	}
	t := &format.Table{Corner: fmt.Sprintf("%-*s  policy", width, sw.Vary.Name)}
	for _, s := range sw.Samples {
		t.Row(t.Under(width, s.Value, s.Spec.String()))
	}
	return t
}

// Summary returns the sweep in JSON.
func (sw *Sweep) Summary() RepetitionSummary {
	sum := newRepetitionSummary(sw.Samples[0])
	sum.Vary = sw.Vary.What()
	switch sw.Vary.What() {
	case trial.VaryLoad:
		sum.Workload.Scaled = ""
	case trial.VaryError, trial.VaryEstimates:
		sum.Estimates = ""
	}
	for _, samples := range sw.compared() {
		sum.Policies = append(sum.Policies, repeatedSummaries(samples)...)
	}
	return sum
}
