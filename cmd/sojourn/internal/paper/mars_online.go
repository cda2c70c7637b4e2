package paper

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// marsBatches are the batch intervals of Figure 17, in seconds, and marsOnlineWorkload is the workload on which all of
// them are tried.
var marsBatches = [...]int{10, 25, 50, 75, 100}

const marsOnlineWorkload = "100 1s"

func soMars(seconds int) string { return fmt.Sprintf(":batch=%ds,commit=true", seconds) }

// marsOnline returns Figure 17.
func marsOnline() Experiment {
	e := marsExperiment(17, "ratio to the lower bound where jobs are known when they arrive", "total weighted job completion time / lower bound", semiOnlineRatios,
		"Section 5.3: with batch intervals of 50 s SO-MarS is at 1.09, MARES at 1.35, HUWF at 1.63, HJWF at 1.75; with 100 s SO-MarS is below 1.19 and the others are above 1.53. Neither the number of jobs nor their load is given. Here it is 20 and 100 jobs, of which one is released in each slot of 1 s (beyond the capacity of the machines) or of 10 s with probability 1/2.",
		"so-mars:commit=true is the strict reading: a batch is planned at its end, and comes after those before it. so-mars:batch=T plans all waiting work anew at each end; so-mars plans it when jobs arrive, and batches nothing. It is the policy itself, carried out.",
		"huwf and hjwf are strict lists of each batch, those of a batch after those before it; huwf-dispatch gives free machines to the first task of the jobs that have been batched. mares:batch=T plans each batch at its end by itself, and its tasks come after those of the batches before on the machines that they are assigned to, as early as may be.",
		"The bound knows all jobs in advance. With bound=batches it is that of jobs which are released at the end of their batch interval: what is left is not due to waiting for batches.",
		"Delays, plans and bounds are as in mars-fig7.",
	)
	e.Seeds = marsFew
	for _, slot := range []string{"1s", "10s"} {
		for _, jobs := range []int{20, 100} {
			name := fmt.Sprintf("%d %s", jobs, slot)
			e.workloads = append(e.workloads, paperWorkload{name, fmt.Sprintf("mars-random:jobs=%d,slot=%s", jobs, slot), ""})
			add := func(policy string, says paperRow) {
				says.workload, says.policy = name, policy
				if says.says != "" && name != marsOnlineWorkload {
					says.setUp = strings.TrimPrefix(says.setUp+", ", ", ") + fmt.Sprintf("%d jobs and slots of %s", jobs, slot)
				}
				says.reason = "It depends on the load, which the paper does not give."
				e.rows = append(e.rows, says)
			}
			for _, batch := range []string{"50s", "100s"} {
				b := ":batch=" + batch
				for i, m := range marsFour {
					planner, says := m.planner+b, paperRow{value: []float64{1.09, 1.35, 1.63, 1.75}[i], says: "17-" + m.says}
					if batch == "100s" {
						says = paperRow{claim: above, limit: 1.53, says: "17-above"}
					}
					if i > 0 {
						add(planner, says)
						continue
					}
					if says.says = "17-somars"; batch == "100s" {
						says = paperRow{claim: below, limit: 1.19, says: "17-below"}
					}
					add("so-mars"+b+",commit=true", says)
					says.setUp = "all waiting work planned anew at each end"
					add("so-mars"+b, says)
				}
				add("huwf-dispatch"+b, paperRow{})
				for _, policy := range []string{"so-mars" + b + ",commit=true", "so-mars" + b, marsMARES + b, "huwf" + b, "hjwf" + b} {
					add(policy+",bound=batches", paperRow{})
				}
			}
			add("so-mars", paperRow{})
			add("huwf-dispatch", paperRow{})
			add(marsBest, paperRow{})
		}
	}
	for _, seconds := range marsBatches {
		for _, policy := range []string{"so-mars" + soMars(seconds), marsMARES, marsHUWF, marsHJWF} {
			run := paperRow{workload: marsOnlineWorkload, policy: policy}
			if policy != "so-mars"+soMars(seconds) {
				run.policy += fmt.Sprintf(":batch=%ds", seconds)
			}
			if !slices.ContainsFunc(e.rows, func(r paperRow) bool { return r.workload == run.workload && r.policy == run.policy }) {
				e.rows = append(e.rows, run)
			}
		}
	}
	e.draw = func(p *Result) panels {
		f := panel{title: marsOnlineWorkload + " slots", x: axis{label: "batch interval (s)"}, y: axis{label: "TWJCT ratio", from: 1},
			mark: "the paper's numbers; at most and at least, with 100 s"}
		for _, seconds := range marsBatches {
			f.x.ticks = append(f.x.ticks, float64(seconds))
		}
		for i, m := range marsFour {
			name := m.title
			if i == 0 {
				name = "SO-MarS"
			}
			f.lines = append(f.lines, p.line(name, joined, f.x.ticks, func(k int) paperRun {
				if i == 0 {
					return paperRun{marsOnlineWorkload, "so-mars" + soMars(marsBatches[k])}
				}
				return paperRun{marsOnlineWorkload, fmt.Sprintf("%s:batch=%ds", m.planner, marsBatches[k])}
			}))
			f = f.marked(i, 50, []float64{1.09, 1.35, 1.63, 1.75}[i]).marked(i, 100, []float64{1.19, 1.53, 1.53, 1.53}[i])
		}
		return panels{f}
	}
	return e
}

// semiOnlineRatios returns the objective of each plan over the lower bound of the
// instance, or of that in which jobs are released at the end of their batch interval.
func semiOnlineRatios(s *trial.Scenario, planners []plannerSpec) ([]float64, error) {
	in := planInstance(s)
	late := map[time.Duration]float64{}
	ratios := make([]float64, len(planners))
	err := eachPlan(s, &in, planners, func(i int, p *plan.Schedule) error {
		batch, objective := planners[i].Online.Batch, p.Objective
		if planners[i].planner == "mares" && batch > 0 {
			var err error
			if objective, err = batchByBatch(in, batch, "mares"); err != nil {
				return err
			}
		}
		ratios[i] = objective / p.LowerBound
		if planners[i].late {
			if late[batch] == 0 {
				b, err := plan.LowerBound(batched(in, batch), plan.Options{})
				if err != nil {
					return err
				}
				late[batch] = b.LowerBound
			}
			ratios[i] = objective / late[batch]
		}
		return nil
	})
	return ratios, err
}

// batchByBatch returns the objective of plans that a planner makes of the jobs of each
// batch interval by themselves, when it ends. Their tasks keep the machines that they are
// planned on, where they come after those of the batches before.
func batchByBatch(in plan.Instance, interval time.Duration, planner plan.Planner) (float64, error) {
	in = batched(in, interval)
	first := make([]int, len(in.Jobs)) // task of each job
	var ends []sojourn.Time
	tasks := 0
	for j := range in.Jobs {
		first[j] = tasks
		for _, ph := range in.Jobs[j].Phases {
			tasks += ph.Tasks
		}
		ends = append(ends, in.Jobs[j].Release)
	}
	slices.Sort(ends)
	all := &plan.Schedule{Start: make([]sojourn.Time, tasks), Machine: make([]int32, tasks)}
	after := time.Duration(0) // what keeps the tasks of a batch behind those before
	for _, end := range slices.Compact(ends) {
		batch := in
		batch.Jobs = nil
		var members []int
		for j := range in.Jobs {
			if in.Jobs[j].Release == end {
				batch.Jobs, members = append(batch.Jobs, in.Jobs[j]), append(members, j)
			}
		}
		own, err := plan.Plan(batch, plan.Options{Planner: planner})
		if err != nil {
			return 0, err
		}
		if err := certify.Verify(batch, own); err != nil {
			return 0, fmt.Errorf("planner %v: %w", planner, err)
		}
		u := 0
		for _, j := range members {
			for k, t := 0, first[j]; k < len(in.Jobs[j].Phases); k++ {
				for range in.Jobs[j].Phases[k].Tasks {
					all.Start[t], all.Machine[t] = own.Start[u].Add(after), own.Machine[u]
					u, t = u+1, t+1
				}
			}
		}
		after += slices.Max(own.Start).Sub(0)
	}
	return carriedOut(&in, all, false), nil
}

// batched returns the instance in which jobs are released at the end of their batch
// interval, counted from the first release.
func batched(in plan.Instance, interval time.Duration) plan.Instance {
	jobs := append([]plan.Job(nil), in.Jobs...)
	var first sojourn.Time
	for j := range jobs {
		if j == 0 || jobs[j].Release < first {
			first = jobs[j].Release
		}
	}
	for j := range jobs {
		if rest := jobs[j].Release.Sub(first) % interval; rest > 0 {
			jobs[j].Release = jobs[j].Release.Add(interval - rest)
		}
	}
	in.Jobs = jobs
	return in
}
