package sojourn_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// A slot is free: what does it run?
func Example_firstScreen() {
	p, err := leastwork.New(leastwork.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 100}}}},
	} {
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	if a, ok := p.Assign(0); ok { // slot 0 is free: what does it run?
		fmt.Println(a.Task, "attempt", a.Attempt)
	}
	// Output: 1/0/0 attempt 1
}

// A policy drives real work: eight goroutines, a job of 100 tasks, and a job of
// 2 that does not have to wait for it.
func Example_goroutines() {
	work := func(sojourn.TaskID) { time.Sleep(time.Millisecond) }

	p, err := hfsp.New(hfsp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	start, done := time.Now(), make(chan sojourn.Assignment)
	observe := func(ev sojourn.Event) {
		ev.At = sojourn.Time(time.Since(start))
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	for slot := range sojourn.SlotID(8) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
	}
	for i, tasks := range []int{100, 2} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks}}}})
	}
	for left := 100 + 2; left > 0; {
		for slot, ok := p.Seek(0); ok; slot, ok = p.Seek(0) { // while there is a free slot and a task for it
			if a, ok := p.Assign(slot); ok {
				go func() { work(a.Task); done <- a }()
			}
		}
		var timer <-chan time.Time // nil: never
		if at, ok := p.NextWake(); ok {
			timer = time.After(time.Until(start.Add(time.Duration(at))))
		}
		select {
		case a := <-done:
			left--
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		case <-timer:
			observe(sojourn.Event{Kind: sojourn.Tick})
		}
	}
	fmt.Println(len(p.AppendRanking(nil)), "jobs left")
	// Output: 0 jobs left
}

// The Go code in the README is that of the examples above.
func TestReadmeExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(readme), "```go\n")
	if len(parts) != 3 {
		t.Fatalf("README.md has %d blocks of Go code, want 2", len(parts)-1)
	}
	for _, after := range parts[1:] {
		block, _, _ := strings.Cut(after, "```")
		var body strings.Builder
		for line := range strings.Lines(block) {
			if line != "\n" {
				body.WriteByte('\t')
			}
			body.WriteString(line)
		}
		if !strings.Contains(string(source), body.String()) {
			t.Errorf("this Go code of README.md is not in readme_test.go:\n%s", block)
		}
	}
}
