package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/spf13/cobra"
)

// planFlags are the flags of plan.
type planFlags struct {
	source   input.Source
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
		Long: `plan makes schedules of a workload whose sizes and arrivals are all known in
advance, and a lower bound that is proved for every schedule of any policy. It
makes the sum of weight times completion time small, of jobs, or with --per-task
of tasks. Times count from 0, as in the workload. Separate code verifies each plan
and the proof of the bound before they are printed.

` + strings.Join(format.Wrap("Planners are "+strings.Join(trial.PlannerNames(), ", ")+".", 84, ""), "\n") + `
'go doc ./research/plan' describes them and what is proved of them. A number as CLUSTER
means that many machines, which run tasks of any class.

With -o, it writes jobs.csv, tasks.csv, plan.json and report.html of the best plan to
DIR.

` + strings.TrimSpace(csvCells),
		Example: `  sojourn plan --sample
  sojourn plan -w trace.jsonl -c 50 -p bestof,mars,huwf --json
  sojourn plan --gen mars-random:jobs=100 -p bestof --evaluations 200 -o out`,
		Args: onlyFlags,
		RunE: action(func(cmd *cobra.Command, _ []string) error { return f.run(cmd) }),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	registerSource(flags, &f.source)
	flags.StringSliceVarP(&f.planners, "planners", "p", f.planners, "`PLANNERS` to compare")
	flags.BoolVar(&f.perTask, "per-task", false, "weigh the completion of tasks, not of jobs")
	flags.IntVar(&f.options.Evaluations, "evaluations", 0, "bestof tries `N` schedules in its search; 0 chooses by the number of tasks, and a negative number tries none")
	flags.Float64Var(&f.options.Gap, "gap", 0, "relative `GAP` of the bound at which to stop; 0 chooses")
	flags.IntVar(&f.options.Iterations, "iterations", 0, "most `STEPS` towards the bound; 0 means 100")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed `N` of the workload of --gen, and of the search")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of a table")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar on stderr")
	f.output.register(flags, "jobs.csv, tasks.csv, plan.json and report.html of the best plan")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command) error {
	var planners []plan.Planner
	for _, name := range f.planners {
		p, err := plan.ParsePlanner(name)
		if err != nil {
			return usage.Wrap(err)
		}
		if slices.Contains(planners, p) {
			return usage.Errorf("planner %q is named twice", name)
		}
		planners = append(planners, p)
	}
	if !(f.options.Gap >= 0 && f.options.Gap <= 1) {
		return usage.Errorf("--gap %v is not in [0, 1]", f.options.Gap)
	}
	if len(planners) == 0 {
		return usage.Errorf("no planner: give -p, such as -p bestof,huwf")
	}
	if err := f.output.Check(); err != nil {
		return err
	}
	if n, err := strconv.Atoi(f.source.Cluster); err == nil {
		if n < 1 || n > sojourn.MaxSlots {
			return usage.Errorf("cluster %q: want a number of machines from 1 to %d", f.source.Cluster, sojourn.MaxSlots)
		}
		f.source.Cluster = fmt.Sprintf("1x%d", n)
	}
	c, w, err := f.source.Open(cmd.Context(), cmd.InOrStdin(), f.options.Seed)
	if err != nil {
		return err
	}
	if err := w.Refuse(^sojourn.FeatureRelease, "no planner knows", ""); err != nil {
		return err
	}
	in := trial.NewInstance(w, c)
	if f.perTask {
		in.Objective = plan.TaskCompletion
	}
	f.options.ReleaseCuts = !f.perTask
	ctx, stop := interruptible(cmd)
	defer stop()
	plans, err := trial.MakePlans(ctx, terminal(cmd, f.quiet), in, f.options, planners)
	if err != nil {
		return err
	}
	r := report.Plans{Workload: w, Cluster: c, Plans: plans}
	if f.output.Dir != "" {
		if err := r.WriteFiles(ctx, &f.output.Folder); err != nil {
			return err
		}
	}
	return printForm(cmd, f.json, r.Summary(), r.Write)
}
