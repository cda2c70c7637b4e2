package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars/certify"
	"github.com/sojourn-sched/sojourn/mars/plan"
	"github.com/spf13/cobra"
)

// planFlags are the flags of plan.
type planFlags struct {
	input    inputFlags
	planners []string
	perTask  bool
	options  plan.Options
	json     bool
	output   outputFlags
	quiet    bool
}

func newPlan() *cobra.Command {
	f := planFlags{planners: []string{"bestof", "mars", "huwf", "hjwf"}}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Make schedules that are proved to be near the best one",
		Long: `plan makes schedules of a workload that is known beforehand, sizes, arrivals and
all, and a lower bound that is proved for every schedule of any policy. What is
made small is the sum of weight times completion time, of jobs, or with --per-task
of tasks; times count from 0, as in the workload. Each plan and the proof of the
bound are verified by code of their own before they are printed.

` + strings.Join(wrap("Planners are "+strings.Join(plannerNames(), ", ")+".", 84, ""), "\n") + `
'go doc ./mars/plan' tells what they are and what is proved of them. A number as
CLUSTER is one of that many machines that run tasks of any class.

With -o, it writes tasks.csv and plan.json of the best plan to DIR.`,
		Example: `  sojourn plan --sample
  sojourn plan -w trace.jsonl -c 50 -p bestof,mars,huwf --json
  sojourn plan --gen mars-random:jobs=100 -p bestof --evaluations 200 -o out`,
		Args: cobra.NoArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error { return f.run(cmd) }),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.input.register(flags)
	flags.StringSliceVarP(&f.planners, "planners", "p", f.planners, "`PLANNERS` to compare")
	flags.BoolVar(&f.perTask, "per-task", false, "weigh the completion of tasks, not of jobs")
	flags.IntVar(&f.options.Evaluations, "evaluations", 0, "how many schedules bestof tries in its search; 0 chooses by the number of tasks, and a negative number tries none")
	flags.Float64Var(&f.options.Gap, "gap", 0, "relative `GAP` of the bound at which to stop; 0 chooses")
	flags.IntVar(&f.options.Iterations, "iterations", 0, "most `STEPS` towards the bound; 0 means 100")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "of the workload of --gen, and of the search")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of a table")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar on stderr")
	flags.StringVarP(&f.output.dir, "output", "o", "", "write tasks.csv and plan.json of the best plan into the folder `DIR`, which must be empty or absent")
	flags.BoolVar(&f.output.force, "force", false, "let -o replace what an earlier run wrote")
	return cmd
}

// plannerNames returns the names of all planners.
func plannerNames() []string {
	var names []string
	for p := plan.Planner(0); ; p++ {
		known, err := plan.ParsePlanner(p.String())
		if err != nil || known != p {
			return names
		}
		names = append(names, p.String())
	}
}

func (f *planFlags) run(cmd *cobra.Command) error {
	var planners []plan.Planner
	for _, name := range f.planners {
		p, err := plan.ParsePlanner(name)
		if err != nil {
			return usageError{err}
		}
		if slices.Contains(planners, p) {
			return usagef("planner %q is named twice", name)
		}
		planners = append(planners, p)
	}
	if !(f.options.Gap >= 0 && f.options.Gap <= 1) {
		return usagef("--gap %v is not in [0, 1]", f.options.Gap)
	}
	if len(planners) == 0 {
		return usagef("no planner: give -p, such as -p bestof,huwf")
	}
	if err := f.output.check(); err != nil {
		return err
	}
	if n, err := strconv.Atoi(f.input.cluster); err == nil {
		f.input.cluster = fmt.Sprintf("1x%d", n)
	}
	c, w, err := f.input.load(cmd, f.options.Seed)
	if err != nil {
		return err
	}
	in := newInstance(w, c)
	if f.perTask {
		in.Objective = plan.TaskCompletion
	}
	f.options.ReleaseCuts = !f.perTask
	plans, err := f.plan(cmd, in, planners)
	if err != nil {
		return err
	}
	if err := f.write(w, c, plans); err != nil {
		return err
	}
	if f.json {
		return writeJSON(cmd.OutOrStdout(), newPlanSummary(w, c, plans))
	}
	return writePlans(cmd, w, c, plans)
}

// plan makes the plans and verifies them.
func (f *planFlags) plan(cmd *cobra.Command, in plan.Instance, planners []plan.Planner) ([]*plan.Schedule, error) {
	bar := newBar(cmd.ErrOrStderr(), "planners", len(planners), f.quiet)
	defer bar.Finish()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	type answer struct {
		plans []*plan.Schedule
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		plans, err := plan.All(in, f.options, planners...)
		for i := 0; i < len(plans) && err == nil; i++ {
			err = certify.Verify(in, plans[i])
			bar.Add(1)
		}
		done <- answer{plans, err}
	}()
	select {
	case a := <-done:
		return a.plans, a.err
	case <-ctx.Done():
		return nil, errors.New("interrupted")
	}
}

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

func writePlans(cmd *cobra.Command, w *workload, c *cluster, plans []*plan.Schedule) error {
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
	_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
	return err
}

// write writes the files of the best plan, if asked for.
func (f *planFlags) write(w *workload, c *cluster, plans []*plan.Schedule) error {
	if f.output.dir == "" {
		return nil
	}
	out, err := f.output.create()
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
