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
