package fair_test

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// at returns the inputs of so many tasks on one node; none on node 0.
func at(tasks int, node sojourn.NodeID) sojourn.Inputs {
	if node == 0 {
		return sojourn.Inputs{}
	}
	return sojourn.MakeInputs(slices.Repeat([][]sojourn.NodeID{{node}}, tasks))
}

// A slot is on the node of a, whose tasks take a second, as those of b and c do. With a window of 2 s, a goes first while it has had at most 2 s more than b
// has, which comes first by its tag whenever a does not. The tasks of c run equally well anywhere, so it passes nobody.
func TestWindow(t *testing.T) {
	for _, tc := range []struct {
		window time.Duration
		want   string
	}{
		{0, "abcabcabc"},
		{time.Second, "aabcabcabc"},
		{2 * time.Second, "aaabcabcabc"},
		{2*time.Second - 1, "aabcabcabc"},
	} {
		p := newWith(fair.Options{Window: tc.window})
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}})
		for i, pool := range []string{"a", "b", "c"} {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: pool, Phases: []sojourn.Phase{{
				Tasks: 9, Estimate: time.Second, Inputs: at(9, []sojourn.NodeID{1, 2, 0}[i])}}}})
		}
		got := ""
		for range tc.want {
			a, ok := p.Assign(1)
			if !ok {
				t.Fatal("Assign(1) = false: a slot idles")
			}
			got += string("abc"[a.Task.Job-1])
			now = now.Add(time.Second)
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
		}
		if got != tc.want {
			t.Errorf("window %v: %s, want %s", tc.window, got, tc.want)
		}
	}
}

// A place is a pool, as the oracle sees it.
type place struct {
	path    string
	weight  int64
	charged int64
	served  int // when; 0 is never
	came    int
	below   []*place

	// Of one with a job.
	length int64
	node   sojourn.NodeID
}

func (x *place) far(s sojourn.Slot) sojourn.Locality {
	switch {
	case x.node == 0:
		return sojourn.AnyNode
	case x.node == s.Node:
		return sojourn.NodeLocal
	case rackOf(x.node) == s.Rack:
		return sojourn.RackLocal
	}
	return sojourn.Remote
}

func rackOf(n sojourn.NodeID) sojourn.RackID { return sojourn.RackID(1 + n%2) }

// next returns the place at which a slot is given, the outermost first.
func (x *place) next(s sojourn.Slot, window int64) (path []*place, far sojourn.Locality) {
	if len(x.below) == 0 {
		return nil, x.far(s)
	}
	tag := func(y *place) *big.Rat { return big.NewRat(y.charged, y.weight) }
	list := slices.SortedFunc(slices.Values(x.below), func(a, b *place) int {
		return cmp.Or(tag(a).Cmp(tag(b)), cmp.Compare(a.served, b.served), cmp.Compare(a.came, b.came))
	})
	limit := new(big.Rat).Add(tag(list[0]), big.NewRat(window, 1))
	for i, y := range list {
		below, f := y.next(s, window)
		if i == 0 || window > 0 && tag(y).Cmp(limit) <= 0 && far > sojourn.NodeLocal && f != sojourn.AnyNode && f < far {
			path, far = append([]*place{y}, below...), f
		}
	}
	return path, far
}

// Pools that always have tasks, in teams and beside them, whose tasks have inputs on nodes of two racks. All times are told and come true. The oracle knows
// what each has been charged, as fractions: level by level, the slot goes to the nearest of the pools within the window of the least one, and of
// several to the one that comes first. A slot that is free never stays so.
func TestWindowTakesTheNearest(t *testing.T) {
	passed := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		window := []int64{0, 1, 7, 40, 1000}[r.IntN(5)]
		opts := fair.Options{Window: time.Duration(window), Pools: map[string]fair.Pool{}}
		root := &place{}
		var leaves []*place
		add := func(up *place, path string) *place {
			x := &place{path: path, weight: []int64{1, 2, 3, 10}[r.IntN(4)], came: len(opts.Pools), length: 1 + r.Int64N(20), node: sojourn.NodeID(r.IntN(5))}
			opts.Pools[path] = fair.Pool{Weight: float64(x.weight)}
			up.below = append(up.below, x)
			return x
		}
		for i := range 2 + r.IntN(4) {
			x := add(root, fmt.Sprint(i))
			if r.IntN(3) > 0 {
				leaves = append(leaves, x)
				continue
			}
			for k := range 2 + r.IntN(3) {
				leaves = append(leaves, add(x, fmt.Sprint(i, "/", k)))
			}
		}
		p, now := newWith(opts), int64(0)
		observe := func(ev sojourn.Event) {
			ev.At = sojourn.Time(now)
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		slots := make([]sojourn.Slot, 4+r.IntN(3))
		for i := range slots {
			n := sojourn.NodeID(1 + i) // the racks of nodes with slots are known
			if i >= 4 {
				n = sojourn.NodeID(1 + r.IntN(4))
			}
			slots[i] = sojourn.Slot{ID: sojourn.SlotID(i), Node: n, Rack: rackOf(n)}
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slots[i]})
		}
		for i, x := range leaves {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: x.path, Phases: []sojourn.Phase{{
				Tasks: 1000, Estimate: time.Duration(x.length), Inputs: at(1000, x.node)}}}})
		}
		running := make([]*run, len(slots))
		for step := 1; step < 200; {
			for i, s := range slots {
				if running[i] != nil {
					continue
				}
				want, far := root.next(s, window)
				a, ok := p.Assign(s.ID)
				if !ok {
					t.Fatalf("seed %d: slot %d idles", seed, i)
				}
				x := leaves[a.Task.Job-1]
				if x != want[len(want)-1] || a.Locality != far {
					t.Fatalf("seed %d, step %d, window %d: slot of node %d goes to %s (%v), want %s (%v)", seed, step, window, s.Node, x.path, a.Locality, want[len(want)-1].path, far)
				}
				if without, _ := root.next(s, 0); without[len(without)-1] != x {
					passed++
				}
				for _, y := range want {
					y.charged += x.length
					y.served = step
				}
				step++
				running[i] = &run{a, sojourn.Time(now), sojourn.Time(now + x.length)}
			}
			now++
			for i, of := range running {
				if of != nil && int64(of.end) == now {
					observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: of.a.Task, Attempt: of.a.Attempt, Slot: slots[i]})
					running[i] = nil
				}
			}
		}
	}
	t.Logf("a slot went to another pool than without a window %d times", passed)
	if passed < 1000 {
		t.Error("the runs are too tame to show anything")
	}
}

type run struct {
	a          sojourn.Assignment
	start, end sojourn.Time
}

// Within a window Q the bound grows by Q: |W_i/w_i - W_j/w_j| <= N u + Q, in random runs with all that [TestServiceWithinTheBound] has.
func TestWindowWithinTheBound(t *testing.T) {
	for _, window := range []time.Duration{1, 30, 1000} {
		serviceWithinTheBound(t, 0, fair.Options{Window: window})
	}
	serviceWithinTheBound(t, 1000, fair.Options{Window: 20_000})
}

// The bound holds in all runs of two pools on one slot and on two.
func TestServiceExhaustive(t *testing.T) { exhaust(t, 5, 0) }

// So it does within a window, with the tasks of each pool on a node of its own and the slots anywhere.
func TestWindowExhaustive(t *testing.T) { exhaust(t, 5, 1, 4) }

// exhaust makes all runs of so many attempts of 1 to 3, of which nothing is told.
func exhaust(t *testing.T, attempts int, windows ...int64) {
	const longest = 3
	runs, worst := 0, 0.0
	for _, weight := range [][2]int64{{1, 1}, {1, 2}} {
		opts := fair.Options{Pools: map[string]fair.Pool{"0": {Weight: float64(weight[0])}, "1": {Weight: float64(weight[1])}}}
		for _, window := range windows {
			opts.Window = time.Duration(window)
			for _, nodes := range [][]sojourn.NodeID{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}} {
				most := int64(len(nodes))*longest*(weight[0]+weight[1])*17/16 + window*weight[0]*weight[1]
				lengths := make([]int64, attempts) // less 1
				for more := true; more; runs++ {
					apart := smallRun(t, opts, nodes, lengths, weight)
					if worst = max(worst, float64(apart)/float64(most)); apart > most {
						t.Fatalf("weights %d, window %d, slots on nodes %d, attempts take %d and 1: %d apart, want at most %d", weight, window, nodes, lengths, apart, most)
					}
					more = false
					for i := attempts - 1; i >= 0 && !more; i-- {
						lengths[i] = (lengths[i] + 1) % longest
						more = lengths[i] > 0
					}
				}
			}
		}
	}
	t.Logf("%d runs, %.2f of the bound at most", runs, worst)
	if worst < .5 {
		t.Errorf("%.2f of the bound at most: the runs are too tame to show anything", worst)
	}
}

// smallRun makes one of these runs, and returns how far the pools are apart at most, over the product of their weights.
func smallRun(t *testing.T, opts fair.Options, nodes []sojourn.NodeID, lengths []int64, weight [2]int64) (apart int64) {
	p, now, started := newWith(opts), sojourn.Time(0), 0
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range nodes {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Node: n}})
	}
	for i := range 2 {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: fmt.Sprint(i), Phases: []sojourn.Phase{{Tasks: 100, Inputs: at(100, sojourn.NodeID(i+1))}}}})
	}
	var got [2]int64
	running := make([]run, len(nodes))
	for ended := 0; ended < len(lengths); now++ {
		for i := range running {
			if of := running[i]; of.a.Attempt > 0 && of.end == now {
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: of.a.Task, Attempt: of.a.Attempt, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
				got[of.a.Task.Job-1] += int64(of.end - of.start)
				running[i], ended = run{}, ended+1
			}
		}
		d := weight[1]*got[0] - weight[0]*got[1]
		apart = max(apart, d, -d)
		for i := range running {
			if running[i].a.Attempt > 0 {
				continue
			}
			a, ok := p.Assign(sojourn.SlotID(i))
			if !ok {
				t.Fatalf("slot %d idles", i)
			}
			took := sojourn.Time(1)
			if started < len(lengths) {
				took += sojourn.Time(lengths[started])
			}
			started++
			running[i] = run{a, now, now + took}
		}
	}
	return apart
}

// Of a thousand pools within the window, of which the last one has work on the node, a decision allocates nothing.
func TestWindowAllocatesNothing(t *testing.T) {
	p, now := newWith(fair.Options{Window: time.Hour}), sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}})
	for i := range 1000 {
		node := sojourn.NodeID(2)
		if i == 999 {
			node = 1
		}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: fmt.Sprint(i), Phases: []sojourn.Phase{{
			Tasks: 300, Estimate: time.Second, Inputs: at(300, node)}}}})
	}
	if n := testing.AllocsPerRun(200, func() {
		a, ok := p.Assign(1)
		if !ok || a.Locality != sojourn.NodeLocal {
			t.Fatalf("Assign(1) = %v, %v, want a task on the node", a, ok)
		}
		now = now.Add(time.Second)
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// A pool that comes while another one is ahead within the window is level with the least one; one below its minimum goes first, wherever the slot is; and what runs for
// longer than it was told to takes a pool out of the window.
func TestWindowLeavesOthersTheirPlace(t *testing.T) {
	for _, tc := range []struct {
		what, want string
		comes      int // z, before this task
		opts       fair.Options
		late       bool // the first task of a goes on
	}{
		{"a pool that comes", "aaaabz", 4, fair.Options{}, false},
		{"one with a minimum", "aaz", 2, fair.Options{Pools: map[string]fair.Pool{"z": {Min: fair.Slots{0: 1}}}}, false},
		{"one that is late", "aabbb", 9, fair.Options{}, true},
	} {
		tc.opts.Window = 3 * time.Second
		p, now, id, slot := newWith(tc.opts), sojourn.Time(0), sojourn.JobID(0), sojourn.SlotID(1)
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		arrive := func(pool string, node sojourn.NodeID) {
			id++
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: 9, Estimate: time.Second, Inputs: at(9, node)}}}})
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}})
		arrive("a", 1)
		arrive("b", 2)
		got := ""
		for i := range tc.want {
			if i == tc.comes {
				arrive("z", 3)
			}
			a, _ := p.Assign(slot)
			got += string("abz"[a.Task.Job-1])
			now = now.Add(time.Second)
			if tc.late && i == 0 {
				slot = 2
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot, Node: 1}})
				continue
			}
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot}})
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.what, got, tc.want)
		}
	}
}
