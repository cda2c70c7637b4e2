package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxSeeds keeps a typing error from filling the memory.
const maxSeeds = 100_000

// A seedsFlag is a number of repetitions, 0 unless given.
type seedsFlag int

func (n *seedsFlag) register(flags *pflag.FlagSet) {
	flags.Var(n, "seeds", "repeat everything with `N` seeds: --seed, --seed + 1, ...")
}

// String returns the number in the form that Set reads.
func (n *seedsFlag) String() string { return strconv.Itoa(int(*n)) }

// Type returns the name of the value for the help text.
func (n *seedsFlag) Type() string { return "N" }

// Set reads a number of repetitions.
func (n *seedsFlag) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > maxSeeds {
		return fmt.Errorf("want an integer from 1 to %d", maxSeeds)
	}
	*n = seedsFlag(v)
	return nil
}

// random reports whether anything depends on the seed.
func (f *runFlags) random() bool {
	return f.input.gen.given() || f.estimates.Mode == sim.LogNormal && f.estimates.Sigma > 0 ||
		f.stragglers.Probability > 0 || f.faults.Task > 0 || f.faults.Refuse > 0 || f.faults.MTBF > 0
}

// noteFixed tells those who repeat something that it will be the same each time.
func noteFixed(stderr io.Writer, seeds int, trials []trial) {
	for _, t := range trials {
		if t.scenario.flags.random() || drawsErrors(t.spec) {
			return
		}
	}
	if seeds > 1 {
		fmt.Fprintf(stderr, "Nothing here is random, so that all %d seeds give the same; --gen, --estimates,\n"+
			"--straggler-probability and the --fault flags would change that.\n", seeds)
	}
}

// withSeed returns the scenario with another seed: a workload that comes from a
// generator is made anew, any other stays.
func (s *scenario) withSeed(ctx context.Context, seed uint64) (*scenario, error) {
	t := *s
	t.seed = seed
	if seed == s.seed || !s.flags.input.gen.given() {
		return &t, nil
	}
	var err error
	if t.workload, err = s.flags.input.gen.workload(ctx, seed, false); err != nil {
		return nil, err
	}
	return &t, s.flags.load.apply(t.workload, t.cluster)
}

// A trial is a policy in a scenario, to be run with several seeds.
type trial struct {
	scenario *scenario
	spec     catalog.Spec
	value    string // of what a sweep varies
	keep     bool   // the records of jobs
	watch    watch  // unless nil, changes how it is run and sees what results do not tell
}

// A watch changes how a run is made, and returns what returns, after the run, what was
// seen.
type watch func(cfg *sim.Config) (seen func() any, err error)

// A sample is what came out of a trial, seed by seed.
type sample struct {
	trial
	results []*sim.Result // without records of jobs, unless they are kept
	loads   [][2]float64
	planned []float64 // the numbers of a planner, which has no results
	seen    []any     // by the trial's watch
}

// repeat runs each trial with the seed of its scenario and the ones that follow.
// Equal seeds draw equally in all trials. As many runs go on at a time as there
// are processors, and the order of the samples is that of the trials.
func repeat(cmd *cobra.Command, trials []trial, seeds int) ([]*sample, error) {
	// An interrupt ends the runs; another one ends the program.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	samples := make([]*sample, len(trials))
	for i, t := range trials {
		samples[i] = &sample{trial: t, results: make([]*sim.Result, seeds), loads: make([][2]float64, seeds), seen: make([]any, seeds)}
	}
	bar := newBar(cmd.ErrOrStderr(), "runs", len(trials)*seeds, trials[0].scenario.flags.quiet)
	// Seed by seed, so that an error that one seed has is found early.
	err := parallel(ctx, len(trials)*seeds, func(ctx context.Context, n int) error {
		k, t := n/len(trials), samples[n%len(trials)]
		fail := func(err error) error {
			return fmt.Errorf("policy %s, seed %d: %w", t.spec, t.scenario.seed+uint64(k), err)
		}
		s, err := t.scenario.withSeed(ctx, t.scenario.seed+uint64(k))
		if err != nil {
			return fail(err)
		}
		cfg, err := s.config(t.spec)
		if err != nil {
			return fail(err)
		}
		seen := func() any { return nil }
		if t.watch != nil {
			if seen, err = t.watch(&cfg); err != nil {
				return fail(err)
			}
		}
		res, err := sim.Run(ctx, cfg)
		if err != nil {
			return fail(err)
		}
		t.seen[k] = seen()
		if !t.keep {
			res.JobRecords = nil
		}
		t.results[k], t.loads[k] = res, s.workload.load(s.cluster)
		bar.Add(1)
		return nil
	})
	bar.Clear()
	if err != nil {
		return nil, err
	}
	return samples, nil
}

// values returns a number of each seed.
func (s *sample) values(f func(*sim.Result) float64) []float64 {
	values := make([]float64, len(s.results))
	for k, res := range s.results {
		values[k] = f(res)
	}
	return values
}

// valuesOf returns the same of each sample.
func valuesOf(samples []*sample, f func(*sim.Result) float64) [][]float64 {
	values := make([][]float64, len(samples))
	for i, s := range samples {
		values[i] = s.values(f)
	}
	return values
}

// load returns the load of a class, seed by seed.
func (s *sample) load(class int) []float64 {
	values := make([]float64, len(s.loads))
	for k, load := range s.loads {
		values[k] = load[class]
	}
	return values
}

// A measure is a number that tells how well a policy did: the less the better.
type measure struct {
	group, title string
	of           func(*sim.Result) float64
}

// measureDist returns the measure of a distribution, NaN where it is empty.
func measureDist(group, title string, dist func(*sim.Result) *sim.Dist, number func(*sim.Dist) float64) measure {
	return measure{group, title, func(res *sim.Result) float64 { return known(dist(res), number) }}
}

func sojournTime(res *sim.Result) *sim.Dist { return &res.Sojourn }
func slowdown(res *sim.Result) *sim.Dist    { return &res.Slowdown }

func distMean(d *sim.Dist) float64   { return d.Mean }
func distMedian(d *sim.Dist) float64 { return d.Median }
func distP90(d *sim.Dist) float64    { return d.P90 }
func distP99(d *sim.Dist) float64    { return d.P99 }
func distMax(d *sim.Dist) float64    { return d.Max }

func makespan(res *sim.Result) float64    { return res.Makespan.Seconds() }
func beyondBound(res *sim.Result) float64 { return float64(res.Audit.BeyondBound) }

// localShare is the share of the tasks with inputs that ran on the node of theirs.
func localShare(res *sim.Result) float64 {
	local := res.Locality[sojourn.NodeLocal]
	return float64(local) / float64(local+res.Locality[sojourn.RackLocal]+res.Locality[sojourn.Remote])
}

func hotSpots(res *sim.Result) float64     { return float64(res.Transfers.HotSpots) }
func transferTime(res *sim.Result) float64 { return res.Transfers.MeanTime }

// A judgement is a measure of one sample, and how it compares with the others of
// the same group.
type judgement struct {
	stats.Interval
	values []float64
	best   bool // the least mean, of equals the first
	close  bool // not best, but the paired difference to the best is not significant
}

// judge compares the values of samples that were run with the same seeds.
func judge(values [][]float64) []judgement {
	judged := make([]judgement, len(values))
	best := 0
	for i, v := range values {
		judged[i] = judgement{Interval: stats.Mean(v), values: v}
		if least := judged[best].Mean; judged[i].Mean < least || math.IsNaN(least) {
			best = i
		}
	}
	if len(values) == 1 || len(values[0]) == 1 {
		return judged // nothing to compare with, or no way to tell chance from fact
	}
	for i := range judged {
		switch gap := stats.Difference(values[i], values[best]); {
		case i == best:
			judged[i].best = true
		case gap.Contains(0):
			judged[i].close = true
		}
	}
	return judged
}

// mark returns what stands behind a number in a table.
func (j *judgement) mark() string {
	switch {
	case j.best:
		return "*"
	case j.close:
		return "~"
	}
	return " "
}

// judgedColumn formats judgements that stand below one another: two digits of the
// smallest interval, but no more than column shows of the means.
func judgedColumn(all []judgement) []string {
	means, halves := make([]float64, len(all)), make([]float64, len(all))
	whole := true
	for i, j := range all {
		means[i], halves[i] = j.Mean, j.Half
		whole = whole && j.Mean == math.Trunc(j.Mean)
	}
	digits := decimals(means, 3)
	if len(all[0].values) == 1 {
		if !whole {
			return column(means)
		}
		digits = 0
	} else if slices.Max(halves) > 0 {
		digits = min(digits, decimals(halves, 2))
	}
	cells, width := make([]string, len(all)), 0
	for i := range all {
		cells[i] = number(halves[i], digits)
		width = max(width, len(cells[i]))
	}
	for i := range all {
		mean := number(means[i], digits)
		if len(all[i].values) == 1 {
			cells[i] = mean
		} else {
			cells[i] = fmt.Sprintf("%s ± %*s %s", mean, width, cells[i], all[i].mark())
		}
	}
	return cells
}

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
	f, w, c := s.scenario.flags, s.scenario.workload, s.scenario.cluster
	known := w.facts()

	text := fmt.Sprintf("%s: %s, %s", w.name, count(known.count, "job"), count(known.tasks, "task"))
	if f.input.gen.given() {
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
