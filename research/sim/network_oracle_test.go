package sim_test

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A sending is a transfer as the oracle sees it.
type sending struct {
	*sim.TaskRecord
	source sojourn.NodeID
	from   sojourn.Time
	left   *big.Rat // bytes
}

// A linkOracle follows the transfers of a run in rational numbers. It knows what the run
// tells of its attempts and nodes. At every instant at which anything happens, it moves
// all transfers on and counts all of them again.
type linkOracle struct {
	t       *rapid.T
	cluster sim.Cluster
	network sim.Network
	down    map[sojourn.NodeID]bool
	flows   []*sending
	starts  int
	hot     []int // attempts that had been started
	sum     sim.Transfers
	time    time.Duration
}

// sends reports whether a node has a link out.
func (o *linkOracle) sends(n sojourn.NodeID) bool { return n > 0 && int(n) <= len(o.cluster.Nodes) }

// readers counts the transfers out of a node.
func (o *linkOracle) readers(n sojourn.NodeID) (count int) {
	for _, f := range o.flows {
		if f.source == n && o.sends(n) {
			count++
		}
	}
	return count
}

// readings counts the transfers into a node.
func (o *linkOracle) readings(n sojourn.NodeID) (count int) {
	for _, f := range o.flows {
		if f.Node == n {
			count++
		}
	}
	return count
}

// rate returns the bytes a nanosecond of a transfer.
func (o *linkOracle) rate(f *sending) *big.Rat {
	share := max(o.readings(f.Node), o.readers(f.source))
	return big.NewRat(o.network.Bandwidth, int64(share)*1e9)
}

// nextEnd returns the first whole nanosecond at which a transfer has come to its end.
func (o *linkOracle) nextEnd(now sojourn.Time) sojourn.Time {
	next := sojourn.Time(1 << 62)
	for _, f := range o.flows {
		takes := new(big.Rat).Quo(f.left, o.rate(f))
		whole := new(big.Int).Div(takes.Num(), takes.Denom())
		if !takes.IsInt() {
			whole.Add(whole, big.NewInt(1))
		}
		next = min(next, now.Add(time.Duration(whole.Int64())))
	}
	return next
}

// advance moves all transfers on.
func (o *linkOracle) advance(d time.Duration) {
	rates := make([]*big.Rat, len(o.flows))
	for i, f := range o.flows {
		rates[i] = o.rate(f)
	}
	sent := map[sojourn.NodeID]*big.Rat{}
	for i, f := range o.flows {
		done := new(big.Rat).Mul(rates[i], big.NewRat(int64(d), 1))
		f.left.Sub(f.left, done)
		for end, n := range []sojourn.NodeID{f.source, f.Node} {
			key := n + sojourn.NodeID(end)<<16
			if sent[key] == nil {
				sent[key] = new(big.Rat)
			}
			sent[key].Add(sent[key], rates[i])
			if all := big.NewRat(o.network.Bandwidth, 1e9); o.sends(n) && sent[key].Cmp(all) > 0 {
				o.t.Fatalf("a link of node %d carries %v B/ns of %v", n, sent[key], all)
			}
		}
	}
}

// choose returns the node that a slot of a node reads from.
func (o *linkOracle) choose(inputs []sojourn.NodeID, to, want sojourn.NodeID) (sojourn.NodeID, sojourn.Locality) {
	rack := func(n sojourn.NodeID) string {
		if !o.sends(n) {
			return ""
		}
		return o.cluster.Nodes[n-1].Rack
	}
	var best sojourn.NodeID
	cost := 1 << 30
	for _, n := range inputs {
		c := o.readers(n) + 1<<20
		switch {
		case n == to:
			c = 0
		case rack(n) != "" && rack(n) == rack(to):
			c = o.readers(n) + 1<<10
		}
		if !o.down[n] && (want == 0 || n == want) && c < cost {
			best, cost = n, c
		}
	}
	switch {
	case len(inputs) == 0:
		return 0, sojourn.AnyNode
	case cost >= 1<<20:
		return best, sojourn.Remote
	case cost >= 1<<10:
		return best, sojourn.RackLocal
	}
	return best, sojourn.NodeLocal
}

// heat records that a transfer from a node has started.
func (o *linkOracle) heat(n sojourn.NodeID) {
	if o.readers(n) == max(o.network.HotSpot, 1)+1 {
		o.hot = append(o.hot, o.starts)
	}
}

// On random clusters whose nodes and tasks fail, every transfer takes as long as in
// rational arithmetic and reads from the node that the rule names, and no link carries
// more than it can.
func TestTransfersAgainstOracle(t *testing.T) { rapid.Check(t, checkTransfers) }

func checkTransfers(t *rapid.T) {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	c := sim.Cluster{Uniform: true}
	for range n {
		c.Nodes = append(c.Nodes, sim.Node{
			Rack:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "rack"),
			Slots: []int{rapid.IntRange(0, 3).Draw(t, "slots")},
		})
	}
	c.Nodes[0].Slots[0]++
	specs := map[sojourn.JobID]*sim.Job{}
	var jobs []*sim.Job
	arrival := 0
	for id := range sojourn.JobID(rapid.IntRange(1, 5).Draw(t, "jobs")) {
		var times []float64
		var bytes []int64
		var lists [][]sojourn.NodeID
		for range rapid.IntRange(1, 8).Draw(t, "tasks") {
			times = append(times, float64(rapid.IntRange(0, 30).Draw(t, "time"))*1e-9)
			bytes = append(bytes, rapid.Int64Range(0, 60).Draw(t, "bytes"))
			lists = append(lists, rapid.SliceOfN(rapid.Map(rapid.IntRange(1, n+1), func(i int) sojourn.NodeID {
				return sojourn.NodeID(i)
			}), 0, 3).Draw(t, "inputs"))
		}
		arrival += rapid.IntRange(0, 20).Draw(t, "gap")
		j := reading(job(id+1, float64(arrival)*1e-9, times), lists...)
		if rapid.Bool().Draw(t, "sizes") {
			j.Phases[0].Bytes = bytes
		}
		specs[j.ID], jobs = j, append(jobs, j)
	}
	network := sim.Network{
		Bandwidth: rapid.Int64Range(1e9, 5e9).Draw(t, "bandwidth"),
		Split:     rapid.Int64Range(1, 60).Draw(t, "split"),
		Overlap:   rapid.Bool().Draw(t, "overlap"),
		HotSpot:   rapid.IntRange(1, 3).Draw(t, "hot"),
	}
	o := &linkOracle{t: t, cluster: c, network: network, down: map[sojourn.NodeID]bool{}}
	cfg := sim.Config{
		Cluster: c, Jobs: sim.Jobs(jobs...), Network: network, Seed: rapid.Uint64().Draw(t, "seed"), Records: true,
		Faults: sim.Faults{Refuse: 0.1},
	}
	if rapid.Bool().Draw(t, "failing nodes") {
		cfg.Faults.MTBF, cfg.Faults.MTTR = 500, 50
	}
	if !network.Overlap && rapid.Bool().Draw(t, "failing tasks") {
		cfg.Faults.Task = 0.2
	}
	name := rapid.Bool().Draw(t, "the policy names sources")
	down := map[sojourn.NodeID]bool{} // while the run goes on
	cfg.Policy = &rogue{table: newTable(last), assign: func(a sojourn.Assignment) sojourn.Assignment {
		for _, n := range specs[a.Task.Job].Phases[0].Inputs.Of(int(a.Task.Index)) {
			if name && !down[n] {
				a.Source = n
			}
		}
		return a
	}}
	type try struct {
		sojourn.TaskID
		attempt uint32
	}
	var tries []sojourn.Assignment // in the order of their start
	var changes []sojourn.Event
	records := map[try]*sim.TaskRecord{}
	cfg.Hooks = sim.Hooks{
		Event: func(ev sojourn.Event, _ error) {
			if ev.Kind == sojourn.NodeDown || ev.Kind == sojourn.NodeUp {
				changes = append(changes, ev)
				down[ev.Slot.Node] = ev.Kind == sojourn.NodeDown
			}
		},
		Assigned: func(_ sojourn.SlotID, a sojourn.Assignment, ok bool) {
			if ok {
				tries = append(tries, a)
			}
		},
		Attempt: func(r *sim.TaskRecord) {
			c := *r
			records[try{r.Task, r.Attempt}] = &c
		},
	}
	r, err := sim.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}

	var now sojourn.Time
	arrived := map[*sim.TaskRecord]sojourn.Time{} // when the input was there
	for {
		// Transfers that have ended.
		for _, f := range slices.Clone(o.flows) {
			over := f.left.Sign() <= 0
			cut := f.End == now && f.Outcome == sim.SlotLost
			if over {
				arrived[f.TaskRecord] = now
				o.sum.Finished++
				o.time += now.Sub(f.from)
			} else if cut {
				o.sum.Cut++
			}
			if over || cut {
				o.flows = slices.DeleteFunc(o.flows, func(g *sending) bool { return g == f })
			}
		}
		// Nodes.
		for len(changes) > 0 && changes[0].At == now {
			o.down[changes[0].Slot.Node] = changes[0].Kind == sojourn.NodeDown
			changes = changes[1:]
		}
		slices.SortFunc(o.flows, func(a, b *sending) int { return int(a.Slot) - int(b.Slot) })
		var lost []*sending
		for _, f := range o.flows {
			if o.down[f.source] {
				lost = append(lost, f)
			}
		}
		for _, f := range lost {
			inputs := specs[f.Task.Job].Phases[0].Inputs.Of(int(f.Task.Index))
			var l sojourn.Locality
			f.source, l = o.choose(inputs, f.Node, 0)
			o.sum.Moved++
			if l == sojourn.NodeLocal {
				arrived[f.TaskRecord] = now
				o.sum.Finished++
				o.time += now.Sub(f.from)
				o.flows = slices.DeleteFunc(o.flows, func(g *sending) bool { return g == f })
			} else {
				o.heat(f.source)
			}
			if l != f.Locality || f.source != f.Source { // of a transfer that moves again, the last move counts
				if !o.movesAgain(f, changes) {
					t.Fatalf("%+v, moved at %v, want %v from node %d", f.TaskRecord, now, l, f.source)
				}
			}
		}
		// Starts.
		for len(tries) > 0 && records[try{tries[0].Task, tries[0].Attempt}].Start == now {
			a := tries[0]
			tries = tries[1:]
			rec := records[try{a.Task, a.Attempt}]
			spec := specs[a.Task.Job].Phases[0]
			source, l := o.choose(spec.Inputs.Of(int(a.Task.Index)), rec.Node, a.Source)
			f := &sending{rec, source, now, big.NewRat(network.Split, 1)}
			if spec.Bytes != nil {
				f.left.SetInt64(spec.Bytes[a.Task.Index])
			}
			if rec.Outcome == sim.Refused {
				continue
			}
			o.starts++
			if (l != rec.Locality || source != rec.Source) && !o.movesAgain(f, changes) {
				t.Fatalf("%+v, want %v from node %d", rec, l, source)
			}
			arrived[rec] = now
			if l != sojourn.AnyNode && l != sojourn.NodeLocal && f.left.Sign() > 0 {
				delete(arrived, rec)
				o.flows = append(o.flows, f)
				o.heat(source)
			}
		}
		// On to the next instant.
		next := o.nextEnd(now)
		for _, f := range o.flows {
			next = min(next, f.End)
		}
		if len(changes) > 0 {
			next = min(next, changes[0].At)
		}
		if len(tries) > 0 {
			next = min(next, records[try{tries[0].Task, tries[0].Attempt}].Start)
		}
		if next == 1<<62 {
			break
		}
		if next <= now {
			t.Fatalf("at %v transfers go on whose attempts ended at %v: %v", now, next, network)
		}
		o.advance(next.Sub(now))
		now = next
	}

	for _, rec := range records {
		need := specs[rec.Task.Job].Times[0].Of(int(rec.Task.Index))
		there, ok := arrived[rec]
		want := there.Add(need)
		if network.Overlap {
			want = max(rec.Start.Add(need), there)
		}
		if rec.Outcome == sim.Finished && (!ok || rec.End != want) || rec.Outcome == sim.Failed && (!ok || rec.End < there) {
			t.Errorf("%+v; its input is there at %v (%v), and it takes %v", rec, there, ok, need)
		}
	}
	for _, at := range o.hot {
		o.sum.HotSpots++
		o.sum.HotSpotsByFifth[(at-1)*5/o.starts]++
	}
	if o.sum.Finished > 0 {
		o.sum.MeanTime = o.time.Seconds() / float64(o.sum.Finished)
	}
	got := *r.Transfers
	if d := got.MeanTime - o.sum.MeanTime; d < -1e-15 || d > 1e-15 {
		t.Errorf("transfers take %v s, want %v", got.MeanTime, o.sum.MeanTime)
	}
	got.MeanTime, o.sum.MeanTime = 0, 0
	if got != o.sum {
		t.Errorf("transfers %+v, want %+v", got, o.sum)
	}
	if t.Failed() {
		t.Log(fmt.Sprint(network))
	}
}

// movesAgain reports whether the source of a transfer fails while the transfer goes on.
func (o *linkOracle) movesAgain(f *sending, changes []sojourn.Event) bool {
	return slices.ContainsFunc(changes, func(ev sojourn.Event) bool {
		return ev.Kind == sojourn.NodeDown && ev.Slot.Node == f.source && ev.At <= f.End
	})
}
