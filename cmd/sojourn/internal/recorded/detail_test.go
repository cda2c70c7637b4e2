package recorded

import (
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

func cellTexts(row []page.Cell) (list []string) {
	for _, c := range row {
		list = append(list, c.Text)
	}
	return list
}

// The page of one run and that of two show what the folders say: titles, slots, boxes and numbers.
func TestPageShowsTheRun(t *testing.T) {
	one, err := Page(t.Context(), []string{lay(t, story("fifo"))})
	if err != nil {
		t.Fatal(err)
	}
	if one.Title != "fifo on story" || one.Ratios != nil || len(one.Notes) != 0 {
		t.Errorf("title %q, ratios %v, notes %q", one.Title, one.Ratios, one.Notes)
	}
	lanes := one.Gantt.Runs[0]
	if !slices.Equal(lanes.Slots, []string{"n1/0", "n1/1"}) {
		t.Errorf("slots %q, want n1/0 and n1/1", lanes.Slots)
	}
	if lanes.Share != 1 {
		t.Errorf("%v of the attempts are drawn, want all", lanes.Share)
	}
	// Sojourn times 10 and 14 s, slowdowns 1 and 2.8; tasks took 25 s of 2 slots for 15 s.
	want := []string{"fifo", "2", "12.0", "10.0", "14.0", "14.0", "14.0", "1.90", "2.80", "0", "0", "0", "15.0", "83.3"}
	if got := cellTexts(one.Tables[0].Rows[0]); !slices.Equal(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
	if got := cellTexts(one.Tables[1].Rows[0]); got[0] != "2" || got[1] != "<b>small</b>" {
		t.Errorf("job %q takes longest, want job 2", got)
	}
	better := story("srpt")
	better[files.Jobs] = strings.Replace(better[files.Jobs], "1,10,15,14,2.8,6,9", "1,10,16,15,3,6,10", 1)
	better[files.Jobs] = strings.Replace(better[files.Jobs], "0,0,10,10,1,12,-2", "0,0,15,15,1.5,12,3", 1)
	two, err := Page(t.Context(), []string{lay(t, story("fifo")), lay(t, better)})
	if err != nil {
		t.Fatal(err)
	}
	if two.Title != "2 policies on story" || two.Ratios == nil || len(two.Gantt.Runs) != 2 {
		t.Errorf("title %q, ratios %v, %d charts", two.Title, two.Ratios, len(two.Gantt.Runs))
	}
	// Job 1 takes 10 and 15 s, job 2 takes 14 and 15 s.
	if got := cellTexts(two.Tables[1].Rows[0]); got[0] != "1" || !slices.Equal(got[len(got)-2:], []string{"10.0", "15.0"}) {
		t.Errorf("%q differs most, want job 1 with 10 and 15 s", got)
	}
}

// An attempt that did not finish has a box of another kind than one that did.
func TestOutcomes(t *testing.T) {
	r, err := readRun(lay(t, with(files.Tasks, "1,slots,10,15,finished", "1,slots,10,15,failed")))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.boxes.boxes {
		want := 0
		if b.End == 15 {
			want = 1
		}
		if b.Outcome != want {
			t.Errorf("the box from %g to %g has outcome %d, want %d", b.Start, b.End, b.Outcome, want)
		}
	}
}

// A plan that lacks its workload, its cluster or its plans is an error.
func TestPlansThatLackSomething(t *testing.T) {
	const whole = `{"workload": {"name": "w", "jobs": 1, "tasks": 1}, "cluster": {"name": "1x1", "nodes": 1, "slots": {"slots": 1}},
		"plans": [{"policy": "mars", "objective": 5, "best_ratio": 1, "makespan": 5}]}`
	for _, cut := range []string{`"jobs": 1, `, `"slots": {"slots": 1}`, `{"policy": "mars", "objective": 5, "best_ratio": 1, "makespan": 5}`} {
		text := strings.Replace(whole, cut, "", 1)
		text = strings.Replace(text, `"nodes": 1, }`, `"nodes": 1}`, 1)
		if _, err := Page(t.Context(), []string{lay(t, map[string]string{files.Plan: text})}); err == nil || !strings.Contains(err.Error(), "does not name a workload, a cluster and a plan") {
			t.Errorf("without %s: %v", cut, err)
		}
	}
}

// The verdict says of which size the jobs are that lose.
func TestSpread(t *testing.T) {
	c := &compared{groups: []group{{"all jobs", nil}, {"small jobs", []int{0, 1, 2}}, {"medium jobs", []int{3, 4, 5}}, {"large jobs", []int{6, 7, 8}}}}
	for _, tc := range []struct {
		lose []int
		want string
	}{
		{[]int{6, 7}, ", all of them large jobs"},
		{[]int{0, 1, 6}, ", most of them small jobs (2)"},
		{[]int{7}, " (1 large)"},
		{[]int{0, 6}, " (1 small, 1 large)"},
	} {
		if got := c.spread(len(tc.lose), func(i int) bool { return slices.Contains(tc.lose, i) }); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.lose, got, tc.want)
		}
	}
}

// The job that loses most is the one with the greatest difference, not the first.
func TestWhoLosesMost(t *testing.T) {
	at := func(finish ...float64) *run {
		r := &run{}
		for i, f := range finish {
			r.jobs = append(r.jobs, job{id: string(rune('1' + i)), finish: f})
		}
		return r
	}
	c := &compared{runs: []*run{at(20, 40, 13), at(10, 10, 10)}, names: []string{"a", "b"}, groups: []group{{"all jobs", []int{0, 1, 2}}}}
	if got, want := c.hurt(0, 1), "It is worse than b for 3 of 3 jobs; job 2 loses most, with 40 seconds instead of 10 seconds."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The line of a sweep is the policy without the option that varies, and a mean that is certain has no interval.
func TestSweepLines(t *testing.T) {
	r := &repetition{Vary: "fair:delay"}
	for policy, want := range map[string]string{
		"fair:delay=5s": "fair", "fair:delay=5s,ties=arrival": "fair:ties=arrival", "fair:ties=arrival,delay=5s": "fair:ties=arrival",
		"fair:a=1,delay=5s,b=2": "fair:a=1,b=2", "fairer:delay=5s": "fairer:delay=5s", "fair": "fair",
	} {
		if got := r.policy(&sample{Policy: policy, Value: "5s"}); got != want {
			t.Errorf("%s becomes %s, want %s", policy, got, want)
		}
	}
	five, six := 5.0, 6.0
	for _, tc := range []struct {
		e    estimate
		want string
	}{
		{estimate{Mean: &five, CI: [2]*float64{&five, &five}}, "5.00"},
		{estimate{Mean: &five, CI: [2]*float64{&five, &six}}, "5.00 ± 0.500"},
		{estimate{Mean: &five}, "5.00"},
	} {
		if got := tc.e.cell().Text; got != tc.want {
			t.Errorf("cell %q, want %q", got, tc.want)
		}
	}
}

// The best policy is compared with fair sharing, whatever its options; else with FIFO; else with the next best.
func TestReference(t *testing.T) {
	for _, tc := range []struct {
		names            []string
		best, next, want int
	}{
		{[]string{"fifo", "srpt", "fair:delay=5s", "las"}, 1, 3, 2},
		{[]string{"fifo", "srpt", "fair", "las"}, 2, 3, 0},
		{[]string{"srpt", "fairer", "las"}, 0, 2, 2},
		{[]string{"srpt", "fifo", "las"}, 1, 2, 2},
	} {
		c := &compared{names: tc.names}
		for _, name := range tc.names {
			c.runs = append(c.runs, &run{info: runInfo{Policy: name}})
		}
		if got := c.reference(tc.best, tc.next); got != tc.want {
			t.Errorf("%v: %s is compared with %s, want %s", tc.names, tc.names[tc.best], tc.names[got], tc.names[tc.want])
		}
	}
}
