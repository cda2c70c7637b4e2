package pfsp

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slack"
)

// What is filed of a phase, among the probes and by level, has the place that the phase has in V, also
// after it has become late there. The first probe of each kind is the first one in V.
func TestFiledPlacesAreThoseInV(t *testing.T) {
	for _, limit := range []int{2, slack.Ranks + 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) { testFiledPlaces(t, limit) })
	}
}

func testFiledPlaces(t *testing.T, limit int) {
	p, err := New(Options{Reserve: 0.5, FairLimit: &limit})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	now, next, late := sojourn.Time(0), sojourn.JobID(1), 0
	found := map[bool]int{} // first probes, late or not
	far := 0                // those of many tasks
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
	for range 4000 {
		now = now.Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
		switch n := len(running); {
		case n > 0 && rng.IntN(2) == 0:
			a := running[n-1]
			running = running[:n-1]
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		case rng.IntN(limit+1) == 0:
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: next, Phases: []sojourn.Phase{{
				Tasks: 1 + rng.IntN(4)*limit, Estimate: time.Duration(1+rng.IntN(3)) * time.Second,
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
		want := make([]*slack.Item[*phase], len(c.probes))
		for it := range c.system.All() {
			ph := it.Value
			if it.State() != slack.Ready || ph.begun >= limit {
				continue
			}
			if first := &want[ph.begun]; *first == nil || it.Place().Before((*first).Place()) {
				*first = it
			}
		}
		for begun, want := range want {
			got, ok := c.firstProbe(begun)
			if got != want || ok != (want != nil) {
				t.Fatalf("at %v the first probe that has started %d tasks is %v, want %v", now, begun, got, want)
			}
			if ok {
				found[got.Late()]++
				far = max(far, begun)
			}
		}
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
	if late < 100 || found[true] < 100 || found[false] < 100 {
		t.Errorf("%d times a late phase was filed, %v times a first probe was late or not, want 100", late, found)
	}
	if far != limit-1 {
		t.Errorf("no probe had started more than %d tasks, want %d", far, limit-1)
	}
}
