// Package killtest kills servers, and checks what processes have done that were killed while they ran jobs.
package killtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ledgers reads the files effects.* of a folder, of one process each, and fails the test unless each acknowledged job has run to its end and no
// attempt was started twice, or if fewer jobs than least were acknowledged. A process writes a line
//
//	ack JOB TASKS   when it has acknowledged a job of one phase
//	x TASK#ATTEMPT  when an attempt begins
//	f TASK#ATTEMPT  when it has finished
//
// A line that does not end counts as not written.
func Ledgers(t *testing.T, dir string, least int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "effects.*"))
	if err != nil {
		t.Fatal(err)
	}
	started, finished, tasks := map[string]string{}, map[string]bool{}, map[int]int{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data[:bytes.LastIndexByte(data, '\n')+1])) {
			word, what, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch task, _, _ := strings.Cut(what, "#"); word {
			case "x":
				if was := started[what]; was != "" {
					t.Errorf("attempt %s was started by %s and %s", what, was, name)
				}
				started[what] = name
			case "f":
				finished[task] = true
			case "ack":
				var id, n int
				fmt.Sscan(what, &id, &n)
				tasks[id] = n
			}
		}
	}
	for id, n := range tasks { //sojourn:unordered each by itself
		for i := range n {
			if task := fmt.Sprintf("%d/0/%d", id, i); !finished[task] {
				t.Errorf("job %d was acknowledged, and task %s is lost", id, task)
			}
		}
	}
	if len(tasks) < least {
		t.Errorf("%d jobs were acknowledged: too few to show anything", len(tasks))
	}
	t.Logf("%d processes, %d jobs acknowledged, %d attempts", len(names), len(tasks), len(started))
}
