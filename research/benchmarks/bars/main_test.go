package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
