package pfsp

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// What is filed of a phase, among the probes and by level, has the place that the phase has in V, also
// after it has become late there.
func TestFiledPlacesAreThoseInV(t *testing.T) {
	p, err := New(Options{Reserve: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	now, next, late := sojourn.Time(0), sojourn.JobID(1), 0
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for id := range sojourn.SlotID(2) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	var running []sojourn.Assignment
	for range 2000 {
		now = now.Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
		switch n := len(running); {
		case n > 0 && rng.IntN(2) == 0:
			a := running[n-1]
			running = running[:n-1]
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		case rng.IntN(3) == 0:
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: next, Phases: []sojourn.Phase{{
				Tasks: 1 + rng.IntN(4), Estimate: time.Duration(1+rng.IntN(3)) * time.Second,
			}}}})
			next++
		default:
			observe(sojourn.Event{Kind: sojourn.Tick})
		}
		for id, ok := p.Seek(0); ok; id, ok = p.Seek(0) {
			a, _ := p.Assign(id)
			running = append(running, a)
		}
		c := p.classes[0]
		check := func(what string, filed place) {
			if filed.Place != filed.item.Place() {
				t.Fatalf("at %v job %d has another place in V than among the %s", now, filed.item.Value.job.Spec().ID, what)
			}
			if filed.item.Late() {
				late++
			}
		}
		for _, q := range c.probes {
			for _, filed := range q.All() {
				check("probes", filed)
			}
		}
		for _, filed := range c.levels.All {
			check("levels", filed)
		}
	}
	if late < 100 {
		t.Errorf("%d times a late phase was filed, want 100", late)
	}
}
