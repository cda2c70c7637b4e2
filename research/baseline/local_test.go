package baseline_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// On random clusters every slot gets a task whose input is as close as that of any
// other; among several jobs with such a task, the job that came first.
func TestLocalFirst(t *testing.T) {
	testClosest(t, must(baseline.NewLocal, baseline.LocalOptions{}), func(task, other sojourn.TaskID, d, than int) bool {
		return d < than || d == than && task.Job < other.Job
	})
}

// Policies that rank jobs take the task whose input is closest from the job that
// they serve.
func TestClosestTaskOfTheJob(t *testing.T) {
	for name, newPolicy := range map[string]func() sojourn.Policy{
		"srpt": must(baseline.NewSRPT, baseline.SRPTOptions{}),
		"fsp":  must(baseline.NewFSP, baseline.FSPOptions{}),
		"las":  must(baseline.NewLAS, baseline.LASOptions{}),
	} {
		t.Run(name, func(t *testing.T) {
			testClosest(t, newPolicy, func(task, other sojourn.TaskID, d, than int) bool {
				return task.Job == other.Job && d < than
			})
		})
	}
}

// testClosest fails if a policy gives a slot a task at a distance although another
// one is better.
func testClosest(t *testing.T, newPolicy func() sojourn.Policy, better func(task, other sojourn.TaskID, d, than int) bool) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPolicy()
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		n := rapid.IntRange(1, 6).Draw(t, "nodes")
		racks := make([]sojourn.RackID, n+1)
		for i := range n {
			racks[i+1] = sojourn.RackID(rapid.IntRange(0, 2).Draw(t, "rack"))
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{
				ID: sojourn.SlotID(i), Node: sojourn.NodeID(i + 1), Rack: racks[i+1],
			}})
		}
		distance := func(slot sojourn.SlotID, inputs []sojourn.NodeID) int {
			at := sojourn.NodeID(slot + 1)
			d := 2
			for _, node := range inputs {
				if node == at {
					return 0
				}
				if racks[node] != 0 && racks[node] == racks[at] {
					d = 1
				}
			}
			if len(inputs) == 0 {
				return 0 // as good here as anywhere
			}
			return d
		}
		pending := map[sojourn.TaskID][]sojourn.NodeID{}
		for id := range sojourn.JobID(rapid.IntRange(1, 5).Draw(t, "jobs")) {
			var lists [][]sojourn.NodeID
			for i := range rapid.IntRange(1, 4).Draw(t, "tasks") {
				lists = append(lists, rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(1, n), func(i int) sojourn.NodeID {
					return sojourn.NodeID(i)
				}), 0, min(n, 3), rapid.ID).Draw(t, "inputs"))
				pending[sojourn.TaskID{Job: id + 1, Index: uint32(i)}] = lists[i]
			}
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{
				{Tasks: len(lists), Inputs: sojourn.MakeInputs(lists)},
			}}})
		}
		for slot := range sojourn.SlotID(n) {
			if len(pending) == 0 {
				break
			}
			a, ok := p.Assign(slot)
			inputs, known := pending[a.Task]
			if !ok || !known {
				t.Fatalf("slot %d gets %v, %v", slot, a, ok)
			}
			got := distance(slot, inputs)
			for task, other := range pending {
				if d := distance(slot, other); better(task, a.Task, d, got) {
					t.Fatalf("slot %d gets %v at distance %d, not %v at %d", slot, a.Task, got, task, d)
				}
			}
			delete(pending, a.Task)
		}
	})
}
