package leastwork_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// Twelve jobs wait of which nothing is known, and the first job of the order runs something. Each slot that becomes free goes to a job that
// runs nothing, until these hold half of the slots: then to the first job.
func TestHalfOfTheSlotsPassTheFirstJob(t *testing.T) {
	p := newPolicy()
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for id := range sojourn.SlotID(10) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 30}}}})
	var first []sojourn.Assignment
	for range 9 {
		first = append(first, start(t, p))
	}
	for id := sojourn.JobID(2); id <= 13; id++ {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 200}}}})
	}
	passed := start(t, p)
	got := []sojourn.JobID{passed.Task.Job}
	for i, a := range first[:6] {
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: 1e9, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		if i%2 == 1 {
			data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if p = newPolicy(); p.(sojourn.Snapshotter).UnmarshalBinary(data) != nil {
				t.Fatal("a snapshot is refused")
			}
		}
		got = append(got, start(t, p).Task.Job)
	}
	for i, job := range got {
		want := sojourn.JobID(i + 2)
		if i >= 5 {
			want = 1
		}
		if job != want {
			t.Fatalf("slots start jobs %d, want 2 to 6, and then 1", got)
		}
	}
	observe(sojourn.Event{Kind: sojourn.TaskFinished, At: 1e9, Task: passed.Task, Attempt: passed.Attempt, Slot: sojourn.Slot{ID: passed.Slot}})
	if a := start(t, p); a.Task.Job == 1 {
		t.Error("one of the tasks that had passed the first job has ended, and another one may not pass it")
	}
}
