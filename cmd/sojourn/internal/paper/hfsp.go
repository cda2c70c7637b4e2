package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/sim"
)

// The policies of the HFSP paper's experiments.
const (
	hfspFair   = "fair"
	hfspWait   = "hfsp"
	hfspKill   = "hfsp:preemption=kill"
	hfspOracle = "hfsp:estimator=oracle"
)

// hfspNotes say what the paper leaves open in all its figures.
var hfspNotes = [...]string{
	"The paper gives no task times; 'sojourn gen hfsp-dev --options' lists what is assumed. The ratios depend much on the load, which is ours and may not be theirs.",
	"The paper has five seeds.",
}

// hfspBins are the data sets of Table I: jobs are named after theirs.
var hfspBins = [...]string{"1GB", "10GB", "100GB", "1TB"}

// binOf returns the bin of a job by its name, from 1.
func binOf(job string) int {
	_, dataset, _ := strings.Cut(job, "/")
	return 1 + slices.Index(hfspBins[:], dataset)
}

// A jobNumber is a number of each job.
type jobNumber struct {
	title string
	of    func(*sim.JobRecord) float64
}

func hfspSeconds() jobNumber {
	return jobNumber{"response time (s)", func(j *sim.JobRecord) float64 { return j.Sojourn().Seconds() }}
}

func hfspSlowdown() jobNumber {
	return jobNumber{"slowdown", (*sim.JobRecord).Slowdown}
}

// ofJobs returns the numbers of the finished jobs of some bins, in ascending order.
func (n jobNumber) ofJobs(res *sim.Result, bins ...int) []float64 {
	var values []float64
	for i := range res.JobRecords {
		if j := &res.JobRecords[i]; j.Outcome == sim.Finished && slices.Contains(bins, binOf(j.Name)) {
			values = append(values, n.of(j))
		}
	}
	slices.Sort(values)
	return values
}

// quantileOf returns a quantile of sorted values by the nearest rank, NaN of none.
func quantileOf(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[max((percent*len(sorted)+99)/100, 1)-1]
}

// percentBelow returns how many percent of sorted values are at most a limit.
func percentBelow(sorted []float64, limit float64) float64 {
	n, _ := slices.BinarySearch(sorted, math.Nextafter(limit, math.Inf(1)))
	return 100 * float64(n) / float64(len(sorted))
}

// An ecdfLine is one line of a table of distributions.
type ecdfLine struct {
	workload, policy string
	bins             []int
}

// name says which jobs the line is of.
func (l *ecdfLine) name() string {
	switch {
	case len(l.bins) == len(hfspBins):
		return l.policy
	case len(l.bins) == 1:
		return fmt.Sprintf("%s, bin %d", l.policy, l.bins[0])
	}
	return fmt.Sprintf("%s, bins %d-%d", l.policy, l.bins[0], l.bins[len(l.bins)-1])
}

// hfspECDF returns what prints the distributions of a number over the jobs of all
// seeds.
func hfspECDF(n jobNumber, lines ...ecdfLine) func(*Result) (string, any) {
	percents := []int{5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100}
	type summary struct {
		Workload  string              `json:"workload"`
		Policy    string              `json:"policy"`
		Bins      []int               `json:"bins"`
		Jobs      int                 `json:"jobs"`
		Quantiles map[int]format.Real `json:"quantiles"` // by percent
	}
	return func(p *Result) (string, any) {
		t := &format.Table{Corner: fmt.Sprintf("%-9s  %s", "workload", n.title)}
		var all []summary
		cells := make([][]string, len(percents))
		var jobs []string
		for i, l := range lines {
			name := l.workload
			if i > 0 && name == lines[i-1].workload {
				name = ""
			}
			t.Names = append(t.Names, fmt.Sprintf("%-9s  %s", name, l.name()))
			var values []float64
			for _, res := range p.samples[paperRun{l.workload, l.policy}].Results {
				values = append(values, n.ofJobs(res, l.bins...)...)
			}
			slices.Sort(values)
			sum := summary{l.workload, l.policy, l.bins, len(values), map[int]format.Real{}}
			for k, percent := range percents {
				q := quantileOf(values, percent)
				sum.Quantiles[percent] = format.Real(q)
				cells[k] = append(cells[k], format.Number(q, format.Decimals([]float64{q}, 3)))
			}
			all = append(all, sum)
			jobs = append(jobs, format.Thousands(len(values)))
		}
		t.Add("", "jobs", jobs)
		for k, percent := range percents {
			t.Add("percent of the jobs of all seeds have at most", fmt.Sprintf("%d%%", percent), cells[k])
		}
		return t.String(), all
	}
}

// hfspExperiments returns the experiments of the HFSP paper, Section IV.
func hfspExperiments() []Experiment {
	const paper = "HFSP (Pastorelli et al.), "
	all := []int{1, 2, 3, 4}
	mean := trial.MeasureDist("", "mean response time (s)", trial.SojournTime, trial.Mean)
	names := [...]string{"DEV", "TEST", "PROD"}
	table1 := func() (list []paperWorkload) {
		for _, name := range names {
			list = append(list, paperWorkload{name, "hfsp-" + strings.ToLower(name), ""})
		}
		return list
	}
	both := func(workload string, bins ...int) []ecdfLine {
		return []ecdfLine{{workload, hfspFair, bins}, {workload, hfspWait, bins}}
	}
	median := func(n jobNumber, percent int, bins ...int) func(*sim.Result) float64 {
		return func(res *sim.Result) float64 { return quantileOf(n.ofJobs(res, bins...), percent) }
	}

	fig7 := Experiment{
		Name: "hfsp-fig7", Seeds: 210, Title: "response times on DEV without the smallest jobs",
		Source: paper + "Figure 7 and Section IV-C1",
		measure: trial.Measure{Title: "jobs of bins 2-4 done within 80 s (%)", Of: func(res *sim.Result) float64 {
			return percentBelow(hfspSeconds().ofJobs(res, 2, 3, 4), 80)
		}},
		keep:      true,
		workloads: []paperWorkload{{"DEV", "hfsp-dev", ""}, {"DEV .9", "hfsp-dev:load=0.9", ""}},
		extra:     hfspECDF(hfspSeconds(), append(both("DEV", 2, 3, 4), both("DEV .9", 2, 3, 4)...)...),
		notes:     hfspNotes[:],
	}
	for _, w := range []string{"DEV", "DEV .9"} {
		fig7.rows = append(fig7.rows,
			paperRow{workload: w, policy: hfspFair, value: 20},
			paperRow{workload: w, policy: hfspWait, value: 60,
				reason: "With the times that are assumed, not many more jobs are as fast alone on the cluster."},
			paperRow{workload: w, policy: hfspWait, part: "if each were alone on the cluster", of: func(res *sim.Result) float64 {
				alone := jobNumber{"", func(j *sim.JobRecord) float64 { return j.Alone.Seconds() }}
				return percentBelow(alone.ofJobs(res, 2, 3, 4), 80)
			}},
			paperRow{workload: w, policy: hfspWait, over: hfspFair, claim: above})
	}

	fig8 := Experiment{
		Name: "hfsp-fig8", Seeds: 170, Title: "response times on TEST by bin", Source: paper + "Figure 8 and Section IV-C1",
		measure: mean, keep: true,
		workloads: []paperWorkload{{"TEST", "hfsp-test", ""}, {"TEST .9", "hfsp-test:load=0.9", ""}},
		notes:     hfspNotes[:],
	}
	var lines []ecdfLine
	for _, w := range []string{"TEST", "TEST .9"} {
		for i, m := range [][2]float64{{45, 31}, {290, 98}, {2000, 1000}} {
			bin := i + 2
			row := func(policy, over string, value float64) {
				fig8.rows = append(fig8.rows, paperRow{workload: w, policy: policy, over: over, value: value,
					part: fmt.Sprintf("median of bin %d", bin), of: median(hfspSeconds(), 50, bin),
					reason: "Absolute times are those of the tasks, which are assumed: alone on the cluster, half of the jobs of bin 2 take longer than the paper's median."})
			}
			row(hfspFair, "", m[0])
			row(hfspWait, "", m[1])
			row(hfspWait, hfspFair, m[1]/m[0])
			lines = append(lines, both(w, bin)...)
		}
	}
	fig8.extra = hfspECDF(hfspSeconds(), lines...)

	fig9 := Experiment{
		Name: "hfsp-fig9", Title: "slowdown on DEV, TEST and PROD", Source: paper + "Figure 9 and Section IV-C2",
		measure: trial.MeasureDist("", "slowdown", trial.Slowdown, trial.Median), keep: true, workloads: table1(),
		notes: append([]string{
			"Slowdown is the response time over the time that the job takes alone on the cluster. The paper calls a policy fair if its highest slowdowns are in line with Fair's or better: hence the 99th percentile and the maximum.",
			"Of the medians the paper says that the gap widens from a few units to one order of magnitude for PROD.",
		}, hfspNotes[:]...),
	}
	lines = nil
	for _, w := range names {
		for _, p := range []struct {
			part    string
			percent int
		}{{"median", 50}, {"p99", 99}, {"maximum", 100}} {
			of := median(hfspSlowdown(), p.percent, all...)
			fig9.rows = append(fig9.rows,
				paperRow{workload: w, policy: hfspFair, part: p.part, of: of},
				paperRow{workload: w, policy: hfspWait, part: p.part, of: of},
				paperRow{workload: w, policy: hfspWait, over: hfspFair, part: p.part, of: of, claim: below})
		}
		lines = append(lines, both(w, all...)...)
	}
	fig9.extra = hfspECDF(hfspSlowdown(), lines...)

	fig10 := Experiment{
		Name: "hfsp-fig10", Title: "jobs in the system over time on PROD", Source: paper + "Figure 10 and Section IV-D1",
		measure: trial.Measure{Title: "jobs in the system", Of: meanInSystem}, keep: true,
		workloads: []paperWorkload{{"PROD", "hfsp-prod", ""}, {"PROD .9", "hfsp-prod:load=0.9", ""}},
		extra:     hfspSeries,
		notes: append([]string{
			"The paper shows one run, of which the text gives the bursts of arrivals only: HFSP keeps fewer jobs in the system than Fair.",
			"The mean is over the time until the last job arrives; the series is of the first seed.",
		}, hfspNotes[:]...),
	}
	for _, w := range []string{"PROD", "PROD .9"} {
		for _, part := range []struct {
			name string
			of   func(*sim.Result) float64
		}{{"mean", meanInSystem}, {"most", mostInSystem}} {
			fig10.rows = append(fig10.rows,
				paperRow{workload: w, policy: hfspFair, part: part.name, of: part.of},
				paperRow{workload: w, policy: hfspWait, part: part.name, of: part.of},
				paperRow{workload: w, policy: hfspWait, over: hfspFair, part: part.name, of: part.of, claim: below})
		}
	}

	return append([]Experiment{hfspFig6(table1(), mean)}, fig7, fig8, fig9, fig10,
		hfspSizes(table1()), hfspBoxes(table1(), 14), hfspBoxes(table1(), 15),
		hfspPreemption("hfsp-fig16", "Figure 16", hfspSeconds()), hfspPreemption("hfsp-fig17", "Figure 17", hfspSlowdown()),
		hfspRobust(mean))
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
			"The paper calls HFSP fair as its highest slowdowns are in line with Fair's or better: hence the 99th percentile.",
			hfspNotes[0], hfspNotes[1],
		},
	}
	paper := map[string]float64{"DEV": 0.66, "TEST": 0.74, "PROD": 0.67}
	for _, w := range workloads {
		fifo := paperRow{workload: w.name, policy: "fifo", over: hfspFair, claim: above}
		if w.name == "PROD" {
			fifo.reason = "More work arrives than can be done, and fair sharing makes all jobs late, where FIFO spares those that came early."
		}
		for _, p := range []string{"fifo", hfspFair, "fsp", hfspWait} {
			e.rows = append(e.rows, paperRow{workload: w.name, policy: p})
		}
		e.rows = append(e.rows, fifo, paperRow{workload: w.name, policy: "fsp", over: hfspFair},
			paperRow{workload: w.name, policy: hfspWait, over: hfspFair, value: paper[w.name]})
	}
	// The text has the median on PROD one order of magnitude below Fair's: 0.05 to 0.15.
	e.rows = append(e.rows, paperRow{workload: "PROD", policy: hfspWait, over: hfspFair, part: "median", value: 0.1, tolerance: 0.5,
		of: trial.MeasureDist("", "", trial.SojournTime, trial.Median).Of})
	p99 := trial.MeasureDist("", "", trial.Slowdown, trial.P99).Of
	for _, w := range workloads {
		for _, load := range []string{".5", ".7", ".9"} {
			name := w.name + " " + load
			e.workloads = append(e.workloads, paperWorkload{name, w.gen + ":load=0" + load, ""})
			ratio := paperRow{workload: name, policy: hfspWait, over: hfspFair, claim: below}
			if load == ".9" {
				ratio.value, ratio.claim = paper[w.name], noClaim
				if w.name == "DEV" {
					ratio.reason = "With exact sizes it is hardly less; see hfsp-errors."
				}
			}
			e.rows = append(e.rows, ratio,
				paperRow{workload: name, policy: hfspWait, over: hfspFair, part: "p99 of slowdown", of: p99, claim: below})
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
		workloads: []paperWorkload{{"TEST", "hfsp-test", ""}, {"TEST .9", "hfsp-test:load=0.9", ""}},
		notes: append([]string{
			"KILL kills running tasks of larger jobs at once and loses their work: the paper sees better slowdowns, and worse response times of large jobs.",
			"kill-fraction spares tasks that have run for more than that part of the expected time; the paper has no such limit.",
		}, hfspNotes[:]...),
	}
	const young = hfspKill + ",kill-fraction=0.25"
	var lines []ecdfLine
	for _, w := range []string{"TEST", "TEST .9"} {
		row := func(policy, over, part string, of func(*sim.Result) float64, c claim) {
			e.rows = append(e.rows, paperRow{workload: w, policy: policy, over: over, part: part, of: of, claim: c})
		}
		for _, p := range []string{hfspWait, hfspKill, young} {
			lines = append(lines, ecdfLine{w, p, []int{1, 2, 3, 4}})
		}
		meanOf := func(bins ...int) func(*sim.Result) float64 {
			return func(res *sim.Result) float64 { return stats.Mean(n.ofJobs(res, bins...)).Mean }
		}
		for bin := 1; bin <= 4; bin++ {
			c := noClaim
			if bin == 4 {
				c = above
			}
			row(hfspKill, hfspWait, fmt.Sprintf("mean of bin %d", bin), meanOf(bin), c)
		}
		row(hfspKill, hfspWait, "median", func(res *sim.Result) float64 { return quantileOf(n.ofJobs(res, 1, 2, 3, 4), 50) }, below)
		row(hfspKill, hfspWait, "mean", meanOf(1, 2, 3, 4), noClaim)
		row(young, hfspWait, "mean", meanOf(1, 2, 3, 4), noClaim)
		row(young, hfspKill, "mean", meanOf(1, 2, 3, 4), noClaim)
	}
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
	for _, w := range []string{"DEV", "TEST", "PROD"} {
		for _, sigma := range []float64{0, 0.5, 1, 2} {
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

// presence returns the instants at which finished jobs come and go, in order, with
// how many are there from then on.
func presence(res *sim.Result) (at []sojourn.Time, jobs []int) {
	type step struct {
		at sojourn.Time
		by int
	}
	var steps []step
	for i := range res.JobRecords {
		if j := &res.JobRecords[i]; j.Outcome == sim.Finished {
			steps = append(steps, step{j.Arrival, 1}, step{j.Finish, -1})
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		if a.at != b.at {
			return int(max(min(a.at-b.at, 1), -1))
		}
		return a.by - b.by // who goes makes room for who comes
	})
	n := 0
	for _, s := range steps {
		n += s.by
		at, jobs = append(at, s.at), append(jobs, n)
	}
	return at, jobs
}

// meanInSystem returns the mean number of jobs in the system, over the time in
// which jobs arrive.
func meanInSystem(res *sim.Result) float64 {
	at, jobs := presence(res)
	last := sojourn.Time(0)
	for i := range res.JobRecords {
		last = max(last, res.JobRecords[i].Arrival)
	}
	sum, span := 0.0, last.Sub(at[0]).Seconds()
	for i := range at {
		end := last
		if i+1 < len(at) {
			end = min(at[i+1], last)
		}
		if at[i] < end {
			sum += float64(jobs[i]) * end.Sub(at[i]).Seconds()
		}
	}
	return sum / span
}

// mostInSystem returns the largest number of jobs in the system at a time.
func mostInSystem(res *sim.Result) float64 {
	_, jobs := presence(res)
	return float64(slices.Max(jobs))
}

// hfspSeries prints how many jobs are in the system of the first seed, every tenth of
// an hour.
func hfspSeries(p *Result) (string, any) {
	type series struct {
		Workload string      `json:"workload"`
		Policy   string      `json:"policy"`
		Every    format.Real `json:"every_s"`
		Jobs     []int       `json:"jobs"`
	}
	const every = 6 * time.Minute
	var all []series
	t := &format.Table{Corner: fmt.Sprintf("%-9s  %s", "workload", "jobs in the system")}
	longest := 0
	for _, w := range p.workloads {
		for _, policy := range []string{hfspFair, hfspWait} {
			at, jobs := presence(p.samples[paperRun{w.name, policy}].Results[0])
			s := series{Workload: w.name, Policy: policy, Every: format.Real(every.Seconds())}
			for now, i, n := at[0], 0, 0; i < len(at); now = now.Add(every) {
				for ; i < len(at) && at[i] <= now; i++ {
					n = jobs[i]
				}
				s.Jobs = append(s.Jobs, n)
			}
			longest = max(longest, len(s.Jobs))
			name := w.name
			if policy != hfspFair {
				name = ""
			}
			t.Names = append(t.Names, fmt.Sprintf("%-9s  %s", name, policy))
			all = append(all, s)
		}
	}
	const shown = 24
	for k := range min(longest, shown) {
		var cells []string
		for _, s := range all {
			cell := ""
			if k < len(s.Jobs) {
				cell = fmt.Sprint(s.Jobs[k])
			}
			cells = append(cells, cell)
		}
		t.Add("hours since the first job arrived", format.Number((time.Duration(k)*every).Hours(), 1), cells)
	}
	return t.String(), all
}
