package locality_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

const (
	benchNodes    = 10_000
	benchTasks    = 200_000
	benchReplicas = 3
)

func benchInputs(r *rand.Rand) [][]sojourn.NodeID {
	lists := make([][]sojourn.NodeID, benchTasks)
	for i := range lists {
		for range benchReplicas {
			lists[i] = append(lists[i], sojourn.NodeID(1+r.IntN(benchNodes)))
		}
	}
	return lists
}

// BenchmarkLocalPick measures the choice of a node-local task for a slot on a node
// drawn at random, while half of the slots are busy. find is Find alone. take is
// TaskRefused, through ledger and index, and then Find and Take for that slot.
// floor is the least that take needs: a stack of tasks for each node, a mark on
// tasks that are taken, and the exact counters of TD, all in arrays, without any
// other account.
func BenchmarkLocalPick(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		inputs := benchInputs(rand.New(rand.NewPCG(1, 2)))
		stacks := make([][]uint32, benchNodes+1)
		open, taken := make([]int32, benchNodes+1), make([]bool, benchTasks)
		put := func(task uint32) {
			taken[task] = false
			for _, n := range inputs[task] {
				stacks[n] = append(stacks[n], task)
				open[n]++
			}
		}
		take := func(n int) uint32 {
			for {
				end := len(stacks[n]) - 1
				task := stacks[n][end]
				stacks[n] = stacks[n][:end]
				if taken[task] {
					continue
				}
				taken[task] = true
				for _, n := range inputs[task] {
					open[n]--
				}
				return task
			}
		}
		for i := range inputs {
			put(uint32(i))
		}
		running := make([]uint32, benchNodes/2)
		for i := range running {
			running[i] = take(2*i + 1)
		}
		r := rand.New(rand.NewPCG(3, 4))
		b.ReportAllocs()
		for b.Loop() {
			i := r.IntN(benchNodes / 2)
			put(running[i])
			running[i] = take(2*i + 1)
		}
	})

	var l ledger.Ledger[struct{}]
	x := locality.New(&l)
	observe := func(ev sojourn.Event) ledger.Change[struct{}] {
		if err := l.Check(&ev); err != nil {
			b.Fatal(err)
		}
		c := l.Apply(&ev)
		x.Update(&ev, &c)
		return c
	}
	for i := range benchNodes {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{
			ID: sojourn.SlotID(i), Node: sojourn.NodeID(i + 1), Rack: sojourn.RackID(1 + i/40),
		}})
	}
	inputs := sojourn.MakeInputs(benchInputs(rand.New(rand.NewPCG(1, 2))))
	j := observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
		ID: 1, Phases: []sojourn.Phase{{Tasks: benchTasks, Inputs: inputs}},
	}}).Job
	take := func(id sojourn.SlotID) sojourn.Assignment {
		pick, ok := x.Find(j, 0, l.Free(id), sojourn.NodeLocal)
		if !ok {
			b.Fatal("nothing to find")
		}
		return x.Take(j, 0, pick, id)
	}
	running := make([]sojourn.Assignment, benchNodes/2)
	for i := range running {
		running[i] = take(sojourn.SlotID(2 * i))
	}
	b.Run("find", func(b *testing.B) {
		r := rand.New(rand.NewPCG(3, 4))
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := x.Find(j, 0, l.Free(sojourn.SlotID(2*r.IntN(benchNodes/2)+1)), sojourn.NodeLocal); !ok {
				b.Fatal("nothing to find")
			}
		}
	})
	b.Run("take", func(b *testing.B) {
		r := rand.New(rand.NewPCG(3, 4))
		b.ReportAllocs()
		for b.Loop() {
			a := &running[r.IntN(len(running))]
			observe(sojourn.Event{
				Kind: sojourn.TaskRefused, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot},
			})
			*a = take(a.Slot)
		}
	})
}
