package catalog_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// A job whose estimate changes is served in its new place, by each policy that goes by sizes and keeps no plan: the keys of
// what waits follow. (A tree whose keys change under it loses jobs: HFSP's did.) One slot is busy
// while jobs of 100, 200 and 300 s come; then they are said to take 250, 200 and 150 s.
func TestOrderAfterAnEstimateChanges(t *testing.T) {
	for _, name := range []string{"default", "srpt", "fsp", "pfsp", "hfsp"} {
		spec := catalog.Spec{Name: name}
		if name == "hfsp" {
			spec.Options = []catalog.Option{{Name: "estimator", Value: "oracle"}}
		}
		p, err := catalog.Builtin().New(spec)
		if err != nil {
			t.Fatal(err)
		}
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			t.Helper()
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatalf("%s: Observe(%v) = %v", name, ev, err)
			}
		}
		job := func(id sojourn.JobID, took time.Duration) *sojourn.Job {
			return &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1, Estimate: took}}}
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded})
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(9, time.Second)})
		running, ok := p.Assign(0)
		if !ok {
			t.Fatalf("%s: a free slot is declined", name)
		}
		for id := range sojourn.JobID(3) {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(id+1, time.Duration(id+1)*100*time.Second)})
		}
		for id, took := range []time.Duration{250, 200, 150} {
			observe(sojourn.Event{Kind: sojourn.JobRevised, Job: job(sojourn.JobID(id+1), took*time.Second)})
		}
		var order []sojourn.JobID
		for range 3 {
			now = now.Add(time.Second)
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: running.Task, Attempt: running.Attempt, Service: time.Second})
			if running, ok = p.Assign(0); !ok {
				t.Fatalf("%s: a free slot is declined", name)
			}
			order = append(order, running.Task.Job)
		}
		if want := []sojourn.JobID{3, 2, 1}; !slices.Equal(order, want) {
			t.Errorf("%s: jobs start in the order %v, want %v", name, order, want)
		}
	}
}
