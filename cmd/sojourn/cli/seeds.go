package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/sim"
)

// A repetition prints the samples of a comparison over seeds.
type repetition struct {
	samples []*sample
}

// write prints the tables.
func (r *repetition) write(w io.Writer) error {
	main, slow := r.table(), r.table()
	r.add(main, measure{"", "beyond_bound", beyondBound})
	const group = "sojourn time (s)"
	r.add(main, measureDist(group, "mean", sojournTime, distMean))
	r.add(main, measureDist(group, "median", sojournTime, distMedian))
	r.add(main, measureDist(group, "p90", sojournTime, distP90))
	r.add(main, measureDist(group, "p99", sojournTime, distP99))
	r.add(slow, measureDist("slowdown", "mean", slowdown, distMean))
	r.add(slow, measureDist("slowdown", "median", slowdown, distMedian))
	r.add(slow, measureDist("slowdown", "p90", slowdown, distP90))
	r.add(slow, measureDist("slowdown", "p99", slowdown, distP99))
	r.add(slow, measure{"", "makespan", makespan})

	blocks := []string{seedsHeader(r.samples[0], ""), main.String(), slow.String()}
	if text := leftOver(r.samples); text != "" {
		blocks = append(blocks, text)
	}
	blocks = append(blocks, hang("beyond_bound  ", "phases that ended later than proved for FSP and PFSP (see 'sojourn compare' without --seeds)")+
		seedsLegend(len(r.samples[0].results), "column"))
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

func (r *repetition) table() *table {
	t := &table{corner: "policy"}
	for _, s := range r.samples {
		t.names = append(t.names, s.spec.String())
	}
	return t
}

func (r *repetition) add(t *table, m measure) {
	t.add(m.group, m.title, judgedColumn(judge(valuesOf(r.samples, m.of))))
}

// seedsHeader names what a sample was made with, apart from what varies in a
// sweep.
func seedsHeader(s *sample, vary string) string {
	f, w, c := &s.scenario.setup, s.scenario.workload, s.scenario.cluster
	known := w.facts()

	text := fmt.Sprintf("%s: %s, %s", w.name, count(known.count, "job"), count(known.tasks, "task"))
	if f.source.gen.given() {
		tasks := stats.Mean(s.values(func(res *sim.Result) float64 { return float64(res.Tasks) }))
		text = fmt.Sprintf("%s, made anew for each seed: %s, %s tasks", w.name, count(known.count, "job"), plusMinus(tasks, 0))
	} else if vary != varyLoad {
		text += ", " + arrivals(&known)
	}

	on := fmt.Sprintf("%s: %s", c.name, c.describe())
	loads := loadText(s)
	switch scaled := f.load.String(); {
	case vary == varyLoad:
		on += "; " + f.load.scale.what() + " scaled to each load"
	case scaled != "":
		on += "; load " + loads + "; " + scaled
	case loads != "":
		on += "; load " + loads
	}

	estimates := f.estimates.String()
	if vary == varyError {
		estimates = "lognormal, with each error as its sigma"
	}
	estimates = estimatesText(estimates, &known)
	seeds := fmt.Sprintf("seed %d", s.scenario.seed)
	if n := len(s.results); n > 1 {
		seeds = fmt.Sprintf("%d seeds from %d on", n, s.scenario.seed)
	}
	return hang("workload   ", text) + hang("cluster    ", on) + f.locality.header(w) + hang("estimates  ", estimates+"; "+seeds)
}

// loadText returns the load of each class, "" if all jobs arrive at once.
func loadText(s *sample) string {
	var parts []string
	for class, name := range s.scenario.cluster.classes() {
		if s.scenario.cluster.Uniform {
			name = ""
		}
		load := stats.Mean(s.load(class))
		if math.IsNaN(load.Mean) || math.IsInf(load.Mean, 0) {
			return ""
		}
		parts = append(parts, strings.TrimSpace(plusMinus(load, 2)+" "+name))
	}
	return strings.Join(parts, ", ")
}

// plusMinus formats an interval, or the mean alone if there is nothing to add.
func plusMinus(i stats.Interval, decimals int) string {
	text := number(i.Mean, decimals)
	if half := number(i.Half, decimals); i.Half > 0 && half != number(0, decimals) {
		text += " ± " + half
	}
	return text
}

// seedsLegend tells how to read intervals and marks; what is compared stands in
// one such place.
func seedsLegend(seeds int, place string) string {
	if seeds == 1 {
		return "There is one seed, so that nothing can be said about chance; --seeds 20 would.\n"
	}
	return hang("a ± h         ", fmt.Sprintf("mean over %d seeds, and its %.0f %% confidence interval from a-h to a+h (Student's t)", seeds, 100*stats.Confidence)) +
		hang("*             ", "the least mean of its "+place) +
		hang("~             ", fmt.Sprintf("not significantly different from *: over the same seeds, the %.0f %% confidence interval of the mean "+
			"difference contains 0 (two-sided paired t-test; each number by itself, without correction for many)", 100*stats.Confidence))
}

// leftOver counts the jobs that did not finish, over all seeds. It is empty if
// there are none.
func leftOver(samples []*sample) string {
	t := &table{corner: "policy"}
	var finished, rejected, unsupported, unfinished []string
	any := false
	for _, s := range samples {
		var sum sim.Result
		for _, res := range s.results {
			sum.Jobs += res.Jobs
			sum.Finished += res.Finished
			sum.Rejected += res.Rejected
			sum.Unsupported += res.Unsupported
			sum.Unfinished += res.Unfinished
		}
		any = any || sum.Finished < sum.Jobs
		t.names = append(t.names, strings.TrimSpace(s.spec.String()+" "+s.value))
		finished = append(finished, thousands(sum.Finished))
		rejected = append(rejected, thousands(sum.Rejected))
		unsupported = append(unsupported, thousands(sum.Unsupported))
		unfinished = append(unfinished, thousands(sum.Unfinished))
	}
	if !any {
		return ""
	}
	const group = "jobs of all seeds"
	t.add(group, "finished", finished)
	t.add(group, "rejected", rejected)
	t.add(group, "unsupported", unsupported)
	t.add(group, "unfinished", unfinished)
	return t.String()
}
