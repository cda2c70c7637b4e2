package pooled_test

import (
	"context"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// patient returns policies whose jobs wait for their nodes for a time, by name.
func patient(d time.Duration) map[string]func() sojourn.Policy {
	inside := func() sojourn.Policy { return constructors.HFSP.Must(hfsp.Options{NodeDelay: d}) }
	return map[string]func() sojourn.Policy{
		"fair": func() sojourn.Policy { return pooled.Fair.Must(fair.Options{Delay: d}) },
		"fair, pools": func() sojourn.Policy {
			return pooled.Fair.Must(fair.Options{Delay: d, Pools: map[string]fair.Pool{"a": {FIFO: true}}})
		},
		"hfsp":       inside,
		"hfsp, rack": func() sojourn.Policy { return constructors.HFSP.Must(hfsp.Options{NodeDelay: d, RackDelay: d}) },
		"fair in a pool": func() sojourn.Policy {
			inner := func() sojourn.Policy { return pooled.Fair.Must(fair.Options{Delay: d}) }
			return pooled.Fair.Must(fair.Options{Pools: map[string]fair.Pool{"*": {Policy: inner}, "a": {Policy: inner}}})
		},
		"pfsp": func() sojourn.Policy { return constructors.PFSP.Must(pfsp.Options{}) }, // never waits
		"hfsp in a pool": func() sojourn.Policy {
			return pooled.Fair.Must(fair.Options{Pools: map[string]fair.Pool{"*": {Policy: inside}, "a": {Policy: inside}}})
		},
	}
}

// Whatever the workload and the cluster, waits for locality leave at most a sixteenth of the slot time
// unused that finished tasks have held near their inputs. The account of the test is one
// of instants, slots and tasks, and knows nothing of delays: a slot is unused while a job has a task that
// could start there. The driver ticks at each NextWake.
// Reference: internal/locality, "Delay scheduling".
func TestWaitsLeaveASixteenthUnused(t *testing.T) {
	var unused time.Duration
	for name, make := range patient(10 * time.Second) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				y := &yard{t: t, p: make(), pending: map[sojourn.JobID]int{}, specs: map[sojourn.JobID]*sojourn.Job{}}
				y.run()
				unused += y.unused
			})
		})
	}
	if unused == 0 {
		t.Error("nothing was ever left unused")
	}
}

// A yard is a cluster of three nodes, on two racks, in steps of a tenth of a second.
type yard struct {
	t       *rapid.T
	p       sojourn.Policy
	now     sojourn.Time
	slots   []*place
	pending map[sojourn.JobID]int
	specs   map[sojourn.JobID]*sojourn.Job

	unused, near time.Duration // slot time
}

// A place is a slot, and what runs there.
type place struct {
	sojourn.Slot
	a         sojourn.Assignment
	busy      bool
	from, end sojourn.Time
}

const step = sojourn.Time(100 * time.Millisecond)

func (y *yard) observe(ev sojourn.Event) {
	ev.At = y.now
	if err := y.p.Observe(ev); err != nil {
		y.t.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

// rackOf returns the rack of a node: 1 of node 1, 2 of nodes 2 and 3.
func rackOf(n sojourn.NodeID) sojourn.RackID { return sojourn.RackID(1 + n/2) }

// holds reports whether the rack of a slot holds the input of the task that runs there.
func (y *yard) holds(s *place) bool {
	return rackOf(y.specs[s.a.Task.Job].Phases[0].Inputs.Of(int(s.a.Task.Index))[0]) == s.Rack
}

func (y *yard) add(node int) {
	s := sojourn.Slot{ID: sojourn.SlotID(len(y.slots)), Node: sojourn.NodeID(node), Rack: rackOf(sojourn.NodeID(node))}
	y.slots = append(y.slots, &place{Slot: s})
	y.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
}

func (y *yard) arrive() {
	id := sojourn.JobID(len(y.specs) + 1)
	nodes := make([][]sojourn.NodeID, rapid.SampledFrom([]int{1, 3, 30}).Draw(y.t, "tasks"))
	hot := sojourn.NodeID(rapid.IntRange(1, 3).Draw(y.t, "hot"))
	for i := range nodes {
		nodes[i] = []sojourn.NodeID{hot}
	}
	if rapid.IntRange(0, 3).Draw(y.t, "one elsewhere") == 0 {
		nodes[0] = []sojourn.NodeID{hot%3 + 1}
	}
	j := &sojourn.Job{ID: id, Pool: rapid.SampledFrom([]string{"", "a", "b"}).Draw(y.t, "pool"),
		Phases: []sojourn.Phase{{Tasks: len(nodes), Inputs: sojourn.MakeInputs(nodes)}}}
	y.specs[id], y.pending[id] = j, len(nodes)
	y.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
}

// offer offers slots until all are declined.
func (y *yard) offer() {
	for given := true; given; {
		given = false
		for _, s := range y.slots {
			if s.busy {
				continue
			}
			if s.a, s.busy = y.p.Assign(s.ID); !s.busy {
				continue
			}
			length := rapid.SampledFrom([]int{1, 10, 50, 400}).Draw(y.t, "length")
			if !y.holds(s) {
				length *= 3
			}
			s.from, s.end, given = y.now, y.now+sojourn.Time(length)*step, true
			y.pending[s.a.Task.Job]--
		}
	}
}

// pass lets time pass until the next end, the next wake, or the end of what was drawn.
func (y *yard) pass(until sojourn.Time) {
	for y.offer(); y.now < until; y.offer() {
		next := until
		for _, s := range y.slots {
			if s.busy {
				next = min(next, s.end)
			}
		}
		if waker, ok := sojourn.As[sojourn.Waker](y.p); ok {
			if at, ok := waker.NextWake(); ok {
				next = min(next, max(at, y.now+1))
			}
		}
		startable, free := 0, 0
		for _, n := range y.pending {
			startable += n
		}
		for _, s := range y.slots {
			if !s.busy {
				free++
			}
		}
		y.unused += next.Sub(y.now) * time.Duration(min(startable, free))
		y.now = next
		y.observe(sojourn.Event{Kind: sojourn.Tick})
		for _, s := range y.slots {
			if !s.busy || s.end > y.now {
				continue
			}
			s.busy = false
			if y.holds(s) {
				y.near += y.now.Sub(s.from)
			}
			y.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: s.a.Task, Attempt: s.a.Attempt, Slot: s.Slot})
		}
		if 16*y.unused > y.near {
			y.t.Fatalf("at %v: %v unused, more than a sixteenth of %v", y.now, y.unused, y.near)
		}
	}
}

func (y *yard) run() {
	for range rapid.IntRange(1, 5).Draw(y.t, "slots") {
		y.add(rapid.IntRange(1, 3).Draw(y.t, "node"))
	}
	for range rapid.IntRange(1, 12).Draw(y.t, "steps") {
		switch rapid.IntRange(0, 5).Draw(y.t, "what") {
		case 0:
			y.add(rapid.IntRange(1, 3).Draw(y.t, "node"))
		case 1, 2:
			y.arrive()
		}
		y.pass(y.now + step*sojourn.Time(rapid.SampledFrom([]int{0, 1, 7, 60, 900}).Draw(y.t, "dt")))
	}
}

// A job with all inputs, or most, on one node of ten takes hardly longer with a delay than
// without one, whatever the delay and the length of its tasks, and so do several such jobs. pfsp, which has no delay, takes hardly
// longer than fair without one.
// Reference: SPARK-18886.
func TestDelayDoesNotIdleTheCluster(t *testing.T) {
	second := time.Second
	hot := func(id, n int, at, length time.Duration, node func(i int) int) *sim.Job {
		nodes := make([][]sojourn.NodeID, n)
		for i := range nodes {
			nodes[i] = []sojourn.NodeID{sojourn.NodeID(node(i))}
		}
		return &sim.Job{
			Job:   sojourn.Job{ID: sojourn.JobID(id), Pool: fmt.Sprint(id % 3), Phases: []sojourn.Phase{{Tasks: n, Inputs: sojourn.MakeInputs(nodes)}}},
			At:    sojourn.Time(at),
			Times: []sim.Times{{Each: length}},
		}
	}
	first := func(int) int { return 1 }
	many := func(n, tasks int, every time.Duration, node func(id int) int) (list []*sim.Job) {
		for id := range n {
			list = append(list, hot(id+1, tasks, time.Duration(id)*every, second, func(int) int { return node(id) }))
		}
		return list
	}
	skewed := func(id int) *sim.Job { // half of the inputs on the first node, a quarter on the next one, and so on
		return hot(id, 160, 0, 3*second, func(i int) int { return (id+bits.TrailingZeros(uint(i+1)))%10 + 1 })
	}
	replicated := func(id int) *sim.Job { // on the nodes 1 and 2, and a few on others
		j := hot(id, 120, time.Duration(id)*second, 4*second, first)
		nodes := make([][]sojourn.NodeID, 120)
		for i := range nodes {
			nodes[i] = []sojourn.NodeID{1, 2}
			if i%20 == 0 {
				nodes[i] = []sojourn.NodeID{sojourn.NodeID(3 + i/20), 1}
			}
		}
		j.Phases[0].Inputs = sojourn.MakeInputs(nodes)
		return j
	}
	reduced := func(id int) *sim.Job { // maps on one node, and then reduces anywhere
		j := hot(id, 90, 0, 2*second, func(i int) int { return 1 + i%90/80 })
		j.Phases = append(j.Phases, sojourn.Phase{Tasks: 12, Class: sojourn.ReduceClass})
		j.Times = append(j.Times, sim.Times{Each: 5 * second})
		return j
	}
	for _, tc := range []struct {
		name   string
		jobs   []*sim.Job
		remote float64
	}{
		{"skewed inputs", []*sim.Job{skewed(1), skewed(2), skewed(5)}, 3},
		{"two replicas", []*sim.Job{replicated(1), replicated(2), replicated(3)}, 3},
		{"maps and reduces", []*sim.Job{reduced(1), reduced(2), reduced(3), reduced(4)}, 3},
		{"1 s", []*sim.Job{hot(1, 400, 0, second, first)}, 3},
		{"10 s", []*sim.Job{hot(1, 150, 0, 10*second, first)}, 3},
		{"nine of ten inputs", []*sim.Job{hot(1, 400, 0, second, func(i int) int { return max(1, i%100/10*(i%10/9)+1) })}, 3},
		{"10 ms", []*sim.Job{hot(1, 400, 0, 10*time.Millisecond, first)}, 3},
		{"an hour", []*sim.Job{hot(1, 60, 0, time.Hour, first)}, 3},
		{"factor 1.1", []*sim.Job{hot(1, 300, 0, 2*second, first)}, 1.1},
		{"factor 10", []*sim.Job{hot(1, 300, 0, 2*second, first)}, 10},
		{"jobs with other nodes", many(5, 60, 0, func(id int) int { return id%10 + 1 }), 3},
		{"jobs with one node", many(8, 40, 3*second, func(int) int { return 1 }), 3},
		{"small jobs", many(120, 2, second/2, func(int) int { return 1 }), 3},
		{"two nodes", many(20, 10, second, func(id int) int { return id%2 + 1 }), 3},
	} {
		makespan := func(p sojourn.Policy) time.Duration {
			r, err := sim.Run(context.Background(), sim.Config{
				Cluster: ten(), Jobs: sim.Jobs(tc.jobs...), Policy: p, NoAudit: true, Remote: sim.Remote{Rack: tc.remote, Remote: tc.remote},
			})
			if err != nil {
				t.Fatal(err)
			}
			return r.Makespan
		}
		without := map[string]time.Duration{}
		for name, make := range patient(0) {
			without[name] = makespan(make())
		}
		if with := without["pfsp"]; 100*with > 110*without["fair"] {
			t.Errorf("%s: under pfsp the makespan is %v, and %v under fair without a delay", tc.name, with, without["fair"])
		}
		for _, d := range []time.Duration{3 * second, time.Hour} {
			for name, make := range patient(d) {
				if with := makespan(make()); 100*with > 110*without[name] {
					t.Errorf("%s: under %s the makespan is %v with a delay of %v, and %v without", tc.name, name, with, d, without[name])
				}
			}
		}
	}
}

// ten returns a cluster of ten nodes with a slot of each class.
func ten() (c sim.Cluster) {
	for i := range 10 {
		c.Nodes = append(c.Nodes, sim.Node{Name: fmt.Sprint(i), Slots: []int{1, 1}})
	}
	return c
}
