package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Repetition prints the samples of a comparison over seeds.
type Repetition struct {
	Samples []*trial.Sample
}

// Write prints the tables.
func (r *Repetition) Write(w io.Writer) error {
	main, slow := r.table(), r.table()
	r.add(main.AddMinor, trial.Measure{Title: "beyond_bound", Of: trial.BeyondBound})
	const group = "sojourn time (s)"
	r.add(main.Add, trial.MeasureDist(group, "mean", trial.SojournTime, trial.Mean))
	r.add(main.Add, trial.MeasureDist(group, "median", trial.SojournTime, trial.Median))
	r.add(main.Add, trial.MeasureDist(group, "p90", trial.SojournTime, trial.P90))
	r.add(main.AddMinor, trial.MeasureDist(group, "p99", trial.SojournTime, trial.P99))
	r.add(slow.Add, trial.MeasureDist("slowdown", "mean", trial.Slowdown, trial.Mean))
	r.add(slow.Add, trial.MeasureDist("slowdown", "median", trial.Slowdown, trial.Median))
	r.add(slow.Add, trial.MeasureDist("slowdown", "p90", trial.Slowdown, trial.P90))
	r.add(slow.AddMinor, trial.MeasureDist("slowdown", "p99", trial.Slowdown, trial.P99))
	r.add(slow.AddMinor, trial.Measure{Title: "makespan (s)", Of: trial.Makespan})

	mean := judge(trial.ValuesOf(r.Samples, trial.MeasureDist(group, "mean", trial.SojournTime, trial.Mean).Of))
	slowest := judge(trial.ValuesOf(r.Samples, trial.MeasureDist("slowdown", "mean", trial.Slowdown, trial.Mean).Of))
	specs := make([]catalog.Spec, len(r.Samples))
	for i, sample := range r.Samples {
		specs[i] = sample.Spec
	}
	blocks := []string{seedsHeader(r.Samples[0], "") + unsized(r.Samples[0].Scenario, specs), main.String(), slow.String() + judgedVerdict("mean slowdown", slow.Names, slowest)}
	if verdict := judgedVerdict("mean sojourn time", main.Names, mean); verdict != "" {
		values := make([]float64, len(mean))
		for i := range mean {
			values[i] = mean[i].Mean
		}
		blocks = append([]string{verdict + format.Bars(main.Names, values, "s")}, blocks...)
	}
	if text := LeftOver(r.Samples); text != "" {
		blocks = append(blocks, text)
	}
	blocks = append(blocks, format.Hang("beyond_bound  ", "phases that ended later than proved for FSP and PFSP (see 'sojourn compare' without --seeds)")+
		seedsLegend(len(r.Samples[0].Results), "column"))
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

func (r *Repetition) table() *format.Table {
	t := &format.Table{Corner: "policy"}
	for _, s := range r.Samples {
		t.Names = append(t.Names, s.Spec.String())
	}
	return t
}

func (r *Repetition) add(to func(group, title string, cells []string), m trial.Measure) {
	to(m.Group, m.Title, judgedColumn(judge(trial.ValuesOf(r.Samples, m.Of))))
}

// seedsHeader names what a sample was made with, apart from what varies in a
// sweep.
func seedsHeader(s *trial.Sample, vary string) string {
	f, w, c := &s.Scenario.Setup, s.Scenario.Workload, s.Scenario.Cluster
	known := w.Facts()

	text := fmt.Sprintf("%s: %s, %s", w.Name, format.Count(known.Jobs, "job"), format.Count(known.Tasks, "task"))
	if f.Source.Gen.Given() {
		tasks := stats.Mean(s.Values(func(res *sim.Result) float64 { return float64(res.Tasks) }))
		text = fmt.Sprintf("%s, made anew for each seed: %s, %s tasks", w.Name, format.Count(known.Jobs, "job"), PlusMinus(tasks, 0))
	} else if vary != trial.VaryLoad {
		text += ", " + arrivals(&known)
	}

	on := fmt.Sprintf("%s: %s", c.Name, c.Describe())
	loads := LoadText(s)
	switch scaled := f.Load.String(); {
	case vary == trial.VaryLoad:
		on += "; " + f.Load.Scale.What() + " scaled to each load"
	case scaled != "":
		on += "; load " + loads + "; " + scaled
	case loads != "":
		on += "; load " + loads
	}

	estimates := f.Estimates.String()
	if vary == trial.VaryError {
		estimates = "lognormal, with each error as its sigma"
	}
	if vary == trial.VaryEstimates {
		estimates = "each in turn"
	} else {
		estimates = estimatesText(estimates, &known)
	}
	seeds := fmt.Sprintf("seed %d", s.Scenario.Seed)
	if n := len(s.Results); n > 1 {
		seeds = fmt.Sprintf("%d seeds from %d on", n, s.Scenario.Seed)
	}
	return format.Hang("workload   ", text) + format.Hang("cluster    ", on) + f.Locality.Header(w) + format.Hang("estimates  ", estimates+"; "+seeds)
}

// LoadText returns the load of each class, "" if all jobs arrive at once.
func LoadText(s *trial.Sample) string {
	var parts []string
	for class, name := range s.Scenario.Cluster.Classes() {
		if s.Scenario.Cluster.Uniform {
			name = ""
		}
		load := stats.Mean(s.Load(class))
		if math.IsNaN(load.Mean) || math.IsInf(load.Mean, 0) {
			return ""
		}
		parts = append(parts, strings.TrimSpace(PlusMinus(load, 2)+" "+name))
	}
	return strings.Join(parts, ", ")
}

// PlusMinus formats an interval, or the mean alone if there is nothing to add.
func PlusMinus(i stats.Interval, decimals int) string {
	text := format.Number(i.Mean, decimals)
	if half := format.Number(i.Half, decimals); i.Half > 0 && half != format.Number(0, decimals) {
		text += " ± " + half
	}
	return text
}

// seedsLegend tells how to read intervals and marks; what is compared stands in
// one such place.
func seedsLegend(seeds int, place string) string {
	if seeds == 1 {
		return format.Hang("", "There is one seed, so that nothing can be said about chance; --seeds 20 would.")
	}
	return format.Hang("a ± h         ", fmt.Sprintf("mean over %d seeds, and its %.0f %% confidence interval from a-h to a+h (Student's t)", seeds, 100*stats.Confidence)) +
		format.Hang("*             ", "the least mean of its "+place) +
		format.Hang("~             ", fmt.Sprintf("not significantly different from *: over the same seeds, the %.0f %% confidence interval of the mean "+
			"difference contains 0 (two-sided paired t-test; each number by itself, without correction for many)", 100*stats.Confidence))
}

// LeftOver counts the jobs that did not finish, over all seeds. It is empty if
// there are none.
func LeftOver(samples []*trial.Sample) string {
	t := &format.Table{Corner: "policy"}
	const group = "jobs of all seeds"
	for _, title := range []string{"finished", "rejected", "unsupported", "unfinished"} {
		t.Add(group, title, nil)
	}
	any := false
	for _, s := range samples {
		var sum sim.Result
		for _, res := range s.Results {
			sum.Jobs += res.Jobs
			sum.Finished += res.Finished
			sum.Rejected += res.Rejected
			sum.Unsupported += res.Unsupported
			sum.Unfinished += res.Unfinished
		}
		any = any || sum.Finished < sum.Jobs
		t.Row(strings.TrimSpace(s.Spec.String()+" "+s.Value), format.Thousands(sum.Finished), format.Thousands(sum.Rejected), format.Thousands(sum.Unsupported), format.Thousands(sum.Unfinished))
	}
	if !any {
		return ""
	}
	return t.String()
}
