package sim_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// sized returns a job of one phase with the input sizes of its tasks.
func sized(id sojourn.JobID, bytes ...int64) *sim.Job {
	j := job(id, 0, make([]float64, len(bytes)))
	j.Phases[0].Bytes = bytes
	return j
}

// place returns the jobs as Place yields them.
func place(t interface{ Fatal(...any) }, c sim.Cluster, p sim.Placement, jobs ...*sim.Job) []*sim.Job {
	seq, err := sim.Place(&c, p, sim.Jobs(jobs...))
	if err != nil {
		t.Fatal(err)
	}
	var placed []*sim.Job
	for j, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		placed = append(placed, j)
	}
	return placed
}

// The rule of HDFS, on any cluster: the second replica is on another rack than the first,
// and the third is on the rack of the second, if such nodes exist.
func TestBlocksAreSpreadOverRacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c"}), 1, 8).Draw(t, "racks")
		c := racks(names...)
		p := sim.Placement{Replicas: rapid.IntRange(1, 10).Draw(t, "replicas"), Seed: rapid.Uint64().Draw(t, "seed")}
		j := place(t, c, p, sized(1, make([]int64, 20)...), sized(2, slices.Repeat([]int64{1}, 20)...))[1]
		rack := func(n sojourn.NodeID) string { return names[n-1] }
		others := func(have []sojourn.NodeID, fits func(rack string) bool) bool { // is there such a node besides?
			for i := range names {
				if !slices.Contains(have, sojourn.NodeID(i+1)) && fits(names[i]) {
					return true
				}
			}
			return false
		}
		for i := range 20 {
			list := j.Phases[0].Inputs.Of(i)
			if len(list) != min(p.Replicas, len(names)) {
				t.Fatalf("%d replicas of %d on %d nodes: %v", len(list), p.Replicas, len(names), list)
			}
			for k, n := range list {
				if slices.Contains(list[:k], n) {
					t.Fatalf("node %d holds two replicas: %v", n, list)
				}
			}
			if len(list) > 1 {
				far := func(r string) bool { return r != rack(list[0]) }
				if others(list[:1], far) && !far(rack(list[1])) {
					t.Fatalf("second replica on the rack of the first: %v on racks %q", list, names)
				}
			}
			if len(list) > 2 {
				near := func(r string) bool { return r == rack(list[1]) }
				if others(list[:2], near) && !near(rack(list[2])) {
					t.Fatalf("third replica not on the rack of the second: %v on racks %q", list, names)
				}
			}
		}
	})
}

// Nodes 1 and 2 are on rack a, 3 and 4 on b, 5 on c. Every placement that the rule allows
// has the probability that the rule gives it: 1/5 for the first replica, one over the
// number of nodes on other racks for the second, and 1 for the third if the rack of the
// second has one other node. If the second is on node 5, its rack has no other node, and
// the third is on any of the 3 others. Each count over 30,000 blocks is within 5 standard
// deviations of its mean.
func TestBlocksAreSpreadEvenly(t *testing.T) {
	const n = 30_000
	j := place(t, racks("a", "a", "b", "b", "c"), sim.Placement{Replicas: 3, Seed: 1}, sized(1, slices.Repeat([]int64{1}, n)...))[0]
	counts := map[string]int{}
	for i := range n {
		counts[fmt.Sprint(j.Phases[0].Inputs.Of(i))]++
	}
	rackOf := map[int]string{1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
	mates := map[string][]int{"a": {1, 2}, "b": {3, 4}, "c": {5}}
	total := 0
	for first := 1; first <= 5; first++ {
		far := 5 - len(mates[rackOf[first]])
		for second := 1; second <= 5; second++ {
			if rackOf[second] == rackOf[first] {
				continue
			}
			thirds := slices.DeleteFunc(slices.Clone(mates[rackOf[second]]), func(x int) bool { return x == second })
			if len(thirds) == 0 {
				thirds = slices.DeleteFunc([]int{1, 2, 3, 4, 5}, func(x int) bool { return x == first || x == second })
			}
			for _, third := range thirds {
				key := fmt.Sprint([]int{first, second, third})
				mean := float64(n) / float64(5*far*len(thirds))
				if d := float64(counts[key]) - mean; d*d > 25*mean {
					t.Errorf("placed %s %d times, want about %.0f", key, counts[key], mean)
				}
				total += counts[key]
			}
		}
	}
	if total != n {
		t.Errorf("%d of %d blocks are placed as the rule allows: %v", total, n, counts)
	}
}

// These are the inputs that Place places, and those that it leaves unchanged.
func TestWhatIsPlaced(t *testing.T) {
	c := racks("a", "b")
	two := func() *sim.Job {
		j := job(1, 0, []float64{1, 1}, []float64{1})
		j.Phases[1].Bytes = []int64{5}
		return j
	}
	withBytes, withInputs, mixed := two(), two(), two()
	withBytes.Phases[0].Bytes = []int64{5, 5}
	withInputs.Phases[0].Bytes = []int64{5, 5}
	withInputs.Phases[0].Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{2}, nil})
	mixed.Phases[0].Bytes = []int64{0, 5}
	for _, tc := range []struct {
		name string
		in   *sim.Job
		all  bool
		want []int // replicas of the tasks of the first phase
	}{
		{"bytes", withBytes, false, []int{2, 2}},
		{"inputs", withInputs, false, []int{1, 0}},
		{"inputs, all", withInputs, true, []int{1, 0}},
		{"one empty", mixed, false, []int{0, 2}},
		{"one empty, all", mixed, true, []int{0, 2}},
		{"nothing", two(), false, []int{0, 0}},
		{"nothing, all", two(), true, []int{2, 2}},
	} {
		before := tc.in.Phases[0].Inputs
		out := place(t, c, sim.Placement{Replicas: 2, All: tc.all}, tc.in)[0]
		got := []int{len(out.Phases[0].Inputs.Of(0)), len(out.Phases[0].Inputs.Of(1))}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: replicas %v, want %v", tc.name, got, tc.want)
		}
		if tc.in.Phases[0].Inputs.Len() != before.Len() {
			t.Errorf("%s: the job that was given has changed", tc.name)
		}
		if out.Phases[1].Inputs.Len() != 0 {
			t.Errorf("%s: the second phase was placed", tc.name)
		}
		if err := out.Check(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// The blocks of a job depend on the seed, the cluster and the job, and not on the jobs
// around it. They are the same whenever the sequence is read.
func TestPlacementsArePaired(t *testing.T) {
	c := racks("a", "a", "b", "b", "c", "c")
	inputs := func(j *sim.Job) string {
		var b strings.Builder
		for i := range j.Phases[0].Tasks {
			fmt.Fprint(&b, j.Phases[0].Inputs.Of(i))
		}
		return b.String()
	}
	job := func(id sojourn.JobID) *sim.Job { return sized(id, slices.Repeat([]int64{1}, 50)...) }
	p := sim.Placement{Replicas: 3, Seed: 7}
	jobs := place(t, c, p, job(1), job(2), job(3))
	alone := place(t, c, p, job(2))
	if got, want := inputs(jobs[1]), inputs(alone[0]); got != want {
		t.Errorf("among others %s, alone %s", got, want)
	}
	if inputs(jobs[0]) == inputs(jobs[1]) {
		t.Errorf("two jobs have the same blocks: %s", inputs(jobs[0]))
	}
	p.Seed++
	if other := place(t, c, p, job(2)); inputs(other[0]) == inputs(alone[0]) {
		t.Errorf("two seeds place the same blocks: %s", inputs(alone[0]))
	}

	seq, err := sim.Place(&c, p, sim.Jobs(job(1), job(2)))
	if err != nil {
		t.Fatal(err)
	}
	read := func(seq iter.Seq2[*sim.Job, error]) (list []string) {
		for j := range seq {
			list = append(list, inputs(j))
		}
		return list
	}
	if one, two := read(seq), read(seq); !slices.Equal(one, two) {
		t.Errorf("read twice: %v and %v", one, two)
	}
}

// Mistakes are named. An error of the workload is passed on.
func TestPlacementThatIsWrong(t *testing.T) {
	c := racks("a")
	if _, err := sim.Place(&c, sim.Placement{}, sim.Jobs()); err == nil || err.Error() != "sim: 0 replicas of a block, want at least 1" {
		t.Errorf("no replicas: error %v", err)
	}
	if _, err := sim.Place(&sim.Cluster{}, sim.Placement{Replicas: 1}, sim.Jobs()); err == nil || err.Error() != "sim: no nodes to place blocks on" {
		t.Errorf("no nodes: error %v", err)
	}
	bad := errors.New("line 3")
	broken := sized(1, 1)
	broken.Phases[0].Tasks = 2
	seq, err := sim.Place(&c, sim.Placement{Replicas: 1}, func(yield func(*sim.Job, error) bool) {
		_ = yield(broken, nil) && yield(nil, nil) && yield(&sim.Job{}, nil) && yield(nil, bad)
	})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*sim.Job
	for j, err := range seq {
		if jobs = append(jobs, j); err != nil && err != bad {
			t.Errorf("error %v, want %v", err, bad)
		}
	}
	if len(jobs) != 4 || jobs[0] != broken {
		t.Errorf("%v, want the jobs that were given, for Run to find what is wrong", jobs)
	}
}

// Two jobs that read one path read the same blocks at the same places, however many
// blocks they read, and whether or not some are empty. Another path, and jobs without a
// path, have blocks elsewhere.
func TestPlaceByName(t *testing.T) {
	c := mapReduce(50, 1, 0)
	named := func(j *sim.Job, name string) *sim.Job {
		j.Name = name
		return j
	}
	jobs := place(t, c, sim.Placement{Replicas: 3, ByName: true, Seed: 1},
		named(sized(1, 5, 5, 5, 5), "/a"), named(sized(2, 5, 0, 5), "/a"), named(sized(3, 5, 5, 5), "/b"),
		sized(4, 5, 5, 5), sized(5, 5, 5, 5))
	at := func(job, task int) string { return fmt.Sprint(jobs[job-1].Phases[0].Inputs.Of(task)) }
	if at(2, 0) != at(1, 0) || at(2, 2) != at(1, 2) || at(2, 1) != "[]" {
		t.Errorf("jobs of one path read at %s, %s and %s, %s, %s", at(1, 0), at(1, 2), at(2, 0), at(2, 1), at(2, 2))
	}
	for _, pair := range [][2]int{{1, 3}, {1, 4}, {4, 5}} {
		if at(pair[0], 0) == at(pair[1], 0) {
			t.Errorf("jobs %v read at %s", pair, at(pair[0], 0))
		}
	}
	plain := place(t, c, sim.Placement{Replicas: 3, Seed: 1}, named(sized(1, 5), "/a"), named(sized(2, 5), "/a"))
	if a, b := plain[0].Phases[0].Inputs.Of(0), plain[1].Phases[0].Inputs.Of(0); slices.Equal(a, b) {
		t.Errorf("without ByName both read at %v", a)
	}
}
