package catalog_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// Ten equal jobs wait for one slot. The first is started, and ends after 5 of its 10 seconds without
// success, in each way. It is served again before the others.
func TestLostWorkKeepsItsPlace(t *testing.T) {
	ends := []sojourn.Event{
		{Kind: sojourn.TaskRefused},
		{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
		{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost},
		{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask},
	}
	specs := []string{"fair:ties=arrival", "fair:ties=round-robin", "fair:ties=least-work", "fair:order=running", "fair:order=running,ties=arrival",
		"easy:places=1", "conservative:places=1"} // without places both are fcfs
	for _, e := range catalog.Builtin() {
		if e.Name != "td" { // a status only ever grows there
			specs = append(specs, e.Name)
		}
	}
	for _, spec := range specs {
		for _, pools := range []int{1, 10} {
			for _, end := range ends {
				p, err := catalog.Builtin().Make(spec)
				if err != nil {
					t.Fatal(err)
				}
				if got := placeAfter(t, p, end, pools); got != 0 {
					t.Errorf("%s, %d pools: after %v the job waits for %d others", spec, pools, end, got)
				}
			}
		}
	}
}

// placeAfter returns how many jobs are served before the one whose attempt ended so.
func placeAfter(t *testing.T, p sojourn.Policy, end sojourn.Event, pools int) (place int) {
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		t.Helper()
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	next := func() sojourn.Assignment {
		t.Helper()
		observe(sojourn.Event{Kind: sojourn.Tick})
		a, ok := p.Assign(0)
		if !ok {
			t.Fatal("nothing starts")
		}
		return a
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	for i := range 10 {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Pool: string(rune('a' + i%pools)), Deadline: sojourn.Time(time.Hour),
			Phases: []sojourn.Phase{{Tasks: 1, Estimate: 10 * time.Second}},
		}})
	}
	first := next()
	now = now.Add(5 * time.Second)
	end.Task, end.Attempt = first.Task, first.Attempt
	observe(end)
	for {
		a := next()
		if a.Task.Job == first.Task.Job {
			return place
		}
		place++
		now = now.Add(10 * time.Second)
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Service: 10 * time.Second})
	}
}
