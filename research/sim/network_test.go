package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// nodes returns a uniform cluster of nodes with so many slots.
func nodes(slots ...int) (c sim.Cluster) {
	c.Uniform = true
	for _, n := range slots {
		c.Nodes = append(c.Nodes, sim.Node{Slots: []int{n}})
	}
	return c
}

// ofBytes gives the tasks of the first phase of j the sizes of their inputs.
func ofBytes(j *sim.Job, bytes ...int64) *sim.Job {
	j.Phases[0].Bytes = bytes
	return j
}

type at = []sojourn.NodeID

// All bandwidths are 10 B/s. Nodes 1 and 2 hold inputs and have no slots, unless a case
// says otherwise.
func TestTransfers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		cluster sim.Cluster
		job     *sim.Job
		config  func(*sim.Config)
		want    string
		sum     sim.Transfers
	}{
		// Both have 5 B/s until 10 s, when task 1 has its 50 B. Task 0 has 50 B left,
		// which take another 5 s.
		{"two readers of one node", nodes(0, 0, 1, 1),
			ofBytes(reading(job(1, 0, []float64{3, 3}), at{1}, at{1}), 100, 50), nil, `
			1/0/1 slot 1 0s-13s
			1/0/0 slot 0 0s-18s
			`, sim.Transfers{Finished: 2, MeanTime: 12.5}},
		// Three thirds of 10 B/s: exactly 3 s for 10 B.
		{"three readers of one node", nodes(0, 0, 1, 1, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1, 1}), at{1}, at{1}, at{1}), 10, 10, 10), nil, `
			1/0/0 slot 0 0s-4s
			1/0/1 slot 1 0s-4s
			1/0/2 slot 2 0s-4s
			`, sim.Transfers{Finished: 3, MeanTime: 3}},
		// Node 3 reads from nodes 1 and 2, and node 4 from node 1. All have 5 B/s: node 2
		// could send 5 B/s more, but they would find no way into node 3. At 10 s task 2
		// has its 50 B. This does not help task 0 either, since node 3 still reads twice.
		{"the reader's own link", nodes(0, 0, 2, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1, 1}), at{1}, at{2}, at{1}), 100, 100, 50), nil, `
			1/0/2 slot 2 0s-11s
			1/0/0 slot 0 0s-21s
			1/0/1 slot 1 0s-21s
			`, sim.Transfers{Finished: 3, MeanTime: 50.0 / 3}},
		// Task 1 has its input on its node, task 2 reads nothing.
		{"what is there is not sent", nodes(0, 0, 1, 1, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1, 1}), at{1}, at{4}, at{1}), 100, 100, 0), nil, `
			1/0/1 slot 1 0s-1s
			1/0/2 slot 2 0s-1s
			1/0/0 slot 0 0s-11s
			`, sim.Transfers{Finished: 1, MeanTime: 10}},
		// The time of the input counts, or else that of the work.
		{"work while the input arrives", nodes(0, 0, 1, 1),
			ofBytes(reading(job(1, 0, []float64{3, 30}), at{1}, at{2}), 100, 100),
			func(c *sim.Config) { c.Network.Overlap = true }, `
			1/0/0 slot 0 0s-10s
			1/0/1 slot 1 0s-30s
			`, sim.Transfers{Finished: 2, MeanTime: 10}},
		// Among nodes at one distance, the one with the fewest readers goes first, then
		// the one that is named first: 2, 1 and 2 again. So tasks 0 and 2 have 5 B/s.
		{"the least loaded source", nodes(0, 0, 1, 1, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1, 1}), at{2, 1}, at{2, 1}, at{2, 1}), 100, 100, 100), nil, `
			1/0/1 slot 1 0s-11s
			1/0/0 slot 0 0s-21s
			1/0/2 slot 2 0s-21s
			`, sim.Transfers{Finished: 3, MeanTime: 50.0 / 3}},
		// A size that the workload does not give is 70 B.
		{"inputs of unknown size", nodes(0, 0, 1),
			reading(job(1, 0, []float64{1}), at{1}), func(c *sim.Config) { c.Network.Split = 70 }, `
			1/0/0 slot 0 0s-8s
			`, sim.Transfers{Finished: 1, MeanTime: 7}},
		// 64 MiB at 10 B/s are 6710886.4 s.
		{"the size that is assumed", nodes(0, 0, 1),
			reading(job(1, 0, []float64{0.6}), at{1}), nil, `
			1/0/0 slot 0 0s-1864h8m7s
			`, sim.Transfers{Finished: 1, MeanTime: 6710886.4}},
		// Node 1 fails at 4 s. Task 0 has 80 B left, task 1 as much, and both go on from
		// node 2 at 5 B/s, for another 16 s.
		{"the source fails", nodes(0, 0, 1, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1}), at{1, 2}, at{1, 2}), 100, 100),
			func(c *sim.Config) {
				c.Policy.(*rogue).assign = from(1)
				c.Faults.Script = []sim.NodeFault{{At: sojourn.Time(4 * s), Node: 1}}
			}, `
			1/0/0 slot 0 0s-21s
			1/0/1 slot 1 0s-21s
			`, sim.Transfers{Finished: 2, Moved: 2, MeanTime: 20}},
		// The last source fails. The input comes from outside, where nothing is shared,
		// and both tasks go on at 10 B/s.
		{"the last source fails", nodes(0, 0, 1, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1}), at{1}, at{1}), 100, 100),
			func(c *sim.Config) {
				c.Faults.Script = []sim.NodeFault{{At: sojourn.Time(4 * s), Node: 1}}
			}, `
			1/0/0 slot 0 0s-13s
			1/0/1 slot 1 0s-13s
			`, sim.Transfers{Finished: 2, Moved: 2, MeanTime: 12}},
		// On node 3 the policy reads from node 1 an input that node 3 holds as well. When
		// node 1 fails at 4 s, the input is there.
		{"the source fails and is not needed", nodes(0, 0, 1),
			ofBytes(reading(job(1, 0, []float64{1}), at{1, 3}), 100),
			func(c *sim.Config) {
				c.Policy.(*rogue).assign = from(1)
				c.Faults.Script = []sim.NodeFault{{At: sojourn.Time(4 * s), Node: 1}}
			}, `
			1/0/0 slot 0 0s-5s
			`, sim.Transfers{Finished: 1, Moved: 1, MeanTime: 4}},
		// Node 3 fails at 4 s, with 80 B to go. From then on node 4 has 10 B/s, with 80 B
		// left as well. Then it runs task 0 too.
		{"the reader fails", nodes(0, 0, 1, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1}), at{1}, at{1}), 100, 100),
			func(c *sim.Config) {
				c.Faults.Script = []sim.NodeFault{{At: sojourn.Time(4 * s), Node: 3}}
			}, `
			1/0/0 slot 0 0s-4s lost
			1/0/1 slot 1 0s-13s
			1/0/0 slot 1 13s-24s
			`, sim.Transfers{Finished: 2, Cut: 1, MeanTime: 11}},
		// More than two readers make a hot spot. Node 1 has three from 0 on and one at
		// 30 s; at 31 s it has three again.
		{"hot spots", nodes(0, 0, 1, 1, 1),
			ofBytes(reading(job(1, 0, []float64{1, 1, 1, 1, 1, 1}), at{1}, at{1}, at{1}, at{1}, at{1}, at{1}), 100, 100, 100, 100, 100, 100),
			func(c *sim.Config) { c.Network.HotSpot, c.Records = 2, true }, `
			1/0/0 slot 0 0s-31s
			1/0/1 slot 1 0s-31s
			1/0/2 slot 2 0s-31s
			1/0/3 slot 0 31s-1m2s
			1/0/4 slot 1 31s-1m2s
			1/0/5 slot 2 31s-1m2s
			`, sim.Transfers{Finished: 6, MeanTime: 30, HotSpots: 2, HotSpotsByFifth: [5]int{0, 1, 0, 0, 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := sim.Config{
				Cluster: tc.cluster, Jobs: sim.Jobs(tc.job), Network: sim.Network{Bandwidth: 10},
				Policy: &rogue{table: newTable(first), assign: from(0)},
			}
			if tc.config != nil {
				tc.config(&cfg)
			}
			r, st := run(t, cfg)
			checkGantt(t, st, tc.want)
			if *r.Transfers != tc.sum {
				t.Errorf("transfers %+v, want %+v", *r.Transfers, tc.sum)
			}
		})
	}
}

// from returns an answer that names a source.
func from(source sojourn.NodeID) func(sojourn.Assignment) sojourn.Assignment {
	return func(a sojourn.Assignment) sojourn.Assignment {
		a.Source = source
		return a
	}
}

// Task 0 fetches 100 B at 10 B/s and works 8 s. It is asked for its progress every 4 s.
// At 4 s and 8 s it has done nothing, at 12 s it has worked 2 s and at 16 s 6 s, and it
// finishes after 8 s of service. If it works meanwhile, it has worked 4 s at 4 s, and 8 s
// at 8 s.
func TestServiceIsWithoutTransfer(t *testing.T) {
	for _, tc := range []struct {
		overlap bool
		want    string
	}{
		{false, "4s 0s 0, 8s 0s 0, 12s 2s 2500, 16s 6s 7500, 18s 8s 0"},
		{true, "4s 4s 5000, 8s 8s 10000, 10s 8s 0"},
	} {
		var got []string
		cfg := sim.Config{
			Cluster: nodes(0, 1), Policy: newTable(first), Progress: 4 * s,
			Jobs:    sim.Jobs(ofBytes(reading(job(1, 0, []float64{8}), at{1}), 100)),
			Network: sim.Network{Bandwidth: 10, Overlap: tc.overlap},
		}
		cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
			if ev.Kind == sojourn.TaskProgress || ev.Kind == sojourn.TaskFinished {
				got = append(got, fmt.Sprintf("%v %v %d", ev.At, ev.Service, ev.Progress))
			}
		}
		if _, err := sim.Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(got, ", "); got != tc.want {
			t.Errorf("overlap %v: %s, want %s", tc.overlap, got, tc.want)
		}
	}
}

// Tasks 0 and 1 read at 5 B/s. At 4 s task 0 is killed before it worked, and task 1 has
// 10 B/s for the 80 B that are left. Task 0 starts again at once, which leaves 5 B/s to
// both. Task 1 is ready at 20 s. Task 0 has 20 B left then and is ready at 22 s. A killed
// task has had no service.
func TestPreemptionDuringTransfer(t *testing.T) {
	p := &midKiller{table: newTable(first), at: sojourn.Time(4 * s)}
	var service []time.Duration
	cfg := sim.Config{
		Cluster: nodes(0, 1, 1), Policy: p, Preempt: true, Network: sim.Network{Bandwidth: 10},
		Jobs: sim.Jobs(ofBytes(reading(job(1, 0, []float64{1, 1}), at{1}, at{1}), 100, 100)),
	}
	st := new(story)
	st.watch(&cfg)
	event := cfg.Hooks.Event
	cfg.Hooks.Event = func(ev sojourn.Event, err error) {
		event(ev, err)
		if ev.Kind == sojourn.TaskFailed {
			service = append(service, ev.Service)
		}
	}
	r, err := sim.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkGantt(t, st, `
	1/0/0 slot 0 0s-4s preempted
	1/0/1 slot 1 0s-21s
	1/0/0 slot 0 4s-23s
	`)
	if want := (sim.Transfers{Finished: 2, Cut: 1, MeanTime: 19}); *r.Transfers != want || len(service) != 1 || service[0] != 0 {
		t.Errorf("transfers %+v and service %v, want %+v and none", *r.Transfers, service, want)
	}
}

// A midKiller wants to kill the first attempt at task 0 when it is woken.
type midKiller struct {
	*table
	at sojourn.Time
}

func (k *midKiller) NextWake() (sojourn.Time, bool) { return k.at, k.now < k.at }

func (k *midKiller) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	if e := k.find(1); e == nil || k.now < k.at || e.tries[0][0] != 1 || e.state[0][0] != 'r' {
		return dst
	}
	return append(dst, sojourn.Preemption{Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: 0})
}

// The second phase may start when one of the two tasks before it has finished. It reads
// 100 B from node 1, from 1 s until 11 s. The outputs are there at 5 s. With 300 B the
// input arrives last.
func TestTransferBeforeTheBarrier(t *testing.T) {
	for _, tc := range []struct {
		bytes   int64
		overlap bool
		want    string
	}{
		{20, false, "1/1/0 slot 0 1s-7s"}, {100, false, "1/1/0 slot 0 1s-13s"},
		{20, true, "1/1/0 slot 0 1s-7s"}, {100, true, "1/1/0 slot 0 1s-11s"},
	} {
		j := job(1, 0, []float64{1, 5}, []float64{2})
		j.Phases[1].After = 1
		j.Phases[1].Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{1}})
		j.Phases[1].Bytes = []int64{tc.bytes}
		_, st := run(t, sim.Config{
			Cluster: nodes(0, 2), Policy: newTable(first), Jobs: sim.Jobs(j),
			Network: sim.Network{Bandwidth: 10, Overlap: tc.overlap},
		})
		if got := strings.Split(st.gantt(), "\n")[2]; got != tc.want {
			t.Errorf("%d B, overlap %v: %s, want %s", tc.bytes, tc.overlap, got, tc.want)
		}
	}
}

// 64 tasks read 1000 B each from a node with 1 B/ns. 64 does not divide the unit of
// rates, so a nanosecond may be lost.
func TestManyReaders(t *testing.T) {
	slots := make([]int, 65)
	var times []float64
	var inputs [][]sojourn.NodeID
	for i := range 64 {
		slots[i+1], times, inputs = 1, append(times, 0), append(inputs, at{1})
	}
	_, st := run(t, sim.Config{
		Cluster: nodes(slots...), Policy: newTable(first), Jobs: sim.Jobs(reading(job(1, 0, times), inputs...)),
		Network: sim.Network{Bandwidth: 1e9, Split: 1000},
	})
	for _, a := range st.attempts {
		if a.End < 64_000 || a.End > 64_001 {
			t.Errorf("%v ends at %v, want 64 us", a.Task, a.End)
		}
	}
}

// One of two slots is free from 4 s on, and a task of 10 s waits. The policy starts it
// only at 5 s, so 1 slot-second is idle.
func TestIdle(t *testing.T) {
	p := newTable(nil)
	p.pick = func(tasks []sojourn.TaskID) int {
		if p.now == sojourn.Time(4*s) {
			return -1
		}
		return 0
	}
	r, st := run(t, sim.Config{
		Cluster: uniform(2), Policy: p,
		Jobs: sim.Jobs(job(1, 0, []float64{4, 9}, []float64{1, 1}), job(2, 1, []float64{10}), job(3, 5, []float64{1})),
	})
	checkGantt(t, st, `
	1/0/0 slot 0 0s-4s
	1/0/1 slot 1 0s-9s
	1/1/0 slot 1 9s-10s
	1/1/1 slot 1 10s-11s
	3/0/0 slot 1 11s-12s
	2/0/0 slot 0 5s-15s
	`)
	if !slices.Equal(r.Idle, []float64{1}) {
		t.Errorf("idle %v, want 1 s", r.Idle)
	}
}

func TestBadNetworks(t *testing.T) {
	for _, tc := range []struct {
		want   string
		config func(*sim.Config)
	}{
		{"Network.Bandwidth is -1: want 0 to", func(c *sim.Config) { c.Network.Bandwidth = -1 }},
		{"Network.Bandwidth is 0: want above 0", func(c *sim.Config) { c.Network.Overlap = true }},
		{"Network.Split is -2: want 0 to", func(c *sim.Config) { c.Network = sim.Network{Bandwidth: 1, Split: -2} }},
		{"Network.HotSpot is -1: want at least 0", func(c *sim.Config) { c.Network = sim.Network{Bandwidth: 1, HotSpot: -1} }},
		{"Remote is {0 2 0}: want zero with a Network", func(c *sim.Config) { c.Network.Bandwidth, c.Remote.Rack = 1, 2 }},
		{"task 1/0/0 reads 35184372088833 bytes over the network, more than 35184372088832", func(c *sim.Config) {
			c.Network.Bandwidth = 1
			c.Jobs = sim.Jobs(ofBytes(reading(job(1, 0, []float64{1}), at{1}), 1<<45+1))
		}},
		{"task 1/0/0, started at 0s: its end is out of the range of time", func(c *sim.Config) {
			c.Network.Bandwidth = 1
			c.Jobs = sim.Jobs(ofBytes(reading(job(1, 0, []float64{1}), at{1}), 1<<45))
		}},
	} {
		cfg := sim.Config{Cluster: nodes(0, 1), Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1}))}
		tc.config(&cfg)
		if _, err := sim.Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
	}
}

// A task that works 8 s while its input arrives, for 100 s, fails within the 8 s.
func TestFailureWhileInputArrives(t *testing.T) {
	r, st := run(t, sim.Config{
		Cluster: nodes(0, 1), Policy: newTable(first), Faults: sim.Faults{Task: 0.9}, Seed: 1,
		Jobs:    sim.Jobs(ofBytes(reading(job(1, 0, []float64{8}), at{1}), 1000)),
		Network: sim.Network{Bandwidth: 10, Overlap: true},
	})
	for _, a := range st.attempts {
		if took := a.End.Sub(a.Start); a.Outcome == sim.Failed && took > 8*s || a.Outcome == sim.Finished && took != 100*s {
			t.Errorf("%+v took %v", a, took)
		}
	}
	if int(r.Wasted) != r.Transfers.Cut || r.Wasted == 0 {
		t.Errorf("%d attempts failed, %d transfers were cut, want the same and some", r.Wasted, r.Transfers.Cut)
	}
}

// Node 1 fails at 5 s, and its two readers go on from nodes 2 and 3. The reader on the
// lower slot goes on from node 2, which their inputs name first. Then the other goes on
// from node 3, which has fewer readers.
func TestTransfersMoveInTheOrderOfSlots(t *testing.T) {
	_, st := run(t, sim.Config{
		Cluster: nodes(0, 0, 0, 1, 1), Network: sim.Network{Bandwidth: 10},
		Policy: &rogue{table: newTable(first), assign: func(a sojourn.Assignment) sojourn.Assignment {
			a.Source = 1
			return a
		}},
		Faults: sim.Faults{Script: []sim.NodeFault{{At: sojourn.Time(5 * s), Node: 1}}},
		Jobs:   sim.Jobs(ofBytes(reading(job(1, 0, []float64{1, 2}), at{1, 2, 3}, at{1, 2, 3}), 100, 100)),
	})
	// Each has had 25 B. The 75 B that are left take 7.5 s at 10 B/s.
	checkGantt(t, st, `
	1/0/0 slot 0 0s-13.5s
	1/0/1 slot 1 0s-14.5s
	`)
	if got := [2]sojourn.NodeID{st.attempts[0].Source, st.attempts[1].Source}; got != [2]sojourn.NodeID{2, 3} {
		t.Errorf("sources %v, want [2 3]", got)
	}
}

// Both reduces have what they need of the map at 30 s. Then they read 100 B of their own
// from node 1, at 5 B/s, until 50 s. The node that ran the map fails at 32 s. The map
// runs again, but the reduces do not wait for it.
func TestOutputLostWhileInputArrives(t *testing.T) {
	j := job(1, 0, []float64{30}, []float64{2, 2})
	j.Phases[1].Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{1}, {1}})
	j.Phases[1].Bytes = []int64{100, 100}
	c := sim.Cluster{Nodes: []sim.Node{{}, {Slots: []int{1}}, {Slots: []int{1, 2}}}}
	for _, tc := range []struct {
		delay time.Duration
		want  string
	}{
		{0, "1/1/0 slot 2 30s-52s\n1/1/1 slot 3 30s-52s\n1/0/0 slot 1 32s-1m2s\n"},
		// The input in transit at 32 s is lost: it arrives at 92 s instead of 60 s.
		{30 * s, "1/0/0 slot 1 32s-1m2s\n1/1/0 slot 2 30s-1m34s\n1/1/1 slot 3 30s-1m34s\n"},
	} {
		j.Phases[0].Delays = []time.Duration{tc.delay}
		_, st := run(t, sim.Config{
			Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(j), Network: sim.Network{Bandwidth: 10},
			Faults: sim.Faults{LoseOutput: true, Script: []sim.NodeFault{{At: sojourn.Time(32 * s), Node: 2}}},
		})
		checkGantt(t, st, "1/0/0 slot 0 0s-30s\n"+tc.want)
	}
}
