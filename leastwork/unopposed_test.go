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
		other int           // tasks that a larger job has to start
	}{
		{"fits", 40, 10, time.Minute, 10, 0},
		{"somebody else waits", 40, 10, time.Minute, 9, 100},
		{"needs one more slot", 40, 11, time.Minute, 9, 0},
		{"long", 40, 10, time.Hour, 9, 0},
		{"of unknown length", 40, 10, 0, 10, 0},
		{"five tasks", 45, 5, 0, 5, 0},
		{"four tasks", 46, 4, 0, 3, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPolicy()
			observe := func(ev sojourn.Event) {
				t.Helper()
				if err := p.Observe(ev); err != nil {
					t.Fatal(err)
				}
			}
			offer := func() (started [5]int) { // by job
				for {
					id, ok := p.(sojourn.Seeker).Seek(0)
					if !ok {
						return started
					}
					a, ok := p.Assign(id)
					if !ok {
						t.Fatal("Assign declines the slot of Seek")
					}
					started[a.Task.Job]++
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
			if got := offer(); got[1]+got[2] != tc.first {
				t.Fatalf("%d tasks start before it, want %d", got[1]+got[2], tc.first)
			}
			if tc.other > 0 {
				arrive(4, tc.other, time.Minute)
			}
			arrive(3, tc.tasks, tc.told)
			if got := offer()[3]; got != tc.start {
				t.Errorf("%d tasks start, want %d", got, tc.start)
			}
		})
	}
}

// The last tasks of such a job start on the reserved slot as long as its rank is at most 3/4: where s phases are shorter and
// l longer, it is (s + 1/2) / (s + 1 + l).
func TestUnopposedRank(t *testing.T) {
	for _, tc := range []struct {
		shorter, longer int
		start           int // of 10 tasks, on 10 free slots
	}{
		{1, 0, 10},  // 3/4
		{3, 1, 10},  // 7/10
		{7, 2, 10},  // 3/4
		{2, 0, 9},   // 5/6
		{8, 2, 9},   // 17/22
		{11, 3, 9},  // 23/30
		{13, 6, 10}, // 27/40
	} {
		p := newPolicy()
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		offer := func() (started []sojourn.JobID) {
			for id, ok := p.(sojourn.Seeker).Seek(0); ok; id, ok = p.(sojourn.Seeker).Seek(0) {
				a, _ := p.Assign(id)
				started = append(started, a.Task.Job)
			}
			return started
		}
		for id := range sojourn.SlotID(50) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
		}
		jobs := sojourn.JobID(0)
		arrive := func(tasks int, told time.Duration) {
			jobs++
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: jobs, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: told}}}})
		}
		for range tc.shorter - 1 {
			arrive(1, time.Minute)
		}
		for range tc.longer {
			arrive(1, 50*time.Hour)
		}
		arrive(40-int(jobs), time.Minute)
		if n := len(offer()); n != 40 {
			t.Fatalf("%d tasks start before it, want 40", n)
		}
		arrive(10, time.Hour)
		if n := len(offer()); n != tc.start {
			t.Errorf("%d shorter, %d longer: %d tasks start, want %d", tc.shorter, tc.longer, n, tc.start)
		}
	}
}
