package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The policies of the TD paper's experiments, and those that it should have been
// compared with.
const (
	tdFIFO    = "fifo"
	tdFair    = "fair:ties=arrival"
	tdDelay   = "fair:ties=arrival,delay=5s,rack-delay=0s"
	tdGreedy  = "local"
	tdPaper   = "td:h=1.3"
	tdPrinted = "td:as-printed=true,h=1.3"
	tdDerived = "td"
	tdTuned   = "td:self-tune=true"
)

// tdPolicies are all of them.
var tdPolicies = [...]string{tdFIFO, tdFair, tdDelay, tdGreedy, tdPaper, tdPrinted, tdDerived, tdTuned}

// A tdQueue is a type of job queue, and how many replicas each split has.
type tdQueue struct {
	name, job string
	replicas  int
}

// tdTypes are the paper's types of job queues.
var tdTypes = [...]tdQueue{
	{"small", "small", 1}, {"mix", "mix", 1}, {"large", "large", 1},
	{"small/3", "small", 3}, {"mix/3", "mix", 3}, {"large/3", "large", 3},
}

// tdSizes are the sizes of job queues in GB besides 200.
var tdSizes = [...]int{100, 150, 250, 300}

// tdNetwork is what a node has in each direction.
const tdNetwork = trial.ByteCount(12.5 * (1 << 20))

// tdNotes say what the paper leaves open.
var tdNotes = [...]string{
	"small/3, mix/3 and large/3 have three replicas of each split, the others one. The paper does not say; with three, most tasks are local under FIFO as well, unlike in its Figure 8.",
	"Network: a task that is not on the node of its input first transfers it, at the lesser of the equal shares of two links: that of the node it reads from and its own. Links have 12.5 MiB/s in each direction, for splits of 64 MiB: a gigabit that is shared with other traffic. The paper says neither. At 110 MiB/s all rows of a column are within a few percent of each other.",
	"FIFO and Fair run the closest task of the job whose turn it is, as Hadoop 0.20 does. Delay scheduling waits 5 s for a node; the nodes have no racks. 'local' runs the closest task of all jobs.",
	"td:h=1.3 has the paper's bounds L = 0.7 and H = 1.3 and leaves no slot idle; as-printed follows Algorithms 1 to 3 to the letter, td derives H by Formula (1), and self-tune applies the bounds only where they serve their purpose.",
	"Task times are assumed: 'sojourn gen td-small --options' lists them.",
}

func localPercent(res *sim.Result) float64 { return 100 * trial.LocalShare(res) }

// tdExperiment returns an experiment over all types of job queues: a row for each policy,
// with the paper's statement by says, and further rows.
func tdExperiment(e Experiment, says func(q tdQueue, policy string) paperRow, further func(q tdQueue) []paperRow) Experiment {
	e.network = trial.Network{Bandwidth: tdNetwork}
	for _, q := range tdTypes {
		gen := "td-" + q.job
		if q.replicas != 1 {
			gen += ":replicas=" + strconv.Itoa(q.replicas)
		}
		w := paperWorkload{q.name, gen, ""}
		e.workloads = append(e.workloads, w)
		for _, policy := range tdPolicies {
			row := says(q, policy)
			row.workload, row.policy = w.name, policy
			e.rows = append(e.rows, row)
		}
		e.rows = append(e.rows, on([]paperWorkload{w}, further(q)...)...)
	}
	e.notes = append(e.notes, tdNotes[:]...)
	return e
}

// tdExperiments returns the experiments of the TD paper, Section V.
func tdExperiments() []Experiment {
	return []Experiment{
		tdFig7(), tdFig8(), tdHotSpots(),
		tdBounds("td-fig9", "completion time by the bounds L and H, 200 GB", "Figure 9", "",
			"Section V-B: above L = 0.7 throughput is reduced 'signally', below it changes little; it grows with H up to 1.3 and falls beyond. Panel (b) has a queue of its own: td-fig9b."),
		tdBounds("td-fig9b", "completion time by the bounds L and H, 200 GB, where jobs ask for up to 35 slots", "Figure 9(b)", "demand=35,",
			"Section V-B: the queue of panel (b) has demands of at most 35, so that H < 1.56 by Formula (1) for each set of jobs that is co-scheduled. Here each job asks for as many slots as it has splits, and at most 35: nearly all ask for 35, where (1) is 1.56 for 100 slots. In td-fig9 jobs ask for 12 % of their splits."),
	}
}

// setUp returns in which set-up a queue judges: in the paper's with one replica.
func (q *tdQueue) setUp() string {
	if q.replicas == 1 {
		return ""
	}
	return "three replicas"
}

// tdAxes and tdLocalAxes are the ends of the axes of Figures 7 and 8, by type.
var (
	tdAxes      = [...]axis{{ticks: ticks(200, 1600, 200), unit: 100}, {ticks: ticks(200, 1200, 200), unit: 100}, {ticks: ticks(200, 1000, 200), unit: 100}}
	tdLocalAxes = [...]axis{{ticks: ticks(0, 80, 10)}, {ticks: ticks(0, 90, 10)}, {ticks: ticks(0, 90, 10)}}
)

// ticks returns the numbers from one to another in steps.
func ticks(from, to, step float64) (list []float64) {
	for v := from; v <= to; v += step {
		list = append(list, v)
	}
	return list
}

// end returns the last tick.
func (a *axis) end() float64 { return a.ticks[len(a.ticks)-1] }

// tdBySize returns Figure 7 or 8: a panel for each type of job queue, with the ends of the paper's axes.
func tdBySize(p *Result, label string, ends []axis) (f panels) {
	sizes := []float64{1, 1.5, 2, 2.5, 3}
	for i, q := range tdTypes[:3] {
		of := panel{title: fmt.Sprintf("(%c) %s jobs", 'a'+i, q.name), x: axis{label: "data size (x 100 GB)", ticks: sizes},
			y: ends[i], stated: "end of the paper's axis"}
		of.y.label, of.y.stated = label, []float64{ends[i].end()}
		for k, policy := range []string{tdPaper, tdFIFO, tdFair} {
			of.lines = append(of.lines, p.line([]string{"TD", "FIFO", "Fair"}[k], joined, sizes, func(i int) paperRun {
				if sizes[i] == 2 {
					return paperRun{q.name, policy}
				}
				return paperRun{fmt.Sprintf("%s %g", q.name, 100*sizes[i]), policy}
			}))
		}
		f = append(f, of)
	}
	return f
}

// tdFig7 returns Figure 7.
func tdFig7() Experiment {
	e := tdExperiment(Experiment{
		Name: "td-fig7", Title: "completion time of job queues of 200 GB", Source: "TD (Wang et al.), Section V, Figure 7",
		measure: trial.Measure{Title: "completion time (s)", Of: trial.Makespan},
		notes: []string{
			"Of Figure 7 the text has no numbers but the ticks of its axes: what is drawn is between the first and the last.",
		},
	}, func(tdQueue, string) paperRow { return paperRow{} },
		func(q tdQueue) []paperRow {
			return []paperRow{
				{policy: tdFIFO, over: tdPaper, claim: above, says: "7-shorter", setUp: q.setUp()},
				{policy: tdFair, over: tdPaper, claim: above, says: "7-shorter", setUp: q.setUp()},
				{policy: tdPrinted, over: tdPaper},
				{policy: tdDelay, over: tdPaper},
				{policy: tdDelay, over: tdTuned},
				{policy: tdGreedy, over: tdTuned, decimals: 4},
			}
		})
	e.addSizes(
		paperRow{policy: tdPaper},
		paperRow{policy: tdFIFO, over: tdPaper, claim: above, says: "7-shorter"},
		paperRow{policy: tdFair, over: tdPaper, claim: above, says: "7-shorter"})
	for i, less := range []string{"large", "mix"} {
		for _, policy := range []string{tdFIFO, tdFair} {
			e.rows = append(e.rows, paperRow{workload: []string{"mix", "small"}[i], policy: policy, over: policy, baseline: less, claim: above, says: "7-small"})
		}
	}
	for i, q := range tdTypes[:3] {
		says := fmt.Sprintf("7%c-axis", 'a'+i)
		for _, policy := range []string{tdFIFO, tdFair, tdPaper} {
			e.rows = append(e.rows,
				paperRow{workload: q.name + " 100", policy: policy, claim: above, limit: tdAxes[i].ticks[0], says: says},
				paperRow{workload: q.name + " 300", policy: policy, claim: below, limit: tdAxes[i].end(), says: says,
					reason: "The network and the times of tasks are assumed."})
		}
	}
	e.draw = func(p *Result) panels { return tdBySize(p, "completion time (x 100 s)", tdAxes[:]) }
	return e
}

// tdFig8 returns Figure 8.
func tdFig8() Experiment {
	// Section V-A gives two numbers of Fair and FIFO.
	percent := map[string]float64{"small": 35, "large": 70}
	reason := map[string]string{
		tdFIFO: "It depends on the numbers of jobs that run at a time and of their tasks, which the paper leaves open: no setting was found that gives both schedulers both numbers.",
		tdFair: "All jobs run at a time here, so that a slot seldom finds its few jobs with a local task, and stays with its job.",
	}
	better := func(setUp string) []paperRow {
		return []paperRow{{policy: tdPaper, over: tdFIFO, claim: above, says: "8-higher", setUp: setUp}, {policy: tdPaper, over: tdFair, claim: above, says: "8-higher", setUp: setUp}}
	}
	e := tdExperiment(Experiment{
		Name: "td-fig8", Title: "share of tasks on the node of their input, 200 GB", Source: "TD (Wang et al.), Section V, Figure 8",
		measure: trial.Measure{Title: "local tasks (%)", Of: localPercent},
		notes: []string{
			"Section V-A has 35 % for Fair and FIFO on small jobs and 70 % on large ones; the chart shows TD above both, and within its axes.",
		},
	}, func(q tdQueue, policy string) paperRow {
		if q.replicas != 1 || reason[policy] == "" {
			return paperRow{}
		}
		row := paperRow{value: percent[q.job], reason: reason[policy]}
		if row.value > 0 {
			row.says = "8-" + q.job
		}
		return row
	}, func(q tdQueue) []paperRow { return better(q.setUp()) })
	e.addSizes(append([]paperRow{{policy: tdFIFO}, {policy: tdFair}, {policy: tdPaper}}, better("")...)...)
	for i, q := range tdTypes[:3] {
		within := func(workload, policy, setUp string) {
			e.rows = append(e.rows, paperRow{workload: workload, policy: policy, claim: below, limit: tdLocalAxes[i].end(), says: fmt.Sprintf("8%c-axis", 'a'+i), setUp: setUp,
				reason: "The algorithms as printed leave slots idle, and place fewer tasks far from their input."})
		}
		within(q.name, tdPaper, "")
		for _, size := range tdSizes {
			within(fmt.Sprintf("%s %d", q.name, size), tdPaper, "")
		}
		within(q.name, tdPrinted, "the algorithms as printed (200 GB)")
	}
	e.draw = func(p *Result) panels { return tdBySize(p, "local assignment ratio (%)", tdLocalAxes[:]) }
	return e
}

// tdHotSpots returns Table I.
func tdHotSpots() Experiment {
	return tdExperiment(Experiment{
		Name: "td-table1", Title: "hot spots of job queues of 200 GB", Source: "TD (Wang et al.), Section V, Table I",
		measure: trial.Measure{Title: "hot spots", Of: trial.HotSpots},
		extra:   tdFifths,
		notes: []string{
			"A hot spot is counted when the readers of a node rise from four to five. The paper counts when there are more than theta, and does not say how large theta is, nor how long a read counts: the numbers are ours to compare with one another.",
		},
	}, func(q tdQueue, policy string) paperRow {
		says := tdTable1(policy, q.job)
		switch {
		case says == nil || q.replicas != 1:
			return paperRow{}
		case policy == tdPaper:
			return paperRow{value: says[5], says: "1-td-" + q.job, reason: "In the paper some reads have no choice, as they may not leave the rack."}
		}
		return paperRow{value: says[5], says: "1-" + strings.TrimSuffix(policy, ":ties=arrival") + "-" + q.job, reason: "The paper does not say how many readers make a hot spot, nor how long a read counts."}
	}, func(q tdQueue) []paperRow {
		if q.replicas != 1 {
			return nil
		}
		return []paperRow{{policy: tdPaper, over: tdFIFO, claim: below, limit: 0.5, says: "1-majority"}, {policy: tdPaper, over: tdFair, claim: below, limit: 0.5, says: "1-majority"}}
	})
}

// addSizes adds rows for each job queue of another size, one replica.
func (e *Experiment) addSizes(rows ...paperRow) {
	var sizes []paperWorkload
	for _, t := range tdTypes[:3] {
		for _, size := range tdSizes {
			sizes = append(sizes, paperWorkload{fmt.Sprintf("%s %d", t.name, size), fmt.Sprintf("td-%s:size=%d", t.job, size), ""})
		}
	}
	e.workloads = append(e.workloads, sizes...)
	e.rows = append(e.rows, on(sizes, rows...)...)
}

// tdBounds returns an experiment on the bounds L and H.
func tdBounds(name, title, figure, demand, says string) Experiment {
	e := Experiment{
		Name: name, Title: title, Source: "TD (Wang et al.), Section V, " + figure, measure: trial.Measure{Title: "completion time (s)", Of: trial.Makespan},
		network: trial.Network{Bandwidth: tdNetwork},
		notes: []string{
			says,
			"With the bounds as printed, slots stay idle when jobs are at their upper bound: a higher H helps because it leaves fewer idle, and the paper's optimum at H = 1.3 does not come out. td leaves none idle.",
			tdNotes[1], tdNotes[4],
		},
	}
	lower, upper := []string{"0.5", "0.6", "0.7", "0.8", "0.9"}, []string{"1.1", "1.2", "1.3", "1.4", "1.5"}
	bounds := func(printed, l, h string) string { return fmt.Sprintf("td:%s%sl=%s,h=%s", printed, demand, l, h) }
	ofPanel := func(b bool, printed string) string { // the set-up of a statement on panel (a) or (b)
		var other []string
		if b != (demand != "") {
			other = append(other, map[bool]string{true: "demands of 12 %", false: "demands of at most 35"}[b])
		}
		if printed != "" {
			other = append(other, "the algorithms as printed")
		}
		return strings.Join(other, " and ")
	}
	for _, t := range tdTypes[:3] {
		e.workloads = append(e.workloads, paperWorkload{t.name, "td-" + t.job, ""})
		for _, printed := range []string{"", "as-printed=true,"} {
			row := func(l, h string) paperRow { return paperRow{workload: t.name, policy: bounds(printed, l, h)} }
			ratio := func(l, h string, says paperRow) paperRow {
				says.workload, says.policy, says.over, says.setUp = t.name, bounds(printed, l, h), bounds(printed, "0.7", "1.3"), ofPanel(h != "1.3", printed)
				if h != "1.3" {
					says.reason = "A higher H leaves fewer slots idle where the algorithms are as printed; slots that stay with their job are not seen to cost anything."
				}
				return says
			}
			for _, l := range []string{"0.1", "0.5", "0.6", "0.7", "0.8", "0.9", "1"} {
				e.rows = append(e.rows, row(l, "1.3"))
			}
			for _, h := range []string{"1", "1.1", "1.2", "1.4", "1.5", "3"} {
				e.rows = append(e.rows, row("0.7", h))
			}
			e.rows = append(e.rows,
				ratio("0.5", "1.3", paperRow{value: 1, says: "9-low"}), ratio("0.6", "1.3", paperRow{value: 1, says: "9-low"}), ratio("0.9", "1.3", paperRow{claim: above, says: "9-high"}),
				ratio("0.7", "1.1", paperRow{claim: above, says: "9-upper"}), ratio("0.7", "1.5", paperRow{claim: above, says: "9-beyond"}))
			for _, b := range []bool{false, true} {
				says, over := "9a-axis", func(i int) string { return bounds(printed, lower[i], "1.3") }
				if b {
					says, over = "9b-axis", func(i int) string { return bounds(printed, "0.7", upper[i]) }
				}
				end := func(part string, c claim, limit float64, worst func(...float64) float64) {
					e.rows = append(e.rows, paperRow{workload: t.name, part: part + " of panel (" + says[1:2] + ")" + map[bool]string{true: ", as printed"}[printed != ""],
						claim: c, limit: limit, says: says, setUp: ofPanel(b, printed), reason: "The network and the times of tasks are assumed.",
						each: across(nil, func(run func(workload, policy string) float64) float64 {
							var all []float64
							for i := range lower {
								all = append(all, run(t.name, over(i)))
							}
							return worst(all...)
						})})
				}
				end("least", above, 500, func(v ...float64) float64 { return slices.Min(v) })
				end("greatest", below, 850, func(v ...float64) float64 { return slices.Max(v) })
			}
		}
	}
	e.draw = func(p *Result) (f panels) {
		for _, printed := range []string{"", "as-printed=true,"} {
			for b, values := range [][]string{lower, upper} {
				of := panel{title: fmt.Sprintf("(%c)", 'a'+b), x: axis{label: []string{"lower bound L", "upper bound H"}[b]}, y: axis{label: "completion time (x 100 s)", unit: 100, ticks: ticks(500, 850, 50), stated: []float64{500, 850}}, stated: "ends of the paper's axis"}
				if printed != "" {
					of.title += ", the algorithms as printed"
				}
				for _, v := range values {
					x, _ := strconv.ParseFloat(v, 64)
					of.x.ticks = append(of.x.ticks, x)
				}
				for _, t := range tdTypes[:3] {
					of.lines = append(of.lines, p.line(t.name+" jobs", joined, of.x.ticks, func(i int) paperRun {
						if b == 1 {
							return paperRun{t.name, bounds(printed, "0.7", values[i])}
						}
						return paperRun{t.name, bounds(printed, values[i], "1.3")}
					}))
				}
				f = append(f, of)
			}
		}
		return f
	}
	return e
}

// tdTable1 returns a line of Table I: hot spots by fifths of the run and in all; nil
// where there is none.
func tdTable1(policy, job string) []float64 {
	return map[string][]float64{
		tdFair + "small":  {25.3, 19.7, 23, 24.3, 29, 121.3},
		tdFair + "mix":    {17.7, 15.3, 18.3, 15, 20, 86.3},
		tdFair + "large":  {3, 6.3, 4, 4.7, 9, 27},
		tdFIFO + "small":  {23, 18.3, 19.7, 22.7, 25, 108.7},
		tdFIFO + "mix":    {14, 13.3, 15.7, 16.3, 19.7, 79},
		tdFIFO + "large":  {2, 5.7, 3.7, 4, 6.3, 21.7},
		tdPaper + "small": {0, 0, 0.7, 0, 2, 2.7},
		tdPaper + "mix":   {0, 1, 0, 0, 1.7, 2.7},
		tdPaper + "large": {0, 0, 0, 0, 0.7, 0.7},
	}[policy+job]
}

// tdFifths returns the means of hot spots by fifths of the tasks that were started.
func tdFifths(p *Result) (string, any) {
	type line struct {
		Workload string        `json:"workload"`
		Policy   string        `json:"policy"`
		Ours     []format.Real `json:"ours"`
		Paper    []float64     `json:"paper,omitempty"`
	}
	var lines []line
	t := &format.Table{Corner: fmt.Sprintf("%-9s  %s", "workload", "policy")}
	for _, group := range []string{"ours, by percent of the tasks started", "paper"} {
		for _, title := range []string{"1-20", "21-40", "41-60", "61-80", "81-100"} {
			t.Add(group, title, nil)
		}
	}
	for _, w := range tdTypes {
		for _, policy := range tdPolicies {
			l := line{Workload: w.name, Policy: policy}
			if w.replicas == 1 {
				l.Paper = tdTable1(policy, w.job)
			}
			var cells [10]string
			for k := range 5 {
				mean := stats.Mean(p.samples[paperRun{w.name, policy}].Values(func(res *sim.Result) float64 {
					return float64(res.Transfers.HotSpotsByFifth[k])
				})).Mean
				l.Ours = append(l.Ours, format.Real(mean))
				cells[k], cells[5+k] = format.Number(mean, 1), "-"
				if l.Paper != nil {
					cells[5+k] = format.Number(l.Paper[k], 1)
				}
			}
			t.Row(t.Under(9, w.name, policy), cells[:]...)
			lines = append(lines, l)
		}
	}
	return t.String(), lines
}
