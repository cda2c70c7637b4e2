package sim_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// racks returns a cluster of nodes with one uniform slot each. names are the racks of the
// nodes, "" for an unknown rack.
func racks(names ...string) sim.Cluster {
	c := sim.Cluster{Uniform: true}
	for _, name := range names {
		c.Nodes = append(c.Nodes, sim.Node{Rack: name, Slots: []int{1}})
	}
	return c
}

// reading gives the tasks of the first phase of j their inputs.
func reading(j *sim.Job, nodes ...[]sojourn.NodeID) *sim.Job {
	j.Phases[0].Inputs = sojourn.MakeInputs(nodes)
	return j
}

// Five tasks of 10 s start at 0 on nodes 1 to 5, each on the node of its number. Nodes 1
// and 2 are on rack a, 3 and 4 on rack b, 5 on none. A local read costs nothing. A read
// on the rack makes the task take 15 s, other reads 30 s.
func TestRemoteReads(t *testing.T) {
	type nodes = []sojourn.NodeID
	const node, rack, remote = sojourn.NodeLocal, sojourn.RackLocal, sojourn.Remote
	type read struct {
		locality sojourn.Locality
		source   sojourn.NodeID
		end      time.Duration
	}
	times := []float64{10, 10, 10, 10, 10}
	mumak := sim.Remote{Node: 1, Rack: 1.5, Remote: 3}
	for _, tc := range []struct {
		name   string
		inputs []nodes
		source sojourn.NodeID // that the policy names for task 1
		config func(*sim.Config)
		want   []read
	}{
		{"the nearest is read",
			[]nodes{{1}, {3, 1}, {4, 3}, nil, {1, 2}}, 0, func(c *sim.Config) { c.Remote = mumak },
			[]read{{node, 1, 10 * s}, {rack, 1, 15 * s}, {node, 3, 10 * s}, {0, 0, 10 * s}, {remote, 1, 30 * s}}},
		{"the policy chooses the source",
			[]nodes{{1}, {3, 1, 2}, {4}, {1}, {9}}, 3, func(c *sim.Config) { c.Remote = mumak },
			[]read{{node, 1, 10 * s}, {remote, 3, 30 * s}, {rack, 4, 15 * s}, {remote, 1, 30 * s}, {remote, 9, 30 * s}}},
		{"distance costs nothing unless asked for",
			[]nodes{{1}, {1}, {1}, nil, {5}}, 0, func(*sim.Config) {},
			[]read{{node, 1, 10 * s}, {rack, 1, 10 * s}, {remote, 1, 10 * s}, {0, 0, 10 * s}, {node, 5, 10 * s}}},
		{"local reads can cost as well, no reads never",
			[]nodes{{1}, {1}, {1}, nil, {5}}, 0, func(c *sim.Config) { c.Remote.Node = 2 },
			[]read{{node, 1, 20 * s}, {rack, 1, 10 * s}, {remote, 1, 10 * s}, {0, 0, 10 * s}, {node, 5, 20 * s}}},
		{"stragglers and speeds multiply",
			[]nodes{{1}, {1}, {1}, nil, {5}}, 0, func(c *sim.Config) {
				c.Remote, c.Stragglers = mumak, sim.Stragglers{Probability: 1, Factor: 2}
				c.Cluster.Nodes[1].Speed = 3
			}, // 10 s times 1.5 times 2 over 3 is 10 s
			[]read{{node, 1, 20 * s}, {rack, 1, 10 * s}, {remote, 1, 60 * s}, {0, 0, 20 * s}, {node, 5, 20 * s}}},
	} {
		p := &rogue{table: newTable(first), assign: func(a sojourn.Assignment) sojourn.Assignment {
			if a.Task.Index == 1 {
				a.Source = tc.source
			}
			a.Locality = sojourn.Remote // the simulator does not believe it
			return a
		}}
		cfg := sim.Config{Cluster: racks("a", "a", "b", "b", ""), Policy: p, Jobs: sim.Jobs(reading(job(1, 0, times), tc.inputs...))}
		tc.config(&cfg)
		r, st := run(t, cfg)
		counts := map[sojourn.Locality]int{sojourn.AnyNode: 0, sojourn.NodeLocal: 0, sojourn.RackLocal: 0, sojourn.Remote: 0}
		for _, a := range st.attempts {
			got := read{a.Locality, a.Source, time.Duration(a.End)}
			if want := tc.want[a.Task.Index]; got != want || int(a.Slot) != int(a.Task.Index) {
				t.Errorf("%s: task %d on slot %d: %+v, want %+v", tc.name, a.Task.Index, a.Slot, got, want)
			}
			counts[tc.want[a.Task.Index].locality]++
		}
		if !maps.Equal(r.Locality, counts) || len(st.attempts) != 5 {
			t.Errorf("%s: localities %v of %d attempts, want %v", tc.name, r.Locality, len(st.attempts), counts)
		}
	}
}

// Nodes 1 and 2 hold the input of a task that takes 10 s. Node 1 fails at 1 s and is back
// at 100 s, node 2 fails at 2 s. Four jobs at 0, 1, 2 and 100 s run on node 3, on the
// rack of node 2. The first two read on the rack. The third has no node to read from at 2
// s. The fourth reads from node 1, which is on another rack, at 100 s.
func TestReadsFromNodesThatFail(t *testing.T) {
	c := racks("a", "b", "b", "b", "b")
	c.Nodes[0].Slots, c.Nodes[1].Slots = nil, nil
	var jobs []*sim.Job
	for i, at := range []float64{0, 1, 2, 100} {
		jobs = append(jobs, reading(job(sojourn.JobID(i+1), at, []float64{10}), []sojourn.NodeID{1, 2}))
	}
	_, st := run(t, sim.Config{
		Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(jobs...), Remote: sim.Remote{Rack: 1.5, Remote: 3},
		Faults: sim.Faults{Script: []sim.NodeFault{
			{At: sojourn.Time(s), Node: 1}, {At: sojourn.Time(2 * s), Node: 2}, {At: sojourn.Time(100 * s), Node: 1, Up: true},
		}},
	})
	type read struct {
		job      sojourn.JobID
		took     time.Duration
		locality sojourn.Locality
		source   sojourn.NodeID
	}
	var got []read
	for _, a := range st.attempts {
		got = append(got, read{a.Task.Job, a.End.Sub(a.Start), a.Locality, a.Source})
	}
	want := []read{
		{1, 15 * s, sojourn.RackLocal, 2},
		{2, 15 * s, sojourn.RackLocal, 2},
		{3, 30 * s, sojourn.Remote, 0},
		{4, 30 * s, sojourn.Remote, 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("reads %+v, want %+v", got, want)
	}
}

// A policy that names a node which is down has ignored an event.
func TestSourceThatIsDown(t *testing.T) {
	p := &rogue{table: newTable(first), assign: func(a sojourn.Assignment) sojourn.Assignment {
		a.Source = 2
		return a
	}}
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: racks("a", "a"), Policy: p, Jobs: sim.Jobs(reading(job(1, 1, []float64{1}), []sojourn.NodeID{1, 2})),
		Faults: sim.Faults{Script: []sim.NodeFault{{Node: 2}}},
	})
	if pe := asPolicyError(err); pe == nil || pe.What != "assigned task 1/0/0 to read from node 2, which is down" {
		t.Errorf("error %v, want that node 2 is down", err)
	}
}

// On random clusters whose nodes fail, every attempt reads from the nearest node that is
// up, and takes as long as that costs.
func TestReadsAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "nodes")
		c := sim.Cluster{Uniform: true}
		for range n {
			c.Nodes = append(c.Nodes, sim.Node{
				Rack:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "rack"),
				Slots: []int{rapid.IntRange(0, 2).Draw(t, "slots")},
			})
		}
		c.Nodes[0].Slots[0]++
		var jobs []*sim.Job
		inputs := map[sojourn.JobID]sojourn.Inputs{}
		for id := range sojourn.JobID(rapid.IntRange(1, 6).Draw(t, "jobs")) {
			var times []float64
			var lists [][]sojourn.NodeID
			for range rapid.IntRange(1, 5).Draw(t, "tasks") {
				times = append(times, 4)
				lists = append(lists, rapid.SliceOfN(rapid.Map(rapid.IntRange(1, n+1), func(i int) sojourn.NodeID {
					return sojourn.NodeID(i)
				}), 0, 3).Draw(t, "inputs"))
			}
			j := reading(job(id+1, float64(id), times), lists...)
			inputs[j.ID] = j.Phases[0].Inputs
			jobs = append(jobs, j)
		}
		cfg := sim.Config{
			Cluster: c, Policy: newTable(last), Jobs: sim.Jobs(jobs...), Remote: sim.Remote{Node: 1.25, Rack: 1.5, Remote: 3},
			Faults: sim.Faults{MTBF: 20 * s, MTTR: 10 * s, Refuse: 0.1}, Seed: rapid.Uint64().Draw(t, "seed"),
		}
		down := map[sojourn.NodeID]bool{}
		starts := map[sojourn.SlotID]map[sojourn.NodeID]bool{} // the nodes that were down when the attempt started
		var records []sim.TaskRecord
		seen := map[sim.TaskRecord]map[sojourn.NodeID]bool{}
		cfg.Hooks = sim.Hooks{
			Event: func(ev sojourn.Event, _ error) {
				switch ev.Kind {
				case sojourn.NodeDown:
					down[ev.Slot.Node] = true
				case sojourn.NodeUp:
					delete(down, ev.Slot.Node)
				}
			},
			Assigned: func(id sojourn.SlotID, _ sojourn.Assignment, _ bool) {
				starts[id] = map[sojourn.NodeID]bool{}
				for n := range down {
					starts[id][n] = true
				}
			},
			Attempt: func(r *sim.TaskRecord) {
				records = append(records, *r)
				seen[*r] = starts[r.Slot]
			},
		}
		if _, err := sim.Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		rack := func(n sojourn.NodeID) string {
			if int(n) > len(c.Nodes) {
				return ""
			}
			return c.Nodes[n-1].Rack
		}
		for _, r := range records {
			list := inputs[r.Task.Job].Of(int(r.Task.Index))
			best, source, took := sojourn.Remote, sojourn.NodeID(0), 12*s
			pick := func(l sojourn.Locality, d time.Duration, near func(sojourn.NodeID) bool) {
				for _, n := range slices.Backward(list) {
					if near(n) && !seen[r][n] {
						best, source, took = l, n, d
					}
				}
			}
			pick(sojourn.Remote, 12*s, func(sojourn.NodeID) bool { return true })
			pick(sojourn.RackLocal, 6*s, func(n sojourn.NodeID) bool { return rack(n) == rack(r.Node) && rack(n) != "" })
			pick(sojourn.NodeLocal, 5*s, func(n sojourn.NodeID) bool { return n == r.Node })
			if len(list) == 0 {
				best, took = sojourn.AnyNode, 4*s
			}
			if r.Locality != best || r.Source != source {
				t.Errorf("%+v, want %v from node %d of %v, down %v", r, best, source, list, seen[r])
			}
			if r.Outcome == sim.Finished && r.End.Sub(r.Start) != took {
				t.Errorf("%+v took %v, want %v", r, r.End.Sub(r.Start), took)
			}
		}
	})
}
