package catalog_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// Explain of every policy says of which class there is no slot that a job needs: before any was added,
// and after the last one has left, and not while there is one.
func TestExplainSaysThatThereAreNoSlots(t *testing.T) {
	names := []string{"fair:order=running", "fair:delay=3s", "hfsp:preemption=kill", "hfsp:node-delay=3s", "pfsp:reserve=0.5", "las:reserve=0.5"}
	for _, e := range catalog.Builtin() {
		names = append(names, e.Name)
	}
	for _, name := range names {
		p, err := catalog.Builtin().Make(name)
		if err != nil {
			t.Fatal(err)
		}
		explainer, ok := sojourn.As[sojourn.Explainer](p)
		if !ok {
			t.Errorf("%s explains nothing", name)
			continue
		}
		now := sojourn.Time(0)
		observe := func(kind sojourn.EventKind, slot sojourn.SlotID, class sojourn.Class) {
			t.Helper()
			now++
			if err := p.Observe(sojourn.Event{Kind: kind, At: now, Slot: sojourn.Slot{ID: slot, Class: class}}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		said := func(when, want string) {
			t.Helper()
			attrs, _ := explainer.Explain(1)
			got := ""
			if i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "no_slots" }); i >= 0 {
				got = attrs[i].Value.String()
			}
			if got != want {
				t.Errorf("%s: %s no_slots is %q, want %q", name, when, got, want)
			}
		}
		observe(sojourn.SlotAdded, 0, 0)
		phases := []sojourn.Phase{{Tasks: 2, Estimate: time.Second}, {Tasks: 1, Class: 1, Estimate: time.Second}}
		now++
		job := &sojourn.Job{ID: 1, Deadline: sojourn.Time(time.Hour), Phases: phases}
		without0, without01 := "there is no slot of class 0", "there are no slots of the classes 0, 1"
		if slices.Contains([]string{"fcfs", "easy", "conservative"}, name) { // jobs have one phase
			job.Phases, without0, without01 = phases[1:], "", "there is no slot of class 1"
		}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: job}); err != nil {
			observe(sojourn.SlotAdded, 7, 1) // where what cannot be promised is rejected
			now++
			if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: job}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			observe(sojourn.SlotRemoved, 7, 1)
		}
		said("at first", "there is no slot of class 1")
		observe(sojourn.SlotAdded, 1, 1)
		said("with a slot of each class", "")
		observe(sojourn.SlotRemoved, 0, 0)
		said("after the slot of class 0 was removed", without0)
		observe(sojourn.SlotRemoved, 1, 1)
		said("after both were removed", without01)
		observe(sojourn.SlotAdded, 2, 0)
		observe(sojourn.SlotAdded, 3, 1)
		said("with new slots", "")
	}
}
