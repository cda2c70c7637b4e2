// Command restart runs two jobs on three goroutines, and forgets nothing when it is killed: start it
// again with the same folder, and it goes on.
//
//	go run ./examples/restart /tmp/jobs      # press Ctrl-C in the middle, and repeat the command
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: restart FOLDER")
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run goes on with the jobs of a folder, or submits them, and returns when they have ended.
func run(dir string, w io.Writer) error {
	p, err := leastwork.New(leastwork.Options{})
	if err != nil {
		return err
	}
	store, err := journal.OpenFiles(dir)
	if err != nil {
		return err
	}
	j, err := journal.Open(store, p, journal.Options{})
	if err != nil {
		return err
	}
	defer j.Close()
	observe := func(ev sojourn.Event) {
		ev.At = j.Time(time.Now()) // goes on where it stopped
		if err := j.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	if j.MaxJob() == 0 { // nothing was ever submitted
		for id := range sojourn.SlotID(3) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
		}
		for _, tasks := range []int{8, 4} {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: j.MaxJob() + 1, Phases: []sojourn.Phase{{Tasks: tasks}}}})
		}
		if err := j.Flush(); err != nil { // now the jobs can be acknowledged
			return err
		}
	}
	// What ran in goroutines ended with the process. Attempts that outlive it, such as containers, would need no report.
	lost := slices.Collect(j.Account().Attempts())
	for _, at := range lost {
		observe(sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: at.Task, Attempt: at.Number, Slot: at.Slot})
	}
	fmt.Fprintf(w, "%d jobs to do, %d attempts lost\n", j.Account().Live(), len(lost))

	done := make(chan sojourn.Assignment)
	for j.Account().Live() > 0 {
		starts := settle(j)
		if err := j.Flush(); err != nil { // before the first start: no attempt is started twice
			return err
		}
		for _, a := range starts {
			fmt.Fprintf(w, "task %v attempt %d\n", a.Task, a.Attempt)
			go func() { time.Sleep(20 * time.Millisecond); done <- a }()
		}
		select {
		case a := <-done:
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		case <-time.After(time.Second): // a simple way to be there at each NextWake
			observe(sojourn.Event{Kind: sojourn.Tick})
		}
	}
	fmt.Fprintln(w, "all jobs have ended")
	return j.Flush()
}

// settle offers the slots that the policy wants.
func settle(j *journal.Journal) (starts []sojourn.Assignment) {
	seeker, _ := sojourn.As[sojourn.Seeker](j)
	for id, ok := seeker.Seek(0); ok; id, ok = seeker.Seek(0) {
		a, _ := j.Assign(id)
		starts = append(starts, a)
	}
	return starts
}
