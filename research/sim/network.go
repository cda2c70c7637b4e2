package sim

import (
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A Network makes attempts that run far from their input transfer it first, over
// links that are shared. Every node sends at most Bandwidth and receives at most
// Bandwidth, and its transfers share this equally. A transfer from node a to node b
// proceeds at
//
//	min(Bandwidth / transfers out of a, Bandwidth / transfers into b)
//
// while these numbers last. If one link of a transfer is narrower, other transfers
// do not get the rest of the wider one. All distances are equal: racks have no
// links of their own.
type Network struct {
	// Bandwidth is the bandwidth of each node in each direction, in bytes per second.
	// Zero means that there is no network, and [Remote] gives the cost of distance.
	Bandwidth int64

	// Split is the size of a task's input, in bytes, if the workload says where the
	// input is but not how large. Zero means 64 MiB, the block of Hadoop's first
	// versions.
	Split int64

	// Overlap lets an attempt work while its input arrives: the attempt ends when
	// both have ended. Without it an attempt works after all of its input has
	// arrived.
	Overlap bool

	// HotSpot is the greatest number of transfers from a node that do not make it a
	// hot spot, the threshold of TD. Zero means 4.
	HotSpot int
}

const (
	defaultSplit   = 64 << 20
	defaultHotSpot = 4

	// maxTransfer and maxBandwidth keep the rest of a transfer within 128 bits.
	maxTransfer  = 1 << 45
	maxBandwidth = 1 << 62

	// ratesDivisor is divisible by the numbers from 1 to 40, so that rates among so
	// many transfers are whole numbers.
	ratesDivisor = 5_342_931_457_063_200
)

// byteUnits is the number of units in a byte. Units count the rest of a transfer: a
// transfer that has a link of one byte per second to itself proceeds by ratesDivisor
// units in a nanosecond.
func byteUnits() wide.Uint128 { return wide.Mul64(uint64(time.Second), ratesDivisor) }

// check returns the first thing that is wrong with n, or nil.
func (n *Network) check(r Remote) error {
	return option.First("",
		option.Range("Network.Bandwidth", n.Bandwidth, 0, maxBandwidth),
		option.Want(n.Bandwidth > 0 || *n == Network{}, "Network.Bandwidth", n.Bandwidth, "above 0, since other fields of Network are set"),
		option.Range("Network.Split", n.Split, 0, maxTransfer),
		option.AtLeast("Network.HotSpot", n.HotSpot, 0),
		option.Want(n.Bandwidth == 0 || r == Remote{}, "Remote", r, "zero with a Network"))
}

// Transfers sums up the transfers over the [Network].
type Transfers struct {
	Finished int     // transfers that brought a task all of its input
	Cut      int     // transfers that were given up because the attempt ended first
	Moved    int     // times that a transfer continued from another node because its source had failed
	MeanTime float64 // of those that finished, in seconds

	// HotSpots counts how often the number of transfers out of one node rose above
	// Network.HotSpot.
	HotSpots int

	// HotSpotsByFifth splits HotSpots by when it happened: in the first fifth of all
	// attempts that were started in the run, in the second, and so on. It stays 0
	// without Config.Records.
	HotSpotsByFifth [5]int
}

// A network is the state of the links. Rates change only when the clock moves:
// transfers that start or end at one instant do so together.
type network struct {
	Network
	flows []flow             // by slot
	out   []link             // by node: of what is read there; 0 for the world outside
	in    []link             // by node: of what it reads
	dirty []*link            // links whose number of flows has changed at this instant
	ends  *heap.Heap[moment] // by slot: when its transfer ends

	sum     Transfers
	time    wide.Uint128 // of all finished transfers, in nanoseconds
	records bool         // spots are kept
	spots   []uint64     // for each hot spot: the attempts that had been started
}

// A link is one direction of the connection of a node.
type link struct {
	flows []sojourn.SlotID // in no order
	dirty bool
}

// A flow is the transfer of the input of an attempt. out is nil if there is none.
type flow struct {
	out, in *link
	atOut   int          // where it is in out.flows
	atIn    int          // and in in.flows
	seq     uint64       // of the attempt
	start   sojourn.Time // when it started
	left    wide.Uint128 // the units left at since, see byteUnits
	since   sojourn.Time // when its rate last changed
	share   uint64       // its rate is Bandwidth over this; 0 before it is known
}

// newNetwork returns links without transfers, nil if there is no network.
func newNetwork(n Network, nodes, slots int, records bool) *network {
	if n.Bandwidth == 0 {
		return nil
	}
	if n.Split == 0 {
		n.Split = defaultSplit
	}
	if n.HotSpot == 0 {
		n.HotSpot = defaultHotSpot
	}
	return &network{
		Network: n,
		flows:   make([]flow, slots),
		out:     make([]link, nodes+1),
		in:      make([]link, nodes+1),
		ends:    heap.New(moment.before, moment.prefix),
		records: records,
	}
}

// source returns the link out of a node. Nodes that the cluster does not list have
// no link of their own.
func (n *network) source(from sojourn.NodeID) *link {
	if int64(from) >= int64(len(n.out)) {
		from = 0
	}
	return &n.out[from]
}

// readers returns how many transfers come from a node.
func (n *network) readers(from sojourn.NodeID) int {
	if n == nil {
		return 0
	}
	if l := n.source(from); l != &n.out[0] {
		return len(l.flows)
	}
	return 0
}

// active reports whether the attempt on a slot is being sent its input.
func (n *network) active(id sojourn.SlotID) bool { return n != nil && n.flows[id].out != nil }

// start starts a transfer.
func (n *network) start(s *slot, bytes int64, now sojourn.Time, attempts uint64) {
	f := &n.flows[s.ID]
	*f = flow{seq: s.seq, start: now, since: now, left: byteUnits().MulU64(uint64(bytes))}
	f.in = &n.in[s.Node]
	f.atIn = n.enter(f.in, s.ID)
	n.readFrom(s, attempts)
}

// readFrom makes s.source the source of the transfer to s.
func (n *network) readFrom(s *slot, attempts uint64) {
	f := &n.flows[s.ID]
	f.out = n.source(s.source)
	f.atOut = n.enter(f.out, s.ID)
	n.touch(f.in) // for a transfer from outside, only this link counts
	if n.readers(s.source) == n.HotSpot+1 {
		n.sum.HotSpots++
		if n.records {
			n.spots = append(n.spots, attempts)
		}
	}
}

// stop ends a transfer, complete or not.
func (n *network) stop(id sojourn.SlotID) {
	f := &n.flows[id]
	n.leave(f.out, f.atOut)
	n.leave(f.in, f.atIn)
	n.ends.Remove(uint32(id))
	*f = flow{}
}

// enter adds a transfer to a link, and returns its place.
func (n *network) enter(l *link, id sojourn.SlotID) int {
	n.touch(l)
	l.flows = append(l.flows, id)
	return len(l.flows) - 1
}

// leave removes the transfer at a place of a link.
func (n *network) leave(l *link, at int) {
	n.touch(l)
	last := len(l.flows) - 1
	if at < last {
		id := l.flows[last]
		l.flows[at] = id
		if f := &n.flows[id]; f.out == l {
			f.atOut = at
		} else {
			f.atIn = at
		}
	}
	l.flows = l.flows[:last]
}

// touch records that the number of flows of a link changes.
func (n *network) touch(l *link) {
	if !l.dirty && l != &n.out[0] {
		l.dirty = true
		n.dirty = append(n.dirty, l)
	}
}

// settle updates the rates after everything that happened at an instant. If a
// transfer would end after the last instant, it returns the slot and false.
func (n *network) settle(now sojourn.Time) (sojourn.SlotID, bool) {
	for _, l := range n.dirty {
		l.dirty = false
		for _, id := range l.flows {
			if !n.setRate(id, now) {
				return id, false
			}
		}
	}
	n.dirty = n.dirty[:0]
	return 0, true
}

// setRate gives a transfer the rate that it has from now on.
func (n *network) setRate(id sojourn.SlotID, now sojourn.Time) bool {
	f := &n.flows[id]
	share := uint64(len(f.in.flows))
	if f.out != &n.out[0] {
		share = max(share, uint64(len(f.out.flows)))
	}
	if share == f.share {
		return true
	}
	if f.share > 0 {
		f.left = f.left.Sub(n.rate(f.share).MulU64(uint64(now.Sub(f.since))))
	}
	f.share, f.since = share, now
	takes, rest := f.left.QuoRem(n.rate(share))
	if !rest.IsZero() {
		takes = takes.Add(wide.From64(1))
	}
	if takes.Hi != 0 || takes.Lo >= uint64(never-now) {
		return false
	}
	n.ends.Set(uint32(id), moment{now.Add(time.Duration(takes.Lo)), f.seq})
	return true
}

// rate returns the units by which a transfer proceeds in a nanosecond with one of
// share equal shares of a link. The result is exact for at most 40 shares, and
// otherwise rounded down.
func (n *network) rate(share uint64) wide.Uint128 {
	rate, _ := wide.Mul64(uint64(n.Bandwidth), ratesDivisor).QuoRem(wide.From64(share))
	return rate
}

// result returns the sum of all transfers of a run with the given number of
// attempts.
func (n *network) result(attempts uint64) *Transfers {
	if n == nil {
		return nil
	}
	t := n.sum
	if t.Finished > 0 {
		t.MeanTime = float128(n.time) / 1e9 / float64(t.Finished)
	}
	for _, at := range n.spots {
		t.HotSpotsByFifth[(at-1)*5/attempts]++
	}
	return &t
}
