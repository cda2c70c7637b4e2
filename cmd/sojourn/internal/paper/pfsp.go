package paper

import (
	"context"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The policies of the H-PFSP paper's experiments.
const (
	hpfspFair = "fair:ties=arrival" // fewest running tasks first, as in Hadoop
)

// hpfsp returns H-PFSP with K probes a job: as printed, or with the gate that its
// promise needs.
func hpfsp(k int, printed bool) string {
	if printed {
		return fmt.Sprintf("pfsp:fair-limit=%d,no-gate=true", k)
	}
	return fmt.Sprintf("pfsp:fair-limit=%d", k)
}

// hpfspNotes say what the paper leaves open in all its figures.
var hpfspNotes = [...]string{
	"The figures are charts whose axes are not legible in the text: only shapes can be compared.",
	"K is FAIR_LIMIT: tasks that were scheduled (Algorithm 3; the text says finished), of each phase. no-gate=true is the paper's rule. The default gates these tasks: only it keeps the bound.",
	"'sojourn gen hpfsp-fig4 --options' lists what else is assumed, and likewise for the others.",
}

// hpfspMeasured returns the experiments on ten machines, Figures 2 and 3.
func hpfspMeasured() []Experiment {
	const paper = "H-PFSP (Li et al.), Section IV-A, "
	measure := trial.MeasureDist("", "mean flow time (s)", trial.SojournTime, trial.Mean)
	untold := trial.Estimates{Mode: sim.None}
	notes := append([]string{
		"Policies are told no sizes: task times are learned from finished tasks, and from finished jobs for new ones. The paper's machines are assumed to have two map and two reduce slots each.",
	}, hpfspNotes[:]...)
	slow, k2, k5 := hpfspFair, hpfsp(2, true), hpfsp(5, true)
	rows := func(e *Experiment, name, gen string, k2Says, k5Says, k5ToK2 paperRow) {
		e.workloads = append(e.workloads, paperWorkload{name, gen, ""})
		k2Says.policy, k2Says.over = k2, slow
		k5Says.policy, k5Says.over = k5, slow
		k5ToK2.policy, k5ToK2.over = k5, k2
		e.rows = append(e.rows, on(e.workloads[len(e.workloads)-1:], paperRow{policy: slow}, paperRow{policy: k2}, paperRow{policy: k5}, paperRow{policy: hpfsp(2, false)}, k2Says, k5Says, k5ToK2)...)
	}
	// grows adds a row that asks whether what Fair takes longer than H-PFSP is more than on the workload before.
	grows := func(e *Experiment, says string) {
		now, before := e.workloads[len(e.workloads)-1].name, e.workloads[len(e.workloads)-2].name
		e.rows = append(e.rows, paperRow{workload: now, part: "Fair less H-PFSP, less that on " + before + " (s)", claim: above, says: says,
			each: across(nil, func(run func(workload, policy string) float64) float64 {
				return run(now, slow) - run(now, k2) - run(before, slow) + run(before, k2)
			})})
	}
	seldom := paperRow{workload: "all", part: "jobs that take longer than under Fair (%)", claim: below, limit: 50, says: "seldom", each: laterThanFair(k2)}
	lines := func(p *Result, f panel, workload func(i int) string) panel {
		for i, name := range []string{"Fair", "H-PFSP1 (K = 2)", "H-PFSP2 (K = 5)"} {
			policy := [...]string{slow, k2, k5}[i]
			f.lines = append(f.lines, p.line(name, joined, f.x.ticks, func(i int) paperRun { return paperRun{workload(i), policy} }))
		}
		return f
	}

	fig2 := Experiment{
		Name: "hpfsp-fig2", Title: "mean flow time of WordCount jobs of one size, by their number",
		Source: paper + "Figure 2", measure: measure, estimates: untold, keep: true,
		notes: append([]string{
			"With one job the paper sees no difference; with more, H-PFSP is faster, the more so the more jobs there are, and K = 5 lies between K = 2 and Fair. \"A small number of jobs\" is read as two, \"seldom\" as for fewer than half of the jobs.",
		}, notes...),
	}
	numbers := []int{1, 2, 5, 10, 20}
	name := func(i int) string { return fmt.Sprintf("%d jobs", numbers[i]) }
	for i, n := range numbers {
		k2Says, k5Says, k5ToK2 := paperRow{}, paperRow{claim: below, says: "2-between"}, paperRow{claim: above, says: "2-lower"}
		if n <= 2 {
			same := paperRow{value: 1, says: [...]string{"2-single", "2-small"}[i], reason: "With two jobs, one that is served first is done in half of the time: 25 % less on average."}
			k2Says, k5Says, k5ToK2 = same, same, paperRow{}
		}
		rows(&fig2, name(i), fmt.Sprintf("hpfsp-fig2:jobs=%d", n), k2Says, k5Says, k5ToK2)
		if i > 0 {
			for _, p := range []string{slow, k2} {
				fig2.rows = append(fig2.rows, paperRow{workload: name(i), policy: p, over: p, baseline: name(i - 1), claim: above, says: "2-more"})
			}
			grows(&fig2, "2-difference")
		}
	}
	fig2.rows = append(fig2.rows, seldom)
	fig2.draw = func(p *Result) panels {
		return panels{lines(p, panel{x: axis{label: "number of jobs", ticks: []float64{1, 2, 5, 10, 20}}, y: axis{label: "mean flow time (s)"}}, name)}
	}

	fig3 := Experiment{
		Name: "hpfsp-fig3", Title: "mean flow time of five TeraSort jobs, by their size",
		Source: paper + "Figure 3", measure: measure, estimates: untold, keep: true,
		notes: append([]string{
			"Panel a has jobs of one size, panel b one job of each size from 1 to 5 GB. In both H-PFSP is faster on average; in b, the largest job takes the same time as under Fair.",
		}, notes...),
	}
	less := paperRow{claim: below, says: "3-less"}
	size := func(i int) string { return fmt.Sprintf("a %d GB", i+1) }
	for gb := range 5 {
		rows(&fig3, size(gb), fmt.Sprintf("hpfsp-fig3:panel=a,size=%d", gb+1), less, less, paperRow{})
		if gb > 0 {
			grows(&fig3, "3-larger")
		}
	}
	rows(&fig3, "b", "hpfsp-fig3", paperRow{}, paperRow{}, paperRow{})
	fig3.rows = append(fig3.rows,
		paperRow{workload: "b", policy: k2, over: slow, part: "job of 1 GB", of: flowTime(0), claim: below, says: "3-small"},
		paperRow{workload: "b", policy: k2, over: slow, part: "job of 5 GB", of: flowTime(4), value: 1, says: "3-largest"},
		seldom)
	fig3.draw = func(p *Result) panels {
		gigabytes := []float64{1, 2, 3, 4, 5}
		b := panel{title: "(b) jobs of different sizes", x: axis{label: "size of the job (GB)", ticks: gigabytes}, y: axis{label: "flow time of the job (s)"}}
		for _, policy := range []string{slow, k2, k5} {
			l := line{name: policy, how: joined, x: gigabytes}
			for i := range gigabytes {
				l.y = append(l.y, stats.Mean(p.values(paperRun{"b", policy}, flowTime(i))).Mean)
			}
			b.lines = append(b.lines, l)
		}
		a := lines(p, panel{title: "(a) jobs of the same size", x: axis{label: "size of each job (GB)", ticks: gigabytes}, y: axis{label: "mean flow time (s)"}}, size)
		for i := range b.lines {
			b.lines[i].name = a.lines[i].name
		}
		return panels{a, b}
	}
	return []Experiment{fig2, fig3}
}

// flowTime returns what takes the flow time of a job, from 0 in the order of arrival, in seconds; NaN if it is not there.
func flowTime(job int) func(*sim.Result) float64 {
	return func(res *sim.Result) float64 {
		if job >= len(res.JobRecords) {
			return math.NaN()
		}
		return res.JobRecords[job].Sojourn().Seconds()
	}
}

// laterThanFair returns what counts the jobs of all workloads that take longer under a policy than under Fair, in percent.
func laterThanFair(policy string) func(context.Context, *Result) ([]float64, error) {
	return func(_ context.Context, p *Result) ([]float64, error) {
		shares := make([]float64, len(p.order[0].Loads))
		for k := range shares {
			later, jobs := 0, 0
			for _, w := range p.workloads {
				ours, fair := p.samples[paperRun{w.name, policy}].Results[k], p.samples[paperRun{w.name, hpfspFair}].Results[k]
				for i := range ours.JobRecords {
					jobs++
					if ours.JobRecords[i].Sojourn() > fair.JobRecords[i].Sojourn() {
						later++
					}
				}
			}
			shares[k] = 100 * float64(later) / float64(jobs)
		}
		return shares, nil
	}
}

// hpfspExperiments returns the experiments of the H-PFSP paper, Section IV.
func hpfspExperiments() []Experiment {
	const paper = "H-PFSP (Li et al.), Section IV-B, "
	measure := trial.MeasureDist("", "mean slowdown", trial.Slowdown, trial.Mean)
	limits := []int{1, 2, 5, 10, 20, 50, 100, 200}

	fig4 := Experiment{
		Name: "hpfsp-fig4", Title: "mean slowdown by K, sizes known", Source: paper + "Figure 4", measure: measure,
		notes: append([]string{
			"The paper says both that job sizes are exponentially distributed and that each job has 200 tasks of 10 minutes: A is the latter, B and D have exponential numbers of tasks, C exponential task times. In A and B far more work arrives than can be done in the time; D has a load of 0.9.",
			"Fair is drawn by the paper as one line: Hadoop's gives a slot to the job with the fewest running tasks; its text speaks of the largest deficit, which would be the job with the fewest started ones.",
		}, hpfspNotes[:]...),
	}
	for _, w := range []string{"A", "B", "C", "D"} {
		fig4.workloads = append(fig4.workloads, paperWorkload{w, "hpfsp-fig4:workload=" + w, ""})
		row := func(p string) { fig4.rows = append(fig4.rows, paperRow{workload: w, policy: p}) }
		for _, p := range []string{hpfspFair, "fsp", "srpt", hpfsp(0, false)} {
			row(p)
		}
		for _, k := range limits {
			row(hpfsp(k, true))
		}
		for _, k := range []int{2, 5, 20} {
			row(hpfsp(k, false))
		}
		setUp := ""
		if w != "A" {
			setUp = "workload " + w
		}
		fig4.rows = append(fig4.rows,
			paperRow{workload: w, policy: hpfsp(2, true), over: hpfspFair, claim: below, says: "4-smaller", setUp: setUp},
			paperRow{workload: w, policy: hpfsp(5, true), over: hpfspFair, claim: below, says: "4-smaller", setUp: setUp},
			paperRow{workload: w, policy: hpfsp(20, true), over: hpfsp(2, true), claim: above, says: "4-limit", setUp: setUp},
			paperRow{workload: w, policy: hpfsp(2, false), over: hpfsp(2, true)})
	}

	fig5 := Experiment{
		Name: "hpfsp-fig5", Title: "mean slowdown by K, sizes learned", Source: paper + "Figure 5", measure: measure,
		estimates: trial.Estimates{Mode: sim.None},
		notes: append([]string{
			"Figure 5 first falls and then rises with K. Policies are told no sizes here. Which shape comes out depends on what is assumed of a task before any has finished: 10 minutes is right on average, 1 minute and 100 minutes are not. The paper takes the mean of jobs that have finished (default-task-time=0s).",
			"F5B: Exp(200) tasks of N(10, 2.236) minutes; F5C: the mean of a job is uniform from 2 to 18 minutes.",
		}, hpfspNotes[:]...),
	}
	for _, w := range []string{"F5B", "F5C"} {
		fig5.workloads = append(fig5.workloads, paperWorkload{w, "hpfsp-fig5:workload=" + w, ""})
		row := func(p string) { fig5.rows = append(fig5.rows, paperRow{workload: w, policy: p}) }
		row(hpfspFair)
		for _, prior := range []string{"10m", "1m", "100m", "0s"} {
			with := func(k int) string { return hpfsp(k, true) + ",default-task-time=" + prior }
			for _, k := range append([]int{0}, limits...) {
				row(with(k))
			}
			setUp := ""
			if w != "F5B" || prior != "0s" {
				setUp = fmt.Sprintf("workload %s and a first guess of %s", w, prior)
			}
			fig5.rows = append(fig5.rows,
				paperRow{workload: w, policy: with(2), over: with(0), claim: below, says: "5-first", setUp: setUp,
					reason: "The mean of the jobs that have finished is right for the next one, so that its first tasks have nothing to tell."},
				paperRow{workload: w, policy: with(20), over: with(2), claim: above, says: "5-first", setUp: setUp})
		}
	}
	byLimit := func(p *Result, w, name string, limits []int, policy func(k int) string) line {
		var xs []float64
		for _, k := range limits {
			xs = append(xs, float64(k))
		}
		return p.line(name, joined, xs, func(i int) paperRun { return paperRun{w, policy(limits[i])} })
	}
	fairLine := func(p *Result, w string, limits []int) line {
		return byLimit(p, w, "Fair", limits, func(int) string { return hpfspFair })
	}
	fig4.draw = func(p *Result) (f panels) {
		for _, w := range fig4.workloads {
			ours := byLimit(p, w.name, "H-PFSP", limits, func(k int) string { return hpfsp(k, true) })
			f = append(f, panel{title: "workload " + w.name, x: axis{label: "FAIR_LIMIT", log: true}, y: axis{label: "mean slowdown"}, lines: []line{fairLine(p, w.name, limits), ours}})
		}
		return f
	}
	fig5.draw = func(p *Result) (f panels) {
		few := []int{0, 1, 2, 5, 10, 20}
		for _, w := range fig5.workloads {
			of := panel{title: w.name, x: axis{label: "FAIR_LIMIT", ticks: []float64{0, 5, 10, 15, 20}}, y: axis{label: "mean slowdown"}}
			for _, prior := range []string{"0s", "1m", "10m", "100m"} {
				name := "H-PFSP, first guess " + prior
				if prior == "0s" {
					name = "H-PFSP"
				}
				of.lines = append(of.lines, byLimit(p, w.name, name, few, func(k int) string { return hpfsp(k, true) + ",default-task-time=" + prior }))
			}
			f = append(f, of)
		}
		return f
	}
	return append(hpfspMeasured(), fig4, fig5)
}
