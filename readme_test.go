package sojourn_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// Two jobs of Go functions on eight slots.
func Example_firstScreen() {
	ctx, work := context.Background(), func(context.Context, uint32) error { return nil }

	policy, err := leastwork.New(leastwork.Options{})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := live.New(policy, live.Options{Slots: 8})
	if err != nil {
		log.Fatal(err)
	}
	for _, tasks := range []int{100, 2} { // the second job does not wait for the first
		_, err := pool.Submit(ctx, live.Job{Phases: []live.Phase{{Tasks: tasks, Run: func(ctx context.Context, t live.Task) error {
			return work(ctx, t.Index)
		}}}})
		if err != nil {
			log.Fatal(err)
		}
	}
	err = pool.Close(ctx) // waits for both
	fmt.Println(err, len(policy.AppendRanking(nil)), "jobs left")
	// Output: <nil> 0 jobs left
}

// A policy drives real work: eight goroutines, a job of 100 tasks, and a job of
// 2 that does not have to wait for it.
func Example_goroutines() {
	work := func(sojourn.TaskID) { time.Sleep(time.Millisecond) }

	p, err := hfsp.New(hfsp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	d, err := driver.New(p, driver.Options{Now: func() sojourn.Time { return sojourn.Time(time.Since(start)) }})
	if err != nil {
		log.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		if err := d.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	for slot := range sojourn.SlotID(8) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
	}
	for i, tasks := range []int{100, 2} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks}}}})
	}
	done := make(chan sojourn.Assignment)
	for left := 100 + 2; left > 0; {
		r := d.Settle()
		for _, a := range r.Starts {
			go func() { work(a.Task); done <- a }()
		}
		select {
		case a := <-done:
			left--
			observe(driver.Finished(a))
		case <-time.After(r.Sleep): // the policy wants to be asked again
		}
	}
	fmt.Println(len(p.AppendRanking(nil)), "jobs left")
	// Output: 0 jobs left
}

// The Go code in the README and in the tour for owners is that of the examples above. A block with a line "..." is
// not a whole program.
func TestReadmeExamples(t *testing.T) {
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"README.md", "docs/owner.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, after := range strings.Split(string(text), "```go\n")[1:] {
			block, _, _ := strings.Cut(after, "```")
			if strings.Contains(block, "\n...\n") {
				continue
			}
			whole++
			var body strings.Builder
			for line := range strings.Lines(block) {
				if line != "\n" {
					body.WriteByte('\t')
				}
				body.WriteString(line)
			}
			if !strings.Contains(string(source), body.String()) {
				t.Errorf("this Go code of %s is not in readme_test.go:\n%s", page, block)
			}
		}
		if whole != 1 {
			t.Errorf("%s has %d whole programs, want 1", page, whole)
		}
	}
}

// The tests that docs/peers.md names are there.
func TestPeersPage(t *testing.T) {
	text, err := os.ReadFile("docs/peers.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what holds ") {
			continue
		}
		rows++
		named := regexp.MustCompile("(root package|`[a-z/]+`) ((?:Test|Benchmark)[A-Za-z0-9]+)").FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test is named in: %s", line)
		}
		for _, m := range named {
			folder := strings.Trim(m[1], "`")
			if folder == "root package" {
				folder = "."
			}
			files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
			if !slices.ContainsFunc(files, func(file string) bool {
				code, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(code), "\nfunc "+m[2]+"(")
			}) {
				t.Errorf("%s has no %s", folder, m[2])
			}
		}
	}
	if rows != 16 {
		t.Errorf("%d rows, want 16", rows)
	}
}
