// Command deadlines accepts jobs by their deadlines. One job is refused and
// takes the counter-offer. Two workers run tasks of one kind.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/rtmr"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deadlines:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	p, err := rtmr.New(rtmr.Options{})
	if err != nil {
		return err
	}
	for id := range sojourn.SlotID(2) {
		if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}}); err != nil {
			return err
		}
	}

	// The estimate is a bound: no task takes longer.
	job := func(id sojourn.JobID, tasks int, estimate, deadline time.Duration) *sojourn.Job {
		return &sojourn.Job{ID: id, Deadline: sojourn.Time(deadline), Phases: []sojourn.Phase{{Tasks: tasks, Estimate: estimate}}}
	}
	deadlines := map[sojourn.JobID]sojourn.Time{}
	for _, j := range []*sojourn.Job{
		job(1, 4, 10*time.Minute, 20*time.Minute), // needs both workers all the time
		job(2, 2, 5*time.Minute, 15*time.Minute),  // would make job 1 late
		job(3, 3, 15*time.Minute, 2*time.Hour),
	} {
		var refusal *sojourn.RejectedError
		if err := p.Admit(j); errors.As(err, &refusal) {
			fmt.Fprintf(w, "job %d by %v: job %d would be late by %v; offered %v\n", j.ID, j.Deadline, refusal.Misses, refusal.By, refusal.Offer)
			j.Deadline = refusal.Offer // the user takes it
		}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j}); err != nil {
			return err
		}
		fmt.Fprintf(w, "job %d by %v: accepted\n", j.ID, j.Deadline)
		deadlines[j.ID] = j.Deadline
	}

	// Every task takes as long as it may.
	type attempt struct {
		sojourn.Assignment
		end sojourn.Time
	}
	length := map[sojourn.JobID]time.Duration{1: 10 * time.Minute, 2: 5 * time.Minute, 3: 15 * time.Minute}
	left := map[sojourn.JobID]int{1: 4, 2: 2, 3: 3}
	var running []attempt
	for now := sojourn.Time(0); ; {
		for slot, ok := p.Seek(0); ok; slot, ok = p.Seek(0) {
			if a, taken := p.Assign(slot); taken {
				running = append(running, attempt{a, now.Add(length[a.Task.Job])})
			}
		}
		if len(running) == 0 {
			return nil
		}
		first := 0
		for i := range running {
			if running[i].end < running[first].end {
				first = i
			}
		}
		a := running[first]
		running = append(running[:first], running[first+1:]...)
		now = a.end
		ev := sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}
		if err := p.Observe(ev); err != nil {
			return err
		}
		if left[a.Task.Job]--; left[a.Task.Job] == 0 {
			fmt.Fprintf(w, "job %d ends at %v, in time: %v\n", a.Task.Job, now, now <= deadlines[a.Task.Job])
		}
	}
}
