package paper

import (
	"context"
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The policies of the HFSP paper's experiments.
const (
	hfspFair   = "fair:ties=arrival"
	hfspWait   = "hfsp"
	hfspKill   = "hfsp:preemption=kill-any" // the rule of the paper
	hfspOracle = "hfsp:estimator=oracle"
)

// hfspNotes say what the paper leaves open in all its figures.
var hfspNotes = [...]string{
	"The paper gives no task times; 'sojourn gen hfsp-dev --options' lists what is assumed. The ratios depend much on the load, which is ours and may not be theirs.",
	"The paper has five seeds.",
}

// The workloads of Table I, and those that have a load besides.
var (
	hfspTable1 = []paperWorkload{{"DEV", "hfsp-dev", ""}, {"TEST", "hfsp-test", ""}, {"PROD", "hfsp-prod", ""}}
	hfspDEV    = []paperWorkload{{"DEV", "hfsp-dev", ""}, {"DEV 0.9", "hfsp-dev:load=0.9", ""}}
	hfspTEST   = []paperWorkload{{"TEST", "hfsp-test", ""}, {"TEST 0.9", "hfsp-test:load=0.9", ""}}
	hfspPROD   = []paperWorkload{{"PROD", "hfsp-prod", ""}, {"PROD 0.9", "hfsp-prod:load=0.9", ""}}
)

// hfspSetUp returns the set-up of a workload: the paper's, or one with a stated load.
func hfspSetUp(workload string) string {
	if strings.HasSuffix(workload, "0.9") {
		return "a load of 0.9"
	}
	return ""
}

// hfspAssumed says what may explain most numbers that are not the paper's.
const hfspAssumed = "It follows the load and the times of tasks, which the paper does not give."

// hfspMean is the measure of most figures.
func hfspMean() trial.Measure {
	return trial.MeasureDist("", "mean response time (s)", trial.SojournTime, trial.Mean)
}

// hfspExperiments returns the experiments of the HFSP paper, Section IV.
func hfspExperiments() []Experiment {
	return []Experiment{
		hfspFig6(hfspTable1, hfspMean()), hfspFig7(), hfspFig8(), hfspFig9(), hfspFig10(),
		hfspSizes(hfspTable1), hfspBoxes(hfspTable1, 14), hfspBoxes(hfspTable1, 15),
		hfspPreemption("hfsp-fig16", "Figure 16", hfspSeconds()), hfspPreemption("hfsp-fig17", "Figure 17", hfspSlowdown()),
		hfspRobust(hfspMean()),
	}
}

// bothOn returns the lines of a distribution under Fair and under HFSP.
func bothOn(workload string, bins ...int) []ecdfLine {
	return []ecdfLine{{workload, hfspFair, bins}, {workload, hfspWait, bins}}
}

// hfspFig7 returns Figure 7.
func hfspFig7() Experiment {
	within := func(n jobNumber) func(*sim.Result) float64 {
		return func(res *sim.Result) float64 { return percentBelow(n.ofJobs(res, 2, 3, 4), 80) }
	}
	alone := jobNumber{"", func(j *sim.JobRecord) float64 { return j.Alone.Seconds() }}
	return Experiment{
		Name: "hfsp-fig7", Seeds: 210, Title: "response times on DEV without the smallest jobs",
		Source:    "HFSP (Pastorelli et al.), Figure 7 and Section IV-C1",
		measure:   trial.Measure{Title: "jobs of bins 2-4 done within 80 s (%)", Of: within(hfspSeconds())},
		keep:      true,
		workloads: hfspDEV,
		rows: on(hfspDEV,
			paperRow{policy: hfspFair, value: 20, says: "7-fair", reason: hfspAssumed},
			paperRow{policy: hfspWait, value: 60, says: "7-hfsp",
				reason: "With the times that are assumed, not many more jobs are as fast alone on the cluster."},
			paperRow{policy: hfspWait, part: "if each were alone on the cluster", of: within(alone)},
			paperRow{policy: hfspWait, over: hfspFair}),
		draw: func(p *Result) panels {
			return panels{p.ecdf(hfspSeconds(), "DEV, bins 2 to 4", bothOn("DEV", 2, 3, 4)).marked(0, 80, 0.2).marked(1, 80, 0.6)}
		},
		extra: hfspECDF(hfspSeconds(), append(bothOn("DEV", 2, 3, 4), bothOn("DEV 0.9", 2, 3, 4)...)...),
		notes: hfspNotes[:],
	}.inSetUps(hfspSetUp)
}

// hfspFig8 returns Figure 8.
func hfspFig8() Experiment {
	e := Experiment{
		Name: "hfsp-fig8", Seeds: 170, Title: "response times on TEST by bin", Source: "HFSP (Pastorelli et al.), Figure 8 and Section IV-C1",
		measure: hfspMean(), keep: true, workloads: hfspTEST, notes: hfspNotes[:],
	}
	var lines []ecdfLine
	medians := []struct {
		bin        int
		fair, hfsp float64 // in seconds
	}{{2, 45, 31}, {3, 290, 98}, {4, 2000, 1000}}
	for _, w := range hfspTEST {
		for _, says := range medians {
			row := func(policy, over string, value float64, name string) paperRow {
				return paperRow{workload: w.name, policy: policy, over: over, value: value, says: name, setUp: hfspSetUp(w.name),
					part: fmt.Sprintf("median of bin %d", says.bin), of: hfspSeconds().quantile(50, says.bin),
					reason: "Absolute times are those of the tasks, which are assumed: alone on the cluster, half of the jobs of bin 2 take longer than the paper's median."}
			}
			e.rows = append(e.rows, row(hfspFair, "", says.fair, fmt.Sprintf("8-fair%d", says.bin)), row(hfspWait, "", says.hfsp, fmt.Sprintf("8-hfsp%d", says.bin)),
				paperRow{workload: w.name, policy: hfspWait, over: hfspFair, part: fmt.Sprintf("median of bin %d", says.bin), of: hfspSeconds().quantile(50, says.bin)})
			lines = append(lines, bothOn(w.name, says.bin)...)
		}
		for _, bin := range []int{3, 4} {
			e.rows = append(e.rows, paperRow{workload: w.name, part: fmt.Sprintf("gap of the medians of bin %d, less that of bin %d (s)", bin, bin-1),
				claim: above, says: "8-gap", setUp: hfspSetUp(w.name), each: func(_ context.Context, p *Result) ([]float64, error) {
					of := func(policy string, bin int) []float64 {
						return p.values(paperRun{w.name, policy}, hfspSeconds().quantile(50, bin))
					}
					wider := of(hfspFair, bin)
					for k := range wider {
						wider[k] += of(hfspWait, bin-1)[k] - of(hfspFair, bin-1)[k] - of(hfspWait, bin)[k]
					}
					return wider, nil
				}})
		}
	}
	e.extra = hfspECDF(hfspSeconds(), lines...)
	e.draw = func(p *Result) (f panels) {
		for _, says := range medians {
			f = append(f, p.ecdf(hfspSeconds(), fmt.Sprintf("TEST, bin %d", says.bin), bothOn("TEST", says.bin)).marked(0, says.fair, 0.5).marked(1, says.hfsp, 0.5))
		}
		return f
	}
	return e
}

// hfspFig9 returns Figure 9.
func hfspFig9() Experiment {
	all := []int{1, 2, 3, 4}
	var rows []paperRow
	for _, q := range []struct {
		name    string
		percent int
	}{{"median", 50}, {"p99", 99}, {"maximum", 100}} {
		of := hfspSlowdown().quantile(q.percent, all...)
		ratio := paperRow{policy: hfspWait, over: hfspFair, part: q.name, of: of}
		if q.percent > 50 {
			ratio.claim, ratio.says = below, "9-fair"
		}
		rows = append(rows, paperRow{policy: hfspFair, part: q.name, of: of}, paperRow{policy: hfspWait, part: q.name, of: of}, ratio)
	}
	median := hfspSlowdown().quantile(50, all...)
	rows = on(hfspTable1, rows...)
	for i, w := range []string{"TEST", "PROD"} {
		rows = append(rows, paperRow{workload: w, policy: hfspFair, over: hfspFair, baseline: []string{"DEV", "TEST"}[i], part: "median", of: median, claim: above, says: "9-heavy"})
	}
	rows = append(rows,
		paperRow{workload: "DEV", part: "median under Fair less that under HFSP", claim: above, limit: 1, says: "9-units",
			reason: "On DEV most jobs are small, and neither policy makes them wait.",
			each: across(median, func(run func(workload, policy string) float64) float64 {
				return run("DEV", hfspFair) - run("DEV", hfspWait)
			})},
		paperRow{workload: "PROD", policy: hfspWait, over: hfspFair, part: "median", of: median, value: 0.1, tolerance: 0.5, says: "9-order"})
	var lines []ecdfLine
	for _, w := range hfspTable1 {
		lines = append(lines, bothOn(w.name, all...)...)
	}
	return Experiment{
		Name: "hfsp-fig9", Title: "slowdown on DEV, TEST and PROD", Source: "HFSP (Pastorelli et al.), Figure 9 and Section IV-C2",
		measure: trial.MeasureDist("", "slowdown", trial.Slowdown, trial.Median), keep: true,
		workloads: hfspTable1, rows: rows, extra: hfspECDF(hfspSlowdown(), lines...),
		draw: func(p *Result) (f panels) {
			for _, w := range hfspTable1 {
				f = append(f, p.ecdf(hfspSlowdown(), w.name, bothOn(w.name, all...)))
			}
			return f
		},
		notes: append([]string{
			"Slowdown is the response time over the time that the job takes alone on the cluster. The paper calls a policy fair if its highest slowdowns are in line with Fair's or better: hence the 99th percentile and the maximum.",
			"Of the medians the paper says that the gap widens from a few units to one order of magnitude for PROD: read as a difference of more than 1 on DEV, and as a tenth, 0.05 to 0.15, on PROD.",
		}, hfspNotes[:]...),
	}
}

// hfspBursts are the bursts of Figure 10, in hours from the first arrival.
var hfspBursts = [...][2]float64{{0.4, 0.6}, {1.34, 1.5}}

// hfspFig10 returns Figure 10.
func hfspFig10() Experiment {
	workloads := append([]paperWorkload{{"bursts", "hfsp-prod:bursts=fig10,interval=90s", ""}}, hfspPROD...)
	rows := on(workloads,
		paperRow{policy: hfspFair, part: "mean", of: meanInSystem},
		paperRow{policy: hfspWait, part: "mean", of: meanInSystem},
		paperRow{policy: hfspWait, over: hfspFair, part: "mean", of: meanInSystem},
		paperRow{policy: hfspFair, part: "most", of: mostInSystem},
		paperRow{policy: hfspWait, part: "most", of: mostInSystem},
		paperRow{policy: hfspWait, over: hfspFair, part: "most", of: mostInSystem})
	for i, b := range hfspBursts {
		rise := func(res *sim.Result) float64 { return inSystem(res, b[1]) - inSystem(res, b[0]) }
		part := fmt.Sprintf("rise in burst %d", i+1)
		rows = append(rows,
			paperRow{workload: "bursts", policy: hfspFair, part: part, of: rise, claim: above, says: "10-burst"},
			paperRow{workload: "bursts", policy: hfspWait, over: hfspFair, part: part, of: rise, claim: below, says: "10-burst"})
	}
	return Experiment{
		Name: "hfsp-fig10", Title: "jobs in the system over time on PROD", Source: "HFSP (Pastorelli et al.), Figure 10 and Section IV-D1",
		measure: trial.Measure{Title: "jobs in the system", Of: meanInSystem}, keep: true,
		workloads: workloads, rows: rows, extra: hfspSeries,
		draw: func(p *Result) panels {
			f := panel{title: "bursts, the first seed", x: axis{label: "time (h)"}, y: axis{label: "jobs in the system"}}
			for _, policy := range []string{hfspFair, hfspWait} {
				at, jobs := presence(p.samples[paperRun{"bursts", policy}].Results[0])
				l := line{name: hfspTitle(policy, bothOn("")), how: steps}
				for i := range at {
					l.x, l.y = append(l.x, at[i].Sub(at[0]).Hours()), append(l.y, float64(jobs[i]))
				}
				f.lines = append(f.lines, l)
			}
			for _, b := range hfspBursts {
				f.x.stated = append(f.x.stated, b[0], b[1])
			}
			f.stated = "begin and end of a burst, from the paper"
			return panels{f}
		},
		notes: append([]string{
			"The paper shows one run. In \"bursts\", 18 jobs arrive between 0.4 and 0.6 hours and 35 between 1.34 and 1.5 hours, as its text says; the other 47 come 90 s apart on average, which spreads them over the rest of the time. PROD has the Poisson process of Section IV-A.",
			"The mean is over the time until the last job arrives; the series is of the first seed.",
		}, hfspNotes[:]...),
	}
}

// hfspFig6 returns Figure 6, and the same at loads that are stated.
func hfspFig6(workloads []paperWorkload, mean trial.Measure) Experiment {
	e := Experiment{
		Name: "hfsp-fig6", Title: "mean response time on DEV, TEST and PROD",
		Source:  "HFSP (Pastorelli et al.), Figure 6 and Section IV-C1",
		measure: mean, workloads: workloads,
		notes: []string{
			"Figure 6 is a bar chart; the text gives no means, but that HFSP's are 34 %, 26 % and 33 % below Fair's.",
			"Of FIFO the paper says only that it was drastically outperformed by all other schedulers (Section IV).",
			"FSP is the discipline that HFSP approximates. It knows sizes exactly and trains nothing, so that the paper's figures for HFSP are not its own.",
			"DEV, TEST and PROD have the paper's intervals between jobs, the others a load of the map slots that is the same for each seed.",
			"\"One order of magnitude\" is read as 0.05 to 0.15.",
			hfspNotes[0], hfspNotes[1],
		},
	}
	paper := map[string]float64{"DEV": 0.66, "TEST": 0.74, "PROD": 0.67}
	for _, w := range workloads {
		fifo := func(other string) paperRow {
			r := paperRow{workload: w.name, policy: "fifo", over: other, claim: above, says: "fifo"}
			if w.name == "PROD" {
				r.reason = "More work arrives than can be done, and fair sharing makes all jobs late, where FIFO spares those that came early."
			}
			return r
		}
		for _, p := range []string{"fifo", hfspFair, "fsp", hfspWait} {
			e.rows = append(e.rows, paperRow{workload: w.name, policy: p})
		}
		e.rows = append(e.rows, fifo(hfspFair), fifo(hfspWait), paperRow{workload: w.name, policy: "fsp", over: hfspFair},
			paperRow{workload: w.name, policy: hfspWait, over: hfspFair, value: paper[w.name], says: "6-" + strings.ToLower(w.name), reason: hfspAssumed})
	}
	e.draw = func(p *Result) panels {
		f := panel{x: axis{names: []string{"DEV", "TEST", "PROD"}}, y: axis{label: "mean response time (s)"}}
		for _, policy := range []string{hfspFair, hfspWait} {
			f.lines = append(f.lines, p.line(hfspTitle(policy, bothOn("")), bars, []float64{0, 1, 2}, func(i int) paperRun { return paperRun{f.x.names[i], policy} }))
		}
		for i, w := range f.x.names {
			f = f.marked(1, float64(i), paper[w]*f.lines[0].y[i])
		}
		f.mark = "the paper's ratio to Fair, times our Fair"
		return panels{f}
	}
	// The text has the median on PROD one order of magnitude below Fair's: 0.05 to 0.15.
	e.rows = append(e.rows, paperRow{workload: "PROD", policy: hfspWait, over: hfspFair, part: "median", value: 0.1, tolerance: 0.5, says: "6-median",
		of: trial.MeasureDist("", "", trial.SojournTime, trial.Median).Of})
	p99 := trial.MeasureDist("", "", trial.Slowdown, trial.P99).Of
	for _, w := range workloads {
		for _, load := range []string{"0.5", "0.7", "0.9"} {
			name := w.name + " " + load
			e.workloads = append(e.workloads, paperWorkload{name, w.gen + ":load=" + load, ""})
			ratio := paperRow{workload: name, policy: hfspWait, over: hfspFair}
			if load == "0.9" {
				ratio.value, ratio.says, ratio.setUp, ratio.reason = paper[w.name], "6-"+strings.ToLower(w.name), hfspSetUp(name), hfspAssumed
			}
			e.rows = append(e.rows, ratio, paperRow{workload: name, policy: hfspWait, over: hfspFair, part: "p99 of slowdown", of: p99})
		}
	}
	return e
}

// hfspPreemption returns Figure 16 or 17: WAIT against KILL on TEST.
func hfspPreemption(name, figure string, n jobNumber) Experiment {
	e := Experiment{
		Name: name, Title: n.title + " on TEST, WAIT against KILL",
		Source:  "HFSP (Pastorelli et al.), " + figure + " and Section IV-D3",
		measure: trial.MeasureDist("", "mean "+n.title, trial.SojournTime, trial.Mean), preempt: true, keep: true,
		workloads: hfspTEST,
		notes: append([]string{
			"KILL kills running tasks of larger jobs at once and loses their work: the paper sees better slowdowns, and worse response times of large jobs.",
			"preemption=kill spares tasks that were killed before, or have run for more than a tenth of the expected time; the paper has no such limit.",
		}, hfspNotes[:]...),
	}
	const young = "hfsp:preemption=kill"
	var lines []ecdfLine
	fair := strings.HasPrefix(n.title, "slowdown")
	for _, w := range []string{hfspTEST[0].name, hfspTEST[1].name} {
		row := func(policy, over, part string, of func(*sim.Result) float64, c claim, says string) {
			r := paperRow{workload: w, policy: policy, over: over, part: part, of: of, claim: c, says: says}
			if says != "" {
				r.setUp = hfspSetUp(w)
			}
			e.rows = append(e.rows, r)
		}
		for _, p := range []string{hfspWait, hfspKill, young} {
			lines = append(lines, ecdfLine{w, p, []int{1, 2, 3, 4}})
		}
		meanOf := func(bins ...int) func(*sim.Result) float64 {
			return func(res *sim.Result) float64 { return stats.Mean(n.ofJobs(res, bins...)).Mean }
		}
		quantile := func(percent int) func(*sim.Result) float64 { return n.quantile(percent, 1, 2, 3, 4) }
		for bin := 1; bin <= 3; bin++ {
			row(hfspKill, hfspWait, fmt.Sprintf("mean of bin %d", bin), meanOf(bin), noClaim, "")
		}
		if fair {
			row(hfspKill, hfspWait, "mean of bin 4", meanOf(4), noClaim, "")
			row(hfspKill, hfspWait, "median", quantile(50), below, "17-kill")
			row(hfspKill, hfspWait, "p99", quantile(99), below, "17-kill")
			row(hfspKill, hfspWait, "maximum", quantile(100), below, "17-kill")
			row(hfspKill, hfspWait, "mean", meanOf(1, 2, 3, 4), noClaim, "")
		} else {
			row(hfspKill, hfspWait, "mean of bin 4", meanOf(4), above, "16-large")
			row(hfspKill, hfspWait, "median", quantile(50), noClaim, "")
			row(hfspKill, hfspWait, "mean", meanOf(1, 2, 3, 4), above, "16-wait")
		}
		row(young, hfspWait, "mean", meanOf(1, 2, 3, 4), noClaim, "")
		row(young, hfspKill, "mean", meanOf(1, 2, 3, 4), noClaim, "")
	}
	for i := range e.rows {
		if e.rows[i].says == "17-kill" {
			e.rows[i].reason = "Large jobs lose the work of tasks that are killed; it is they that have the highest slowdowns then."
		}
	}
	e.draw = func(p *Result) panels { return panels{p.ecdf(n, "TEST", lines[:2])} }
	e.extra = hfspECDF(n, lines...)
	return e
}

// hfspRobust returns the experiment on wrong sizes.
func hfspRobust(mean trial.Measure) Experiment {
	const first = hfspOracle + ",late=first"
	e := Experiment{
		Name: "hfsp-errors", Title: "mean response time with wrong sizes at a load of 0.9",
		Source:  "Pastorelli et al., Section III-D, and Dell'Amico et al., PSBS (2014)",
		measure: mean, sigmas: map[string]float64{},
		notes: append([]string{
			"The sizes of all phases of a job are off by one factor exp(sigma Z), Z standard normal, drawn anew for each job and seed; nothing is trained.",
			"late=share, the default, shares the slots among jobs that are complete in the virtual cluster only, as PSBS does; late=first serves them one after the other, as the paper has it.",
		}, hfspNotes[:]...),
	}
	sigmas, sets := []float64{0, 0.5, 1, 2}, []string{"DEV", "TEST", "PROD"}
	e.draw = func(p *Result) (f panels) {
		for _, w := range sets {
			of := panel{title: w, x: axis{label: "sigma of the error"}, y: axis{label: "mean response time over that under Fair", to: 1}}
			for _, policy := range []string{hfspOracle, first} {
				of.lines = append(of.lines, p.ratios(map[string]string{hfspOracle: "late jobs share", first: "late jobs one by one"}[policy], policy, hfspFair, sigmas, func(i int) string {
					if i == 0 {
						return w
					}
					return fmt.Sprintf("%s %g", w, sigmas[i])
				}))
			}
			f = append(f, of)
		}
		return f
	}
	for _, w := range sets {
		for _, sigma := range sigmas {
			name := w
			if sigma > 0 {
				name = fmt.Sprintf("%s %g", w, sigma)
				e.sigmas[name] = sigma
			}
			e.workloads = append(e.workloads, paperWorkload{name, "hfsp-" + strings.ToLower(w) + ":load=0.9", ""})
			e.rows = append(e.rows,
				paperRow{workload: name, policy: hfspOracle, over: hfspFair},
				paperRow{workload: name, policy: first, over: hfspFair})
			if sigma > 0 {
				e.rows = append(e.rows, paperRow{workload: name, policy: hfspOracle, over: hfspOracle, baseline: w},
					paperRow{workload: name, policy: first, over: first, baseline: w})
			} else {
				e.rows = append(e.rows, paperRow{workload: name, policy: hfspWait, over: hfspOracle})
			}
		}
	}
	return e
}
