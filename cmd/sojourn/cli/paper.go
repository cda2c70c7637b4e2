package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/sim"
)

// An experiment is a figure or a table of a paper, made anew.
type experiment struct {
	name      string // for the command line
	title     string
	source    string // the paper, and the place in it
	measure   measure
	workloads []paperWorkload
	rows      []paperRow
	notes     []string  // what the paper leaves open, and what was assumed
	network   network   // over which inputs are read; none if zero
	estimates estimates // what policies are told of service times
	preempt   bool      // attempts are killed when the policy asks for it
	keep      bool      // extra, or a measure, wants the records of jobs

	// sigmas has the error of the estimates that policies are told in some of the
	// workloads, by name; see estimates for the others.
	sigmas map[string]float64

	// retest lists the workloads in which rejected jobs are offered again.
	retest []string

	// extra, unless nil, returns what is printed below the rows, and the same in JSON.
	extra func(*paperResult) (text string, json any)

	// watches has what is seen of the runs of some policies beside the results, by policy.
	watches map[string]watch

	// plans, unless nil, says that nothing is simulated: the policies of the rows are
	// planners of package mars, and plans returns a number of each for a workload. It
	// takes the place of measure.of.
	plans planMeasure

	// digits is how many digits of ours are shown. Zero means 3.
	digits int

	// seeds is how many seeds there are unless the caller says. Zero means 20.
	seeds int
}

// A paperWorkload is a workload as --gen takes it, and the cluster it runs on: ""
// for that of the generator.
type paperWorkload struct{ name, gen, cluster string }

// A paperRow is one number of an experiment: the measure of a policy on a
// workload, or its ratio to that of another one.
type paperRow struct {
	workload string
	policy   string // as in -p
	over     string // the other policy, "" for none

	// part and of, unless empty, say what is measured instead of what the experiment
	// measures; and baseline, on which workload the other policy runs instead.
	part     string
	of       func(*sim.Result) float64
	baseline string

	// each, unless nil, returns the numbers of the seeds instead of all this, and nothing
	// is run for the row; its workload may then be any word.
	each func(context.Context, *paperResult) ([]float64, error)

	// What the paper says: value, or if that is 0, only that it is above or below a
	// limit, or nothing. A limit of 0 is that of a ratio, 1.
	value float64
	claim claim
	limit float64

	// decimals is how many digits of a ratio are shown after the point. Zero means 2.
	decimals int

	// tolerance is the largest relative difference to value that still counts as
	// reproduced, and the widest interval that has a verdict. Zero means 0.1.
	tolerance float64

	// reason says what may explain a row that is not reproduced.
	reason string
}

// A claim is what a paper says in words, of a ratio mostly.
type claim int

const (
	noClaim claim = iota
	above         // it is above the limit
	below         // it is below the limit
)

// A paperResult is what came out of an experiment.
type paperResult struct {
	*experiment
	order   []*sample            // each policy on each workload
	samples map[paperRun]*sample // the same
	rows    []paperOutcome
}

// A paperRun names a sample of an experiment.
type paperRun struct{ workload, policy string }

// A paperOutcome is what came out of a row.
type paperOutcome struct {
	paperRow
	ours   stats.Interval
	values []float64 // seed by seed, nil for a ratio
	digits int       // to show
	verdict
}

// A verdict says how near ours is to what the paper says.
type verdict struct {
	is  string // "" if the paper says nothing
	why string // unless it is reproduced

	// needed is about how many seeds make the interval narrow enough for a verdict; 0 if
	// there is one, or that cannot be told.
	needed int
}

// run runs all that the rows need: each policy once on each workload.
func (e *experiment) run(ctx context.Context, terminal io.Writer, f setup, seeds int) (*paperResult, error) {
	scenarios := map[string]*scenario{}
	for _, w := range e.workloads {
		with := f
		with.source.cluster = w.cluster
		with.locality.network = e.network
		with.estimates, with.preempt = e.estimates, e.preempt
		if sigma, ok := e.sigmas[w.name]; ok {
			with.estimates = estimates{Mode: sim.LogNormal, Sigma: sigma}
		}
		with.retest = slices.Contains(e.retest, w.name)
		if err := with.source.gen.Set(w.gen); err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.name, err)
		}
		s, err := with.open(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.name, err)
		}
		scenarios[w.name] = s
	}
	var runs []paperRun
	var trials []trial
	parse, repeat := parsePolicies, repeat
	if e.plans != nil {
		parse, repeat = parsePlanners, e.plans.repeat
	}
	for _, row := range e.rows {
		for _, run := range []paperRun{{row.workload, row.policy}, row.other()} {
			if row.each != nil || run.policy == "" || slices.Contains(runs, run) {
				continue
			}
			specs, err := parse(f.policies, []string{run.policy})
			if err != nil {
				return nil, fmt.Errorf("experiment %s: %w", e.name, err)
			}
			runs = append(runs, run)
			trials = append(trials, trial{scenario: scenarios[run.workload], spec: specs[0], value: run.workload, keep: e.keep, watch: e.watches[run.policy]})
		}
	}
	samples, err := repeat(ctx, terminal, trials, seeds)
	if err != nil {
		return nil, err
	}
	p := &paperResult{experiment: e, order: samples, samples: map[paperRun]*sample{}}
	for i, run := range runs {
		p.samples[run] = samples[i]
	}
	for _, row := range e.rows {
		o := paperOutcome{paperRow: row, digits: cmp.Or(e.digits, 3)}
		of := e.measure.of
		if row.of != nil {
			of = row.of
		}
		if row.each == nil {
			o.values = p.values(paperRun{row.workload, row.policy}, of)
		} else if o.values, err = row.each(ctx, p); err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.name, err)
		}
		o.ours = stats.Mean(o.values)
		if row.over != "" {
			o.ours = stats.Ratio(o.values, p.values(row.other(), of))
			o.values = nil
		}
		o.verdict = row.judge(o.ours, seeds)
		p.rows = append(p.rows, o)
	}
	return p, nil
}

// The verdicts.
const (
	reproduced    = "reproduced"
	shapeOnly     = "shape only"
	notReproduced = "not reproduced"
	tooFewSeeds   = "too few seeds"
)

// judge compares what came out of some seeds with what the paper says. A number has a
// verdict if our interval is no wider than the tolerance on each side; a claim, if
// our interval is all on one side of the limit, or no wider than that.
func (r *paperRow) judge(ours stats.Interval, seeds int) verdict {
	claimed := r.claim
	switch {
	case r.value > 1:
		claimed = above
	case r.value > 0:
		claimed = below
	case r.claim == noClaim:
		return verdict{}
	}
	limit := cmp.Or(r.limit, 1)
	found := noClaim
	switch {
	case ours.Low() > limit:
		found = above
	case ours.High() < limit:
		found = below
	}
	margin := r.allowed() * cmp.Or(r.value, limit)
	not := func(why string) verdict {
		return verdict{is: notReproduced, why: strings.TrimSpace(why + " " + r.reason)}
	}
	switch {
	case math.IsNaN(ours.Mean):
		return not("There is no such number.")
	case math.IsNaN(ours.Half):
		return verdict{is: tooFewSeeds, why: "One seed tells nothing of chance."}
	case r.value == 0 && found == claimed:
		return verdict{is: reproduced}
	case r.value == 0 && found != noClaim:
		return not(fmt.Sprintf("Ours is on the other side of %v.", limit))
	case ours.Half > margin:
		enough := margin
		if r.value == 0 {
			enough = max(margin, math.Abs(ours.Mean-limit))
		}
		needed := ours.Needed(seeds, enough)
		return verdict{tooFewSeeds, r.tooWide(ours, margin, needed), needed}
	case r.value == 0:
		return not(fmt.Sprintf("Our interval contains %v.", limit))
	}
	off := ours.Mean/r.value - 1
	if math.Abs(off) <= r.allowed() {
		return verdict{is: reproduced}
	}
	why := fmt.Sprintf("Ours is %.0f %% above.", 100*off)
	if off < 0 {
		why = fmt.Sprintf("Ours is %.0f %% below.", -100*off)
	}
	if r.over != "" && found == claimed {
		return verdict{is: shapeOnly, why: why}
	}
	return not(why)
}

// tooWide says that an interval is too wide for a verdict, and how many seeds would do.
func (r *paperRow) tooWide(ours stats.Interval, margin float64, needed int) string {
	digits := decimals([]float64{margin}, 2)
	text := fmt.Sprintf("± %s is more than the tolerance of ± %s", number(ours.Half, digits), number(margin, digits))
	if r.value == 0 {
		text += fmt.Sprintf(", and our interval contains %v", cmp.Or(r.limit, 1))
	}
	switch {
	case needed == 0:
		return text + "."
	case needed > maxSeeds:
		return fmt.Sprintf("%s; more than --seeds %d would be needed.", text, maxSeeds)
	}
	return fmt.Sprintf("%s; about --seeds %d would do.", text, needed)
}

// allowed returns the tolerance with its default.
func (r *paperRow) allowed() float64 { return cmp.Or(r.tolerance, 0.1) }

// other returns what a ratio is to.
func (r *paperRow) other() paperRun { return paperRun{cmp.Or(r.baseline, r.workload), r.over} }

// quantity names a row.
func (r *paperRow) quantity() string {
	text := r.policy
	if r.over != "" {
		text += " / " + r.over
	}
	if r.baseline != "" {
		text += " on " + r.baseline
	}
	if r.part != "" {
		text += ", " + r.part
	}
	return strings.TrimPrefix(text, ", ")
}

// paper formats what the paper says.
func (r *paperRow) paper() string {
	switch {
	case r.value > 0 && r.over != "":
		return number(r.value, 2)
	case r.value > 0:
		return column([]float64{r.value})[0]
	}
	if r.claim == noClaim {
		return "-"
	}
	return fmt.Sprintf("%s %v", [...]string{above: ">", below: "<"}[r.claim], cmp.Or(r.limit, 1))
}

// text formats what came out.
func (o *paperOutcome) text() string {
	if o.over != "" {
		return plusMinus(o.ours, cmp.Or(o.decimals, 2))
	}
	return plusMinus(o.ours, decimals([]float64{o.ours.Mean}, o.digits))
}

// values returns a number of each seed: that of the plans, or of the results.
func (p *paperResult) values(run paperRun, of func(*sim.Result) float64) []float64 {
	s := p.samples[run]
	if p.plans != nil {
		return s.planned
	}
	return s.values(of)
}

// sampleOf returns a sample of a workload.
func (p *paperResult) sampleOf(workload string) *sample {
	for _, r := range p.rows {
		if r.workload == workload && r.each == nil {
			return p.samples[paperRun{r.workload, r.policy}]
		}
	}
	panic("experiment " + p.name + ": no row of workload " + workload)
}

func (p *paperResult) write(w io.Writer) error {
	blocks := []string{p.header(), p.table().String()}
	if p.extra != nil {
		text, _ := p.extra(p)
		blocks = append(blocks, text)
	}
	if text := leftOver(p.order); text != "" {
		blocks = append(blocks, text)
	}
	var notes strings.Builder
	for _, r := range p.rows {
		if r.why != "" {
			notes.WriteString(filled(fmt.Sprintf("- %s, %s: %s. %s", r.workload, r.quantity(), r.is, r.why)))
		}
	}
	for _, note := range p.notes {
		notes.WriteString(filled("- " + note))
	}
	blocks = append(blocks, notes.String())
	if n := len(p.order[0].loads); n > 1 {
		blocks = append(blocks, fmt.Sprintf("a ± h  mean over %d seeds, or ratio of two such means, and its %.0f %% confidence interval (Student's t)\n",
			n, 100*stats.Confidence))
	}
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// filled breaks a text into lines of at most 110 columns, all but the first of
// which are indented.
func filled(text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			column = n
		case column+1+n > 110:
			b.WriteString("\n  ")
			column = 2 + n
		default:
			b.WriteByte(' ')
			column += 1 + n
		}
		b.WriteString(word)
	}
	return b.String() + "\n"
}

// header names the experiment and its workloads.
func (p *paperResult) header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n\n", p.name, p.title, p.source)
	for _, w := range p.workloads {
		s := p.sampleOf(w.name)
		load := "; all jobs at once"
		if text := loadText(s); text != "" {
			load = "; load " + text
		}
		if sigma, ok := p.sigmas[w.name]; ok {
			load += fmt.Sprintf("; sizes off by sigma %g", sigma)
		}
		fmt.Fprintf(&b, "%-9s  %s: %s; cluster %s%s\n", w.name, w.gen,
			count(s.scenario.workload.facts().count, "job"), s.scenario.cluster.name, load)
	}
	if p.estimates != (estimates{}) {
		fmt.Fprintf(&b, "%-9s  %s\n", "estimates", &p.estimates)
	}
	if p.network.bandwidth > 0 {
		fmt.Fprintf(&b, "%-9s  inputs are %s\n", "network", &p.network)
	}
	s := p.order[0]
	fmt.Fprintf(&b, "%-9s  %s from %d on\n", "seeds", thousands(len(s.loads)), s.scenario.seed)
	return b.String()
}

// table returns a table with a line for each row of the experiment.
func (p *paperResult) table() *table {
	t := &table{corner: fmt.Sprintf("%-9s  %s", "workload", p.measure.title)}
	var paper, ours, verdict []string
	for i, r := range p.rows {
		name := r.workload
		if i > 0 && name == p.rows[i-1].workload {
			name = ""
		}
		t.names = append(t.names, fmt.Sprintf("%-9s  %s", name, r.quantity()))
		paper = append(paper, r.paper())
		ours = append(ours, r.text())
		verdict = append(verdict, cmp.Or(r.is, "-"))
	}
	t.add("", "paper", paper)
	t.add("", "ours", ours)
	t.add("", "verdict", verdict)
	return t
}

// A paperSummary is a paperResult in JSON.
type paperSummary struct {
	Experiment string                 `json:"experiment"`
	Title      string                 `json:"title"`
	Source     string                 `json:"source"`
	Measure    string                 `json:"measure"`
	Seed       uint64                 `json:"seed"` // the first
	Seeds      int                    `json:"seeds"`
	Confidence real                   `json:"confidence"`
	Workloads  []paperWorkloadSummary `json:"workloads"`
	Rows       []paperRowSummary      `json:"rows"`
	Network    string                 `json:"network,omitempty"`
	Extra      any                    `json:"extra,omitempty"`
	Notes      []string               `json:"notes"`
}

type paperWorkloadSummary struct {
	Name     string              `json:"name"`
	Workload string              `json:"workload"`
	Cluster  string              `json:"cluster"`
	Load     map[string]estimate `json:"load"`
}

// A paperRowSummary is a row in JSON. Paper is null where the paper gives no number.
type paperRowSummary struct {
	Workload  string  `json:"workload"`
	Policy    string  `json:"policy"`             // "" for a number of none
	Over      string  `json:"over,omitempty"`     // the number is the ratio to this policy's
	Baseline  string  `json:"baseline,omitempty"` // on this workload, unless on the same
	Part      string  `json:"part,omitempty"`     // what is measured, unless what the experiment measures
	Paper     real    `json:"paper"`
	Claim     string  `json:"claim,omitempty"`     // "> 1", say
	Tolerance real    `json:"tolerance,omitempty"` // of paper, relative
	Mean      real    `json:"mean"`
	CI        [2]real `json:"ci"`
	Values    []real  `json:"values,omitempty"` // seed by seed; none for a ratio
	Verdict   string  `json:"verdict,omitempty"`
	Why       string  `json:"why,omitempty"`
	Needed    int     `json:"seeds_needed,omitempty"` // for a verdict, if there is none
}

func (p *paperResult) summary() paperSummary {
	sum := paperSummary{
		Experiment: p.name, Title: p.title, Source: p.source, Measure: p.measure.title,
		Seed: p.order[0].scenario.seed, Seeds: len(p.order[0].loads), Confidence: stats.Confidence, Notes: p.notes,
	}
	if p.network.bandwidth > 0 {
		sum.Network = p.network.String()
	}
	if p.extra != nil {
		_, sum.Extra = p.extra(p)
	}
	for _, w := range p.workloads {
		s := p.sampleOf(w.name)
		out := paperWorkloadSummary{w.name, w.gen, s.scenario.cluster.name, map[string]estimate{}}
		for class, name := range s.scenario.cluster.classes() {
			out.Load[name] = plainEstimate(s.load(class))
		}
		sum.Workloads = append(sum.Workloads, out)
	}
	for _, r := range p.rows {
		row := paperRowSummary{
			Workload: r.workload, Policy: r.policy, Over: r.over, Baseline: r.baseline, Part: r.part, Paper: real(math.NaN()),
			Mean: real(r.ours.Mean), CI: [2]real{real(r.ours.Low()), real(r.ours.High())}, Verdict: r.is, Why: r.why, Needed: r.needed,
		}
		if r.value > 0 {
			row.Paper, row.Tolerance = real(r.value), real(r.allowed())
		} else if r.claim != noClaim {
			row.Claim = r.paper()
		}
		for _, v := range r.values {
			row.Values = append(row.Values, real(v))
		}
		sum.Rows = append(sum.Rows, row)
	}
	return sum
}
