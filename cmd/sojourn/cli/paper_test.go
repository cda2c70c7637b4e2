package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// runJSON runs a command and reads what it prints.
func runJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := Run(args, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Fatalf("sojourn %v: status %d, %s", args, status, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		t.Fatalf("sojourn %v: %v", args, err)
	}
}

func TestVerdict(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		name    string
		row     paperRow
		ours    stats.Interval
		verdict string
	}{
		{"nothing said", paperRow{over: "fair"}, stats.Interval{Mean: 2, Half: 0.1}, ""},
		{"within 10 %", paperRow{over: "fair", value: 0.66}, stats.Interval{Mean: 0.72, Half: 0.01}, reproduced},
		{"not within 5 %, same side", paperRow{over: "fair", value: 0.66, tolerance: 0.05}, stats.Interval{Mean: 0.72, Half: 0.01}, shapeOnly},
		{"the paper's value in ours", paperRow{over: "fair", value: 0.66}, stats.Interval{Mean: 0.9, Half: 0.3}, reproduced},
		{"same side", paperRow{over: "fair", value: 0.66}, stats.Interval{Mean: 0.8, Half: 0.1}, shapeOnly},
		{"same side above", paperRow{over: "fair", value: 3}, stats.Interval{Mean: 1.5, Half: 0.1}, shapeOnly},
		{"perhaps not", paperRow{over: "fair", value: 0.66}, stats.Interval{Mean: 0.9, Half: 0.15}, notReproduced},
		{"other side", paperRow{over: "fair", value: 0.66}, stats.Interval{Mean: 1.2, Half: 0.1}, notReproduced},
		{"a time has no side", paperRow{value: 100}, stats.Interval{Mean: 150, Half: 10}, notReproduced},
		{"a time", paperRow{value: 100}, stats.Interval{Mean: 109, Half: 1}, reproduced},
		{"one seed, close", paperRow{value: 100}, stats.Interval{Mean: 109, Half: nan}, reproduced},
		{"one seed, same side", paperRow{over: "fair", value: 0.66}, stats.Interval{Mean: 0.8, Half: nan}, notReproduced},
		{"claim", paperRow{over: "fair", claim: above}, stats.Interval{Mean: 1.2, Half: 0.1}, reproduced},
		{"claim in doubt", paperRow{over: "fair", claim: above}, stats.Interval{Mean: 1.2, Half: 0.2}, notReproduced},
		{"claim refuted", paperRow{over: "fair", claim: above}, stats.Interval{Mean: 0.8, Half: 0.1}, notReproduced},
		{"claim below", paperRow{over: "fair", claim: below}, stats.Interval{Mean: 0.8, Half: 0.1}, reproduced},
		{"claim below refuted", paperRow{over: "fair", claim: below}, stats.Interval{Mean: 1.8, Half: 0.1}, notReproduced},
		{"claim, one seed", paperRow{over: "fair", claim: above}, stats.Interval{Mean: 2, Half: nan}, notReproduced},
		{"no number", paperRow{over: "fair", value: 2}, stats.Interval{Mean: nan, Half: nan}, notReproduced},
	} {
		verdict, why := tc.row.judge(tc.ours)
		if verdict != tc.verdict || (why == "") != (verdict == "" || verdict == reproduced) {
			t.Errorf("%s: %+v against %+v: %q, %q; want %q, and why unless it is reproduced", tc.name, tc.ours, tc.row, verdict, why, tc.verdict)
		}
	}
}

// Jobs of one size: srpt has nothing to choose by and does as fifo does, so that
// their ratio is exactly 1.
func TestPaper(t *testing.T) {
	tiny := experiment{
		name: "tiny", title: "a test", source: "nowhere",
		measure:   measureDist("", "mean response time (s)", sojournTime, distMean),
		workloads: []paperWorkload{{"ONE", "poisson:sizes=constant,tasks=1,jobs=5,load=none", "1x1"}},
		rows: []paperRow{
			{workload: "ONE", policy: "fifo", value: 1e9, reason: "It is made up."},
			{workload: "ONE", policy: "srpt", over: "fifo", value: 1},
			{workload: "ONE", policy: "srpt", over: "fifo", claim: below},
		},
		notes: []string{strings.Repeat("A note that is longer than a line has room for. ", 4)},
	}
	if err := new(generatorFlag).Set(tiny.workloads[0].gen); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd := newPaper(builtin(), []experiment{tiny})
	cmd.SetArgs([]string{"tiny", "--seeds", "3"})
	cmd.SetOut(&stdout)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ONE       ", "cluster 1x1", "seeds      3 from 0 on",
		"fifo                    1000000000", "not reproduced\n",
		"srpt / fifo                   1.00      1.00      reproduced\n",
		"ONE, fifo: not reproduced. Ours is 100 % below. It is made up.",
		"Our interval contains 1.",
		"\n  is longer than",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &stdout)
		}
	}
}

// Every experiment names workloads and policies that there are, and has rows for
// each of its workloads.
func TestExperiments(t *testing.T) {
	names := map[string]bool{}
	for _, e := range experiments() {
		if names[e.name] || e.name == "" || e.title == "" || e.source == "" || (e.measure.of == nil) == (e.plans == nil) {
			t.Errorf("experiment %q is named twice, or lacks a title, source or measure", e.name)
		}
		names[e.name] = true
		used := map[string]bool{}
		parse := parsePolicies
		if e.plans != nil {
			parse = parsePlanners
		}
		for _, row := range e.rows {
			used[row.workload] = true
			for _, policy := range []string{row.policy, row.over} {
				if policy != "" || row.policy == "" {
					if _, err := parse(builtin(), []string{policy}); err != nil {
						t.Errorf("experiment %s: %v", e.name, err)
					}
				}
			}
			if row.claim != noClaim && (row.value != 0 || row.over == "") {
				t.Errorf("experiment %s, %s: a claim is about a ratio without a value", e.name, row.quantity())
			}
		}
		for _, w := range e.workloads {
			if !used[w.name] {
				t.Errorf("experiment %s: no row of workload %s", e.name, w.name)
			}
			if err := new(generatorFlag).Set(w.gen); err != nil {
				t.Errorf("experiment %s: %v", e.name, err)
			}
			delete(used, w.name)
		}
		for name := range used {
			t.Errorf("experiment %s: rows of workload %s, which it does not have", e.name, name)
		}
	}
}
