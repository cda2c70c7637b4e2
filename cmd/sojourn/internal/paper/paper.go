package paper

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/sim"
)

// An Experiment is a figure or a table of a paper, made anew.
type Experiment struct {
	Name      string // for the command line
	Title     string
	Source    string // the paper, and the place in it
	measure   trial.Measure
	workloads []paperWorkload
	rows      []paperRow
	notes     []string        // what the paper leaves open, and what was assumed
	network   trial.Network   // over which inputs are read; none if zero
	estimates trial.Estimates // what policies are told of service times
	preempt   bool            // attempts are killed when the policy asks for it
	keep      bool            // extra, or a measure, wants the records of jobs

	// sigmas has the error of the estimates that policies are told in some of the
	// workloads, by name; see estimates for the others.
	sigmas map[string]float64

	// retest lists the workloads in which rejected jobs are offered again.
	retest []string

	// extra, unless nil, returns what is printed below the rows, and the same in JSON.
	extra func(*Result) (text string, json any)

	// watches has what is seen of the runs of some policies beside the results, by policy.
	watches map[string]trial.Watch

	// plans, unless nil, says that nothing is simulated: the policies of the rows are
	// planners of package mars, and plans returns a number of each for a workload. It
	// takes the place of measure.of.
	plans planMeasure

	// digits is how many digits of ours are shown. Zero means 3.
	digits int

	// seeds is how many seeds there are unless the caller says. Zero means 20.
	Seeds int
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
	each func(context.Context, *Result) ([]float64, error)

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

// A Result is what came out of an experiment.
type Result struct {
	*Experiment
	order   []*trial.Sample            // each policy on each workload
	samples map[paperRun]*trial.Sample // the same
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

// Run runs all that the rows need: each policy once on each workload.
func (e *Experiment) Run(ctx context.Context, terminal io.Writer, f trial.Setup, seeds int) (*Result, error) {
	scenarios := map[string]*trial.Scenario{}
	for _, w := range e.workloads {
		with := f
		with.Source.Cluster = w.cluster
		with.Locality.Network = e.network
		with.Estimates, with.Preempt = e.estimates, e.preempt
		if sigma, ok := e.sigmas[w.name]; ok {
			with.Estimates = trial.Estimates{Mode: sim.LogNormal, Sigma: sigma}
		}
		with.Retest = slices.Contains(e.retest, w.name)
		if err := with.Source.Gen.Set(w.gen); err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		s, err := with.Open(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		scenarios[w.name] = s
	}
	var runs []paperRun
	var trials []trial.Trial
	parse, repeat := trial.ParsePolicies, trial.Repeat
	if e.plans != nil {
		parse, repeat = parsePlanners, e.plans.repeat
	}
	for _, row := range e.rows {
		for _, run := range []paperRun{{row.workload, row.policy}, row.other()} {
			if row.each != nil || run.policy == "" || slices.Contains(runs, run) {
				continue
			}
			specs, err := parse(f.Policies, []string{run.policy})
			if err != nil {
				return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
			}
			runs = append(runs, run)
			trials = append(trials, trial.Trial{Scenario: scenarios[run.workload], Spec: specs[0], Value: run.workload, Keep: e.keep, Watch: e.watches[run.policy]})
		}
	}
	samples, err := repeat(ctx, terminal, trials, seeds)
	if err != nil {
		return nil, err
	}
	p := &Result{Experiment: e, order: samples, samples: map[paperRun]*trial.Sample{}}
	for i, run := range runs {
		p.samples[run] = samples[i]
	}
	for _, row := range e.rows {
		o := paperOutcome{paperRow: row, digits: cmp.Or(e.digits, 3)}
		of := e.measure.Of
		if row.of != nil {
			of = row.of
		}
		if row.each == nil {
			o.values = p.values(paperRun{row.workload, row.policy}, of)
		} else if o.values, err = row.each(ctx, p); err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
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
	digits := format.Decimals([]float64{margin}, 2)
	text := fmt.Sprintf("± %s is more than the tolerance of ± %s", format.Number(ours.Half, digits), format.Number(margin, digits))
	if r.value == 0 {
		text += fmt.Sprintf(", and our interval contains %v", cmp.Or(r.limit, 1))
	}
	switch {
	case needed == 0:
		return text + "."
	case needed > trial.MaxSeeds:
		return fmt.Sprintf("%s; more than --seeds %d would be needed.", text, trial.MaxSeeds)
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
		return format.Number(r.value, 2)
	case r.value > 0:
		return format.Column([]float64{r.value})[0]
	}
	if r.claim == noClaim {
		return "-"
	}
	return fmt.Sprintf("%s %v", [...]string{above: ">", below: "<"}[r.claim], cmp.Or(r.limit, 1))
}

// text formats what came out.
func (o *paperOutcome) text() string {
	if o.over != "" {
		return report.PlusMinus(o.ours, cmp.Or(o.decimals, 2))
	}
	return report.PlusMinus(o.ours, format.Decimals([]float64{o.ours.Mean}, o.digits))
}

// values returns a number of each seed: that of the plans, or of the results.
func (p *Result) values(run paperRun, of func(*sim.Result) float64) []float64 {
	s := p.samples[run]
	if p.plans != nil {
		return s.Planned
	}
	return s.Values(of)
}

// sampleOf returns a sample of a workload.
func (p *Result) sampleOf(workload string) *trial.Sample {
	for _, r := range p.rows {
		if r.workload == workload && r.each == nil {
			return p.samples[paperRun{r.workload, r.policy}]
		}
	}
	panic("experiment " + p.Name + ": no row of workload " + workload)
}

func (p *Result) Write(w io.Writer) error {
	blocks := []string{p.header(), p.table().String()}
	if p.extra != nil {
		text, _ := p.extra(p)
		blocks = append(blocks, text)
	}
	if text := report.LeftOver(p.order); text != "" {
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
	if n := len(p.order[0].Loads); n > 1 {
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
func (p *Result) header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n\n", p.Name, p.Title, p.Source)
	for _, w := range p.workloads {
		s := p.sampleOf(w.name)
		load := "; all jobs at once"
		if text := report.LoadText(s); text != "" {
			load = "; load " + text
		}
		if sigma, ok := p.sigmas[w.name]; ok {
			load += fmt.Sprintf("; sizes off by sigma %g", sigma)
		}
		fmt.Fprintf(&b, "%-9s  %s: %s; cluster %s%s\n", w.name, w.gen,
			format.Count(s.Scenario.Workload.Facts().Jobs, "job"), s.Scenario.Cluster.Name, load)
	}
	if p.estimates != (trial.Estimates{}) {
		fmt.Fprintf(&b, "%-9s  %s\n", "estimates", &p.estimates)
	}
	if p.network.Bandwidth > 0 {
		fmt.Fprintf(&b, "%-9s  inputs are %s\n", "network", &p.network)
	}
	s := p.order[0]
	fmt.Fprintf(&b, "%-9s  %s from %d on\n", "seeds", format.Thousands(len(s.Loads)), s.Scenario.Seed)
	return b.String()
}

// table returns a table with a line for each row of the experiment.
func (p *Result) table() *format.Table {
	t := &format.Table{Corner: fmt.Sprintf("%-9s  %s", "workload", p.measure.Title)}
	var paper, ours, verdict []string
	for i, r := range p.rows {
		name := r.workload
		if i > 0 && name == p.rows[i-1].workload {
			name = ""
		}
		t.Names = append(t.Names, fmt.Sprintf("%-9s  %s", name, r.quantity()))
		paper = append(paper, r.paper())
		ours = append(ours, r.text())
		verdict = append(verdict, cmp.Or(r.is, "-"))
	}
	t.Add("", "paper", paper)
	t.Add("", "ours", ours)
	t.Add("", "verdict", verdict)
	return t
}

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
	Verdict   string         `json:"verdict,omitempty"`
	Why       string         `json:"why,omitempty"`
	Needed    int            `json:"seeds_needed,omitempty"` // for a verdict, if there is none
}

func (p *Result) Summary() Summary {
	sum := Summary{
		Experiment: p.Name, Title: p.Title, Source: p.Source, Measure: p.measure.Title,
		Seed: p.order[0].Scenario.Seed, Seeds: len(p.order[0].Loads), Confidence: stats.Confidence, Notes: p.notes,
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
	for _, r := range p.rows {
		row := paperRowSummary{
			Workload: r.workload, Policy: r.policy, Over: r.over, Baseline: r.baseline, Part: r.part, Paper: format.Real(math.NaN()),
			Mean: format.Real(r.ours.Mean), CI: [2]format.Real{format.Real(r.ours.Low()), format.Real(r.ours.High())}, Verdict: r.is, Why: r.why, Needed: r.needed,
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
