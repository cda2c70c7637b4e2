package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars/plan"
)

// bestPlan returns the plan of the least objective, the first of several.
func bestPlan(plans []*plan.Schedule) *plan.Schedule {
	return slices.MinFunc(plans, func(a, b *plan.Schedule) int {
		switch {
		case a.Objective < b.Objective:
			return -1
		case a.Objective > b.Objective:
			return 1
		}
		return 0
	})
}

// A planSummary is what plan prints as JSON. Bounds and objectives are in weight
// times seconds.
type planSummary struct {
	Workload       workloadSummary `json:"workload"`
	Cluster        clusterSummary  `json:"cluster"`
	LowerBound     real            `json:"lower_bound"`
	BestLowerBound real            `json:"best_lower_bound"`
	UpperBound     real            `json:"upper_bound"` // of the linear program
	Gap            real            `json:"gap"`
	Plans          []planResult    `json:"plans"`
}

// A planResult is one plan. Guarantee is null where nothing is proved of a planner.
type planResult struct {
	Policy    string  `json:"policy"`
	Objective real    `json:"objective"`
	Ratio     real    `json:"ratio"`
	BestRatio real    `json:"best_ratio"` // to best_lower_bound
	Guarantee real    `json:"guarantee"`
	Makespan  seconds `json:"makespan"`
}

func newPlanSummary(w *workload, c *cluster, plans []*plan.Schedule) planSummary {
	slots := c.Capacity()
	b := &plans[0].Bound
	s := planSummary{
		Workload:       workloadSummary{Name: w.name, SHA256: w.sha256, Jobs: len(w.jobs), Load: map[string]real{}},
		Cluster:        clusterSummary{Name: c.name, Nodes: len(c.Nodes), Slots: map[string]int{}},
		LowerBound:     real(b.LowerBound),
		BestLowerBound: real(b.BestLowerBound),
		UpperBound:     real(b.UpperBoundLP),
		Gap:            real(b.Gap),
	}
	known := w.facts()
	s.Workload.Tasks = known.tasks
	load := known.load(c)
	for class, name := range c.classes() {
		s.Workload.Load[name] = real(load[class])
		s.Cluster.Slots[name] = slots[class]
	}
	for _, p := range plans {
		s.Plans = append(s.Plans, planResult{
			Policy:    p.Planner.String(),
			Objective: real(p.Objective),
			Ratio:     real(p.Ratio()),
			BestRatio: real(bestRatio(p)),
			Guarantee: real(guarantee(p)),
			Makespan:  seconds(planMakespan(w, p)),
		})
	}
	return s
}

func bestRatio(p *plan.Schedule) float64 {
	if p.BestLowerBound == 0 {
		return p.Ratio()
	}
	return p.Objective / p.BestLowerBound
}

func guarantee(p *plan.Schedule) float64 {
	if p.Guarantee == 0 {
		return math.NaN()
	}
	return p.Guarantee
}

// planMakespan returns the time from the first arrival to the last completion.
func planMakespan(w *workload, p *plan.Schedule) time.Duration {
	return slices.Max(p.Completion).Sub(w.jobs[0].At)
}

// A planReport prints plans of a workload on a cluster.
type planReport struct {
	workload *workload
	cluster  *cluster
	plans    []*plan.Schedule
}

func (r *planReport) write(out io.Writer) error {
	w, c, plans := r.workload, r.cluster, r.plans
	var b strings.Builder
	known := w.facts()
	b.WriteString(hang("workload     ", fmt.Sprintf("%s: %s, %s, %s", w.name, count(known.count, "job"), count(known.tasks, "task"), arrivals(&known))))
	b.WriteString(hang("cluster      ", c.name+": "+c.describe()))
	bound := &plans[0].Bound
	proved := fmt.Sprintf("%s weight-seconds, within %.2g of the linear program's value", number(bound.LowerBound, 3), bound.Gap)
	if bound.BestLowerBound > float64(bound.LowerBound*(1+1e-6)) {
		proved += fmt.Sprintf("; %s with release-aware inequalities", number(bound.BestLowerBound, 3))
	}
	b.WriteString(hang("lower bound  ", proved) + "\n")
	t := &table{corner: "planner"}
	var objectives, ratios, guaranteed, makespans []string
	for _, p := range plans {
		t.names = append(t.names, p.Planner.String())
		objectives = append(objectives, number(p.Objective, 3))
		ratios = append(ratios, number(bestRatio(p), 3))
		guaranteed = append(guaranteed, number(guarantee(p), 3))
		makespans = append(makespans, number(planMakespan(w, p).Seconds(), 3))
	}
	t.add("", "objective", objectives)
	t.add("times the lower bound", "reached", ratios)
	t.add("times the lower bound", "guaranteed", guaranteed)
	t.add("", "makespan (s)", makespans)
	b.WriteString(t.String())
	_, err := io.WriteString(out, b.String())
	return err
}

// writeFiles writes tasks.csv and plan.json of the best plan.
func (r *planReport) writeFiles(to *folder) error {
	w, c, plans := r.workload, r.cluster, r.plans
	out, err := to.create()
	if err != nil {
		return err
	}
	defer out.abandon()
	best := bestPlan(plans)
	if err := writePlanTasks(filepath.Join(out.temp, tasksFile), w, c, best); err != nil {
		return out.failed(err)
	}
	file, err := os.Create(filepath.Join(out.temp, planFile))
	if err != nil {
		return out.failed(err)
	}
	summary := newPlanSummary(w, c, []*plan.Schedule{best})
	if err := cmp.Or(writeJSON(file, summary), file.Close()); err != nil {
		return out.failed(err)
	}
	return out.commit()
}

// writePlanTasks writes when and where each task runs, in the columns of a run.
func writePlanTasks(path string, w *workload, c *cluster, s *plan.Schedule) error {
	file, err := createCSV(path, tasksHeader())
	if err != nil {
		return err
	}
	defer file.file.Close()
	nodes := machineNodes(c)
	speed, u := fastest(c), 0
	for _, j := range w.jobs {
		for i := range j.Phases {
			for task := range j.Phases[i].Tasks {
				start := s.Start[u]
				file.write([]string{
					strconv.FormatUint(uint64(j.ID), 10),
					strconv.Itoa(i),
					strconv.Itoa(task),
					"1", c.nodeName(nodes[s.Machine[u]]),
					strconv.FormatInt(int64(s.Machine[u]), 10),
					formatTime(start),
					formatTime(start + sojourn.Time(hastened(j.Times[i].Of(task), speed))),
					"finished", "", "",
				})
				u++
			}
		}
	}
	return file.close()
}

// machineNodes returns the node of each machine: the slots of the first class in
// the order of nodes, and then those of the second.
func machineNodes(c *cluster) []sojourn.NodeID {
	var nodes []sojourn.NodeID
	for class := range c.classes() {
		for i := range c.Nodes {
			for range c.Nodes[i].Slots[class] {
				nodes = append(nodes, sojourn.NodeID(i+1))
			}
		}
	}
	return nodes
}
