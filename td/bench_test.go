package td_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
	"github.com/sojourn-sched/sojourn/td"
)

func BenchmarkFloor(b *testing.B)  { steady.Floor(b, steady.Sizes...) }
func BenchmarkIdle(b *testing.B)   { steady.Idle(b, newPolicy) }
func BenchmarkSteady(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
func BenchmarkLife(b *testing.B)   { steady.Life(b, newPolicy, steady.Sizes...) }

// BenchmarkAssign measures one TaskFinished and one Assign in a cluster in which many
// jobs are co-scheduled, each with tasks on all nodes. local has a slot on every node.
// remote has a slot on a node that holds no inputs. rising is remote with more input on
// nodes with higher IDs, so that a search for the node that has most left to do finds a
// better one in each block of nodes.
func BenchmarkAssign(b *testing.B) {
	for _, size := range []struct{ nodes, jobs int }{{50, 10}, {1000, 50}, {10_000, 50}} {
		for _, replicas := range []int{1, 3} {
			for _, what := range []string{"local", "remote", "rising"} {
				b.Run(fmt.Sprintf("nodes=%d/jobs=%d/replicas=%d/%s", size.nodes, size.jobs, replicas, what), func(b *testing.B) {
					benchAssign(b, size.nodes, size.jobs, replicas, what)
				})
			}
		}
	}
}

func benchAssign(b *testing.B, nodes, jobs, replicas int, what string) {
	far := what != "local"
	p := newWith(td.Options{H: 1024, L: 0.1, SplitTime: time.Millisecond})
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range nodes {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(n), Node: sojourn.NodeID(n + 1)}})
	}
	for j := range jobs {
		inputs := make([][]sojourn.NodeID, 4*nodes)
		for i := range inputs {
			for range replicas {
				n := r.IntN(nodes)
				if what == "rising" {
					n = max(n, r.IntN(nodes), r.IntN(nodes))
				}
				inputs[i] = append(inputs[i], sojourn.NodeID(n+1))
			}
		}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(j + 1), Name: strconv.Itoa(nodes / jobs),
			Phases: []sojourn.Phase{{Tasks: len(inputs), Inputs: sojourn.MakeInputs(inputs), Estimate: time.Duration(10+j) * time.Second}},
		}})
	}
	running := make([]sojourn.Assignment, nodes)
	for i := range running {
		running[i], _ = p.Assign(sojourn.SlotID(i))
	}
	// Slot 0 is measured again and again. For remote choices it is an additional slot, on
	// a node without inputs.
	s := sojourn.Slot{ID: 0, Node: 1}
	a := running[0]
	if far {
		s = sojourn.Slot{ID: sojourn.SlotID(nodes), Node: sojourn.NodeID(nodes + 1)}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
		a, _ = p.Assign(s.ID)
	}
	now := sojourn.Time(0)
	i := 0
	var spent time.Duration
	local := 0
	b.ReportAllocs()
	for b.Loop() {
		if !far {
			i = (i + 7919) % nodes
			a = running[i]
		}
		now += sojourn.Time(10 * time.Millisecond)
		// A failed attempt leaves the number of tasks as it is.
		observe(sojourn.Event{Kind: sojourn.TaskFailed, At: now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		var ok bool
		start := time.Now()
		a, ok = p.Assign(a.Slot)
		spent += time.Since(start)
		if !ok || far && a.Locality == sojourn.NodeLocal {
			b.Fatalf("Assign = %+v, %v", a, ok)
		}
		running[i] = a
		if a.Locality == sojourn.NodeLocal {
			local++
		}
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/assign")
	b.ReportMetric(float64(local)/float64(b.N), "local")
}
