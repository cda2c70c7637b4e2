package report

import (
	"cmp"
	"context"
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
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// bestPlan returns the plan of the least objective, the first of several.
func bestPlan(plans []*plan.Schedule) *plan.Schedule {
	return slices.MinFunc(plans, func(a, b *plan.Schedule) int { return cmp.Compare(a.Objective, b.Objective) })
}

// A PlanSummary is what plan prints as JSON. Bounds and objectives are in weight
// times seconds.
type PlanSummary struct {
	Workload       workloadSummary  `json:"workload"`
	Cluster        recorded.Cluster `json:"cluster"`
	LowerBound     format.Real      `json:"lower_bound"`
	BestLowerBound format.Real      `json:"best_lower_bound"`
	UpperBound     format.Real      `json:"upper_bound"` // of the linear program
	Gap            format.Real      `json:"gap"`
	Plans          []planResult     `json:"plans"`
	Schema         int              `json:"schema"`
}

// A planResult is one plan. Guarantee is null where nothing is proved of a planner.
type planResult struct {
	Policy    string         `json:"policy"`
	Objective format.Real    `json:"objective"`
	Ratio     format.Real    `json:"ratio"`
	BestRatio format.Real    `json:"best_ratio"` // to best_lower_bound
	Guarantee format.Real    `json:"guarantee"`
	Makespan  format.Seconds `json:"makespan"`
}

// Summary returns the plans in JSON.
func (r *Plans) Summary() PlanSummary {
	w, plans := r.Workload, r.Plans
	b := &plans[0].Bound
	s := PlanSummary{
		Schema:         format.Schema,
		Workload:       newWorkloadSummary(w, r.Cluster),
		Cluster:        newClusterSummary(r.Cluster),
		LowerBound:     format.Real(b.LowerBound),
		BestLowerBound: format.Real(b.BestLowerBound),
		UpperBound:     format.Real(b.UpperBoundLP),
		Gap:            format.Real(b.Gap),
	}
	s.Workload.Told = 0
	for _, p := range plans {
		s.Plans = append(s.Plans, planResult{
			Policy:    string(p.Planner),
			Objective: format.Real(p.Objective),
			Ratio:     format.Real(p.Ratio()),
			BestRatio: format.Real(bestRatio(p)),
			Guarantee: format.Real(guarantee(p)),
			Makespan:  format.Seconds(planMakespan(w, p)),
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
func planMakespan(w *input.Workload, p *plan.Schedule) time.Duration {
	return slices.Max(p.Completion).Sub(w.Jobs[0].At)
}

// A Plans prints plans of a workload on a cluster.
type Plans struct {
	Workload *input.Workload
	Cluster  *input.Cluster
	Plans    []*plan.Schedule
}

func (r *Plans) Write(out io.Writer) error {
	w, c, plans := r.Workload, r.Cluster, r.Plans
	var b strings.Builder
	b.WriteString(planVerdict(plans) + "\n")
	known := w.Facts()
	b.WriteString(format.Hang("workload     ", fmt.Sprintf("%s: %s, %s, %s", w.Name, format.Count(known.Jobs, "job"), format.Count(known.Tasks, "task"), arrivals(&known))))
	b.WriteString(format.Hang("cluster      ", c.Name+": "+c.Describe()))
	bound := &plans[0].Bound
	proved := fmt.Sprintf("%s weight-seconds, within %.2g of the linear program's value", format.Number(bound.LowerBound, 3), bound.Gap)
	if bound.BestLowerBound > float64(bound.LowerBound*(1+1e-6)) {
		proved += fmt.Sprintf("; %s with release-aware inequalities", format.Number(bound.BestLowerBound, 3))
	}
	b.WriteString(format.Hang("lower bound  ", proved) + "\n")
	t := &format.Table{Corner: "planner"}
	t.Add("", "objective", nil)
	t.Add("times the lower bound", "reached", nil)
	t.Add("times the lower bound", "guaranteed", nil)
	t.AddMinor("", "makespan (s)", nil)
	for _, p := range plans {
		t.Row(string(p.Planner), format.Number(p.Objective, 3), format.Number(bestRatio(p), 3), format.Number(guarantee(p), 3), format.Number(planMakespan(w, p).Seconds(), 3))
	}
	b.WriteString(t.String())
	_, err := io.WriteString(out, b.String())
	return err
}

// planVerdict says which plan is the best, and how much better another one could be.
func planVerdict(plans []*plan.Schedule) string {
	best := bestPlan(plans)
	var names []string
	for _, p := range plans {
		if p.Objective == best.Objective {
			names = append(names, string(p.Planner))
		}
	}
	has := "has"
	if len(names) > 1 {
		has = "have"
	}
	text := fmt.Sprintf("%s %s the least objective", strings.Join(names, ", "), has)
	switch better := 1 - 1/bestRatio(best); {
	case math.IsNaN(better):
	case better < 5e-4:
		text += ", and no plan can be better by more than 0.1 %"
	default:
		text += fmt.Sprintf(", and no plan can be better by more than %s %%", format.Number(100*better, 1))
	}
	return format.Verdict(text)
}

// WriteFiles writes jobs.csv, tasks.csv, plan.json and report.html of the best plan.
func (r *Plans) WriteFiles(ctx context.Context, to *files.Folder) error {
	w, c, plans := r.Workload, r.Cluster, r.Plans
	out, err := to.Create()
	if err != nil {
		return err
	}
	defer out.Abandon()
	best := bestPlan(plans)
	if err := writePlanTasks(filepath.Join(out.Temp, files.Tasks), w, c, best); err != nil {
		return out.Failed(err)
	}
	if err := writePlanJobs(filepath.Join(out.Temp, files.Jobs), w, best); err != nil {
		return out.Failed(err)
	}
	summary := (&Plans{w, c, []*plan.Schedule{best}}).Summary()
	return out.Failed(finish(ctx, out, files.Plan, summary))
}

// finish writes a summary as JSON, and the page, and moves the folder to its place.
func finish(ctx context.Context, out *files.Output, name string, summary any) error {
	file, err := os.Create(filepath.Join(out.Temp, name))
	if err != nil {
		return err
	}
	if err := cmp.Or(format.WriteJSON(file, summary), file.Close()); err != nil {
		return err
	}
	if err := recorded.WritePage(ctx, out.Temp); err != nil {
		return err
	}
	return out.Commit()
}

// WriteSummary writes the summary of a repetition or a sweep, and its page.
func WriteSummary(ctx context.Context, to *files.Folder, name string, summary RepetitionSummary) error {
	out, err := to.Create()
	if err != nil {
		return err
	}
	defer out.Abandon()
	return out.Failed(finish(ctx, out, name, summary))
}

// writePlanJobs writes when each job starts and ends, in the columns of a run.
func writePlanJobs(path string, w *input.Workload, s *plan.Schedule) error {
	file, err := files.CreateCSV(path, jobsHeader())
	if err != nil {
		return err
	}
	defer file.File.Close()
	u := 0
	for i, j := range w.Jobs {
		first := sojourn.Time(math.MaxInt64)
		for range j.Tasks() {
			first = min(first, s.Start[u])
			u++
		}
		file.Write(jobRow(&sim.JobRecord{ID: j.ID, Name: j.Name, Pool: j.Pool, Arrival: j.At, FirstStart: first, Finish: s.Completion[i], Deadline: j.Deadline, Outcome: sim.Finished}))
	}
	return file.Close()
}

// writePlanTasks writes when and where each task runs, in the columns of a run.
func writePlanTasks(path string, w *input.Workload, c *input.Cluster, s *plan.Schedule) error {
	file, err := files.CreateCSV(path, tasksHeader())
	if err != nil {
		return err
	}
	defer file.File.Close()
	machines := machinesOf(c)
	speed, u := trial.Fastest(c), 0
	for _, j := range w.Jobs {
		for i := range j.Phases {
			for task := range j.Phases[i].Tasks {
				start := s.Start[u]
				file.Write([]string{
					strconv.FormatUint(uint64(j.ID), 10),
					strconv.Itoa(i),
					strconv.Itoa(task),
					"1", c.NodeName(machines[s.Machine[u]].node),
					strconv.FormatInt(int64(s.Machine[u]), 10),
					c.ClassName(machines[s.Machine[u]].class),
					format.Time(start),
					format.Time(start + sojourn.Time(trial.Hastened(j.Times[i].Of(task), speed))),
					"finished", "", "",
				})
				u++
			}
		}
	}
	return file.Close()
}

// A machine is a slot of a plan.
type machine struct {
	node  sojourn.NodeID
	class sojourn.Class
}

// machinesOf returns the machines of plans: the slots of the first class in
// the order of nodes, then those of the second, and so on.
func machinesOf(c *input.Cluster) []machine {
	var list []machine
	for class := range c.Classes() {
		for i := range c.Nodes {
			if class >= len(c.Nodes[i].Slots) {
				continue
			}
			for range c.Nodes[i].Slots[class] {
				list = append(list, machine{sojourn.NodeID(i + 1), sojourn.Class(class)})
			}
		}
	}
	return list
}
