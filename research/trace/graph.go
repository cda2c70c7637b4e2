package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// maxEdges bounds how many pairs of tasks of one job wait for each other.
const maxEdges = 1 << 22

var tooManyEdges = fmt.Sprintf("more than %d pairs of tasks of a job wait for each other", maxEdges)

// A graph is what a trace says of a job: its vertices become phases.
type graph struct {
	vertices []vertex
	edges    int
}

// A vertex is a task of the trace, which has several instances in some formats.
type vertex struct {
	needs []int // vertices that come first
	tasks int
	times []time.Duration // one, if all tasks take the same
}

// need makes vertex v wait for vertex u. It reports whether there are not too many edges.
func (g *graph) need(v, u int) bool {
	g.edges++
	g.vertices[v].needs = append(g.vertices[v].needs, u)
	return g.edges <= maxEdges
}

// order returns the vertices so that each comes after those that it needs, otherwise in the order of
// the trace; fewer of them, if some wait for each other in a circle.
func (g *graph) order() []int {
	waits, fed := make([]int, len(g.vertices)), make([][]int, len(g.vertices))
	open := heap.New(func(a, b int) bool { return a < b }, nil)
	for v := range g.vertices {
		needs := &g.vertices[v].needs
		slices.Sort(*needs)
		*needs = slices.Compact(*needs)
		for _, u := range *needs {
			fed[u] = append(fed[u], v)
		}
		if waits[v] = len(*needs); waits[v] == 0 {
			open.Set(uint32(v), v)
		}
	}
	var list []int
	for open.Len() > 0 {
		v, _ := open.MinKey()
		open.Remove(uint32(v))
		list = append(list, v)
		for _, w := range fed[v] {
			if waits[w]--; waits[w] == 0 {
				open.Set(uint32(w), w)
			}
		}
	}
	return list
}

// job returns the job of a graph; nil if its vertices wait for each other in a circle, which it counts.
// The text says what is wrong with the job.
func (g *graph) job(o *ReadOptions, name string, at sojourn.Time) (*sim.Job, string) {
	order := g.order()
	if len(order) < len(g.vertices) {
		o.Stats.counts[jobsCircular]++
		return nil, ""
	}
	if len(order) > sojourn.MaxPhases {
		return nil, fmt.Sprintf("more than %d phases in a job", sojourn.MaxPhases)
	}
	place := make([]int, len(order))
	for i, v := range order {
		place[v] = i
	}
	j, tasks, work := &sim.Job{Job: sojourn.Job{Name: name}, At: at}, 0, time.Duration(0)
	for _, v := range order {
		x := &g.vertices[v]
		needs := make([]int, len(x.needs))
		for i, u := range x.needs {
			needs[i] = place[u]
		}
		slices.Sort(needs)
		times := sim.Times{List: x.times}
		if len(x.times) == 1 && x.tasks > 1 {
			times = sim.Times{Each: x.times[0]}
		}
		if tasks += x.tasks; tasks > o.limits.tasks {
			return nil, fmt.Sprintf("more than %d tasks in a job", o.limits.tasks)
		}
		sum, ok := total(times.Each, times.List, x.tasks)
		if !ok || sum > math.MaxInt64-work {
			return nil, "the sum of the times of the job's tasks " + outOfRange
		}
		work += sum
		j.Phases = append(j.Phases, sojourn.Phase{Tasks: x.tasks, Needs: needs})
		j.Times, j.AnyClass = append(j.Times, times), append(j.AnyClass, true)
	}
	return j, ""
}

// merged returns the graph in which vertices that need the same and are needed by the same are one:
// a task that waits for one of them waits for all.
func (g *graph) merged() *graph {
	fed := make([][]int, len(g.vertices))
	for v := range g.vertices {
		for _, u := range g.vertices[v].needs {
			fed[u] = append(fed[u], v)
		}
	}
	list := make([]int, len(g.vertices))
	for v := range list {
		list[v] = v
	}
	compare := func(a, b int) int {
		return cmp.Or(slices.Compare(g.vertices[a].needs, g.vertices[b].needs), slices.Compare(fed[a], fed[b]))
	}
	slices.SortStableFunc(list, compare)
	of := make([]int, len(g.vertices)) // the least vertex that is one with it
	for i, v := range list {
		if of[v] = v; i > 0 && compare(list[i-1], v) == 0 {
			of[v] = of[list[i-1]]
		}
	}
	m, at := new(graph), make([]int, len(g.vertices))
	for v := range g.vertices {
		x := &g.vertices[v]
		if of[v] == v {
			at[v] = len(m.vertices)
			m.vertices = append(m.vertices, vertex{needs: x.needs})
		}
		y := &m.vertices[at[of[v]]]
		y.tasks += x.tasks
		y.times = append(y.times, x.times...)
	}
	for v := range m.vertices {
		needs := m.vertices[v].needs
		m.vertices[v].needs = nil
		for _, u := range needs {
			m.need(v, at[of[u]])
		}
	}
	return m
}
