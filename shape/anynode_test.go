package shape_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/shape"
)

// On one node, where there is no choice of nodes, slots of the cluster start the same tasks in the same
// order as slots of the node do, also with reservations.
func TestAnyNodeDecidesAsSlotsOfNodesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shapes := []shape.Resources{{1, 1}, {2, 1}, {5, 3}, {8, 8}}
		opts := shape.Options{Shapes: shapes, Patience: time.Duration(rapid.SampledFrom([]int{-1, 3, 10}).Draw(t, "patience"))}
		fair := rapid.Bool().Draw(t, "fair")
		var runs [2]*driver
		for i := range runs {
			p := newFIFO(t)
			if fair {
				p = newFair(t, shapes, shape.Resources{8, 8})
			}
			opts.AnyNode = i == 1
			runs[i] = newDriver(t, p, opts)
			runs[i].node(1, 8, 8)
		}
		jobs := sojourn.JobID(0)
		t.Repeat(map[string]func(*rapid.T){
			"job": func(t *rapid.T) {
				jobs++
				class, tasks := rapid.IntRange(0, 3).Draw(t, "class"), rapid.IntRange(1, 9).Draw(t, "tasks")
				pool := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pool")
				for _, d := range runs {
					d.job(jobs, pool, class, tasks)
				}
			},
			"end": func(t *rapid.T) {
				if n := len(runs[0].running); n > 0 {
					k := rapid.IntRange(0, n-1).Draw(t, "which")
					for _, d := range runs {
						d.end(k)
					}
				}
			},
			"resize": func(t *rapid.T) {
				room := rapid.Int64Range(4, 8).Draw(t, "room")
				for _, d := range runs {
					d.rooms[1] = shape.Resources{room, room}
					d.must(d.c.AppendResize(nil, d.now, 1, d.rooms[1]))
				}
			},
			"wait": func(t *rapid.T) {
				by := rapid.Int64Range(1, 5).Draw(t, "by")
				for _, d := range runs {
					d.now += sojourn.Time(by)
					d.observe(sojourn.Event{Kind: sojourn.Tick}) // what starts now starts at this instant
				}
			},
			"offer": func(t *rapid.T) {
				for _, d := range runs {
					d.offer()
				}
			},
			"": func(t *rapid.T) {
				same := slices.EqualFunc(runs[0].running, runs[1].running, func(a, b attempt) bool { return a.Task == b.Task && a.Attempt == b.Attempt })
				if !same {
					t.Fatalf("with a slot on each node, %+v run, and with slots on any node, %+v", runs[0].running, runs[1].running)
				}
			},
		})
	})
}

// Nodes are filled in the order in which they came; a node takes the place of one that has left.
func TestAnyNodeFillsNodesInOrder(t *testing.T) {
	run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}}, AnyNode: true, Patience: -1})
	for _, id := range []sojourn.NodeID{7, 3, 5} {
		run.node(id, 2)
	}
	delete(run.rooms, 3)
	run.must(run.c.AppendLoss(nil, run.now, 3))
	run.node(9, 2)
	run.job(1, "", 0, 6)
	run.offer()
	var got []sojourn.NodeID
	for _, a := range run.running {
		got = append(got, a.node)
	}
	if want := []sojourn.NodeID{7, 7, 9, 9, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("tasks start on nodes %v, want %v", got, want)
	}
}

// A driver that does not use the policy of the cluster gets a panic that says so.
func TestAnyNodeWithoutItsPolicy(t *testing.T) {
	run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {2}}, AnyNode: true})
	run.node(1, 2)
	run.job(1, "", 0, 1)
	run.offer() // leaves the slot of the large class open
	run.job(2, "", 1, 1)
	inside := run.p.(interface{ Unwrap() sojourn.Policy }).Unwrap()
	for id := range run.slotsOf(1) {
		if _, ok := inside.Assign(id); !ok {
			t.Fatal("the policy inside declines a slot that it knows as free")
		}
		defer func() {
			want := fmt.Sprintf("shape: AppendStart of slot %d, whose class 1 fits nowhere: want the driver to use Policy", id)
			if got := recover(); got != want {
				t.Errorf("AppendStart panics with %v, want %v", got, want)
			}
		}()
		run.c.AppendStart(nil, run.now, id)
	}
	t.Error("no slot is open, or AppendStart returns")
}

// A slot of a class that no node can hold any more is closed: it must not keep others waiting.
func TestAnyNodeClosesWhatNoNodeHolds(t *testing.T) {
	run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {8}}, AnyNode: true})
	run.node(1, 8)
	run.rooms[1] = shape.Resources{4}
	run.must(run.c.AppendResize(nil, run.now, 1, shape.Resources{4}))
	if len(run.slotsOf(0)) != 1 || len(run.slotsOf(1)) != 0 {
		t.Errorf("%v are free on a node of 4, want one slot for tasks of 1 and none for tasks of 8", run.free)
	}
}

// A class beyond the shapes has no slot, and no class is too large a question.
func TestSeekOfNoShape(t *testing.T) {
	for _, anyNode := range []bool{false, true} {
		d := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1, 1}, {2, 1}}, AnyNode: anyNode})
		d.node(1, 8, 8)
		d.job(1, "a", 1, 3)
		seeker, ok := sojourn.As[sojourn.Seeker](d.p)
		if !ok {
			t.Fatal("no Seeker")
		}
		if _, ok := seeker.Seek(1); !ok {
			t.Errorf("AnyNode %v: nothing is sought of a class with a job", anyNode)
		}
		for _, class := range []sojourn.Class{2, 3, 255} {
			if id, ok := seeker.Seek(class); ok {
				t.Errorf("AnyNode %v: Seek(%d) = %d, of two shapes", anyNode, class, id)
			}
		}
	}
}
