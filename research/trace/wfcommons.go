package trace

import (
	"cmp"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/research/sim"
)

// ReadWfCommons returns the workflows of instances in WfFormat, the JSON schema of WfCommons, with IDs
// 1, 2, .... Each instance is a job, and all arrive at once. Several instances may follow one another. A
// task takes its runtimeInSeconds, or runtime in old versions. Tasks that wait for the same tasks and are
// waited for by the same are one phase, which changes nothing. The reader knows the layouts of versions
// 1.0 to 1.6. It keeps one instance in memory. The input may be compressed by gzip.
//
// The first error ends the sequence, after the jobs before it. It is an [*Error] if the input is
// bad, it wraps the error of r, or it says that the options are out of range.
//
// Source: github.com/wfcommons/WfFormat.
func ReadWfCommons(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	return sorted(r, o, func(q *queue) bool {
		return q.eachObject(func(c *cursor) (*sim.Job, int) { return q.workflow(c), 0 })
	})
}

// A wfTask is a task of an instance. Its parts may come in two places.
type wfTask struct {
	name              string
	parents, children []string
	runtime           time.Duration
	timed             bool
}

// A wfInstance is what is read of an instance: tasks by ID, or by name if they have none.
type wfInstance struct {
	tasks []wfTask
	ids   map[string]int
}

var (
	wfKeys     = []string{"name", "workflow"}
	wfFlowKeys = []string{"tasks", "jobs", "specification", "execution"}
	wfTaskKeys = []string{"id", "name", "parents", "children", "runtimeInSeconds", "runtime"}
)

// workflow reads an instance, and returns its job, or nil if there is none, which it counts.
func (o *ReadOptions) workflow(c *cursor) *sim.Job {
	start, name, found := c.pos, "", false
	w := &wfInstance{ids: map[string]int{}}
	c.fields(wfKeys, func(key string) {
		if key == "name" {
			name = unescape(c.text())
			return
		}
		found = true
		w.section(c, 0)
	})
	if c.fault != nil {
		return nil
	}
	if !found || len(w.tasks) == 0 {
		c.fail(start, `no "workflow" with tasks`)
		return nil
	}
	if slices.ContainsFunc(w.tasks, func(t wfTask) bool { return !t.timed }) {
		o.Stats.counts[jobsWithoutRun]++
		return nil
	}
	g := new(graph)
	for i := range w.tasks {
		g.vertices = append(g.vertices, vertex{tasks: 1, times: []time.Duration{w.tasks[i].runtime}})
	}
	if !w.connect(g, o.Stats) {
		c.fail(start, "%s", tooManyEdges)
		return nil
	}
	for v := range g.vertices {
		slices.Sort(g.vertices[v].needs)
		g.vertices[v].needs = slices.Compact(g.vertices[v].needs)
	}
	j, reason := g.merged().job(o, name, 0)
	if reason != "" {
		c.fail(start, "%s", reason)
	}
	return j
}

// section reads the object that has the tasks, or the objects that have them.
func (w *wfInstance) section(c *cursor, depth int) {
	c.fields(wfFlowKeys, func(key string) {
		switch {
		case key == "tasks" || key == "jobs":
			if c.want(kindList) {
				c.list(func() { w.task(c) })
			}
		case depth == 0:
			w.section(c, 1)
		default:
			c.skip()
		}
	})
}

// task reads a task.
func (w *wfInstance) task(c *cursor) {
	start, id := c.pos, ""
	var t wfTask
	strings := func() (list []string) {
		if c.want(kindList) {
			c.list(func() { list = append(list, unescape(c.text())) })
		}
		return list
	}
	c.fields(wfTaskKeys, func(key string) {
		switch key {
		case "id":
			id = unescape(c.text())
		case "name":
			t.name = unescape(c.text())
		case "parents":
			t.parents = strings()
		case "children":
			t.children = strings()
		default:
			t.runtime, t.timed = c.seconds(), true
		}
	})
	if id = cmp.Or(id, t.name); id == "" && c.fault == nil {
		c.fail(start, `missing key "id"`)
	}
	if c.fault != nil {
		return
	}
	i, known := w.ids[id]
	if !known {
		w.ids[id] = len(w.tasks)
		w.tasks = append(w.tasks, t)
		return
	}
	old := &w.tasks[i]
	old.name = cmp.Or(old.name, t.name)
	old.parents, old.children = append(old.parents, t.parents...), append(old.children, t.children...)
	if t.timed {
		old.runtime, old.timed = t.runtime, true
	}
}

// connect adds the edges of an instance, and reports whether there are not too many.
func (w *wfInstance) connect(g *graph, stats *Stats) bool {
	names := map[string]int{}
	for i := range w.tasks {
		names[w.tasks[i].name] = i
	}
	find := func(id string) (int, bool) {
		if i, ok := w.ids[id]; ok {
			return i, true
		}
		i, ok := names[id]
		if !ok {
			stats.counts[needsUnknown]++
		}
		return i, ok
	}
	for v := range w.tasks {
		for _, id := range w.tasks[v].parents {
			if u, ok := find(id); ok && !g.need(v, u) {
				return false
			}
		}
		for _, id := range w.tasks[v].children {
			if u, ok := find(id); ok && !g.need(u, v) {
				return false
			}
		}
	}
	return true
}
