package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/sim"
)

// A report prints the results of a scenario as tables of at most 100 columns.
type report struct {
	*scenario
	specs   []catalog.Spec
	results []*sim.Result
}

func (r *report) write(w io.Writer) error {
	blocks := []string{r.header(), r.main().String(), r.slowdown().String()}
	for _, block := range []func() string{r.bounds, r.deadlines, r.locality, r.network, r.attempts, r.leftovers, r.bins} {
		if text := block(); text != "" {
			blocks = append(blocks, text)
		}
	}
	blocks = append(blocks, r.legend())
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// header names what was simulated.
func (r *report) header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.cluster.name, r.cluster.describe())
	separator := "; load "
	known := r.workload.facts()
	load := known.load(r.cluster)
	for class, name := range r.cluster.classes() {
		if known.span() > 0 {
			if r.cluster.Uniform {
				name = ""
			}
			b.WriteString(strings.TrimRight(separator+number(load[class], 2)+" "+name, " "))
			separator = ", "
		}
	}
	if scaled := r.scenario.load.String(); scaled != "" {
		b.WriteString("; " + scaled)
	}
	return hang("workload   ", fmt.Sprintf("%s: %s, %s, %s", r.workload.name,
		count(known.count, "job"), count(known.tasks, "task"), arrivals(&known))) +
		hang("cluster    ", b.String()) +
		r.scenario.locality.header(r.workload) +
		hang("estimates  ", fmt.Sprintf("%s; seed %d", estimatesText(r.scenario.estimates.String(), &known), r.seed))
}

// estimatesText says what policies are told of service times: --estimates, but for the
// jobs that bring estimates of their own.
func estimatesText(flag string, known *facts) string {
	switch told := known.told; told {
	case 0:
		return flag
	case known.count:
		return "those of the workload"
	default:
		return fmt.Sprintf("those of the workload for %s, %s for the others", count(told, "job"), flag)
	}
}

// arrivals says how long the jobs of a workload arrive.
func arrivals(known *facts) string {
	if known.span() == 0 {
		return "all arriving at once"
	}
	return "arriving over " + span(known.span())
}

// table returns a table with a line for each policy.
func (r *report) table() *table {
	t := &table{corner: "policy"}
	for _, s := range r.specs {
		t.names = append(t.names, s.String())
	}
	return t
}

// floats returns a column of numbers.
func (r *report) floats(f func(*sim.Result) float64) []string {
	values := make([]float64, len(r.results))
	for i, res := range r.results {
		values[i] = f(res)
	}
	return column(values)
}

// texts returns a column of cells.
func (r *report) texts(f func(*sim.Result) string) []string {
	cells := make([]string, len(r.results))
	for i, res := range r.results {
		cells[i] = f(res)
	}
	return cells
}

// addDist adds the columns of a distribution.
func (r *report) addDist(t *table, group string, dist func(*sim.Result) *sim.Dist) {
	add := func(title string, number func(*sim.Dist) float64) {
		t.add(group, title, r.floats(func(res *sim.Result) float64 { return known(dist(res), number) }))
	}
	add("mean", func(d *sim.Dist) float64 { return d.Mean })
	add("median", func(d *sim.Dist) float64 { return d.Median })
	add("p90", func(d *sim.Dist) float64 { return d.P90 })
	add("p99", func(d *sim.Dist) float64 { return d.P99 })
	add("max", func(d *sim.Dist) float64 { return d.Max })
}

// main is the table that matters: fairness first, then time.
func (r *report) main() *table {
	const fluid = "against fluid fair sharing"
	t := r.table()
	t.add(fluid, "beyond_bound", r.texts(func(res *sim.Result) string { return thousands(res.Audit.BeyondBound) }))
	t.add(fluid, "later", r.texts(func(res *sim.Result) string { return thousands(res.Audit.Late) }))
	t.add(fluid, "latest", r.floats(func(res *sim.Result) float64 { return res.Audit.Latest.Seconds() }))
	r.addDist(t, "sojourn time (s)", func(res *sim.Result) *sim.Dist { return &res.Sojourn })
	t.add("", "makespan", r.floats(func(res *sim.Result) float64 { return res.Makespan.Seconds() }))
	for class, name := range r.cluster.classes() {
		t.add("utilisation", name, r.texts(func(res *sim.Result) string { return percent(res.Utilisation[class]) }))
	}
	return t
}

// slowdown is the table of what waiting means to jobs of different sizes.
func (r *report) slowdown() *table {
	t := r.table()
	r.addDist(t, "slowdown", func(res *sim.Result) *sim.Dist { return &res.Slowdown })
	r.addDist(t, "bounded slowdown (10 s)", func(res *sim.Result) *sim.Dist { return &res.BoundedSlowdown })
	t.add("", "Jain", r.texts(func(res *sim.Result) string { return number(res.Jain, 3) }))
	return t
}

// bounds compares with what no schedule can beat, or says why that is not known.
func (r *report) bounds() string {
	if r.unbound != nil {
		return hang("no lower bound: ", r.unbound.Error())
	}
	if r.bound == nil {
		return ""
	}
	t := r.table()
	add := func(title string, ratio func(*sim.Result) float64) {
		t.add("times the lower bound", title, r.texts(func(res *sim.Result) string { return number(ratio(res), 3) }))
	}
	add("completion", r.bound.completionRatio)
	add("sojourn", r.bound.sojournRatio)
	return t.String() + fmt.Sprintf("no schedule has a weighted mean sojourn time below %s s\n", number(r.bound.meanSojourn(), 3))
}

// any reports whether a result has something to show.
func (r *report) any(has func(*sim.Result) bool) bool { return slices.ContainsFunc(r.results, has) }

// deadlines is empty for a workload without them.
func (r *report) deadlines() string {
	if !r.any(func(res *sim.Result) bool { return res.Deadlines > 0 }) {
		return ""
	}
	t := r.table()
	add := func(title string, f func(*sim.Result) int) {
		t.add("deadlines", title, r.texts(func(res *sim.Result) string { return thousands(f(res)) }))
	}
	add("jobs", func(res *sim.Result) int { return res.Deadlines })
	add("accepted", func(res *sim.Result) int { return res.Accepted })
	if r.retest {
		add("at retest", func(res *sim.Result) int { return res.Retested })
	}
	add("met", func(res *sim.Result) int { return res.Met })
	add("missed", func(res *sim.Result) int { return res.Accepted - res.Met })
	if r.any(func(res *sim.Result) bool { return res.Void > 0 }) {
		add("void", func(res *sim.Result) int { return res.Void })
	}
	r.addDist(t, "tardiness (s)", func(res *sim.Result) *sim.Dist { return &res.Tardiness })
	text := t.String()
	for i := range r.results {
		text += r.rolls[i].voids(r.specs[i].String())
	}
	return text
}

// locality is empty for a workload without inputs.
func (r *report) locality() string {
	total := func(res *sim.Result) int {
		return res.Locality[sojourn.NodeLocal] + res.Locality[sojourn.RackLocal] + res.Locality[sojourn.Remote]
	}
	if !r.any(func(res *sim.Result) bool { return total(res) > 0 }) {
		return ""
	}
	t := r.table()
	for _, l := range []sojourn.Locality{sojourn.NodeLocal, sojourn.RackLocal, sojourn.Remote} {
		t.add("tasks by place of input", l.String(), r.texts(func(res *sim.Result) string {
			return percent(float64(res.Locality[l]) / float64(total(res)))
		}))
	}
	return t.String()
}

// network is empty without --bandwidth.
func (r *report) network() string {
	if !r.any(func(res *sim.Result) bool { return res.Transfers != nil }) {
		return ""
	}
	t := r.table()
	add := func(group, title string, f func(*sim.Transfers) int) {
		t.add(group, title, r.texts(func(res *sim.Result) string { return thousands(f(res.Transfers)) }))
	}
	add("transfers", "finished", func(t *sim.Transfers) int { return t.Finished })
	t.add("transfers", "mean (s)", r.floats(func(res *sim.Result) float64 { return res.Transfers.MeanTime }))
	add("hot spots, in all and by fifths of the attempts", "all", func(t *sim.Transfers) int { return t.HotSpots })
	for i := range 5 {
		add("hot spots, in all and by fifths of the attempts", strconv.Itoa(i+1), func(t *sim.Transfers) int { return t.HotSpotsByFifth[i] })
	}
	for class, name := range r.cluster.classes() {
		t.add("idle slot-seconds", name, r.floats(func(res *sim.Result) float64 { return res.Idle[class] }))
	}
	return t.String()
}

// attempts is empty if every attempt was a success.
func (r *report) attempts() string {
	if !r.any(func(res *sim.Result) bool { return res.Wasted > 0 }) {
		return ""
	}
	t := r.table()
	t.add("attempts", "started", r.texts(func(res *sim.Result) string { return thousands(int(res.Attempts)) }))
	t.add("attempts", "wasted", r.texts(func(res *sim.Result) string { return thousands(int(res.Wasted)) }))
	return t.String()
}

// leftovers counts and names the jobs that did not finish.
func (r *report) leftovers() string {
	if !r.any(func(res *sim.Result) bool { return res.Finished < res.Jobs }) {
		return ""
	}
	t := r.table()
	t.add("jobs", "finished", r.texts(func(res *sim.Result) string { return thousands(res.Finished) }))
	t.add("jobs", "rejected", r.texts(func(res *sim.Result) string { return thousands(res.Rejected) }))
	t.add("jobs", "unsupported", r.texts(func(res *sim.Result) string { return thousands(res.Unsupported) }))
	t.add("jobs", "unfinished", r.texts(func(res *sim.Result) string { return thousands(res.Unfinished) }))
	text := t.String()
	for i := range r.results {
		for _, l := range []struct {
			title   string
			outcome sim.Outcome
		}{{"rejected", sim.Rejected}, {"unsupported", sim.Unsupported}, {"unfinished", sim.Failed}} {
			if list := r.rolls[i].outcomes[l.outcome]; list != nil {
				text += fmt.Sprintf("%s, %s: %s\n", r.specs[i], l.title, list)
			}
		}
	}
	return text
}

// bins compares the means of jobs of similar size, below the number of such jobs.
func (r *report) bins() string {
	t := r.table()
	t.corner = "tasks in a job"
	t.names = append([]string{"(number of jobs)"}, t.names...)
	sizes := r.workload.facts().sizes
	add := func(group string, dist func(*sim.Bin) *sim.Dist) {
		for b, bin := range r.results[0].Bins {
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
				return known(dist(&res.Bins[b]), func(d *sim.Dist) float64 { return d.Mean })
			})
			t.add(group, binTitle(&bin), append([]string{thousands(jobs)}, means...))
		}
	}
	add("mean sojourn time (s)", func(b *sim.Bin) *sim.Dist { return &b.Sojourn })
	add("mean slowdown", func(b *sim.Bin) *sim.Dist { return &b.Slowdown })
	return t.String()
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
func (r *report) furthest() string {
	phases, some := 0, []string(nil)
	seconds := r.floats(func(res *sim.Result) float64 { return res.Audit.Furthest.Seconds() })
	for i, res := range r.results {
		if phases = max(phases, res.Audit.Phases); res.Audit.BeyondBound > 0 {
			some = append(some, r.specs[i].String()+" "+seconds[i]+" s")
		}
	}
	text := fmt.Sprintf("of %s, none", count(phases, "phase"))
	if len(some) > 0 {
		text = fmt.Sprintf("of %s, by at most: %s", count(phases, "phase"), strings.Join(some, ", "))
	}
	return text
}

// legend tells how to read the tables.
func (r *report) legend() string {
	text := hang("beyond_bound   ", "phases that ended later than proved for FSP and PFSP (fluid fair sharing, plus the length of a task or two); "+r.furthest()) +
		hang("later, latest  ", "jobs later than in fluid fair sharing, which splits tasks at will; the most seconds by which one was") +
		hang("sojourn time   ", "from arrival to finish; slowdown: divided by the time alone on the idle cluster (bounded: at least 10 s)") +
		hang("Jain           ", "index of the slowdowns: 1 if they are equal, 1/n if one of n jobs has it all")
	if r.bound != nil {
		text += hang("lower bound    ", "proved for every schedule (package mars), of the weighted sum of completion or sojourn times")
	}
	return text
}
