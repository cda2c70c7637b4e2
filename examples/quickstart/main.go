// Command quickstart runs a burst of jobs on three goroutines, once under FIFO
// and once under the policy to start with, and prints how long each job took from its
// arrival to its end. Short jobs no longer wait behind long ones, although no job has
// estimates; the long job pays for that.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// burst is a burst of jobs that arrive at one instant: a long job first, short ones
// behind it.
var burst = []struct {
	name  string
	tasks int
	each  time.Duration
}{
	{"nightly report", 24, 61 * time.Millisecond},
	{"import", 9, 41 * time.Millisecond},
	{"thumbnails", 6, 23 * time.Millisecond},
	{"email", 1, 11 * time.Millisecond},
	{"search", 2, 19 * time.Millisecond},
}

func main() { compare(os.Stdout) }

func compare(w io.Writer) {
	f, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := leastwork.New(leastwork.Options{})
	if err != nil {
		log.Fatal(err)
	}
	underFIFO, underLeastWork := run(f, 3), run(l, 3)
	fmt.Fprintf(w, "%-16s%8s%11s\n", "job", "fifo", "leastwork")
	for i, j := range burst {
		fmt.Fprintf(w, "%-16s%8v%11v\n", j.name, underFIFO[i].Round(time.Millisecond), underLeastWork[i].Round(time.Millisecond))
	}
}

// run runs the burst and returns the sojourn time of each job. One goroutine owns the
// policy: it reports what happens and starts what the policy assigns.
func run(p sojourn.Policy, workers int) []time.Duration {
	start := time.Now()
	observe := func(ev sojourn.Event) {
		ev.At = sojourn.Time(time.Since(start))
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	var idle []sojourn.SlotID
	for i := range workers {
		idle = append(idle, sojourn.SlotID(i))
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	left := 0
	for i, j := range burst {
		left += j.tasks
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: j.tasks}}}})
	}
	took := make([]time.Duration, len(burst))
	done := make(chan sojourn.Assignment)
	for ; left > 0; left-- {
		idle = slices.DeleteFunc(idle, func(id sojourn.SlotID) bool {
			a, ok := p.Assign(id)
			if ok {
				go func() { time.Sleep(burst[a.Task.Job-1].each); done <- a }()
			}
			return ok
		})
		a := <-done
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		idle = append(idle, a.Slot)
		took[a.Task.Job-1] = time.Since(start) // the last task of a job decides
	}
	return took
}
