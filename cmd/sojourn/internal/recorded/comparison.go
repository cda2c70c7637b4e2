package recorded

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// comparison returns the page of runs of the same jobs, at least one.
func comparison(runs []*run) *page.Report {
	first := runs[0]
	c := &compared{runs: runs, names: names(runs), groups: groups(runs)}
	c.measure()
	r := &page.Report{
		Title:   strings.Join(c.names, ", ") + " on " + first.info.Input.Name,
		Verdict: c.verdict(),
		Facts:   c.facts(),
		Command: first.info.again(),
		Plots:   c.plots(),
		Gantt:   c.gantt(),
		Tables:  []page.Table{c.table()},
	}
	if len(runs) > 1 {
		r.Title = fmt.Sprintf("%d policies on %s", len(runs), first.info.Input.Name)
		r.Ratios, r.Bold = c.ratios()
	}
	r.Tables = append(r.Tables, c.jobs())
	for i, run := range runs {
		if note := run.boxes.note(); note != "" {
			r.Notes = append(r.Notes, c.names[i]+": "+note+" Numbers, lines and tables count all.")
		}
	}
	return r
}

// A compared has runs of the same jobs.
type compared struct {
	runs     []*run
	names    []string
	groups   []group
	measures []measure // of the jobs that finish in every run; none of a single run
}

// names returns the policies, with the folder where two are alike.
func names(runs []*run) []string {
	list := make([]string, len(runs))
	for i, r := range runs {
		list[i] = bounded(r.info.Policy)
		for k, o := range runs {
			if k != i && o.info.Policy == r.info.Policy {
				list[i] += " (" + bounded(filepath.Base(r.dir)) + ")"
				break
			}
		}
	}
	return list
}

// A group is a part of the jobs.
type group struct {
	name string
	jobs []int
}

// groups returns all jobs that finished in every run, and their thirds by work, if there are
// enough for that.
func groups(runs []*run) []group {
	var all []int
	for i := range runs[0].jobs {
		if !slices.ContainsFunc(runs, func(r *run) bool { return math.IsNaN(r.jobs[i].finish) }) {
			all = append(all, i)
		}
	}
	list := []group{{"all jobs", all}}
	if len(all) < 9 {
		return list
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(runs[0].jobs[a].work, runs[0].jobs[b].work) })
	n := len(sorted)
	return append(list, group{"small jobs", sorted[:n/3]}, group{"medium jobs", sorted[n/3 : 2*n/3]}, group{"large jobs", sorted[2*n/3:]})
}

// mean returns the mean sojourn time of the jobs of a group in a run, NaN if it has none.
func (g *group) mean(r *run) float64 {
	sum := 0.0
	for _, i := range g.jobs {
		sum += r.jobs[i].sojourn()
	}
	return sum / float64(len(g.jobs))
}

// order returns the runs from the least mean sojourn time on.
func (c *compared) order() []int {
	order := make([]int, len(c.runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.groups[0].mean(c.runs[a]), c.groups[0].mean(c.runs[b]))
	})
	return order
}

// values returns a number of each job of a run.
func (r *run) values(f func(*job) float64) []float64 {
	v := make([]float64, len(r.jobs))
	for i := range r.jobs {
		v[i] = f(&r.jobs[i])
	}
	return v
}

func (c *compared) plots() []page.Plot {
	share := page.Axis{Label: "share of the jobs", Unit: "%"}
	now := page.Axis{Label: "time", Unit: "s"}
	sojourn := page.Plot{ID: "sojourn", Title: "How long jobs take", Steps: true, Tail: true, Y: share,
		Help: "For each time, the share of the jobs that are in the system no longer than that (ECDF). A line further to the left and higher is better.",
		X:    page.Axis{Label: "sojourn time: from arrival to end", Unit: "s", Scale: page.Log}}
	slowdown := page.Plot{ID: "slowdown", Title: "How much longer than alone", Steps: true, Tail: true, Y: share,
		Help: "Slowdown: the sojourn time, divided by the time that the job takes alone on the idle cluster. 1 is the best possible; higher lines are better.",
		X:    page.Axis{Label: "slowdown", Unit: "times", Scale: page.Log}}
	late := page.Plot{ID: "lateness", Title: "Earlier or later than under fair sharing", Steps: true, Y: share,
		Help: "Jobs left of 0 end earlier than if all jobs shared the cluster equally at all times; jobs right of 0 end later. Ideal fair sharing splits tasks at will, so that no real policy has all jobs left of 0.",
		X:    page.Axis{Label: "end, compared with ideal fair sharing", Unit: "s", Scale: page.SymLog}}
	queue := page.Plot{ID: "queue", Title: "Jobs in the system over time", Steps: true, Time: true, X: now,
		Help: "Jobs that have arrived and have not ended, averaged over short spans of time. Fewer is better.", Y: page.Axis{Label: "jobs"}}
	backlog := page.Plot{ID: "backlog", Title: "Work that waits or runs, over time", Time: true, X: now,
		Help: "The slot time that the jobs need which have arrived, less what is done.", Y: page.Axis{Label: "slot time", Unit: "s"}}
	for i, r := range c.runs {
		name := c.names[i]
		backlog.Series = append(backlog.Series, r.backlog(name))
		sojourn.Series = append(sojourn.Series, ecdf(name, r.values((*job).sojourn), 1e-9))
		slowdown.Series = append(slowdown.Series, ecdf(name, r.values(func(j *job) float64 { return j.slowdown }), 1e-9))
		late.Series = append(late.Series, ecdf(name, r.values(func(j *job) float64 { return j.late }), math.Inf(-1)))
		queue.Series = append(queue.Series, r.live.line(name, 1))
	}
	plots := append([]page.Plot{sojourn, slowdown, late, queue}, c.busy(now)...)
	return slices.DeleteFunc(append(plots, backlog), func(p page.Plot) bool {
		return !slices.ContainsFunc(p.Series, func(s page.Series) bool { return len(s.X) > 0 })
	})
}

// mostClasses is how many classes of slots have plots of their own.
const mostClasses = 4

// busy returns a plot of the slots in use, or one for each class if there are several.
func (c *compared) busy(now page.Axis) []page.Plot {
	plot := page.Plot{ID: "utilisation", Title: "Slots in use over time", Steps: true, Time: true, X: now,
		Help: "The share of the slots that run a task, averaged over short spans of time.", Y: page.Axis{Label: "slots in use", Unit: "%"}}
	classes := c.runs[0].info.Cluster.classes()
	if len(classes) == 1 {
		for i, r := range c.runs {
			plot.Series = append(plot.Series, r.busy.line(c.names[i], float64(r.info.Cluster.total())))
		}
		return []page.Plot{plot}
	}
	var plots []page.Plot
	for k, class := range classes {
		if k == mostClasses {
			plots[0].Help += fmt.Sprintf(" Of %d classes of slots, those %d are shown that have the most slots.", len(classes), k)
			break
		}
		p, name := plot, bounded(class)
		p.ID, p.Title = fmt.Sprintf("%s-%d", plot.ID, k+1), plot.Title+": "+name
		p.Help = fmt.Sprintf("The share of the %s slots of class %s that run a task, averaged over short spans of time.", format.Thousands(c.runs[0].info.Cluster.Slots[class]), strings.TrimPrefix(name, "class "))
		for i, r := range c.runs {
			r.classes[class].until(r.busy.last)
			p.Series = append(p.Series, r.classes[class].line(c.names[i], float64(r.info.Cluster.Slots[class])))
		}
		plots = append(plots, p)
	}
	return plots
}

func (c *compared) gantt() *page.Gantt {
	first := c.runs[0]
	start, end := first.jobs[0].arrival, 0.0
	for _, r := range c.runs {
		end = max(end, r.busy.last, r.live.last)
	}
	g := page.NewGantt(start, end)
	var arrivals []float64
	before := start
	for i := range first.jobs {
		j := &first.jobs[i]
		g.AddJob(j.id, j.name, j.pool, j.arrival, before)
		before = j.arrival
		arrivals = append(arrivals, j.arrival)
	}
	for i, r := range c.runs {
		times := make([]page.JobTimes, len(r.jobs))
		for k := range r.jobs {
			times[k] = page.JobTimes{FirstStart: r.jobs[k].start, Finish: r.jobs[k].finish, Late: r.jobs[k].late}
		}
		l := page.Lanes{Name: c.names[i], Note: r.boxes.note(), Share: float64(len(r.boxes.boxes)) / float64(max(1, r.boxes.seen))}
		if r.boxes.thin > 1 {
			l.Thin = r.boxes.thin
		}
		g.AddRun(l, r.slots, r.boxes.boxes, arrivals, times)
	}
	return g
}

func (c *compared) facts() []page.Fact {
	info := &c.runs[0].info
	facts := []page.Fact{
		{Name: "workload", Text: fmt.Sprintf("%s: %s, %s", info.Input.describe(), format.Count(info.Input.Jobs, "job"), format.Count(info.Input.Tasks, "task"))},
		{Name: "cluster", Text: fmt.Sprintf("%s: %s, %s", info.Cluster.Name, format.Count(info.Cluster.Nodes, "node"), format.Count(info.Cluster.total(), "slot"))},
		{Name: "sizes that policies are told", Text: info.Told},
		{Name: "seed", Text: fmt.Sprint(info.Seed)},
	}
	if info.Input.SHA256 != "" {
		facts = append(facts, page.Fact{Name: "SHA-256 of the workload", Text: info.Input.SHA256})
	}
	if info.Version != "" {
		facts = append(facts, page.Fact{Name: "made by", Text: "sojourn " + info.Version})
	}
	return append(facts,
		page.Fact{Name: "slot", Text: "a place on a node that runs one task at a time"},
		page.Fact{Name: "policy", Text: "the rule that decides which task a free slot runs next"})
}
