package sim

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A Placement says how [Place] spreads blocks over nodes.
type Placement struct {
	// Replicas is the number of nodes that hold each block, at least 1. The default of
	// HDFS is 3.
	Replicas int

	// All also places the input of first phases without a size in the workload.
	All bool

	// ByName says that jobs of one name read the same data: their first tasks read the
	// same block, and so on. The jobs of a SWIM trace do so, since they are named by
	// the path of their input. Jobs without a name have blocks of their own.
	ByName bool

	// Seed determines the placement.
	Seed uint64
}

// Place gives places to the inputs of a workload that has only their sizes, and
// yields the workload with them. It does not change the jobs that it is given. In a
// first phase with Bytes, the input of each task with more than 0 bytes is a block
// of its own. Phases that have Inputs keep them. Later phases read the output of
// the phase before them, and do not change.
//
// Blocks are placed as HDFS places those of a client outside the cluster: the
// first replica on a random node, the second on a random node of another rack, the
// third on another random node of that rack, and any more on random nodes. No node
// holds two. If there is no such node, because the cluster has one rack or the
// rack one node, any other node is used. If there are fewer nodes than replicas,
// every node holds the block. Nodes without a rack count as one rack. Reference:
// Shvachko, Kuang, Radia and Chansler, The Hadoop distributed file system, MSST
// 2010, section III.D.
//
// Each job has a stream of random numbers of its own, which depends on Seed and on the ID of the
// job, or with ByName on its name. So the places of its blocks do not depend on the policy and on
// other jobs.
func Place(c *Cluster, p Placement, jobs iter.Seq2[*Job, error]) (iter.Seq2[*Job, error], error) {
	switch {
	case p.Replicas < 1:
		return nil, fmt.Errorf("sim: %d replicas of a block, want at least 1", p.Replicas)
	case len(c.Nodes) == 0:
		return nil, fmt.Errorf("sim: no nodes to place blocks on")
	}
	m := newBlockMap(c)
	return func(yield func(*Job, error) bool) {
		for j, err := range jobs {
			if j != nil && err == nil {
				j = m.place(j, p)
			}
			if !yield(j, err) {
				return
			}
		}
	}, nil
}

// A blockMap holds the nodes of a cluster, those of a rack together. A node is
// named by its position.
type blockMap struct {
	nodes      []sojourn.NodeID
	start, end []int // by position: where the nodes of its rack are
}

func newBlockMap(c *Cluster) *blockMap {
	racks := c.racks()
	m := &blockMap{}
	for i := range racks {
		m.nodes = append(m.nodes, sojourn.NodeID(i+1))
	}
	slices.SortStableFunc(m.nodes, func(a, b sojourn.NodeID) int { return cmp.Compare(racks[a-1], racks[b-1]) })
	for from := 0; from < len(m.nodes); {
		to := from
		for to < len(m.nodes) && racks[m.nodes[to]-1] == racks[m.nodes[from]-1] {
			to++
		}
		m.start = append(m.start, slices.Repeat([]int{from}, to-from)...)
		m.end = append(m.end, slices.Repeat([]int{to}, to-from)...)
		from = to
	}
	return m
}

// place returns j, or a copy of it that says where the input of its first phase
// is.
func (m *blockMap) place(j *Job, p Placement) *Job {
	if len(j.Phases) == 0 {
		return j
	}
	first := &j.Phases[0]
	if first.Inputs.Len() > 0 || first.Bytes == nil && !p.All || first.Bytes != nil && len(first.Bytes) != first.Tasks {
		return j
	}
	r := stream(p.Seed, blocks, uint64(j.ID))
	named := p.ByName && j.Name != ""
	if named {
		h := fnv.New64a()
		io.WriteString(h, j.Name)
		r = stream(p.Seed, paths, h.Sum64())
	}
	replicas := min(p.Replicas, len(m.nodes))
	lists := make([][]sojourn.NodeID, first.Tasks)
	flat := make([]sojourn.NodeID, 0, first.Tasks*replicas)
	var used []int
	for i := range lists {
		empty := first.Bytes != nil && first.Bytes[i] == 0
		if !empty || named { // with ByName the place of a block does not depend on its reader
			used = m.block(r, used[:0], replicas)
		}
		if empty {
			continue
		}
		for _, at := range used {
			flat = append(flat, m.nodes[at])
		}
		lists[i] = flat[len(flat)-replicas:]
	}
	placed := *j
	placed.Phases = slices.Clone(j.Phases)
	placed.Phases[0].Inputs = sojourn.MakeInputs(lists)
	return &placed
}

// block appends the positions of the nodes that hold one block.
func (m *blockMap) block(r *rand.Rand, used []int, replicas int) []int {
	n := len(m.nodes)
	for len(used) < replicas {
		from, size := 0, n
		switch len(used) {
		case 1: // the other racks, which lie around that of the first
			first := used[0]
			from, size = m.end[first], n-(m.end[first]-m.start[first])
		case 2: // the rack of the second
			from, size = m.start[used[1]], m.end[used[1]]-m.start[used[1]]
		}
		at := m.draw(r, used, from, size)
		if at < 0 {
			at = m.draw(r, used, 0, n)
		}
		used = append(used, at)
	}
	return used
}

// draw returns one of the unused positions among the size positions from from on, cyclically,
// each with the same probability; -1 if there is none.
func (m *blockMap) draw(r *rand.Rand, used []int, from, size int) int {
	n := len(m.nodes)
	var taken []int // as distances from from
	for _, u := range used {
		if d := (u - from + n) % n; d < size {
			taken = append(taken, d)
		}
	}
	if len(taken) == size {
		return -1
	}
	slices.Sort(taken)
	k := r.IntN(size - len(taken))
	for _, d := range taken {
		if d <= k {
			k++
		}
	}
	return (from + k) % n
}
