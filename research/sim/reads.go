package sim

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// Remote has the factors of service times for the distances between an attempt and
// its input. Zero means 1, so the zero Remote makes all distances equal. Mumak,
// the simulator of Hadoop 1, takes 1, 1.5 and 3.
type Remote struct {
	Node   float64 // the input is on the slot's node
	Rack   float64 // it is on another node of the slot's rack
	Remote float64 // it is elsewhere, or on no node that is up
}

// check returns the first thing that is wrong with r, or nil.
func (r Remote) check() error {
	return option.First("",
		option.Range("Remote.Node", r.Node, 0, math.MaxFloat64),
		option.Range("Remote.Rack", r.Rack, 0, math.MaxFloat64),
		option.Range("Remote.Remote", r.Remote, 0, math.MaxFloat64))
}

// factor returns the factor of service times at a distance.
func (r Remote) factor(l sojourn.Locality) float64 {
	f := [...]float64{1, sojourn.NodeLocal: r.Node, sojourn.RackLocal: r.Rack, sojourn.Remote: r.Remote}[l]
	if f == 0 {
		return 1
	}
	return f
}

// locate decides which node the task on s reads its input from, and how far the
// node is. want is the policy's choice, 0 if it made none.
func (m *machines) locate(s *slot, want sojourn.NodeID) error {
	nodes := s.job.Phases[s.task.Phase].Inputs.Of(int(s.task.Index))
	s.source, s.locality = 0, sojourn.AnyNode
	if want != 0 && !slices.Contains(nodes, want) {
		return m.breach("assigned task %v to read from node %d, which does not hold its input", s.task, want)
	}
	if want != 0 && !m.up(want) {
		return m.breach("assigned task %v to read from node %d, which is down", s.task, want)
	}
	if len(nodes) == 0 {
		return nil
	}
	s.locality = sojourn.Remote
	for _, n := range nodes {
		if want != 0 && n != want || !m.up(n) {
			continue
		}
		d := m.distance(s.Slot, n)
		if s.source == 0 || d < s.locality || d == s.locality && m.net.readers(n) < m.net.readers(s.source) {
			s.source, s.locality = n, d
		}
	}
	return nil
}

// up reports whether data on a node can be read. Nodes that the cluster does not
// list never fail.
func (m *machines) up(n sojourn.NodeID) bool { return int64(n) >= int64(len(m.nodes)) || m.nodes[n].up }

// distance returns how far a slot is from a node.
func (m *machines) distance(s sojourn.Slot, n sojourn.NodeID) sojourn.Locality {
	switch {
	case n == s.Node:
		return sojourn.NodeLocal
	case s.Rack != 0 && int64(n) < int64(len(m.nodes)) && m.nodes[n].rack == s.Rack:
		return sojourn.RackLocal
	}
	return sojourn.Remote
}
