package leastwork_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// The last tasks of a job that fills the cluster start at once, on the slot that is reserved, if
// nobody else waits: unless they need more than the free slots, are told to be among the longest
// quarter, or are more than a fifth of the job.
func TestUnopposed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		first int           // tasks of the two jobs before it, of 50 slots
		tasks int           // its own
		told  time.Duration // for its tasks; other jobs are told a minute each
		start int           // how many of them start
	}{
		{"fits", 40, 10, time.Minute, 10},
		{"needs one more slot", 40, 11, time.Minute, 9},
		{"long", 40, 10, time.Hour, 9},
		{"of unknown length", 40, 10, 0, 10},
		{"five tasks", 45, 5, 0, 5},
		{"four tasks", 46, 4, 0, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPolicy()
			observe := func(ev sojourn.Event) {
				t.Helper()
				if err := p.Observe(ev); err != nil {
					t.Fatal(err)
				}
			}
			offer := func() (started int) {
				for {
					id, ok := p.(sojourn.Seeker).Seek(0)
					if !ok {
						return started
					}
					if _, ok := p.Assign(id); !ok {
						t.Fatal("Assign declines the slot of Seek")
					}
					started++
				}
			}
			for id := range sojourn.SlotID(50) {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
			}
			arrive := func(id sojourn.JobID, tasks int, told time.Duration) {
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: told}}}})
			}
			arrive(1, tc.first-1, time.Minute)
			arrive(2, 1, time.Minute)
			if got := offer(); got != tc.first {
				t.Fatalf("%d tasks start before it, want %d", got, tc.first)
			}
			arrive(3, tc.tasks, tc.told)
			if got := offer(); got != tc.start {
				t.Errorf("%d tasks start, want %d", got, tc.start)
			}
		})
	}
}
