package priority

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// Inside makes a policy. The tests outside set it, since parts of the kit import no policy.
var Inside func() sojourn.Policy

// A snapshot in which the policy of a priority knows another cluster is refused, or at least harmless.
func TestForged(t *testing.T) {
	forged := func() *policy {
		p, err := New(Inside, Options{Preempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		return p.(*policy)
	}
	observe := func(p sojourn.Policy, ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	job := func(id sojourn.JobID, priority int32) *sojourn.Job {
		return &sojourn.Job{ID: id, Priority: priority, Phases: []sojourn.Phase{{Tasks: 2}}}
	}
	slot := sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 5, Rack: 1}}
	for name, forge := range map[string]func(*policy){
		"a node is down in one": func(p *policy) {
			observe(p.usual(), sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 5}})
		},
		"a node is down in all but one": func(p *policy) { p.ledger.Apply(&sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 6}}) },
		"other nodes are down": func(p *policy) {
			p.ledger.Apply(&sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 6}})
			observe(p.usual(), sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 5}})
		},
		"a slot is known in one":    func(p *policy) { observe(p.usual(), sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 9}}) },
		"a job is known in one":     func(p *policy) { observe(p.usual(), sojourn.Event{Kind: sojourn.JobArrived, Job: job(9, 0)}) },
		"a job is of another one":   func(p *policy) { p.ledger.Job(1).Data.level.priority = 3 },
		"an attempt is not known":   func(p *policy) { p.ledger.TakeTask(p.ledger.Job(1), 0, 0, 1); p.note(1, 0, false) },
		"there is no priority 0":    func(p *policy) { p.levels = p.levels[1:] },
		"a priority is there twice": func(p *policy) { p.levels = append(p.levels, newLevel(0, p.inside())) },
	} {
		p := forged()
		observe(p, slot)
		observe(p, sojourn.Event{Kind: sojourn.JobArrived, Job: job(1, 0)})
		forge(p)
		data, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := forged().UnmarshalBinary(data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	p := forged()
	observe(p, slot)
	data, err := p.AppendBinary(nil)
	if err != nil || forged().UnmarshalBinary(data) != nil {
		t.Errorf("what is right is refused: %v", err)
	}
}
