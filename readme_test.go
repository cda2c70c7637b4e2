package sojourn_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
)

// A policy drives real work: eight goroutines, a job of 100 tasks, and one of 2
// that does not have to wait for it.
func Example_goroutines() {
	work := func(sojourn.TaskID) { time.Sleep(time.Millisecond) }

	p, _ := baseline.NewFSP(baseline.FSPOptions{})
	start, done, idle := time.Now(), make(chan sojourn.Assignment), []sojourn.SlotID{0, 1, 2, 3, 4, 5, 6, 7}
	observe := func(ev sojourn.Event) { ev.At = sojourn.Time(time.Since(start)); p.Observe(ev) }
	for _, slot := range idle {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
	}
	for i, tasks := range []int{100, 2} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Millisecond}}}})
	}
	for range 100 + 2 {
		idle = slices.DeleteFunc(idle, func(slot sojourn.SlotID) bool { // offer every idle slot
			a, ok := p.Assign(slot)
			if ok {
				go func() { work(a.Task); done <- a }()
			}
			return ok
		})
		a := <-done
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		idle = append(idle, a.Slot)
	}
	fmt.Println(len(p.AppendRanking(nil)), "jobs left")
	// Output: 0 jobs left
}

// The program in the README is the example above.
func TestReadmeExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(readme), "```go\n")
	block, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("README.md has no Go code")
	}
	var body strings.Builder
	for line := range strings.Lines(block) {
		if line != "\n" {
			body.WriteByte('\t')
		}
		body.WriteString(line)
	}
	if !strings.Contains(string(source), body.String()) {
		t.Errorf("the Go code of README.md is not in readme_test.go:\n%s", block)
	}
}
