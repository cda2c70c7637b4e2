package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	workloads "github.com/sojourn-sched/sojourn/research/trace"
)

// Without a trace there is no table of nothing.
func TestNoTraces(t *testing.T) {
	b := bars{data: t.TempDir(), dir: t.TempDir(), loads: []string{"0.9"}, told: []string{"none"}}
	for _, table := range []string{"cells", "guesses", "gangs"} {
		if err := b.print(io.Discard, table); err == nil {
			t.Errorf("table %s: a folder without traces is no error", table)
		}
	}
}

// A name that nothing has is an error.
func TestNames(t *testing.T) {
	for _, test := range []struct{ tables, only, want string }{
		{"", "", ""},
		{"cells,unlike", "kth,night", ""},
		{"cell", "", `no table is named "cell"`},
		{"cells,", "", `no table is named ""`},
		{"cells", "kth,hth", `no trace or load is named "hth"`},
	} {
		err := (&bars{only: test.only}).check(test.tables)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("tables %q, traces %q: %v, want %q", test.tables, test.only, err, test.want)
		}
	}
}

// The loads that are made up are workloads, the same at each call, and two draws differ.
func TestMadeUpLoads(t *testing.T) {
	for _, l := range loads {
		n, sizes := 0, 0
		for j, err := range workloads.Read(bytes.NewReader(l.workload(1, true)), workloads.ReadOptions{}) {
			if err != nil {
				t.Fatalf("%s: %v", l.name, err)
			}
			for _, p := range j.Phases {
				if p.Estimate > 0 {
					sizes++
				}
			}
			n++
		}
		if n < 900 || sizes < n {
			t.Errorf("%s has %d jobs, and %d sizes", l.name, n, sizes)
		}
		if !bytes.Equal(l.workload(1, false), l.workload(1, false)) || bytes.Equal(l.workload(1, false), l.workload(2, false)) || bytes.Contains(l.workload(1, false), []byte("estimate")) {
			t.Errorf("%s is not the same, or always the same, or tells sizes", l.name)
		}
	}
}

// What a table leaves out of the policy is there.
func TestRulesAreThere(t *testing.T) {
	for _, r := range ruleEdits {
		for _, e := range r.edits {
			text, err := os.ReadFile(filepath.Join("../../..", e.file))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), e.old); n != 1 {
				t.Errorf("%s: %q stands %d times in %s, want once", r.name, e.old, n, e.file)
			}
		}
	}
}

// A trace of the user runs with what it requests and with its pools only where these are asked for, and a name tells two of them apart.
func TestTraceOfOnesOwn(t *testing.T) {
	const text = `{"id":1,"at":0,"pool":"u \"1\"","phases":[{"tasks":2,"time":10,"estimate":60},{"tasks":2,"time":3,"estimate":[4,5]}]}
{"id":2,"at":1,"phases":[{"time":[1,2]}]}
`
	file := filepath.Join(t.TempDir(), "mine.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		users, requested bool
		want, never      []string
	}{
		{true, true, []string{`"pool"`, `"estimate":60`, `"estimate":[4,5]`}, nil},
		{true, false, []string{`"pool"`}, []string{"estimate"}},
		{false, true, []string{`"estimate":60`}, []string{"pool"}},
		{false, false, []string{`"id":2`}, []string{"pool", "estimate"}},
	} {
		b := bars{dir: t.TempDir(), users: c.users, files: map[string]string{}}
		if err := b.add(file + "@10x1"); err != nil {
			t.Fatal(err)
		}
		list := b.traces()
		if len(list) != 1 || list[0].name != "mine" || list[0].cluster != "10x1" || !list[0].requested {
			t.Fatalf("got %+v", list)
		}
		name, err := b.workload(list[0], c.requested)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.want {
			if !bytes.Contains(got, []byte(s)) {
				t.Errorf("users %v, requested %v: no %s in %s", c.users, c.requested, s, got)
			}
		}
		for _, s := range c.never {
			if bytes.Contains(got, []byte(s)) {
				t.Errorf("users %v, requested %v: %s in %s", c.users, c.requested, s, got)
			}
		}
		if err := b.add(file + "@20x1"); err == nil {
			t.Error("two traces of one name are no error")
		}
	}
	var b bars
	for _, text := range []string{"", file, "@10x1", file + "@", file + "no@10x1"} {
		if err := b.add(text); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

// What is told may cost 5 % more than nothing, at each load of each trace.
func TestCostsOfTelling(t *testing.T) {
	cells := func(x float64) []cell {
		return []cell{
			{"a", "0.7", "none", [5]float64{1, 1, 1, 1, 1}},
			{"a", "0.7", "exact", [5]float64{1.04, 1, 1, x, 1}},
			{"b", "0.7", "none", [5]float64{2, 2, 2, 2, 2}},
			{"b", "0.7", "exact", [5]float64{2, 2, 2, 2, 2}},
			{"b", "0.9", "exact", [5]float64{9, 9, 9, 9, 9}},
		}
	}
	for _, c := range []struct {
		x    float64
		want string
	}{
		{1.05, "0 of 10 figures with told sizes are more than 5 % above those with nothing told; the greatest is 1.05 times as much: slowdown, mean, a, exact, load 0.7.\n"},
		{1.06, "1 of 10 figures with told sizes are more than 5 % above those with nothing told; the greatest is 1.06 times as much: slowdown, mean, a, exact, load 0.7.\n"},
	} {
		var text strings.Builder
		if costs(&text, cells(c.x)); text.String() != c.want {
			t.Errorf("got %s", text.String())
		}
	}
}
