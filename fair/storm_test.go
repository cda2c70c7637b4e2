package fair_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/histories"
)

// Pools that tell the truth, or nothing, keep the bound over any interval in which they have something to start, whatever goes on: others say of their tasks
// that they take a million times as long or a nanosecond, come and go, have tasks that never end; weights change, pools are paused, slots come and go, attempts fail and are lost, jobs are cancelled, the policy is
// restored again and again; nested, in two classes, with costs, a half-life and a credit. One that lies gets no more than they do.
//
// The bound is 2 N u and the credits, and G once for a debt that was dropped early and once for a weight that has changed: see package kit/flow. Three runs are made for each check of rapid, and 300 at least.
func TestStorm(t *testing.T) {
	worst := 0.0
	for seed := range uint64(max(300, 3*histories.Count(t))) {
		worst = max(worst, storm(t, seed))
	}
	t.Logf("%.2f of the bound at most", worst)
	if worst < 0.2 {
		t.Errorf("%.2f of the bound at most: the runs are too tame to show anything", worst)
	}
}

const stormLongest = 4

// A stormNode is a pool, or a pool around pools.
type stormNode struct {
	path, up string
	weight   int64
	lies     int64 // what it says of its tasks is multiplied with this; 0 says a nanosecond; 1 is the truth
	tells    bool  // it says how long its tasks take; where they have costs, that would be another cost than theirs
	steady   bool
	leaf     bool
	endless  bool
	came     bool
	paused   bool
	waiting  [2]int   // tasks, by class
	got      [2]int64 // by class, of attempts that have ended
}

// honest reports whether the bound holds for what others have more than the node: it says what is true of its tasks, or nothing.
func (n *stormNode) honest() bool { return n.lies == 1 && !n.endless }

type stormJob struct {
	of        *stormNode
	lengths   [2]int64
	owed      [2]int64 // by class
	waiting   [2]int   // tasks, by class
	running   int
	cancelled bool
}

type stormRun struct {
	a     sojourn.Assignment
	start sojourn.Time
	job   *stormJob
}

// storm makes a run, and returns the greatest part of the bound that it has reached.
func storm(t *testing.T, seed uint64) (worst float64) {
	r := rand.New(rand.NewPCG(seed, 39))
	opts := fair.Options{Pools: map[string]fair.Pool{}}
	opts.HalfLife = []time.Duration{0, 0, 3, 1000}[r.IntN(4)]
	opts.Credit = []time.Duration{0, 0, 5, 200}[r.IntN(4)]
	weights := []int64{1, 1, 2, 3, 50}
	draw := func() int64 { return weights[r.IntN(len(weights))] }
	unit := []int64{0, 0, 1000}[r.IntN(3)]
	var nodes []*stormNode
	group := func(up string) {
		for i := range 2 + r.IntN(3) {
			n := &stormNode{path: fmt.Sprint(up, i), up: up, weight: draw(), lies: []int64{1, 1, 1, 0, 1_000_000}[r.IntN(5)], tells: unit == 0 && r.IntN(2) == 0, steady: r.IntN(3) > 0, leaf: true}
			n.endless = !n.steady && r.IntN(6) == 0
			nodes = append(nodes, n)
		}
	}
	group("")
	if r.IntN(2) == 0 {
		nodes = append(nodes, &stormNode{path: "g", weight: draw(), lies: 1})
		group("g/")
		for _, n := range nodes {
			if n.up == "g/" && !n.honest() {
				nodes[slices.IndexFunc(nodes, func(m *stormNode) bool { return m.path == "g" })].lies = -1 // what it is charged is what they say
			}
		}
	}
	for _, n := range nodes {
		if r.IntN(3) > 0 {
			opts.Pools[n.path] = fair.Pool{Weight: float64(n.weight)}
		} else {
			n.weight = 1
		}
	}
	slots, classes := 1+r.IntN(4), 1+r.IntN(2)
	var p sojourn.Policy = newWith(opts)
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		t.Helper()
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(seed, err)
		}
	}
	slot := func(id int) sojourn.Slot {
		return sojourn.Slot{ID: sojourn.SlotID(id), Class: sojourn.Class(id % classes)}
	}
	for id := range slots * classes {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot(id)})
	}
	jobs := map[sojourn.JobID]*stormJob{}
	next := sojourn.JobID(0)
	around := func(n *stormNode, f func(*stormNode)) {
		f(n)
		if n.up != "" {
			f(nodes[slices.IndexFunc(nodes, func(m *stormNode) bool { return m.path == "g" })])
		}
	}
	arrive := func(n *stormNode) {
		next++
		j := &stormJob{of: n}
		job := &sojourn.Job{ID: next, Pool: n.path}
		for c := range classes {
			tasks := 100_000
			if !n.steady {
				tasks = 1 + r.IntN(4)
			}
			j.lengths[c] = 1 + r.Int64N(stormLongest)
			told := time.Duration(0)
			if n.tells || n.lies != 1 {
				told = max(time.Duration(n.lies*j.lengths[c]), 1)
			}
			if n.endless {
				tasks, j.lengths[c] = 1, 1<<40
			}
			job.Phases = append(job.Phases, sojourn.Phase{Tasks: tasks, Class: sojourn.Class(c), Estimate: told, After: sojourn.NoBarrier})
			j.waiting[c] = tasks
			around(n, func(m *stormNode) { m.waiting[c] += tasks })
		}
		jobs[next] = j
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	}
	type span struct{ low, high int64 }
	pairs := map[[3]int]*span{}
	running, gone := map[int]stormRun{}, map[int]bool{}
	settle := func(j *stormJob) { // the job has ended
		for c, owed := range j.owed {
			if owed > 0 && j.running == 0 {
				around(j.of, func(m *stormNode) { m.got[c] += owed })
				j.owed[c] = 0
			}
		}
	}
	priced, light := false, slices.MinFunc(nodes, func(a, b *stormNode) int { return int(a.weight - b.weight) }).weight
	end := func(id int, kind sojourn.EventKind, cause sojourn.Cause) {
		of := running[id]
		delete(running, id)
		of.job.running--
		if of.job.cancelled {
			defer settle(of.job)
		}
		c, held := id%classes, int64(now-of.start)
		ev := sojourn.Event{Kind: kind, Cause: cause, Task: of.a.Task, Attempt: of.a.Attempt, Slot: sojourn.Slot{ID: of.a.Slot}}
		if unit > 0 && kind != sojourn.TaskRefused {
			held = unit * (1 + r.Int64N(stormLongest))
			ev.Cost = uint64(held)
			if !priced && cause == 0 {
				priced = true
				clear(pairs) // all are level again
				for _, j := range jobs {
					j.owed = [2]int64{}
				}
			}
		}
		observe(ev)
		if kind == sojourn.TaskFinished {
			around(of.job.of, func(m *stormNode) { m.got[c] += max(held+of.job.owed[c], 1) })
			of.job.owed[c] = 0
			return
		}
		if !of.job.cancelled {
			of.job.waiting[c]++
			around(of.job.of, func(m *stormNode) { m.waiting[c]++ })
		}
		if kind == sojourn.TaskFailed && cause == sojourn.CauseTask {
			if of.job.owed[c] == 0 {
				of.job.owed[c] = held
			} else {
				around(of.job.of, func(m *stormNode) { m.got[c] += max(held+of.job.owed[c], 1) })
				of.job.owed[c] = 0
			}
		}
	}
	active := func(n *stormNode, c int) bool {
		return slices.ContainsFunc(nodes, func(m *stormNode) bool {
			return (m == n || m.up == "g/" && n.path == "g") && m.leaf && m.waiting[c] > 0 && !m.paused
		})
	}
	compare := func() {
		for i, x := range nodes {
			for k := range i {
				y := nodes[k]
				if x.up != y.up {
					continue
				}
				for c := range classes {
					at := [3]int{i, k, c}
					if !active(x, c) || !active(y, c) || unit > 0 && !priced {
						delete(pairs, at)
						continue
					}
					d := y.weight*x.got[c] - x.weight*y.got[c]
					q := pairs[at]
					if q == nil {
						q = &span{d, d}
						pairs[at] = q
					}
					bound := int64(slots) * 2 * stormLongest * max(unit, 1) * (2*(x.weight+y.weight) + 2*x.weight*y.weight/light)
					bound = bound*17/16 + int64(opts.Credit)*(x.weight+y.weight)
					rise, fall := d-q.low, q.high-d // how much more x has had than y since the worst moment, and y than x
					q.low, q.high = min(q.low, d), max(q.high, d)
					if y.honest() {
						worst = max(worst, float64(rise)/float64(bound))
					}
					if x.honest() {
						worst = max(worst, float64(fall)/float64(bound))
					}
					if worst > 1 {
						t.Fatalf("seed %d at %v, options %+v, cost unit %d, %d slots of each of %d classes: class %d: %+v and %+v: %.2f of the bound", seed, now, opts, unit, slots, classes, c, *x, *y, worst)
					}
				}
			}
		}
	}
	for range 800 {
		for _, n := range nodes {
			if n.leaf && n.waiting[0]+n.waiting[1] == 0 && (n.steady || r.IntN(8) == 0) && !(n.endless && n.came) {
				arrive(n)
				n.came = true
			}
		}
		switch r.IntN(40) {
		case 0:
			n := nodes[r.IntN(len(nodes))]
			n.weight = draw()
			light = min(light, n.weight)
			observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Name: n.path, Weight: float64(n.weight), Paused: n.paused}})
			clear(pairs)
		case 1, 2:
			if n := nodes[r.IntN(len(nodes))]; n.leaf && !n.endless {
				n.paused = !n.paused
				observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Name: n.path, Weight: float64(n.weight), Paused: n.paused}})
			}
		case 4, 5, 6:
			id := sojourn.JobID(r.Uint64N(uint64(next) + 1))
			if j := jobs[id]; j != nil && !j.cancelled && j.running+j.waiting[0]+j.waiting[1] > 0 && !j.of.endless {
				j.cancelled = true
				for c := range classes {
					around(j.of, func(m *stormNode) { m.waiting[c] -= j.waiting[c] })
					j.waiting[c] = 0
				}
				observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
				settle(j)
			}
		case 3:
			data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
			if err == nil {
				p = newWith(opts)
				err = p.(sojourn.Snapshotter).UnmarshalBinary(data)
			}
			if err != nil {
				t.Fatal(seed, err)
			}
		}
		compare()
		for id := range slots * classes {
			if _, busy := running[id]; busy || gone[id] {
				continue
			}
			if a, ok := p.Assign(sojourn.SlotID(id)); ok {
				j := jobs[a.Task.Job]
				running[id] = stormRun{a, now, j}
				j.running++
				j.waiting[id%classes]--
				around(j.of, func(m *stormNode) { m.waiting[id%classes]-- })
				compare()
			}
		}
		now++
		for id := range slots * classes {
			of, busy := running[id]
			if !busy {
				continue
			}
			switch x := r.IntN(100); {
			case int64(now-of.start) >= of.job.lengths[id%classes] || !of.job.of.endless && r.IntN(3*stormLongest) == 0:
				end(id, sojourn.TaskFinished, 0)
			case of.job.of.endless:
			case x < len(mishaps):
				m := mishaps[x]
				if end(id, m.kind, m.cause); m.cause == sojourn.CauseSlotLost {
					observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
					gone[id] = true
				}
			}
		}
		for id := range slots * classes {
			if gone[id] && r.IntN(10) == 0 {
				delete(gone, id)
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot(id)})
			}
		}
		compare()
	}
	return worst
}
