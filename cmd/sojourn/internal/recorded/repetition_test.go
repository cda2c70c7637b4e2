package recorded

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// estimated is an estimate in JSON: a mean with its interval.
func estimated(mean, low, high float64, close bool) string {
	return fmt.Sprintf(`{"mean": %v, "ci": [%v, %v], "close": %t}`, mean, low, high, close)
}

// repeated is a sample in JSON. Its median is half of its mean, its longest twice its p99, and of the mean sojourn time the
// interval is given.
func repeated(value, policy string, mean, low, high, p99 float64, close bool) string {
	one := func(v float64) string { return estimated(v, v, v, false) }
	return fmt.Sprintf(`{"value": %q, "policy": %q, "sojourn": {"mean": %s, "median": %s, "p90": {"mean": null, "ci": [null, null]}, "p99": %s, "max": %s},
		"slowdown": {"mean": %s, "median": %s, "p90": %s, "p99": %s, "max": %s}, "makespan": %s, "late_vs_ps": {"jobs": %s, "max": %s}}`,
		value, policy, estimated(mean, low, high, close), one(mean/2), one(p99), one(2*p99), one(1.5), one(1), one(2), one(3), one(4), one(100), one(7), one(8))
}

// repetitionOf is seeds.json or sweep.json.
func repetitionOf(vary string, seeds int, samples ...string) string {
	return fmt.Sprintf(`{"workload": {"name": "story", "jobs": 20, "tasks": 1}, "cluster": {"name": "1x2", "nodes": 1, "slots": {"slots": 2}},
		"estimates": "none", "vary": %q, "seed": 4, "seeds": %d, "policies": [%s]}`, vary, seeds, strings.Join(samples, ","))
}

func pageOf(t *testing.T, file, text string) *page.Report {
	t.Helper()
	r, err := Page(t.Context(), []string{lay(t, map[string]string{file: text})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The verdict on seeds says which policy is best, and whether that may be chance; and for whom it is worse.
func TestVerdictOfSeeds(t *testing.T) {
	srpt := repeated("", "srpt", 10, 9, 11, 50, false)
	const tail = "srpt is worse for the slowest jobs: the slowest one of 100 takes over 50 seconds, and over 40 seconds under fair."
	for _, tc := range []struct {
		name, title string
		seeds       int
		samples     []string
		want        []string
	}{
		{"clear", "3 policies on story, 3 seeds", 3, []string{repeated("", "fifo", 40, 30, 50, 60, false), srpt, repeated("", "fair", 20, 15, 25, 40, false)}, []string{
			"srpt is best: a job takes 10 seconds on average from its arrival to its end, 75 % less than under fifo, the worst of 3.",
			"This is hardly chance: with 3 seeds, its lead over each other policy is significant. The next best is fair.", tail}},
		{"one is close", "3 policies on story, 3 seeds", 3, []string{repeated("", "fifo", 40, 30, 50, 60, false), srpt, repeated("", "fair", 20, 15, 25, 40, true)}, []string{
			"srpt is best: a job takes 10 seconds on average from its arrival to its end, 75 % less than under fifo, the worst of 3.",
			"Its lead over fair may be chance: with 3 seeds it is not significant.", tail}},
		{"all are close", "2 policies on story, 2 seeds", 2, []string{srpt, repeated("", "fair", 20, 5, 35, 40, true)}, []string{
			"No policy is clearly best.",
			"Under srpt, a job takes 10 seconds on average from its arrival to its end, 50 % less than under fair. But with 2 seeds, this may be chance.", tail}},
		{"one seed", "2 policies on story, 1 seed", 1, []string{srpt, repeated("", "fair", 20, 20, 20, 60, false)}, []string{
			"srpt is best: a job takes 10 seconds on average from its arrival to its end, 50 % less than under fair.",
			"The slowest jobs are no worse off either: under srpt, the slowest one of 100 takes over 50 seconds, no more than under any other."}},
		{"one policy", "srpt on story, 3 seeds", 3, []string{srpt}, []string{"Under srpt, a job takes 10 seconds on average from its arrival to its end."}},
	} {
		r := pageOf(t, files.Seeds, repetitionOf("", tc.seeds, tc.samples...))
		if r.Title != tc.title {
			t.Errorf("%s: title %q, want %q", tc.name, r.Title, tc.title)
		}
		if got, want := strings.Join(r.Verdict, "\n"), strings.Join(tc.want, "\n"); got != want {
			t.Errorf("%s: verdict\n%s\nwant\n%s", tc.name, got, want)
		}
		if got := strings.Contains(r.Tables[0].Help, "Means over"); got != (tc.seeds > 1) {
			t.Errorf("%s: the help of the table is %q", tc.name, r.Tables[0].Help)
		}
	}
}

// A plot of seeds has a whisker where there is an interval, which ends at a tenth of the mean.
func TestWhiskers(t *testing.T) {
	r := pageOf(t, files.Seeds, repetitionOf("", 3, repeated("", "srpt", 10, -5, 25, 50, false)))
	s := r.Plots[0].Series[0]
	if s.Y[0] != 10 || s.Y[1] != 5 || !math.IsNaN(s.Y[2]) || len(s.Low) > 0 || len(s.High) > 0 {
		t.Errorf("where a number has no interval: %+v, want no whiskers", s)
	}
	s = r.Plots[1].Series[0]
	if want := (page.Series{Name: "srpt", X: []float64{0, 1, 2, 3, 4}, Y: []float64{1.5, 1, 2, 3, 4}, Low: []float64{1.5, 1, 2, 3, 4}, High: []float64{1.5, 1, 2, 3, 4}}); !reflect.DeepEqual(s, want) {
		t.Errorf("slowdown: %+v, want %+v", s, want)
	}
	r = pageOf(t, files.Sweep, repetitionOf("load", 2, repeated("0.5", "srpt", 10, -5, 25, 50, false), repeated("0.9", "srpt", 20, 15, 25, 50, false)))
	s = r.Plots[0].Series[0]
	if want := (page.Series{Name: "srpt", X: []float64{0.5, 0.9}, Y: []float64{10, 20}, Low: []float64{1, 15}, High: []float64{25, 25}}); !reflect.DeepEqual(s, want) {
		t.Errorf("mean sojourn time: %+v, want %+v", s, want)
	}
	if !strings.Contains(r.Plots[0].Help, "A band or whisker") {
		t.Errorf("help %q", r.Plots[0].Help)
	}
	r = pageOf(t, files.Sweep, repetitionOf("load", 1, repeated("0.5", "srpt", 10, 10, 10, 50, false)))
	if r.Plots[0].Help != "Lower is better." {
		t.Errorf("of one seed: help %q", r.Plots[0].Help)
	}
}

// The table of a repetition has all numbers, with half of each interval, and says what was run.
func TestTableOfRepetition(t *testing.T) {
	texts := func(row []page.Cell) (list []string) {
		for _, c := range row {
			list = append(list, c.Text)
		}
		return list
	}
	numbers := []string{"10.0 ± 2.00", "5.00", "-", "50.0", "100", "1.50", "3.00", "7.00", "8.00", "100"}
	sample := repeated("0.5", "srpt", 10, 8, 12, 50, false)
	for _, tc := range []struct {
		file, vary string
		first      []string
		columns    []string
	}{
		{files.Seeds, "", []string{"srpt"}, []string{"policy"}},
		{files.Sweep, "load", []string{"0.5", "srpt"}, []string{"load", "policy"}},
	} {
		r := pageOf(t, tc.file, repetitionOf(tc.vary, 3, sample))
		table := r.Tables[0]
		if got, want := texts(table.Rows[0]), append(tc.first, numbers...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: row %q, want %q", tc.file, got, want)
		}
		for i, c := range table.Columns {
			if c.Number != (i >= len(tc.columns)) || i < len(tc.columns) && c.Name != tc.columns[i] {
				t.Errorf("%s: column %d is %+v", tc.file, i, c)
			}
		}
		want := []page.Fact{{Name: "workload", Text: "story (20 jobs): 20 jobs, 1 task"}, {Name: "cluster", Text: "1x2: 1 node, 2 slots"}, {Name: "seeds", Text: "3, from 4 on"}, {Name: "sizes that policies are told", Text: "none"}}
		if !reflect.DeepEqual(r.Facts, want) {
			t.Errorf("%s: facts %+v, want %+v", tc.file, r.Facts, want)
		}
	}
}

// The verdict on a sweep says which policy is best where; if an option varies, its values are compared.
func TestVerdictOfSweep(t *testing.T) {
	at := func(value, policy string, mean float64) string {
		return repeated(value, policy, mean, mean, mean, 50, false)
	}
	near := repeated("0.9", "fifo", 20, 5, 35, 50, true)
	const same = "The slowest jobs are no worse off either: under fair, the slowest one of 100 takes over 50 seconds, no more than under any other."
	for _, tc := range []struct {
		name, vary, title string
		seeds             int
		samples           []string
		want              []string
	}{
		{"chance", "load", "fifo, fair on story, for 2 values of load", 3, []string{at("0.5", "fifo", 12), at("0.5", "fair", 9), near, at("0.9", "fair", 10)}, []string{
			"No policy is clearly best at load 0.9.",
			"Under fair, a job takes 10 seconds on average from its arrival to its end, 50 % less than under fifo. But with 3 seeds, this may be chance.", same}},
		{"one policy", "load", "fair on story, for 2 values of load", 1, []string{at("0.5", "fair", 9), at("0.9", "fair", 10)}, []string{
			"Under fair, a job takes 10 seconds on average from its arrival to its end at load 0.9."}},
		{"one is best", "load", "fifo, fair on story, for 2 values of load", 1, []string{at("0.5", "fifo", 12), at("0.5", "fair", 9), at("0.9", "fifo", 20), at("0.9", "fair", 10)}, []string{
			"Under fair, jobs take the least time on average at each load.",
			"fair is best at load 0.9: a job takes 10 seconds on average from its arrival to its end, 50 % less than under fifo.", same}},
		{"one value", "load", "fifo, fair on story, for 1 value of load", 1, []string{at("0.9", "fifo", 20), at("0.9", "fair", 10)}, []string{
			"fair is best at load 0.9: a job takes 10 seconds on average from its arrival to its end, 50 % less than under fifo.", same}},
		{"it depends", "error", "fifo, fair on story, for 3 values of error", 1, []string{at("0", "fifo", 8), at("0", "fair", 9), at("1", "fifo", 8), at("1", "fair", 9), at("2", "fifo", 20), at("2", "fair", 10)}, []string{
			"Which policy is best depends on the error: fifo at 0, 1; fair at 2.",
			"fair is best at error 2: a job takes 10 seconds on average from its arrival to its end, 50 % less than under fifo.", same}},
		{"an option", "fair:delay", "fair:order=running on story, for 2 values of fair:delay", 1, []string{at("0s", "fair:order=running,delay=0s", 20), at("5s", "fair:delay=5s,order=running", 10)}, []string{
			"fair:delay=5s,order=running is best: a job takes 10 seconds on average from its arrival to its end, 50 % less than under fair:order=running,delay=0s.",
			strings.Replace(same, "under fair,", "under fair:delay=5s,order=running,", 1)}},
	} {
		r := pageOf(t, files.Sweep, repetitionOf(tc.vary, tc.seeds, tc.samples...))
		if r.Title != tc.title {
			t.Errorf("%s: title %q, want %q", tc.name, r.Title, tc.title)
		}
		if got, want := strings.Join(r.Verdict, "\n"), strings.Join(tc.want, "\n"); got != want {
			t.Errorf("%s: verdict\n%s\nwant\n%s", tc.name, got, want)
		}
	}
}

// A repetition that lacks what a page is made of is an error.
func TestBadRepetitions(t *testing.T) {
	good := repetitionOf("", 3, repeated("", "srpt", 10, 8, 12, 50, false))
	for _, bad := range []string{
		strings.Replace(good, `"seeds": 3`, `"seeds": 0`, 1), strings.Replace(good, `"name": "story"`, `"name": ""`, 1),
		repetitionOf("", 3), strings.Replace(good, `"mean": 10,`, `"mean": null,`, 1),
	} {
		if _, err := Page(t.Context(), []string{lay(t, map[string]string{files.Seeds: bad})}); err == nil || !strings.Contains(err.Error(), "this version of sojourn cannot read it: it does not name a workload, seeds and policies") {
			t.Errorf("error %v of %s", err, bad)
		}
	}
}
