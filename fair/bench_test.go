package fair_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func newPolicy() sojourn.Policy {
	p, err := fair.New(fair.Options{})
	if err != nil {
		panic(err)
	}
	return p
}

func BenchmarkFloor(b *testing.B)  { steady.Floor(b, steady.Sizes...) }
func BenchmarkIdle(b *testing.B)   { steady.Idle(b, newPolicy) }
func BenchmarkSteady(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
func BenchmarkRunning(b *testing.B) {
	steady.Run(b, func() sojourn.Policy { return newWith(fair.Options{Order: fair.Running}) }, 1000)
}
func BenchmarkLife(b *testing.B) { steady.Life(b, newPolicy, steady.Sizes...) }

func BenchmarkSnapshot(b *testing.B) { steady.Snapshot(b, newPolicy, 1000, 100_000) }

func BenchmarkQuestions(b *testing.B) {
	preemption := fair.Preemption{MinTimeout: time.Second, FairTimeout: time.Second}
	for _, o := range []struct {
		name string
		opts fair.Options
	}{
		{"default", fair.Options{}},
		{"preemption", fair.Options{Preemption: preemption}},
		{"fsp inside", fair.Options{Preemption: preemption, Pools: map[string]fair.Pool{"": {Policy: newFSP}}}},
	} {
		b.Run(o.name, func(b *testing.B) {
			steady.Questions(b, func() sojourn.Policy { return newWith(o.opts) }, 1000, 100_000)
		})
	}
}

// BenchmarkPools measures one finish and one decision with 256 busy slots and a hundred
// jobs in each of many pools. The pools lie in one level with pairwise different weights,
// minimums and limits, or three levels deep.
func BenchmarkPools(b *testing.B) {
	const jobs = 100
	for _, pools := range []int{100, 10_000} {
		for _, depth := range []int{1, 3} {
			b.Run(fmt.Sprintf("pools=%d/depth=%d", pools, depth), func(b *testing.B) { benchPools(b, pools, jobs, depth) })
		}
	}
}

func benchPools(b *testing.B, pools, jobs, depth int) {
	const slots = 256
	opts := fair.Options{Pools: map[string]fair.Pool{}}
	paths := make([]string, pools)
	for i := range paths {
		paths[i] = fmt.Sprint("p", i)
		if depth == 3 {
			paths[i] = fmt.Sprint("g", i%10, "/h", i/10%10, "/p", i)
		}
		opts.Pools[paths[i]] = fair.Pool{
			Weight: float64(1 + i%7), Min: fair.Slots{0: i % 2}, Max: fair.Slots{0: 2 + i%5},
		}
	}
	p := newWith(opts)
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	for i := range slots {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	for i := range pools * jobs {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Pool: paths[i%pools], Weight: float64(1 + i%3), Phases: []sojourn.Phase{{Tasks: 50_000_000 / (pools * jobs)}},
		}})
	}
	var running [slots]sojourn.Assignment
	for i := range running {
		running[i], _ = p.Assign(sojourn.SlotID(i))
	}
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		i := r.IntN(slots)
		a := running[i]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		var ok bool
		if running[i], ok = p.Assign(a.Slot); !ok {
			b.Fatal("nothing to assign")
		}
	}
}

// BenchmarkCost measures one finish and one decision under dominant resource fairness, with 1,000 pools
// and 256 busy slots. A pool has one job in each of so many classes.
func BenchmarkCost(b *testing.B) {
	for _, n := range []struct{ classes, of int }{{2, 2}, {20, 1}, {20, 2}, {20, 5}, {20, 20}} {
		b.Run(fmt.Sprintf("pools=1000/classes=%d/of=%d", n.classes, n.of), func(b *testing.B) { benchCost(b, 1000, n.classes, n.of) })
	}
}

func benchCost(b *testing.B, pools, classes, of int) {
	const slots = 256
	cost := fair.Cost{}
	for c := range classes {
		cost[sojourn.Class(c)] = []uint32{uint32(1+c) << 20, uint32(classes-c) << 20}
	}
	p := newWith(fair.Options{Cost: cost})
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	for i := range slots {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: sojourn.Class(i % classes)}})
	}
	for i := range pools * of {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Pool: fmt.Sprint(i % pools), Phases: []sojourn.Phase{{Tasks: 1 << 20, Class: sojourn.Class((i%pools + i/pools) % classes)}},
		}})
	}
	var running [slots]sojourn.Assignment
	for free := slots; free > 0; { // one class after the other is due
		for i := range running {
			if running[i].Attempt == 0 {
				if a, ok := p.Assign(sojourn.SlotID(i)); ok {
					running[i] = a
					free--
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		i := r.IntN(slots)
		a := running[i]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		var ok bool
		if running[i], ok = p.Assign(a.Slot); !ok {
			b.Fatal("nothing to assign")
		}
	}
}
