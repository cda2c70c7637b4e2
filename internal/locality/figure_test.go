package locality

import (
	"fmt"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// The figure at type phase shows what the index holds.
func TestFigureOfAPhase(t *testing.T) {
	var l ledger.Ledger[struct{}]
	x := New(&l)
	observe := func(ev sojourn.Event) ledger.Change[struct{}] {
		if err := l.Check(&ev); err != nil {
			t.Fatal(err)
		}
		c := l.Apply(&ev)
		x.Update(&ev, &c)
		return c
	}
	slots := []sojourn.Slot{{ID: 0, Node: 3, Rack: 1}, {ID: 1, Node: 7, Rack: 1}, {ID: 2, Node: 9, Rack: 1}}
	for _, s := range slots {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
	}
	inputs := sojourn.MakeInputs([][]sojourn.NodeID{{3}, {3, 7}, {7}, nil})
	j := observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 4, Inputs: inputs}}}}).Job
	x.Take(j, 0, Pick{Index: 1}, 0)

	marks := func(open *bitset.Set, n int) (text string) {
		for i := range n {
			text += map[bool]string{true: "x", false: "."}[open.Has(i)]
		}
		return text
	}
	p := x.phase(j, 0)
	got := fmt.Sprintln(p.nodes.places, p.nodes.items, marks(&p.nodes.open, 4), p.sites[0].open, p.sites[1].open, p.sites[0].rank, p.sites[1].rank) +
		fmt.Sprintln(x.sites[3] == p.sites[0].site, x.sites[7] == p.sites[1].site) +
		fmt.Sprintln(p.racks.places, p.racks.items, marks(&p.racks.open, 2)) +
		fmt.Sprintln(marks(&p.free, 4), marks(&p.lost, 4))
	want := "[3 7] [0 1 1 2] x..x 1 1 0 1\ntrue true\n[1] [0 1] xx\n...x ....\n"
	if got != want {
		t.Errorf("the index holds\n%swant\n%s", got, want)
	}
	for _, tc := range []struct {
		slot sojourn.Slot
		want Pick
	}{
		{slots[1], Pick{2, sojourn.NodeLocal, 7}},
		{slots[2], Pick{Index: 3}},
		{slots[2], Pick{0, sojourn.RackLocal, 3}}, // after task 3
	} {
		if pick, ok := x.Find(j, 0, tc.slot, sojourn.Remote); !ok || pick != tc.want {
			t.Errorf("slot on node %d gets %+v, %v, want %+v", tc.slot.Node, pick, ok, tc.want)
		}
		if tc.want.Index == 3 {
			x.Take(j, 0, tc.want, tc.slot.ID)
		}
	}
}
