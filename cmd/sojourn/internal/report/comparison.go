package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Comparison prints the results of a scenario as tables, below the verdict.
type Comparison struct {
	*trial.Scenario
	Specs   []catalog.Spec
	Results []*sim.Result
}

func (r *Comparison) Write(w io.Writer) error {
	blocks := []string{Header(r.Scenario) + unsized(r.Scenario, r.Specs), r.main().String(), r.slowdown().String() + r.leastSlowdown()}
	if verdict := r.fastest(); verdict != "" {
		blocks = append([]string{verdict + r.bars()}, blocks...)
	}
	for _, block := range []func() string{r.bounds, r.deadlines, r.locality, r.network, r.attempts, r.leftovers, r.bins} {
		if text := block(); text != "" {
			blocks = append(blocks, text)
		}
	}
	blocks = append(blocks, r.legend())
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// Header names what is simulated.
func Header(s *trial.Scenario) string {
	text := ""
	for _, h := range Facts(s) {
		text += format.Hang(fmt.Sprintf("%-11s", h.Name), h.Text)
	}
	return text
}

// Facts names what is simulated.
func Facts(s *trial.Scenario) []page.Fact {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", format.Visible(s.Cluster.Name), s.Cluster.Describe())
	separator := "; load "
	known := s.Workload.Facts()
	load := known.Load(s.Cluster)
	for class, name := range s.Cluster.Classes() {
		if known.Span() > 0 {
			if s.Cluster.Uniform {
				name = ""
			}
			b.WriteString(strings.TrimRight(separator+format.Number(load[class], 2)+" "+name, " "))
			separator = ", "
		}
	}
	if scaled := s.Load.String(); scaled != "" {
		b.WriteString("; " + scaled)
	}
	facts := []page.Fact{
		{Name: "workload", Text: fmt.Sprintf("%s: %s, %s, %s", s.Workload.Name, format.Count(known.Jobs, "job"), format.Count(known.Tasks, "task"), arrivals(&known))},
		{Name: "cluster", Text: b.String()},
	}
	for _, line := range []string{s.Gangs.Header(), s.Locality.Header(s.Workload)} {
		if name, text, ok := strings.Cut(strings.Join(strings.Fields(line), " "), " "); ok {
			facts = append(facts, page.Fact{Name: name, Text: text})
		}
	}
	return append(facts, page.Fact{Name: "estimates", Text: fmt.Sprintf("%s; seed %d", estimatesText(s.Estimates.String(), &known), s.Seed)})
}

// unsized says which policies miss what they are made for.
func unsized(s *trial.Scenario, specs []catalog.Spec) string {
	names := s.Unsized(specs)
	if names == "" {
		return ""
	}
	return format.Hang("no sizes   ", names+": made for sizes, and told none; with --estimates exact they know all")
}

// estimatesText says which service times policies are told: --estimates, except for jobs
// with estimates of their own.
func estimatesText(flag string, known *input.Facts) string {
	switch told := known.Told; told {
	case 0:
		return flag
	case known.Jobs:
		return "those of the workload"
	default:
		return fmt.Sprintf("those of the workload for %s, %s for the others", format.Count(told, "job"), flag)
	}
}

// arrivals says how long the jobs of a workload arrive.
func arrivals(known *input.Facts) string {
	if known.Span() == 0 {
		return "all arriving at once"
	}
	return "arriving over " + format.Span(known.Span())
}

// table returns a table with a line for each policy.
func (r *Comparison) table() *format.Table {
	t := &format.Table{Corner: "policy"}
	for _, s := range r.Specs {
		t.Names = append(t.Names, s.String())
	}
	return t
}

// bars shows the mean sojourn times, in seconds, of two policies or more.
func (r *Comparison) bars() string {
	if len(r.Results) < 2 {
		return ""
	}
	values := make([]float64, len(r.Results))
	for i, res := range r.Results {
		values[i] = meanSojourn(res)
	}
	return format.Bars(r.table().Names, values, "s")
}

// floats returns a column of numbers.
func (r *Comparison) floats(f func(*sim.Result) float64) []string {
	values := make([]float64, len(r.Results))
	for i, res := range r.Results {
		values[i] = f(res)
	}
	return format.Column(values)
}

// texts returns a column of cells.
func (r *Comparison) texts(f func(*sim.Result) string) []string {
	cells := make([]string, len(r.Results))
	for i, res := range r.Results {
		cells[i] = f(res)
	}
	return cells
}

// addDist adds the columns of a distribution.
func (r *Comparison) addDist(to func(group, title string, cells []string), group string, dist func(*sim.Result) *sim.Dist) {
	add := func(title string, number func(*sim.Dist) float64) {
		to(group, title, r.floats(func(res *sim.Result) float64 { return trial.Known(dist(res), number) }))
	}
	add("mean", func(d *sim.Dist) float64 { return d.Mean })
	add("median", func(d *sim.Dist) float64 { return d.Median })
	add("p90", func(d *sim.Dist) float64 { return d.P90 })
	add("p99", func(d *sim.Dist) float64 { return d.P99 })
	add("max", func(d *sim.Dist) float64 { return d.Max })
}

// main is the table that matters: fairness first, then time.
func (r *Comparison) main() *format.Table {
	const fluid = "against fluid fair sharing"
	t := r.table()
	if !r.Gangs.On { // the fluid is no yardstick for gangs
		t.AddMinor(fluid, "beyond_bound", r.texts(func(res *sim.Result) string { return format.Thousands(res.Audit.BeyondBound) }))
		t.AddMinor(fluid, "later", r.texts(func(res *sim.Result) string { return format.Thousands(res.Audit.Late) }))
		t.AddMinor(fluid, "latest (s)", r.floats(func(res *sim.Result) float64 { return res.Audit.Latest.Seconds() }))
	}
	r.addDist(t.Add, "sojourn time (s)", func(res *sim.Result) *sim.Dist { return &res.Sojourn })
	t.AddMinor("", "makespan (s)", r.floats(func(res *sim.Result) float64 { return res.Makespan.Seconds() }))
	for class, name := range r.Cluster.Classes() {
		t.AddMinor("utilisation", name, r.texts(func(res *sim.Result) string { return format.Percent(res.Utilisation[class]) }))
	}
	return t
}

// slowdown is the table of what waiting means to jobs of different sizes.
func (r *Comparison) slowdown() *format.Table {
	t := r.table()
	r.addDist(t.Add, "slowdown", func(res *sim.Result) *sim.Dist { return &res.Slowdown })
	r.addDist(t.AddMinor, "bounded slowdown (10 s)", func(res *sim.Result) *sim.Dist { return &res.BoundedSlowdown })
	t.AddMinor("", "Jain", r.texts(func(res *sim.Result) string { return format.Number(res.Jain, 3) }))
	return t
}

// bounds compares with what no schedule can beat, or says why that is not known.
func (r *Comparison) bounds() string {
	if r.Unbound != nil {
		return format.Hang("no lower bound: ", r.Unbound.Error())
	}
	if r.Bound == nil {
		return ""
	}
	t := r.table()
	add := func(title string, ratio func(*sim.Result) float64) {
		t.Add("times the lower bound", title, r.texts(func(res *sim.Result) string { return format.Number(ratio(res), 3) }))
	}
	add("completion", r.Bound.CompletionRatio)
	add("sojourn", r.Bound.SojournRatio)
	return t.String() + format.Hang("", fmt.Sprintf("no schedule has a weighted mean sojourn time below %s s", format.Number(r.Bound.MeanSojourn(), 3)))
}

// any reports whether a result has something to show.
func (r *Comparison) any(has func(*sim.Result) bool) bool { return slices.ContainsFunc(r.Results, has) }

// deadlines is empty for a workload without them.
func (r *Comparison) deadlines() string {
	if !r.any(func(res *sim.Result) bool { return res.Deadlines > 0 }) {
		return ""
	}
	t := r.table()
	add := func(title string, f func(*sim.Result) int) {
		t.Add("deadlines", title, r.texts(func(res *sim.Result) string { return format.Thousands(f(res)) }))
	}
	add("jobs", func(res *sim.Result) int { return res.Deadlines })
	add("accepted", func(res *sim.Result) int { return res.Accepted })
	if r.Retest {
		add("at retest", func(res *sim.Result) int { return res.Retested })
	}
	add("met", func(res *sim.Result) int { return res.Met })
	add("missed", func(res *sim.Result) int { return res.Accepted - res.Met })
	if r.any(func(res *sim.Result) bool { return res.Void > 0 }) {
		add("void", func(res *sim.Result) int { return res.Void })
	}
	r.addDist(t.Add, "tardiness (s)", func(res *sim.Result) *sim.Dist { return &res.Tardiness })
	text := t.String()
	for i := range r.Results {
		text += r.Rolls[i].Voids(r.Specs[i].String())
	}
	return text + r.mostMet()
}

// locality is empty for a workload without inputs.
func (r *Comparison) locality() string {
	total := func(res *sim.Result) int {
		return res.Locality[sojourn.NodeLocal] + res.Locality[sojourn.RackLocal] + res.Locality[sojourn.Remote]
	}
	if !r.any(func(res *sim.Result) bool { return total(res) > 0 }) {
		return ""
	}
	t := r.table()
	for _, l := range []sojourn.Locality{sojourn.NodeLocal, sojourn.RackLocal, sojourn.Remote} {
		t.Add("tasks by place of input", l.String(), r.texts(func(res *sim.Result) string {
			return format.Percent(float64(res.Locality[l]) / float64(total(res)))
		}))
	}
	return t.String() + r.mostLocal()
}

// network is empty without --bandwidth.
func (r *Comparison) network() string {
	if !r.any(func(res *sim.Result) bool { return res.Transfers != nil }) {
		return ""
	}
	t := r.table()
	add := func(group, title string, f func(*sim.Transfers) int) {
		t.Add(group, title, r.texts(func(res *sim.Result) string { return format.Thousands(f(res.Transfers)) }))
	}
	add("transfers", "finished", func(t *sim.Transfers) int { return t.Finished })
	t.Add("transfers", "mean (s)", r.floats(func(res *sim.Result) float64 { return res.Transfers.MeanTime }))
	add("hot spots, in all and by fifths of the attempts", "all", func(t *sim.Transfers) int { return t.HotSpots })
	for i := range 5 {
		add("hot spots, in all and by fifths of the attempts", strconv.Itoa(i+1), func(t *sim.Transfers) int { return t.HotSpotsByFifth[i] })
	}
	for class, name := range r.Cluster.Classes() {
		t.Add("idle slot-seconds", name, r.floats(func(res *sim.Result) float64 { return res.Idle[class] }))
	}
	return t.String()
}

// attempts is empty if every attempt was a success.
func (r *Comparison) attempts() string {
	if !r.any(func(res *sim.Result) bool { return res.Wasted > 0 }) {
		return ""
	}
	t := r.table()
	t.Add("attempts", "started", r.texts(func(res *sim.Result) string { return format.Thousands(int(res.Attempts)) }))
	t.Add("attempts", "wasted", r.texts(func(res *sim.Result) string { return format.Thousands(int(res.Wasted)) }))
	return t.String()
}

// leftovers counts and names the jobs that did not finish.
func (r *Comparison) leftovers() string {
	if !r.any(func(res *sim.Result) bool { return res.Finished < res.Jobs }) {
		return ""
	}
	t := r.table()
	t.Add("jobs", "finished", r.texts(func(res *sim.Result) string { return format.Thousands(res.Finished) }))
	t.Add("jobs", "rejected", r.texts(func(res *sim.Result) string { return format.Thousands(res.Rejected) }))
	t.Add("jobs", "unsupported", r.texts(func(res *sim.Result) string { return format.Thousands(res.Unsupported) }))
	t.Add("jobs", "unfinished", r.texts(func(res *sim.Result) string { return format.Thousands(res.Unfinished) }))
	text := t.String()
	for i := range r.Results {
		for _, l := range []struct {
			title   string
			outcome sim.Outcome
		}{{"rejected", sim.Rejected}, {"unsupported", sim.Unsupported}, {"unfinished", sim.Failed}} {
			if list := r.Rolls[i].Outcomes[l.outcome]; list != nil {
				text += format.Hang("", fmt.Sprintf("%s, %s: %s", r.Specs[i], l.title, list))
			}
		}
	}
	return text
}

// bins compares the means of jobs of similar size, below the number of such jobs.
func (r *Comparison) bins() string {
	t := r.table()
	t.Corner = "tasks in a job"
	t.Names = append([]string{"(number of jobs)"}, t.Names...)
	sizes := r.Workload.Facts().Sizes
	add := func(group string, dist func(*sim.Bin) *sim.Dist) {
		for b, bin := range r.Results[0].Bins {
			jobs := 0
			for n, with := range sizes {
				if n >= bin.Min && (bin.Max == 0 || n <= bin.Max) {
					jobs += with
				}
			}
			if jobs == 0 {
				continue
			}
			means := r.floats(func(res *sim.Result) float64 {
				return trial.Known(dist(&res.Bins[b]), func(d *sim.Dist) float64 { return d.Mean })
			})
			t.Add(group, binTitle(&bin), append([]string{format.Thousands(jobs)}, means...))
		}
	}
	add("mean sojourn time (s)", func(b *sim.Bin) *sim.Dist { return &b.Sojourn })
	add("mean slowdown", func(b *sim.Bin) *sim.Dist { return &b.Slowdown })
	return t.String() + r.bySize()
}

func binTitle(b *sim.Bin) string {
	switch {
	case b.Max == 0:
		return fmt.Sprintf("%d+", b.Min)
	case b.Min == b.Max:
		return strconv.Itoa(b.Min)
	}
	return fmt.Sprintf("%d-%d", b.Min, b.Max)
}

// furthest tells by how much phases ended beyond the bound, if any did, and of how many.
func (r *Comparison) furthest() string {
	phases, some := 0, []string(nil)
	seconds := r.floats(func(res *sim.Result) float64 { return res.Audit.Furthest.Seconds() })
	for i, res := range r.Results {
		if phases = max(phases, res.Audit.Phases); res.Audit.BeyondBound > 0 {
			some = append(some, r.Specs[i].String()+" "+seconds[i]+" s")
		}
	}
	text := fmt.Sprintf("of %s, none", format.Count(phases, "phase"))
	if len(some) > 0 {
		text = fmt.Sprintf("of %s, by at most: %s", format.Count(phases, "phase"), strings.Join(some, ", "))
	}
	return text
}

// legend tells how to read the tables.
func (r *Comparison) legend() string {
	text := ""
	if !r.Gangs.On {
		text = format.Hang("beyond_bound   ", "phases that ended later than proved for FSP and PFSP without a reserve (fluid fair sharing, plus the length of a task or two); "+r.furthest()) +
			format.Hang("later, latest  ", "jobs later than in fluid fair sharing, which splits tasks at will; the most seconds by which one was")
	}
	text += format.Hang("sojourn time   ", "from arrival to finish; slowdown: divided by the time alone on the idle cluster (bounded: at least 10 s)") +
		format.Hang("Jain           ", "index of the slowdowns: 1 if they are equal, 1/n if one of n jobs has it all")
	if r.Bound != nil {
		text += format.Hang("lower bound    ", "proved for every schedule (package mars), of the weighted sum of completion or sojourn times")
	}
	return text
}
