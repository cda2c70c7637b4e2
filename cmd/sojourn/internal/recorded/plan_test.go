package recorded

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// planned is the folder of plans, of which the first is that of a story.
func planned() map[string]string {
	s := story("bestof")
	delete(s, files.Run)
	s[files.Tasks] = strings.Replace(s[files.Tasks], "2,0,0,1,n1,0,slots,10,10,refused,any,\n", "", 1)
	s[files.Plan] = `{"workload": {"name": "story", "jobs": 2, "tasks": 3}, "cluster": {"name": "1x2", "nodes": 1, "slots": {"slots": 2}}, "best_lower_bound": 20,
		"plans": [{"policy": "bestof", "objective": 25, "best_ratio": 1.25, "guarantee": 3, "makespan": 15}, {"policy": "other", "objective": 30, "best_ratio": 1.5, "makespan": 16}]}`
	return s
}

// The page of plans is that of the first one, with its certificate in place of a run's numbers.
func TestPlan(t *testing.T) {
	r, err := Page(t.Context(), []string{lay(t, planned())})
	if err != nil {
		t.Fatal(err)
	}
	if want := "The plan of bestof for story"; r.Title != want {
		t.Errorf("title %q, want %q", r.Title, want)
	}
	want := "The plan of bestof is at most 1.250 times as long as the best plan that there can be, by the weighted sum of the times at which jobs end.\n" +
		"This sum is 25.0, and it is proved that no plan has less than 20.0. The last job ends after 15 seconds."
	if got := strings.Join(r.Verdict, "\n"); got != want {
		t.Errorf("verdict\n%s\nwant\n%s", got, want)
	}
	for _, f := range r.Facts {
		if f.Name == "seed" || f.Name == "sizes that policies are told" {
			t.Errorf("a plan has no %s", f.Name)
		}
	}
	if len(r.Facts) == 0 || r.Facts[0] != (page.Fact{Name: "workload", Text: "story (2 jobs): 2 jobs, 3 tasks"}) {
		t.Errorf("facts %+v", r.Facts)
	}
	var cells []string
	for _, c := range r.Tables[0].Rows[0] {
		cells = append(cells, c.Text)
	}
	if want := []string{"bestof", "25.0", "20.0", "1.25", "3.00", "15.0"}; r.Tables[0].Title != "The plan in numbers" || !reflect.DeepEqual(cells, want) {
		t.Errorf("table %q: %q, want %q", r.Tables[0].Title, cells, want)
	}
}

// A folder of plans that lacks a part is an error that says which.
func TestBadPlans(t *testing.T) {
	for _, tc := range []struct{ file, old, other, want string }{
		{files.Plan, `"jobs": 2`, `"jobs": 0`, "plan.json: this version of sojourn cannot read it"},
		{files.Plan, `"plans": [`, `"plans": [], "left": [`, "plan.json: this version of sojourn cannot read it"},
		{files.Plan, `"slots": 2`, `"slots": 0`, "plan.json: this version of sojourn cannot read it"},
		{files.Jobs, "id,name", "number,name", "jobs.csv: this version of sojourn cannot read it: there is no column id"},
		{files.Jobs, "2,<b>small</b>,,1,10,15,14,2.8,6,9,,,finished\n", "", "is not in jobs.csv"},
		{files.Tasks, "1,0,1,1,n1,1,slots,0,10,finished,remote,\n", "", "2 of 2 jobs and 2 of 3 tasks: the folder is not complete"},
	} {
		s := planned()
		if !strings.Contains(s[tc.file], tc.old) {
			t.Fatal(tc.old)
		}
		s[tc.file] = strings.Replace(s[tc.file], tc.old, tc.other, 1)
		if _, err := Page(t.Context(), []string{lay(t, s)}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: error %v, want %q", tc.other, tc.old, err, tc.want)
		}
	}
}
