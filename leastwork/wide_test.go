package leastwork_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Of 1,000 slots 20 are reserved, and a batch of long tasks holds the others. Of a wide job of which nothing is told one
// task starts on the reserve, and as long as it runs no other one. Once it has finished, the job is known by it. If it was shorter
// than two thirds, many start: of the shortest jobs on all of the reserve, of others on more than half of it. Else they go on one
// by one.
func TestAWideJobIsKnownByItsFirstTask(t *testing.T) {
	for _, tc := range []struct {
		name  string
		takes time.Duration
		start int // tasks that start when the first one has finished
	}{
		{"shorter than all", 10 * time.Second, 20},
		{"shorter than three quarters", 6 * time.Hour, 13}, // with 12 or 13 its level is 5, and 7 are to be left
		{"longer than a third", 12 * time.Hour, 1},
		{"longer than all", 40 * time.Hour, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, now := newPolicy(), sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				t.Helper()
				ev.At = now
				if err := p.Observe(ev); err != nil {
					t.Fatal(err)
				}
			}
			arrive := func(id sojourn.JobID, tasks int) {
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks}}}})
			}
			offer := func() (started []sojourn.Assignment) {
				for {
					id, ok := p.(sojourn.Seeker).Seek(0)
					if !ok {
						return started
					}
					a, ok := p.Assign(id)
					if !ok {
						t.Fatal("Assign declines the slot of Seek")
					}
					started = append(started, a)
				}
			}
			finish := func(a sojourn.Assignment) {
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			}
			for id := range sojourn.SlotID(1000) {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
			}
			for id := range sojourn.JobID(80) { // a quarter of the tasks takes 3 hours, a quarter 12, and half of them a day
				arrive(id+100, 1)
				took := 24 * time.Hour
				switch id % 4 {
				case 0:
					took = 3 * time.Hour
				case 1:
					took = 12 * time.Hour
				}
				a := offer()
				now += sojourn.Time(took)
				finish(a[0])
			}
			arrive(1, 20000)
			if got := len(offer()); got != 980 {
				t.Fatalf("%d tasks of the batch start, want 980", got)
			}
			arrive(2, 500)
			first := offer()
			if len(first) != 1 || first[0].Task.Job != 2 {
				t.Fatalf("%v starts, want a task of job 2", first)
			}
			now += sojourn.Time(tc.takes)
			finish(first[0])
			if got := len(offer()); got != tc.start {
				t.Errorf("%d tasks start once one has finished, want %d", got, tc.start)
			}
		})
	}
}
