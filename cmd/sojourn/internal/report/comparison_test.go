package report

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

func oneResult(res *sim.Result) *Comparison {
	return &Comparison{Specs: []catalog.Spec{{Name: "fifo"}}, Results: []*sim.Result{res}}
}

// Shares are shares of the tasks that have inputs.
func TestReportLocality(t *testing.T) {
	res := &sim.Result{}
	res.Locality = map[sojourn.Locality]int{sojourn.AnyNode: 100}
	if got := oneResult(res).locality(); got != "" {
		t.Errorf("locality without inputs:\n%swant nothing", got)
	}
	res.Locality[sojourn.NodeLocal] = 5
	res.Locality[sojourn.RackLocal] = 2
	res.Locality[sojourn.Remote] = 1
	want := "        tasks by place of input\n" +
		"policy      node   rack  remote\n" +
		"fifo       62.5%  25.0%   12.5%\n" +
		"=> fifo starts most tasks on the node of their input: 62.5%\n"
	if got := oneResult(res).locality(); got != want {
		t.Errorf("locality:\n%swant:\n%s", got, want)
	}
}

// Jobs that did not finish are counted and named, the first eight of each kind.
func TestReportLeftovers(t *testing.T) {
	res := &sim.Result{Jobs: 12, Finished: 0, Rejected: 1, Unsupported: 10, Unfinished: 1}
	r := oneResult(res)
	r.Scenario = &trial.Scenario{Rolls: []*trial.Roll{{}}}
	add := func(id sojourn.JobID, name string, outcome sim.Outcome) {
		r.Rolls[0].Add(int(id), &sim.JobRecord{ID: id, Name: name, Outcome: outcome})
	}
	add(1, "late", sim.Rejected)
	for _, id := range []sojourn.JobID{11, 2, 5, 3, 4, 8, 7, 6, 10, 9} {
		add(id, "", sim.Unsupported)
	}
	add(12, "stuck", sim.Failed)
	want := "        ------------------ jobs -------------------\n" +
		"policy  finished  rejected  unsupported  unfinished\n" +
		"fifo           0         1           10           1\n" +
		"fifo, rejected: 1 (\"late\")\n" +
		"fifo, unsupported: 2, 3, 4, 5, 6, 7, 8, 9 and 2 more\n" +
		"fifo, unfinished: 12 (\"stuck\")\n"
	if got := r.leftovers(); got != want {
		t.Errorf("leftovers:\n%swant:\n%s", got, want)
	}
	if got := oneResult(&sim.Result{Jobs: 3, Finished: 3}).leftovers(); got != "" {
		t.Errorf("leftovers of a run that finished:\n%swant nothing", got)
	}
}
