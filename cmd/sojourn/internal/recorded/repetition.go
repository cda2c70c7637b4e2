package recorded

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// A repetition has the fields of seeds.json and sweep.json that pages use.
type repetition struct {
	Workload Workload `json:"workload"`
	Cluster  Cluster  `json:"cluster"`
	Told     string   `json:"estimates"`
	Vary     string   `json:"vary"`
	Seed     uint64   `json:"seed"`
	Seeds    int      `json:"seeds"`
	Policies []sample `json:"policies"`
}

// A sample is a policy at one value of what varies.
type sample struct {
	Value    string       `json:"value"`
	Policy   string       `json:"policy"`
	Sojourn  distribution `json:"sojourn"`
	Slowdown distribution `json:"slowdown"`
	Makespan estimate     `json:"makespan"`
	Finished estimate     `json:"finished"`
	Late     struct {
		Jobs estimate `json:"jobs"`
		Max  estimate `json:"max"`
	} `json:"late_vs_ps"`
}

type distribution struct {
	Mean   estimate `json:"mean"`
	Median estimate `json:"median"`
	P90    estimate `json:"p90"`
	P99    estimate `json:"p99"`
	Max    estimate `json:"max"`
}

// An estimate is a mean over seeds and its confidence interval; what is not known is nil.
type estimate struct {
	Mean  *float64    `json:"mean"`
	CI    [2]*float64 `json:"ci"`
	Close bool        `json:"close"`
}

func known(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// cell returns the mean and half of the interval, and a mark if it is not significantly greater than the least.
func (e *estimate) cell() page.Cell {
	c := shown(known(e.Mean))
	if half := (known(e.CI[1]) - known(e.CI[0])) / 2; half > 0 {
		c.Text += " ± " + shown(half).Text
	}
	if e.Close {
		c.Text += " ~"
	}
	return c
}

func readRepetition(path string) (*repetition, error) {
	r := new(repetition)
	if err := readJSON(path, r); err != nil {
		return nil, err
	}
	if len(r.Policies) == 0 || r.Seeds == 0 || r.Workload.Name == "" || r.Policies[0].Sojourn.Mean.Mean == nil {
		return nil, fmt.Errorf("%s: this version of sojourn cannot read it: it does not name a workload, seeds and policies with their sojourn times", path)
	}
	return r, nil
}

// readSeeds returns the page of compare --seeds.
func readSeeds(dir string) (*page.Report, error) {
	r, err := readRepetition(filepath.Join(dir, files.Seeds))
	if err != nil {
		return nil, err
	}
	out := r.page(fmt.Sprintf("%d policies on %s, %s", len(r.Policies), r.Workload.Name, format.Count(r.Seeds, "seed")))
	if len(r.Policies) == 1 {
		out.Title = fmt.Sprintf("%s on %s, %s", r.Policies[0].Policy, r.Workload.Name, format.Count(r.Seeds, "seed"))
	}
	out.Verdict = r.verdict(r.Policies, "")
	kinds := []string{"mean", "median", "p90", "p99", "longest"}
	for _, m := range []struct {
		id, title, label, unit string
		of                     func(*sample) *distribution
	}{
		{"sojourn", "How long jobs take", "sojourn time", "s", func(s *sample) *distribution { return &s.Sojourn }},
		{"slowdown", "How much longer than alone", "slowdown", "times", func(s *sample) *distribution { return &s.Slowdown }},
	} {
		p := page.Plot{ID: m.id, Title: m.title, X: page.Axis{Label: "what is averaged over the seeds", Scale: page.Categoric, Names: kinds}, Y: page.Axis{Label: m.label, Unit: m.unit, Scale: page.Log},
			Help: "Lower is better. p90: 90 of 100 jobs take at most that long. A whisker is the 95 % confidence interval over the seeds: policies whose whiskers overlap widely may differ by chance alone. It ends at a tenth of the mean if it would go below."}
		for i := range r.Policies {
			d := m.of(&r.Policies[i])
			s := banded{page.Series{Name: r.Policies[i].Policy}}
			for k, e := range []*estimate{&d.Mean, &d.Median, &d.P90, &d.P99, &d.Max} {
				s.add(float64(k), e)
			}
			p.Series = append(p.Series, s.Series)
		}
		out.Plots = append(out.Plots, p)
	}
	return out, nil
}

// readSweep returns the page of sweep.
func readSweep(dir string) (*page.Report, error) {
	r, err := readRepetition(filepath.Join(dir, files.Sweep))
	if err != nil {
		return nil, err
	}
	var values, policies []string
	for _, s := range r.Policies {
		if !slices.Contains(values, s.Value) {
			values = append(values, s.Value)
		}
		if name := r.policy(&s); !slices.Contains(policies, name) {
			policies = append(policies, name)
		}
	}
	out := r.page(fmt.Sprintf("%s on %s, for %s of %s", strings.Join(policies, ", "), r.Workload.Name, format.Count(len(values), "value"), r.Vary))
	axis, at := r.axis(values)
	for _, m := range []struct {
		id, title string
		axis      page.Axis
		of        func(*sample) *estimate
	}{
		{"mean-sojourn", "Average time in the system", page.Axis{Label: "mean sojourn time", Unit: "s"}, func(s *sample) *estimate { return &s.Sojourn.Mean }},
		{"p99-sojourn", "The slowest jobs", page.Axis{Label: "p99 of the sojourn time", Unit: "s"}, func(s *sample) *estimate { return &s.Sojourn.P99 }},
		{"mean-slowdown", "How much longer than alone", page.Axis{Label: "mean slowdown", Unit: "times"}, func(s *sample) *estimate { return &s.Slowdown.Mean }},
		{"late", "Jobs later than under fair sharing", page.Axis{Label: "jobs"}, func(s *sample) *estimate { return &s.Late.Jobs }},
	} {
		p := page.Plot{ID: m.id, Title: m.title, X: axis, Y: m.axis, Help: "Lower is better."}
		if r.Seeds > 1 {
			p.Help += " A band or whisker is the 95 % confidence interval over the seeds."
		}
		for _, name := range policies {
			s := banded{page.Series{Name: name}}
			for i := range r.Policies {
				if r.policy(&r.Policies[i]) == name {
					s.add(at(r.Policies[i].Value), m.of(&r.Policies[i]))
				}
			}
			p.Series = append(p.Series, s.Series)
		}
		out.Plots = append(out.Plots, p)
	}
	out.Verdict = r.sweepVerdict(values)
	return out, nil
}

// policy returns the name of the line of a sample: without the option that varies.
func (r *repetition) policy(s *sample) string {
	of, option, isOption := strings.Cut(r.Vary, ":")
	if isOption && (s.Policy == of || strings.HasPrefix(s.Policy, of+":")) {
		name := strings.Replace(s.Policy, option+"="+s.Value, "", 1)
		return strings.TrimRight(strings.ReplaceAll(strings.Replace(name, ":,", ":", 1), ",,", ","), ":,")
	}
	return s.Policy
}

// axis returns the axis of what varies, and the place of each value on it.
func (r *repetition) axis(values []string) (page.Axis, func(string) float64) {
	label := r.Vary
	switch label {
	case "load":
		label = "load: work that arrives, over work that can be done"
	case "error":
		label = "error of the estimates (sigma of its logarithm)"
	}
	for _, v := range values {
		if x, err := strconv.ParseFloat(v, 64); err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return page.Axis{Label: label, Scale: page.Categoric, Names: values}, func(v string) float64 { return float64(slices.Index(values, v)) }
		}
	}
	return page.Axis{Label: label}, func(v string) float64 {
		x, _ := strconv.ParseFloat(v, 64) // it was read above
		return x
	}
}

// A banded is a series in the making.
type banded struct{ page.Series }

func (s *banded) add(x float64, e *estimate) {
	s.X, s.Y = append(s.X, x), append(s.Y, known(e.Mean))
	if e.CI[0] != nil && e.CI[1] != nil {
		s.Low, s.High = append(s.Low, max(*e.CI[0], known(e.Mean)/10)), append(s.High, *e.CI[1])
	}
	if len(s.Low) != len(s.X) {
		s.Low, s.High = nil, nil
	}
}

// page returns the page of a repetition without verdict and plots.
func (r *repetition) page(title string) *page.Report {
	t := page.Table{ID: "policies", Title: "All policies in numbers", Help: "Click a head to sort. p90 and p99: 90 and 99 of 100 jobs take at most that long."}
	if r.Seeds > 1 {
		t.Help += fmt.Sprintf(" Means over %d seeds, ± half of the 95 %% confidence interval. ~ does not differ significantly from the best.", r.Seeds)
	}
	if r.Vary != "" {
		t.Columns = []page.Column{{Name: r.Vary}}
	}
	t.Columns = append(t.Columns, page.Column{Name: "policy"})
	t.Columns = append(t.Columns, columns(
		[2]string{"mean sojourn time", "s"}, [2]string{"median", "s"}, [2]string{"p90", "s"}, [2]string{"p99", "s"}, [2]string{"longest", "s"},
		[2]string{"mean slowdown", "times"}, [2]string{"p99 slowdown", "times"}, [2]string{"later than under fair sharing", "jobs"}, [2]string{"latest", "s"}, [2]string{"makespan", "s"})...)
	for i := range r.Policies {
		s := &r.Policies[i]
		row := []page.Cell{text(s.Policy)}
		if r.Vary != "" {
			row = []page.Cell{text(s.Value), text(s.Policy)}
		}
		for _, e := range []*estimate{&s.Sojourn.Mean, &s.Sojourn.Median, &s.Sojourn.P90, &s.Sojourn.P99, &s.Sojourn.Max, &s.Slowdown.Mean, &s.Slowdown.P99, &s.Late.Jobs, &s.Late.Max, &s.Makespan} {
			row = append(row, e.cell())
		}
		t.Rows = append(t.Rows, row)
	}
	facts := []page.Fact{
		{Name: "workload", Text: fmt.Sprintf("%s: %s, %s", r.Workload.describe(), format.Count(r.Workload.Jobs, "job"), format.Count(r.Workload.Tasks, "task"))},
		{Name: "cluster", Text: fmt.Sprintf("%s: %s, %s", r.Cluster.Name, format.Count(r.Cluster.Nodes, "node"), format.Count(r.Cluster.total(), "slot"))},
		{Name: "seeds", Text: fmt.Sprintf("%d, from %d on", r.Seeds, r.Seed)},
	}
	if r.Told != "" {
		facts = append(facts, page.Fact{Name: "sizes that policies are told", Text: r.Told})
	}
	return &page.Report{Title: title, Facts: facts, Tables: []page.Table{t}}
}

// least returns the sample of the least mean sojourn time, and the second and the last.
func least(samples []sample) (best, next, worst *sample) {
	var order []*sample
	for i := range samples {
		if !math.IsNaN(known(samples[i].Sojourn.Mean.Mean)) {
			order = append(order, &samples[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *sample) int { return cmp.Compare(*a.Sojourn.Mean.Mean, *b.Sojourn.Mean.Mean) })
	if len(order) == 0 {
		return nil, nil, nil
	}
	return order[0], order[min(1, len(order)-1)], order[len(order)-1]
}

// less returns by which share a is less than b.
func less(a, b float64) string {
	switch share := 100 * (b - a) / b; {
	case share == 0:
		return "not"
	case share < 0.1:
		return "under 0.1 %"
	case share < 10:
		return format.Number(share, 1) + " %"
	default:
		return format.Number(share, 0) + " %"
	}
}

// verdict compares samples that were run with the same seeds.
func (r *repetition) verdict(samples []sample, where string) []string {
	best, next, worst := least(samples)
	if best == nil {
		return []string{"No job finished."}
	}
	m := *best.Sojourn.Mean.Mean
	if len(samples) == 1 {
		return []string{fmt.Sprintf("Under %s, a job takes %s on average from its arrival to its end%s.", best.Policy, duration(m), where)}
	}
	text := fmt.Sprintf("on average from its arrival to its end, %s less than under %s", less(m, *worst.Sojourn.Mean.Mean), worst.Policy)
	if len(samples) > 2 {
		text += fmt.Sprintf(", the worst of %d", len(samples))
	}
	close := closeTo(samples)
	list := []string{fmt.Sprintf("%s is best%s: a job takes %s %s.", best.Policy, where, duration(m), text)}
	switch {
	case r.Seeds == 1:
	case len(close) == len(samples)-1:
		list = []string{
			fmt.Sprintf("No policy is clearly best%s.", where),
			fmt.Sprintf("Under %s, a job takes %s %s. But with %d seeds, this may be chance.", best.Policy, duration(m), text, r.Seeds),
		}
	case len(close) > 0:
		list = append(list, fmt.Sprintf("Its lead over %s may be chance: with %d seeds it is not significant.", strings.Join(close, ", "), r.Seeds))
	default:
		list = append(list, fmt.Sprintf("This is hardly chance: with %d seeds, its lead over each other policy is significant. The next best is %s.", r.Seeds, next.Policy))
	}
	return append(list, tail(samples, best))
}

// closeTo returns the policies whose mean is not significantly greater than the least.
func closeTo(samples []sample) (names []string) {
	for i := range samples {
		if samples[i].Sojourn.Mean.Close {
			names = append(names, samples[i].Policy)
		}
	}
	return names
}

// tail says which policy is kinder to the slowest jobs than the best one.
func tail(samples []sample, best *sample) string {
	kind := best
	for i := range samples {
		if known(samples[i].Sojourn.P99.Mean) < known(kind.Sojourn.P99.Mean) {
			kind = &samples[i]
		}
	}
	if kind == best {
		return fmt.Sprintf("The slowest jobs are no worse off either: under %s, the slowest one of 100 takes over %s, no more than under any other.", best.Policy, duration(known(best.Sojourn.P99.Mean)))
	}
	return fmt.Sprintf("%s is worse for the slowest jobs: the slowest one of 100 takes over %s, and over %s under %s.", best.Policy, duration(known(best.Sojourn.P99.Mean)), duration(known(kind.Sojourn.P99.Mean)), kind.Policy)
}

// sweepVerdict says which policy is best for each value, or which value is best if an option
// varies.
func (r *repetition) sweepVerdict(values []string) []string {
	if strings.Contains(r.Vary, ":") {
		return r.verdict(r.Policies, "")
	}
	wins := map[string][]string{}
	var winners []string
	for _, v := range values {
		if best, _, _ := least(r.of(v)); best != nil {
			if wins[best.Policy] == nil {
				winners = append(winners, best.Policy)
			}
			wins[best.Policy] = append(wins[best.Policy], v)
		}
	}
	last := values[len(values)-1]
	list := r.verdict(r.of(last), fmt.Sprintf(" at %s %s", r.Vary, last))
	leads := len(closeTo(r.of(last))) < len(r.of(last))-1 // which is false for one policy
	switch {
	case len(winners) == 1 && len(values) > 1 && leads:
		list = slices.Insert(list, 0, fmt.Sprintf("Under %s, jobs take the least time on average at each %s.", winners[0], r.Vary))
	case len(winners) > 1:
		var parts []string
		for _, w := range winners {
			parts = append(parts, fmt.Sprintf("%s at %s", w, strings.Join(wins[w], ", ")))
		}
		list = slices.Insert(list, 0, fmt.Sprintf("Which policy is best depends on the %s: %s.", r.Vary, strings.Join(parts, "; ")))
	}
	return list
}

// of returns the samples of a value.
func (r *repetition) of(value string) []sample {
	return slices.DeleteFunc(slices.Clone(r.Policies), func(s sample) bool { return s.Value != value })
}
