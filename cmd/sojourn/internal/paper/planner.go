package paper

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
	workloads "github.com/sojourn-sched/sojourn/research/workload"
)

// A plannerSpec is a planner as a row of an experiment names it:
// "bestof:evaluations=59". Its options are those of plan.Options, and error.
type plannerSpec struct {
	planner plan.Planner
	plannerOptions
	longer float64 // how many times longer tasks take than it is told, if not 0
	free   bool    // a plan made from wrong times is carried out on whichever machines are free first
	late   bool    // the bound is that of jobs released at the ends of their batch intervals
	within float64 // the part of the longest wait that soonDone counts to; 0 is half
}

// plannerOptions are the options of a planner. Those with equal ones share a bound.
type plannerOptions struct {
	plan.Options
	error float64 // of the times that it is told: p becomes p times 1-error to 1+error
}

// parsePlanner reads a planner and its options.
func parsePlanner(spec catalog.Spec) (plannerSpec, error) {
	var s plannerSpec
	var err error
	if s.planner, err = plan.ParsePlanner(spec.Name); err != nil {
		return s, err
	}
	for _, o := range spec.Options {
		switch o.Name {
		case "epsilon":
			s.Epsilon, err = strconv.ParseFloat(o.Value, 64)
		case "error":
			s.error, err = strconv.ParseFloat(o.Value, 64)
		case "longer":
			s.longer, err = strconv.ParseFloat(o.Value, 64)
		case "within":
			s.within, err = strconv.ParseFloat(o.Value, 64)
		case "rounds":
			s.Rounds, err = strconv.Atoi(o.Value)
		case "machines":
			if s.free = o.Value == "free"; !s.free {
				err = fmt.Errorf("planner %s: unknown machines %s", spec, o.Value)
			}
		case "batch":
			s.Online.Batch, err = time.ParseDuration(o.Value)
		case "commit":
			s.Online.Commit, err = strconv.ParseBool(o.Value)
		case "bound":
			if s.late = o.Value == "batches"; !s.late {
				err = fmt.Errorf("planner %s: unknown bound %s", spec, o.Value)
			}
		case "evaluations":
			if s.Evaluations, err = strconv.Atoi(o.Value); s.Evaluations == 0 {
				s.Evaluations = -1 // none
			}
		default:
			err = fmt.Errorf("planner %s: unknown option %s", spec, o.Name)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// parsePlanners is ParsePolicies for planners.
func parsePlanners(_ catalog.Catalog, values []string) ([]catalog.Spec, error) {
	var specs []catalog.Spec
	for _, v := range values {
		parsed, err := catalog.Parse(v)
		if err != nil {
			return nil, err
		}
		for _, s := range parsed {
			if _, err := parsePlanner(s); err != nil {
				return nil, err
			}
		}
		specs = append(specs, parsed...)
	}
	return specs, nil
}

// A planMeasure returns a number of each of some planners for the workload of a
// scenario.
type planMeasure func(s *trial.Scenario, planners []plannerSpec) ([]float64, error)

// repeat is repeat for planners. Those of a workload are measured together, so that
// they share what bounds have in common.
func (m planMeasure) repeat(ctx context.Context, terminal io.Writer, trials []trial.Trial, seeds int) ([]*trial.Sample, error) {
	samples := make([]*trial.Sample, len(trials))
	var groups [][]*trial.Sample // of one scenario
	var planners [][]plannerSpec
	for i, t := range trials {
		samples[i] = &trial.Sample{Trial: t, Loads: make([][]float64, seeds), Planned: make([]float64, seeds)}
		spec, err := parsePlanner(t.Spec)
		if err != nil {
			return nil, err
		}
		g := slices.IndexFunc(groups, func(g []*trial.Sample) bool { return g[0].Scenario == t.Scenario })
		if g < 0 {
			g = len(groups)
			groups, planners = append(groups, nil), append(planners, nil)
		}
		groups[g], planners[g] = append(groups[g], samples[i]), append(planners[g], spec)
	}
	bar := progress.New(terminal, "plans", len(trials)*seeds)
	err := trial.Parallel(ctx, len(groups)*seeds, func(ctx context.Context, n int) error {
		k, g := n/len(groups), n%len(groups)
		first := groups[g][0].Scenario
		s, err := first.WithSeed(ctx, first.Seed+uint64(k))
		var numbers []float64
		if err == nil {
			numbers, err = m(s, planners[g])
		}
		if err != nil {
			return fmt.Errorf("workload %s, seed %d: %w", groups[g][0].Value, first.Seed+uint64(k), err)
		}
		for i, t := range groups[g] {
			t.Planned[k], t.Loads[k] = numbers[i], s.Workload.Load(s.Cluster)
		}
		bar.Add(len(groups[g]))
		return nil
	})
	bar.Clear()
	if err != nil {
		return nil, err
	}
	return samples, nil
}

// planInstance returns the instance of a scenario. Tasks of mars-tasks have the
// weights that its jobs are drawn with.
func planInstance(s *trial.Scenario) plan.Instance {
	if s.Source.Gen.From.Name == "mars-tasks" {
		return taskInstance(s)
	}
	return trial.NewInstance(s.Workload, s.Cluster)
}

// taskInstance returns the instance of a scenario whose tasks have weights of their own.
func taskInstance(s *trial.Scenario) plan.Instance {
	in := trial.NewInstance(s.Workload, s.Cluster)
	in.Objective = plan.TaskCompletion
	for i, j := range s.Workload.Jobs {
		for p, weights := range workloads.TaskWeights(s.Seed, j) {
			in.Jobs[i].Phases[p].Weights = weights
		}
	}
	return in
}

// eachPlan makes and verifies the plans of some planners for an instance, told with
// their error, and calls of with each.
func eachPlan(s *trial.Scenario, in *plan.Instance, planners []plannerSpec, of func(i int, p *plan.Schedule) error) error {
	done := make([]bool, len(planners))
	for i := range planners {
		if done[i] {
			continue
		}
		o := planners[i].plannerOptions
		var members []int
		var kinds []plan.Planner
		for k := i; k < len(planners); k++ {
			if planners[k].plannerOptions == o {
				done[k] = true
				members, kinds = append(members, k), append(kinds, planners[k].planner)
			}
		}
		told := *in
		if o.error > 0 {
			told = mistaken(in, o.error, s.Seed)
		}
		plans, err := plan.All(told, o.Options, kinds...)
		if err != nil {
			return err
		}
		for k, p := range plans {
			if err := certify.Verify(told, p); err != nil {
				return fmt.Errorf("planner %v: %w", p.Planner, err)
			}
			if err := of(members[k], p); err != nil {
				return err
			}
		}
	}
	return nil
}

// planRatios returns the objective of each plan over the lower bound of the linear
// program. A plan that was made from wrong times is carried out with the true ones, and
// the bound is for the true ones, unless tasks take longer than everybody is told.
func planRatios(s *trial.Scenario, planners []plannerSpec) ([]float64, error) {
	return ratiosTo(s, planInstance(s), planners)
}

// taskRatios is planRatios for tasks that have weights of their own.
func taskRatios(s *trial.Scenario, planners []plannerSpec) ([]float64, error) {
	return ratiosTo(s, taskInstance(s), planners)
}

func ratiosTo(s *trial.Scenario, in plan.Instance, planners []plannerSpec) ([]float64, error) {
	var bound float64
	ratios := make([]float64, len(planners))
	err := eachPlan(s, &in, planners, func(i int, p *plan.Schedule) error {
		o := planners[i]
		if o.error == 0 {
			bound = p.LowerBound
			ratios[i] = p.Ratio()
			if o.longer != 0 {
				slow := slower(&in, o.longer)
				ratios[i] = carriedOut(&slow, p, o.free) / bound
			}
			return nil
		}
		if bound == 0 {
			b, err := plan.LowerBound(in, plan.Options{})
			if err != nil {
				return err
			}
			bound = b.LowerBound
		}
		ratios[i] = carriedOut(&in, p, o.free) / bound
		return nil
	})
	return ratios, err
}

// cogeRounds returns the number of linear programs that Algorithm 1 solves. Those of a
// greater epsilon are the first of those of a smaller one.
func cogeRounds(s *trial.Scenario, planners []plannerSpec) ([]float64, error) {
	in := planInstance(s)
	least, most := 1.0, 0
	for _, p := range planners {
		least, most = min(least, p.Epsilon), max(most, p.Rounds)
	}
	list, err := plan.COGE(in, least, most)
	if err != nil {
		return nil, err
	}
	rounds := make([]float64, len(planners))
	for i, p := range planners {
		stops := func(r plan.Round) bool { return r.Value >= float64((1-p.Epsilon)*r.Feasible) }
		if rounds[i] = float64(len(list)); slices.ContainsFunc(list, stops) {
			rounds[i] = float64(1 + slices.IndexFunc(list, stops))
		}
	}
	return rounds, nil
}

// soonDone returns the share of tasks that have waited at most half as long, or another part, as the
// one that waits longest, from their release to their completion, in percent.
func soonDone(s *trial.Scenario, planners []plannerSpec) ([]float64, error) {
	in := planInstance(s)
	shares := make([]float64, len(planners))
	err := eachPlan(s, &in, planners, func(i int, p *plan.Schedule) error {
		var waits []time.Duration
		u := 0
		for j := range in.Jobs {
			job := &in.Jobs[j]
			for k := range job.Phases {
				for t := range job.Phases[k].Tasks {
					waits = append(waits, p.Start[u].Sub(job.Release)+job.Phases[k].TimeOf(t))
					u++
				}
			}
		}
		soon, most := 0, cmp.Or(planners[i].within, 0.5)*float64(slices.Max(waits))
		for _, w := range waits {
			if float64(w) <= most {
				soon++
			}
		}
		shares[i] = 100 * float64(soon) / float64(len(waits))
		return nil
	})
	return shares, err
}

// mistaken returns the instance with times that are wrong: each is multiplied by a
// number between 1-most and 1+most, all of them equally likely. Of one seed, an error
// that is twice as large is so for each task.
func mistaken(in *plan.Instance, most float64, seed uint64) plan.Instance {
	rng := rand.New(rand.NewPCG(seed, 0x3a95))
	return retimed(in, func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * (1 + most*(2*rng.Float64()-1)))
	})
}

// slower returns the instance in which all tasks take longer by a factor.
func slower(in *plan.Instance, longer float64) plan.Instance {
	return retimed(in, func(d time.Duration) time.Duration { return time.Duration(float64(d) * longer) })
}

// retimed returns the instance with other times, which are asked for task by task.
func retimed(in *plan.Instance, other func(time.Duration) time.Duration) plan.Instance {
	told := *in
	told.Jobs = slices.Clone(in.Jobs)
	for j := range told.Jobs {
		phases := slices.Clone(told.Jobs[j].Phases)
		for i := range phases {
			ph := &phases[i]
			times := make([]time.Duration, 0, ph.Tasks)
			for t := range ph.Tasks {
				times = append(times, other(ph.TimeOf(t)))
			}
			ph.Times = times
		}
		told.Jobs[j].Phases = phases
	}
	return told
}

// carriedOut returns the objective, in seconds, when the jobs
// run as planned but take their own times: the tasks of each machine in the order of
// the plan, as early as may be; or, with free, all tasks in the order of their starts in
// the plan, each on the machine of its class that is free first.
func carriedOut(in *plan.Instance, p *plan.Schedule, free bool) float64 {
	type task struct{ job, phase, index int }
	var tasks []task
	for j := range in.Jobs {
		for k := range in.Jobs[j].Phases {
			for t := range in.Jobs[j].Phases[k].Tasks {
				tasks = append(tasks, task{j, k, t})
			}
		}
	}
	order := make([]int, len(tasks))
	for u := range order {
		order[u] = u
	}
	// Phases come in their order, even if the plan gave them no time.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Start[a], p.Start[b]) })
	base := []int{0} // the first machine of each class
	for k, n := range in.Machines {
		base = append(base, base[k]+n)
	}
	idle := make([]sojourn.Time, base[len(in.Machines)]) // from when on each machine is
	ready := make([][]sojourn.Time, len(in.Jobs))        // when each phase may start
	end := make([]sojourn.Time, len(in.Jobs))
	ofTasks := 0.0
	for j := range in.Jobs {
		for range len(in.Jobs[j].Phases) + 1 {
			ready[j] = append(ready[j], in.Jobs[j].Release)
		}
	}
	for _, u := range order {
		t, m := tasks[u], int(p.Machine[u])
		ph := &in.Jobs[t.job].Phases[t.phase]
		if free {
			first, last := base[ph.Class], base[ph.Class+1]
			m = first + slices.Index(idle[first:last], slices.Min(idle[first:last]))
		}
		idle[m] = max(idle[m], ready[t.job][t.phase]).Add(ph.TimeOf(t.index))
		end[t.job] = max(end[t.job], idle[m])
		if ph.Weights != nil {
			ofTasks += float64(ph.Weights[t.index] * idle[m].Sub(0).Seconds())
		}
		arrived := idle[m]
		if ph.Delays != nil {
			arrived = arrived.Add(ph.Delays[t.index])
		}
		ready[t.job][t.phase+1] = max(ready[t.job][t.phase+1], arrived)
	}
	if in.Objective == plan.TaskCompletion {
		return ofTasks
	}
	sum := 0.0
	for j := range in.Jobs {
		sum += in.Jobs[j].Weight * end[j].Sub(0).Seconds()
	}
	return sum
}
