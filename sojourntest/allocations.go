package sojourntest

import (
	"errors"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// checkAllocations runs several jobs at once and counts the allocations of
// assigning and finishing once that has gone on for a while.
func checkAllocations(tb rapid.TB, p sojourn.Policy, o Options) {
	tb.Helper()
	const (
		slots = 8 // of each class
		runs  = 1000
		each  = 4 // jobs of each shape

		deadline = 100 * 24 * sojourn.Time(time.Hour)
	)
	s := newSubject(p)
	var now sojourn.Time
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := s.Observe(ev); err != nil {
			tb.Fatalf("%v\nlaw of %s", err, lawAnswers)
		}
	}
	var attempts []sojourn.Assignment // by slot; the zero Assignment if it is free
	classes := o.classes()
	for range slots {
		for _, c := range classes {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(len(attempts)), Class: c}})
			attempts = append(attempts, sojourn.Assignment{})
		}
	}
	var id sojourn.JobID = 1
	for range each {
		shapes := plainJobs(&o, id, 4*runs, deadline)
		if len(shapes) == 0 {
			tb.Fatalf("the policy supports no job that the kit can make: see Options.Supports")
		}
		for _, job := range shapes {
			ev := sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: job}
			err := s.Observe(ev)
			if o.Rejects && errors.Is(err, sojourn.ErrRejected) { // it may want a deadline
				job.Deadline = deadline
				err = s.Observe(ev)
			}
			if err != nil {
				tb.Fatalf("%v\nlaw of %s", err, lawAnswers)
			}
		}
		id += sojourn.JobID(len(shapes))
	}

	offer := func() (taken bool) {
		for i := range attempts {
			if attempts[i].Attempt == 0 {
				if a, ok := s.Assign(sojourn.SlotID(i)); ok {
					attempts[i], taken = a, true
				}
			}
		}
		return taken
	}
	next := 0
	cycle := func() {
		now++
		for range attempts {
			next = (next + 1) % len(attempts)
			if a := attempts[next]; a.Attempt > 0 {
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
				attempts[next] = sojourn.Assignment{}
				break
			}
		}
		if offer() {
			return
		}
		if s.waker != nil {
			if at, ok := s.waker.NextWake(); ok {
				now = max(now, at)
				observe(sojourn.Event{Kind: sojourn.Tick})
				offer()
			}
		}
	}
	offer()
	for range runs {
		cycle()
	}
	if n := testing.AllocsPerRun(runs, cycle); n > 0 {
		tb.Fatalf("%v allocations for each task that is finished and assigned, want 0\nlaw of %s", n, lawAllocations)
	}
}
