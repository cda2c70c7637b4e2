package paper

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

// A verdict at the ends of its range: an interval exactly as wide as the tolerance, a
// mean exactly at its end, a limit exactly at the end of the interval, and each a little
// beyond. By hand: 128 with a tolerance of an eighth is 112 to 144, so that 200 ± 56 begins where it ends.
func TestVerdict(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ratio := func(value float64) paperRow { return paperRow{over: "fair", value: value} }
	is := func(c claim) paperRow { return paperRow{over: "fair", claim: c} }
	for _, tc := range []struct {
		name    string
		row     paperRow
		ours    stats.Interval
		verdict string
	}{
		{"nothing said", paperRow{over: "fair"}, stats.Interval{Mean: 2, Half: 0.1}, ""},
		{"nothing said of noise", paperRow{over: "fair"}, stats.Interval{Mean: 2, Half: inf}, ""},

		{"a time", paperRow{value: 128}, stats.Interval{Mean: 130, Half: 1}, reproduced},
		{"at the upper end", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 144, Half: 0}, reproduced},
		{"above it", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 144.0001, Half: 0}, notReproduced},
		{"at the lower end", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 112, Half: 0}, reproduced},
		{"below it", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 111.9999, Half: 0}, notReproduced},
		{"as wide as the tolerance", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 128, Half: 16}, reproduced},
		{"wider", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 128, Half: 16.0001}, tooFewSeeds},
		{"as wide, elsewhere", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 200, Half: 16}, notReproduced},
		{"wider, elsewhere", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 200, Half: 16.0001}, notReproduced},
		{"nearly down to the tolerance", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 200, Half: 55.9999}, notReproduced},
		{"down to the tolerance", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 200, Half: 56}, tooFewSeeds},
		{"nearly up to the tolerance", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 64, Half: 47.9999}, notReproduced},
		{"up to the tolerance", paperRow{value: 128, tolerance: 0.125}, stats.Interval{Mean: 64, Half: 48}, tooFewSeeds},
		{"far off, whatever the width", paperRow{value: 45}, stats.Interval{Mean: 170, Half: 14}, notReproduced},
		{"noise", paperRow{value: 659}, stats.Interval{Mean: 659, Half: 2523}, tooFewSeeds},
		{"noise that contains it", paperRow{value: 450}, stats.Interval{Mean: 659, Half: 2523}, tooFewSeeds},
		{"no end of noise", paperRow{value: 659}, stats.Interval{Mean: 659, Half: inf}, tooFewSeeds},
		{"the tolerance is the paper's, not ours", paperRow{value: 1}, stats.Interval{Mean: 1.1, Half: 0.2}, tooFewSeeds},
		{"a time has no side", paperRow{value: 128}, stats.Interval{Mean: 150, Half: 1}, notReproduced},
		{"one seed", paperRow{value: 128}, stats.Interval{Mean: 128, Half: nan}, tooFewSeeds},

		{"within 10 %", ratio(0.66), stats.Interval{Mean: 0.72, Half: 0.01}, reproduced},
		{"not within 5 %, same side", paperRow{over: "fair", value: 0.66, tolerance: 0.05}, stats.Interval{Mean: 0.72, Half: 0.01}, shapeOnly},
		{"the paper's value in ours", ratio(0.66), stats.Interval{Mean: 0.9, Half: 0.3}, tooFewSeeds},
		{"same side", ratio(0.66), stats.Interval{Mean: 0.8, Half: 0.05}, shapeOnly},
		{"same side, noise", ratio(0.66), stats.Interval{Mean: 0.8, Half: 0.1}, tooFewSeeds},
		{"same side, wide, far off", ratio(0.1), stats.Interval{Mean: 0.8, Half: 0.1}, shapeOnly},
		{"other side, wide", ratio(0.66), stats.Interval{Mean: 1.2, Half: 0.1}, notReproduced},
		{"one has no side", ratio(1), stats.Interval{Mean: 0.8, Half: 0.05}, notReproduced},
		{"one", ratio(1), stats.Interval{Mean: 0.95, Half: 0.05}, reproduced},
		{"a difference of the other sign", paperRow{value: 0.2}, stats.Interval{Mean: -0.25, Half: 0.01}, notReproduced},
		{"same side above", ratio(3), stats.Interval{Mean: 1.5, Half: 0.1}, shapeOnly},
		{"up to 1", ratio(0.5), stats.Interval{Mean: 0.96875, Half: 0.03125}, notReproduced},
		{"up to nearly 1", ratio(0.5), stats.Interval{Mean: 0.96875, Half: 0.03124}, shapeOnly},
		{"other side", ratio(0.66), stats.Interval{Mean: 1.2, Half: 0.01}, notReproduced},
		{"one seed, same side", ratio(0.66), stats.Interval{Mean: 0.8, Half: nan}, tooFewSeeds},
		{"no number", ratio(2), stats.Interval{Mean: nan, Half: nan}, notReproduced},

		{"claim", is(above), stats.Interval{Mean: 1.2, Half: 0.1}, reproduced},
		{"claim, down to nearly 1", is(above), stats.Interval{Mean: 1.25, Half: 0.2499}, reproduced},
		{"claim, down to 1", is(above), stats.Interval{Mean: 1.25, Half: 0.25}, tooFewSeeds},
		{"claim in doubt, narrow", is(above), stats.Interval{Mean: 1.05, Half: 0.1}, notReproduced},
		{"claim in doubt, wide", is(above), stats.Interval{Mean: 1.05, Half: 0.1001}, tooFewSeeds},
		{"claim refuted", is(above), stats.Interval{Mean: 0.8, Half: 0.1}, notReproduced},
		{"claim refuted, wide", is(above), stats.Interval{Mean: 0.5, Half: 0.4}, notReproduced},
		{"claim below", is(below), stats.Interval{Mean: 0.8, Half: 0.1}, reproduced},
		{"claim below refuted", is(below), stats.Interval{Mean: 1.8, Half: 0.1}, notReproduced},
		{"claim, one seed", is(above), stats.Interval{Mean: 2, Half: nan}, tooFewSeeds},
		{"claim, no number", is(above), stats.Interval{Mean: nan, Half: nan}, notReproduced},
		{"limit", paperRow{claim: below, limit: 1.19}, stats.Interval{Mean: 1.18, Half: 0.009}, reproduced},
		{"above the limit", paperRow{claim: below, limit: 1.19}, stats.Interval{Mean: 1.2, Half: 0.009}, notReproduced},
		{"a difference", paperRow{claim: above}, stats.Interval{Mean: 3, Half: 2.9999}, reproduced},
		{"a difference, down to 0", paperRow{claim: above}, stats.Interval{Mean: 3, Half: 3}, tooFewSeeds},
		{"a difference below", paperRow{claim: above}, stats.Interval{Mean: -3, Half: 2.9}, notReproduced},
		{"about a limit, narrow", paperRow{claim: below, limit: 4, tolerance: 0.125}, stats.Interval{Mean: 4, Half: 0.5}, notReproduced},
		{"about a limit, wide", paperRow{claim: below, limit: 4, tolerance: 0.125}, stats.Interval{Mean: 4, Half: 0.51}, tooFewSeeds},
	} {
		got := tc.row.judge(tc.ours, 20)
		if got.is != tc.verdict || (got.why == "") != (tc.verdict == "" || tc.verdict == reproduced) {
			t.Errorf("%s: %+v against %+v: %+v; want %q, and why unless it is reproduced", tc.name, tc.ours, tc.row, got, tc.verdict)
		}
		if told := got.needed > 0; told != (tc.verdict == tooFewSeeds && tc.ours.Half < inf) {
			t.Errorf("%s: %d seeds are needed", tc.name, got.needed)
		}
	}
}

// The number of seeds that the verdict names is enough. With the deviation that the
// interval shows, their interval is narrow enough for a verdict, and with one seed fewer
// it is not.
func TestVerdictNeeds(t *testing.T) {
	for _, tc := range []struct {
		row    paperRow
		ours   stats.Interval
		margin float64
	}{
		{paperRow{value: 45}, stats.Interval{Mean: 71.7, Half: 36.1}, 4.5},
		{paperRow{over: "fair", claim: above}, stats.Interval{Mean: 1.05, Half: 0.3}, 0.1},
		{paperRow{over: "fair", claim: above}, stats.Interval{Mean: 1.25, Half: 0.3}, 0.25},
	} {
		got := tc.row.judge(tc.ours, 20)
		if want := tc.ours.Needed(20, tc.margin); got.needed != want || !strings.Contains(got.why, fmt.Sprintf("about --seeds %d would do", want)) {
			t.Errorf("%+v against %+v: %+v, want %d seeds", tc.ours, tc.row, got, want)
		}
	}
}

// Jobs have one size. srpt has nothing to choose by and does as fifo does, so their ratio
// is exactly 1.
func TestPaper(t *testing.T) {
	tiny := Experiment{
		Name: "tiny", Title: "a test", Source: "nowhere",
		measure:   trial.MeasureDist("", "mean response time (s)", trial.SojournTime, trial.Mean),
		workloads: []paperWorkload{{"ONE", "poisson:sizes=constant,tasks=1,jobs=5,load=none", "1x1"}},
		rows: []paperRow{
			{workload: "ONE", policy: "fifo", value: 1e9, reason: "It is made up."},
			{workload: "ONE", policy: "srpt", over: "fifo", value: 1},
			{workload: "ONE", policy: "srpt", over: "fifo", claim: below},
		},
		notes: []string{strings.Repeat("A note that is longer than a line has room for. ", 4)},
	}
	if err := new(input.Generator).Set(tiny.workloads[0].gen); err != nil {
		t.Fatal(err)
	}
	p, err := tiny.Run(t.Context(), io.Discard, trial.Setup{Policies: catalog.Builtin()}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	if err := p.Write(&stdout); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ONE       ", "cluster 1x1", "seeds      3 from 0 on",
		"fifo                    1000000000 ± 10 %", "not reproduced\n",
		"srpt / fifo                   1.00 ± 10 %      1.00      reproduced\n",
		"ONE, fifo: not reproduced. Ours is 100 % below. It is made up.",
		"Our interval contains 1.", "\nseeds      3 from 0 on",
		"\n  note that is longer",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &stdout)
		}
	}
}

// Every experiment names workloads and policies that exist, and has rows for each of its
// workloads.
func TestExperiments(t *testing.T) {
	names := map[string]bool{}
	for _, e := range All() {
		if names[e.Name] || e.Name == "" || e.Title == "" || e.Source == "" || (e.measure.Of == nil) == (e.plans == nil) {
			t.Errorf("experiment %q is named twice, or lacks a title, source or measure", e.Name)
		}
		names[e.Name] = true
		used := map[string]bool{}
		parse := trial.ParsePolicies
		if e.plans != nil {
			parse = parsePlanners
		}
		for _, row := range e.rows {
			if row.each != nil {
				if row.part == "" || row.policy != "" || row.over != "" {
					t.Errorf("experiment %s: %q says what is measured, and of no policy", e.Name, row.quantity())
				}
				continue
			}
			used[row.workload] = true
			for _, policy := range []string{row.policy, row.over} {
				if policy != "" || row.policy == "" {
					if _, err := parse(catalog.Builtin(), []string{policy}); err != nil {
						t.Errorf("experiment %s: %v", e.Name, err)
					}
				}
			}
			if row.claim != noClaim && (row.value != 0 || row.over == "" && row.limit == 0 && row.part == "") {
				t.Errorf("experiment %s, %s: a claim is about a ratio, or has a limit, and no value", e.Name, row.quantity())
			}
		}
		for _, w := range e.workloads {
			if !used[w.name] {
				t.Errorf("experiment %s: no row of workload %s", e.Name, w.name)
			}
			if err := new(input.Generator).Set(w.gen); err != nil {
				t.Errorf("experiment %s: %v", e.Name, err)
			}
			delete(used, w.name)
		}
		for name := range used {
			t.Errorf("experiment %s: rows of workload %s, which it does not have", e.Name, name)
		}
	}
}

// shrunk returns the experiment with few and small jobs, for tests that do not depend on
// its numbers.
func shrunk(e Experiment, jobs string) Experiment {
	small := map[string]string{"jobs": jobs, "tasks": "20", "size": "2", "set": "1"}
	e.workloads = slices.Clone(e.workloads)
	for i := range e.workloads {
		var g input.Generator
		if err := g.Set(e.workloads[i].gen); err != nil {
			panic(err)
		}
		for _, o := range g.From.Options {
			if value, ok := small[o.Name]; ok && o.Default != "auto" {
				g.Options[o.Name] = value
			}
		}
		var options []string
		for _, name := range slices.Sorted(maps.Keys(g.Options)) {
			options = append(options, name+"="+g.Options[name])
		}
		e.workloads[i].gen = strings.TrimSuffix(g.From.Name+":"+strings.Join(options, ","), ":")
	}
	return e
}

// Every experiment runs with few jobs, and prints all of its rows, as a table and as
// JSON. TestMarsFigures tests those of MarS.
func TestExperimentsRun(t *testing.T) {
	for _, e := range All() {
		if e.plans != nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			jobs := "4"
			if strings.HasPrefix(e.Name, "hfsp") {
				jobs = "20" // of all sizes
			}
			e = shrunk(e, jobs)
			p, err := e.Run(t.Context(), io.Discard, trial.Setup{Policies: catalog.Builtin()}, 1)
			if err != nil {
				t.Fatal(err)
			}
			var table strings.Builder
			if err := p.Write(&table); err != nil {
				t.Fatal(err)
			}
			sum := p.Summary()
			if len(sum.Rows) != len(e.rows) {
				t.Fatalf("%d rows in JSON, want %d", len(sum.Rows), len(e.rows))
			}
			for i, r := range e.rows {
				if got := sum.Rows[i]; got.Workload != r.workload || got.Policy != r.policy || got.Over != r.over || got.Part != r.part {
					t.Errorf("row %d in JSON: %+v, want %s on %s", i, got, r.quantity(), r.workload)
				}
			}
			for _, w := range e.workloads {
				if !strings.Contains(table.String(), e.Title) || !strings.Contains(table.String(), "\n"+w.name+" ") {
					t.Errorf("the table lacks %q or %q", e.Title, w.name)
				}
			}
		})
	}
}
