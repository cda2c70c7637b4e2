package advice

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// Page returns the advice as a page. The command is the one that prints it.
func (a *Advice) Page(command string) *page.Report {
	r := &page.Report{
		Title:   "Which policy to use on " + a.Workload.Name,
		Verdict: a.Sentences(),
		Facts:   report.Facts(a.Scenario),
		Command: command,
		Bold:    []string{a.Lines[a.Use].Policy, fair},
		Tables: []page.Table{
			recorded.TableOf("objective", "Each load, and all of them", "* is the best policy, and ~ says that one cannot be told from it. [a, b] is a 95 % interval.", a.table()),
			recorded.TableOf("work", "By the work of the jobs", "Quarters of the jobs, those of the least work first.", a.byWork()),
		},
	}
	for _, l := range a.left {
		r.Notes = append(r.Notes, "Left out: "+l.Policy+": "+l.Reason+".")
	}
	if !a.Objective.Deadlines() {
		r.Ratios = a.ratios()
	}
	return r
}

// ratios are those of the objective over all loads, and of the mean sojourn time by the work of jobs. Of intervals, those against fair and
// the best policy are known.
func (a *Advice) ratios() *page.Ratios {
	r := &page.Ratios{}
	for i := range a.Lines {
		r.Policies = append(r.Policies, a.Lines[i].Policy)
	}
	r.Baseline = slices.Index(r.Policies, fair)
	row := func(name string, of func(*Line) stats.Interval, best bool) page.Ratio {
		n := len(a.Lines)
		row := page.Ratio{Name: name, Half: slices.Repeat(page.Numbers{math.NaN()}, n*n)}
		set := func(i, k int, half float64) { row.Half[i*n+k], row.Half[k*n+i] = half, half }
		for i := range a.Lines {
			line := &a.Lines[i]
			row.Values = append(row.Values, math.Exp(of(line).Mean))
			if best && i > 0 {
				set(i, 0, line.Best.Half)
			}
			if i != r.Baseline {
				set(i, r.Baseline, of(line).Half)
			}
		}
		return row
	}
	all := []page.Ratio{row(a.Objective.What, func(l *Line) stats.Interval { return l.Fair }, true)}
	if a.Objective.percent != tail {
		all = append(all, row("p90 of the sojourn time", func(l *Line) stats.Interval { return l.Tail }, false))
	}
	var quartersOf []page.Ratio
	for q := range quarters {
		quartersOf = append(quartersOf, row(a.quarterTitle(q)+" s", func(l *Line) stats.Interval { return l.Quarterly[q] }, false))
	}
	r.Grids = []page.RatioGrid{
		{ID: "forest", Title: "Against a baseline, over all loads", Rows: all,
			Help: "Left of 1 is better. Lines are 95 % intervals, those against fair and the best policy; a policy with a hollow point, and a ~, cannot be told from the baseline. * is the least."},
		{ID: "sizes", Title: "Who pays, by the work of a job", Over: "quarter of the jobs, by work", Rows: quartersOf,
			Help: "The mean sojourn time of jobs of similar work, over that under the baseline: above 1 they pay."},
	}
	return r
}
