package sojourntest

import (
	"errors"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// checkAllocations runs several jobs at once and counts the allocations of
// assigning and finishing in the steady state.
func checkAllocations(tb rapid.TB, p sojourn.Policy, o Options) {
	tb.Helper()
	const runs = 1000
	l := &load{TB: tb, s: newSubject(func() sojourn.Policy { return p }), o: &o}
	l.addSlots()
	l.addJobs(8 * runs)
	l.offer()
	for range runs {
		l.cycle()
	}
	n := testing.AllocsPerRun(runs, l.cycle)
	for range 4 { // the whole process is counted, and a goroutine may still be at the beginning
		n = min(n, testing.AllocsPerRun(runs, l.cycle))
	}
	if n > 0 {
		tb.Fatalf("%v allocations for each task that is finished and assigned, want 0\nlaw of %s", n, lawAllocations)
	}
}

// A load keeps all slots of a policy busy with tasks that end one after the other.
type load struct {
	rapid.TB
	s        *subject
	o        *Options
	now      sojourn.Time
	attempts []sojourn.Assignment // by slot; the zero Assignment if it is free
	next     int                  // the slot whose task ended last
}

// observe reports an event that fits.
func (l *load) observe(ev sojourn.Event) {
	ev.At = l.now
	if err := l.s.Observe(ev); err != nil {
		l.Fatalf("%v\nlaw of %s", err, lawAnswers)
	}
}

// addSlots adds 8 slots of each class.
func (l *load) addSlots() {
	for range 8 {
		for _, c := range l.o.classes() {
			l.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(len(l.attempts)), Class: c}})
			l.attempts = append(l.attempts, sojourn.Assignment{})
		}
	}
}

// addJobs adds 4 jobs of each shape, with the given number of tasks in each phase.
func (l *load) addJobs(tasks int) {
	const deadline = 100 * 24 * sojourn.Time(time.Hour)
	var id sojourn.JobID = 1
	for range 4 {
		shapes := plainJobs(l.o, id, tasks, deadline)
		if len(shapes) == 0 {
			l.Fatalf("the policy supports no job that sojourntest can make: see Options.Supports")
		}
		for _, job := range shapes {
			ev := sojourn.Event{Kind: sojourn.JobArrived, At: l.now, Job: job}
			err := l.s.Observe(ev)
			if l.o.Rejects && errors.Is(err, sojourn.ErrRejected) { // it may require a deadline
				job.Deadline = deadline
				err = l.s.Observe(ev)
			}
			if err != nil {
				l.Fatalf("%v\nlaw of %s", err, lawAnswers)
			}
		}
		id += sojourn.JobID(len(shapes))
	}
}

// offer offers all free slots, and reports whether one was taken.
func (l *load) offer() (taken bool) {
	for i := range l.attempts {
		if l.attempts[i].Attempt == 0 {
			if a, ok := l.s.Assign(sojourn.SlotID(i)); ok {
				l.attempts[i], taken = a, true
			}
		}
	}
	return taken
}

// cycle ends a task and offers the free slots.
func (l *load) cycle() {
	l.now++
	for range l.attempts {
		l.next = (l.next + 1) % len(l.attempts)
		if a := l.attempts[l.next]; a.Attempt > 0 {
			l.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
			l.attempts[l.next] = sojourn.Assignment{}
			break
		}
	}
	if l.offer() || l.s.waker == nil {
		return
	}
	if at, ok := l.s.waker.NextWake(); ok {
		l.now = max(l.now, at)
		l.observe(sojourn.Event{Kind: sojourn.Tick})
		l.offer()
	}
}
