package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/research/sim"
)

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

// quantile returns what takes a quantile of the numbers of some bins.
func (n jobNumber) quantile(percent int, bins ...int) func(*sim.Result) float64 {
	return func(res *sim.Result) float64 { return quantileOf(n.ofJobs(res, bins...), percent) }
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
		t.Add("", "jobs", nil)
		addPercents(t, "jobs of all seeds", percents)
		var all []summary
		for _, l := range lines {
			var values []float64
			for _, res := range p.samples[paperRun{l.workload, l.policy}].Results {
				values = append(values, n.ofJobs(res, l.bins...)...)
			}
			slices.Sort(values)
			sum := summary{l.workload, l.policy, l.bins, len(values), map[int]format.Real{}}
			cells := []string{format.Thousands(len(values))}
			for _, percent := range percents {
				q := quantileOf(values, percent)
				sum.Quantiles[percent] = format.Real(q)
				cells = append(cells, format.Number(q, format.Decimals([]float64{q}, 3)))
			}
			all = append(all, sum)
			t.Row(t.Under(9, l.workload, l.name()), cells...)
		}
		return t.String(), all
	}
}

// addPercents adds a column for each quantile of what all seeds have.
func addPercents(t *format.Table, what string, percents []int) {
	for _, percent := range percents {
		t.Add("percent of the "+what+" have at most", fmt.Sprintf("%d%%", percent), nil)
	}
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

// inSystem returns how many jobs are in the system some hours after the first arrival.
func inSystem(res *sim.Result, hours float64) float64 {
	at, jobs := presence(res)
	then := at[0].Add(time.Duration(hours * float64(time.Hour)))
	n, _ := slices.BinarySearchFunc(at, then, func(at, then sojourn.Time) int {
		if at <= then {
			return -1
		}
		return 1
	})
	return float64(jobs[n-1])
}

// hfspTitle returns the name of a policy in the paper: HFSP is WAIT beside KILL.
func hfspTitle(policy string, lines []ecdfLine) string {
	switch {
	case policy == hfspFair:
		return "Fair"
	case policy == hfspKill:
		return "KILL"
	case lines[0].policy == hfspFair:
		return "HFSP"
	}
	return "WAIT"
}

// ecdf returns the distributions of a number over the jobs of all seeds, as the paper draws them.
func (p *Result) ecdf(n jobNumber, title string, lines []ecdfLine) panel {
	f := panel{title: title, x: axis{label: n.title, log: true}, y: axis{label: "ECDF", to: 1}}
	for _, l := range lines {
		var values []float64
		for _, res := range p.samples[paperRun{l.workload, l.policy}].Results {
			values = append(values, n.ofJobs(res, l.bins...)...)
		}
		f.lines = append(f.lines, distribution(hfspTitle(l.policy, lines), values))
	}
	return f
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
			t.Row(t.Under(9, w.name, policy))
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
