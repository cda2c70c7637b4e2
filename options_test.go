package sojourn_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// A maker makes a policy of zero options, or of others.
type maker struct {
	name string
	make func() (sojourn.Policy, error)
}

func madeBy[O any, P sojourn.Policy](name string, make func(O) (P, error)) maker {
	return maker{name, func() (sojourn.Policy, error) {
		var zero O
		return make(zero)
	}}
}

// All policies.
var makers = []maker{
	madeBy("fifo", fifo.New),
	madeBy("fair", fair.New),
	madeBy("srpt", baseline.NewSRPT),
	madeBy("fsp", baseline.NewFSP),
	madeBy("las", baseline.NewLAS),
	madeBy("local", baseline.NewLocal),
	madeBy("huwf", baseline.NewHUWF),
	madeBy("hjwf", baseline.NewHJWF),
	madeBy("stf", baseline.NewSTF),
	madeBy("htwf", baseline.NewHTWF),
	madeBy("dc", baseline.NewDeadlineConstraint),
	madeBy("pfsp", pfsp.New),
	madeBy("hfsp", hfsp.New),
	madeBy("td", td.New),
	madeBy("rtmr", rtmr.New),
	madeBy("mars", mars.New),
}

// Under every policy, a slot gets the task whose input is closest, of those that are alike:
// on the node, then anywhere, then on the rack, then the rest. Comparisons of policies are
// then of the order of their jobs alone.
func TestEveryPolicyTakesTheClosestTask(t *testing.T) {
	for _, m := range makers {
		p, err := m.make()
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		// Nodes 1 and 2 are on rack 1, node 3 on rack 2; the only slot is on node 1.
		for n, rack := range []sojourn.RackID{1, 1, 2} {
			tell(p, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{
				ID: sojourn.SlotID(n), Node: sojourn.NodeID(n + 1), Rack: rack, Class: sojourn.Class(min(n, 1)),
			}})
		}
		tell(p, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: 1, Deadline: sojourn.Time(time.Hour),
			Phases: []sojourn.Phase{{
				Tasks: 4, Estimate: time.Second,
				Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{3}, {2}, nil, {1}}),
			}},
		}})
		tell(p, sojourn.Event{Kind: sojourn.Tick}) // mars plans at the Tick that it is owed
		for i, want := range []uint32{3, 2, 1, 0} {
			a, ok := p.Assign(0)
			if !ok || a.Task.Index != want {
				t.Errorf("%s: assignment %d is %v, %v, want task %d", m.name, i+1, a, ok, want)
				break
			}
			tell(p, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}, Service: time.Second})
		}
	}
}

// Late means the same everywhere: zero is what the policy says, and decides as that does,
// so that each takes over the state of the other.
func TestLateDefault(t *testing.T) {
	makers := map[string]struct {
		make  func(vqueue.Late) (sojourn.Policy, error)
		means vqueue.Late
	}{
		"fsp": {func(l vqueue.Late) (sojourn.Policy, error) {
			return baseline.NewFSP(baseline.FSPOptions{Late: l})
		}, baseline.LateFirst},
		"hfsp": {func(l vqueue.Late) (sojourn.Policy, error) { return hfsp.New(hfsp.Options{Late: l}) }, hfsp.LateShare},
		"pfsp": {func(l vqueue.Late) (sojourn.Policy, error) { return pfsp.New(pfsp.Options{Late: l}) }, pfsp.LateDefault},
	}
	for name, m := range makers {
		snapshotter := func(l vqueue.Late) sojourn.Snapshotter {
			p, err := m.make(l)
			if err != nil {
				t.Fatal(err)
			}
			return p.(sojourn.Snapshotter)
		}
		data, err := snapshotter(vqueue.LateDefault).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []vqueue.Late{vqueue.LateDefault, vqueue.LateFirst, vqueue.LateShare} {
			err := snapshotter(l).UnmarshalBinary(data)
			if same := l == vqueue.LateDefault || l == m.means; (err == nil) != same {
				t.Errorf("%s: what the default has saved is restored under %v: %v", name, l, err)
			}
		}
	}
}
