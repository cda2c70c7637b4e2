package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// An Experiment reproduces a figure or a table of a paper.
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

	// watches has, by policy, functions that observe runs beside their results.
	watches map[string]trial.Watch

	// plans, unless nil, says that nothing is simulated: the policies of the rows are
	// planners of package mars, and plans returns a number of each for a workload. It
	// takes the place of measure.of.
	plans planMeasure

	// draw, unless nil, returns the figure of the paper, with our numbers.
	draw func(*Result) panels

	// digits is how many digits of our numbers are shown. Zero means 3.
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

	// The paper's statement: a value, or if value is 0, only that it is above or below
	// a limit, or nothing. The limit of a ratio is 1 if it is 0.
	value float64
	claim claim
	limit float64

	// decimals is how many digits of a ratio are shown after the point. Zero means 2.
	decimals int

	// tolerance is the largest relative difference to value that still counts as
	// reproduced, and the widest interval that has a verdict. Zero means 0.1.
	tolerance float64

	// says names the statement of the paper that the row judges, "" for none; see statement. Where it is
	// judged in another set-up than the paper's as we read it, setUp says in which.
	says, setUp string

	// reason says what may explain a row that is not reproduced.
	reason string
}

// A claim is a statement of a paper in words, mostly about a ratio.
type claim int

const (
	noClaim claim = iota
	above         // it is above the limit
	below         // it is below the limit
)

// allowed returns the tolerance with its default.
func (r *paperRow) allowed() float64 { return cmp.Or(r.tolerance, 0.1) }

// other returns what a ratio is to.
func (r *paperRow) other() paperRun { return paperRun{cmp.Or(r.baseline, r.workload), r.over} }

// quantity names a row.
func (r *paperRow) quantity() string {
	text := r.policy
	switch {
	case r.over == "":
	case r.over == r.policy && r.baseline != "":
		text += " / that on " + r.baseline
	case r.baseline != "":
		text += " / " + r.over + " on " + r.baseline
	default:
		text += " / " + r.over
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
	return fmt.Sprintf("%s %v", [...]string{above: ">", below: "<"}[r.claim], r.bound())
}

// margin formats the tolerance of a number, "" of what has none.
func (r *paperRow) margin() string {
	if r.value == 0 {
		return ""
	}
	return fmt.Sprintf("± %v %%", math.Round(1000*r.allowed())/10)
}

// bound returns the limit of a claim with its default.
func (r *paperRow) bound() float64 {
	if r.over != "" {
		return cmp.Or(r.limit, 1)
	}
	return r.limit
}

// across returns what computes a number of each seed from those of several runs, by workload and policy. What is
// measured of them is the measure of the experiment if of is nil.
func across(of func(*sim.Result) float64, number func(run func(workload, policy string) float64) float64) func(context.Context, *Result) ([]float64, error) {
	return func(_ context.Context, p *Result) ([]float64, error) {
		measured := of
		if measured == nil {
			measured = p.measure.Of
		}
		known := map[paperRun][]float64{}
		numbers := make([]float64, len(p.order[0].Loads))
		for k := range numbers {
			numbers[k] = number(func(workload, policy string) float64 {
				run := paperRun{workload, policy}
				if known[run] == nil {
					known[run] = p.values(run, measured)
				}
				return known[run][k]
			})
		}
		return numbers, nil
	}
}

// inSetUps returns the experiment whose rows say in which set-up they judge, by their workload.
func (e Experiment) inSetUps(of func(workload string) string) Experiment {
	for i := range e.rows {
		if r := &e.rows[i]; r.says != "" {
			r.setUp = of(r.workload)
		}
	}
	return e
}

// on returns the rows for each of some workloads.
func on(workloads []paperWorkload, rows ...paperRow) []paperRow {
	var all []paperRow
	for _, w := range workloads {
		for _, r := range rows {
			r.workload = w.name
			all = append(all, r)
		}
	}
	return all
}
