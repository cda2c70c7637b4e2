package recorded

import (
	"fmt"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// A planInfo has the fields of plan.json that pages use.
type planInfo struct {
	Workload Workload `json:"workload"`
	Cluster  Cluster  `json:"cluster"`
	Best     *float64 `json:"best_lower_bound"`
	Plans    []struct {
		Policy    string   `json:"policy"`
		Objective *float64 `json:"objective"`
		Ratio     *float64 `json:"best_ratio"`
		Guarantee *float64 `json:"guarantee"`
		Makespan  float64  `json:"makespan"`
	} `json:"plans"`
}

// readPlan returns the page of the best plan of plan -o.
func readPlan(dir string) (*page.Report, error) {
	var info planInfo
	path := filepath.Join(dir, files.Plan)
	if err := readJSON(path, &info); err != nil {
		return nil, err
	}
	if len(info.Plans) == 0 || info.Workload.Jobs == 0 || info.Cluster.total() == 0 {
		return nil, fmt.Errorf("%s: this version of sojourn cannot read it: it does not name a workload, a cluster and a plan", path)
	}
	r := &run{dir: dir, byID: map[string][]int{}, slots: map[int]string{}}
	best := info.Plans[0]
	r.info = runInfo{Policy: best.Policy, Input: info.Workload, Cluster: info.Cluster, Result: &result{Makespan: best.Makespan, Finished: info.Workload.Jobs}}
	if err := r.readJobs(); err != nil {
		return nil, err
	}
	n, err := r.readTasks()
	if err != nil {
		return nil, err
	}
	if len(r.jobs) != info.Workload.Jobs || n != info.Workload.Tasks {
		return nil, fmt.Errorf("%s: %s of %s and %s of %s: the folder is not complete", dir,
			format.Thousands(len(r.jobs)), format.Count(info.Workload.Jobs, "job"), format.Thousands(n), format.Count(info.Workload.Tasks, "task"))
	}
	out := comparison([]*run{r})
	out.Title = fmt.Sprintf("The plan of %s for %s", best.Policy, info.Workload.Name)
	out.Verdict = []string{fmt.Sprintf("The plan of %s is at most %s times as long as the best plan that there can be, by the weighted sum of the times at which jobs end.",
		best.Policy, format.Number(known(best.Ratio), 3)),
		fmt.Sprintf("This sum is %s, and it is proved that no plan has less than %s. The last job ends after %s.", shown(known(best.Objective)).Text, shown(known(info.Best)).Text, duration(best.Makespan))}
	facts := out.Facts[:0]
	for _, f := range out.Facts {
		if f.Name != "seed" && f.Name != "sizes that policies are told" {
			facts = append(facts, f)
		}
	}
	out.Facts = facts
	t := page.Table{ID: "policies", Title: "The plan in numbers", Columns: append([]page.Column{{Name: "planner"}}, columns(
		[2]string{"objective", "weight × s"}, [2]string{"lower bound", "weight × s"}, [2]string{"objective over bound", "times"}, [2]string{"guaranteed", "times"}, [2]string{"makespan", "s"})...)}
	t.Rows = [][]page.Cell{{text(best.Policy), shown(known(best.Objective)), shown(known(info.Best)), shown(known(best.Ratio)), shown(known(best.Guarantee)), shown(best.Makespan)}}
	out.Tables[0] = t
	return out, nil
}
