package locality

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// An Index finds the pending tasks of live jobs by the distance of their input
// from a slot. J is the policy's data about a job in its ledger.
type Index[J any] struct {
	ledger *ledger.Ledger[J]
	jobs   heap.Table[[]*phase] // by handle and phase; nil where there are no inputs
	sites  map[sojourn.NodeID]*site
	blocks map[uint32]*block // of watched phases, by ID
	count  int               // of phases
}

// A site is a node that holds inputs of live jobs.
type site struct {
	rack   sojourn.RackID
	down   bool
	phases []*phase // that have inputs here, in no useful order

	numbers []uint64 // of the watched phases that have tasks here, as a bitmap
}

// A phase is the index of a phase with inputs. Here tasks 0 and 1 have an input on node 3,
// tasks 1 and 2 have one on node 7, and task 3 has none. Both nodes are up and on rack 1.
// Task 1 runs, so it is open nowhere:
//
//	nodes.places  3     7      the nodes that hold inputs
//	nodes.items   0 1   1 2    the tasks at each node
//	nodes.open    x .   . x    pending, and the node is up
//	sites         |     |      1 task open at each; ranks 0 and 1, their places in racks.items
//	              v     v
//	Index.sites  site  site    of the whole index: rack 1, up, every phase with inputs there
//
//	racks.places  1            the racks of these nodes
//	racks.items   0 1          the nodes of each rack, as indices of nodes.places
//	racks.open    x x          a task is open at the node
//
//	free          3            a pending task that runs equally well anywhere
//	lost          none         pending tasks whose nodes are all down
//
// A slot on node 7 gets task 2. A slot on another node of rack 1 gets task 3, and then task 0
// or 2 from the next node of the rack.
type phase struct {
	account *ledger.Phase
	inputs  sojourn.Inputs
	tasks   int

	nodes table[sojourn.NodeID] // the tasks at each node: open if pending and the node is up
	sites []holding             // by place of nodes
	racks table[sojourn.RackID] // the nodes of each rack, as places of nodes: open if any task is open there

	free bitset.Set // pending tasks without inputs: they run equally well anywhere
	lost bitset.Set // pending tasks whose inputs are all on nodes that are down

	watch *watch // nil if the phase is not watched
}

// A holding is a node's part of the inputs of a phase.
type holding struct {
	*site
	spot uint32 // index of the phase in site.phases
	open uint32 // tasks that are open at the node
	rank int32  // position of the node in racks.items; -1 if its rack is unknown
}

// New returns an empty index over the tasks in l, which is empty too.
func New[J any](l *ledger.Ledger[J]) *Index[J] {
	return &Index[J]{ledger: l, sites: make(map[sojourn.NodeID]*site), blocks: make(map[uint32]*block)}
}

// Empty reports whether no live job has inputs, so that the lowest task of a phase suits every
// slot best.
func (x *Index[J]) Empty() bool { return x.count == 0 }

// Update brings the index up to date after an event. Call it for every event,
// after [ledger.Ledger.Apply].
func (x *Index[J]) Update(ev *sojourn.Event, c *ledger.Change[J]) {
	if x.Empty() && ev.Job == nil && !c.Ended {
		return
	}
	switch ev.Kind {
	case sojourn.Tick, sojourn.TaskProgress, sojourn.TaskPinned, sojourn.PoolChanged:
		return
	case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.NodeDown, sojourn.NodeUp:
		x.updateSite(c.Slot.Node)
		return
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		x.describe(c.Job)
	case sojourn.JobCancelled:
		x.forget(c.Job)
	default:
		p := x.phase(c.Job, int(ev.Task.Phase))
		if p != nil && ev.Kind != sojourn.TaskFinished { // a finished task was not pending before
			p.update(ev.Task.Index)
		}
		if c.SlotGone {
			x.updateSite(c.Slot.Node)
		}
	}
	if c.Ended {
		x.forget(c.Job)
	}
}

// Rebuild fills an empty index with everything that is in the ledger. Call it
// after [ledger.Ledger.Restore].
func (x *Index[J]) Rebuild() {
	for j := range x.ledger.All() {
		if !j.Cancelled() {
			x.describe(j)
		}
	}
}

// A Pick is a task that a slot might run.
type Pick struct {
	Index    uint32           // of the task in its phase
	Locality sojourn.Locality // how far the slot is from the input
	Source   sojourn.NodeID   // the node to read the input from; 0 if there is none
}

// Find returns the task of a ready phase that comes first in the order of the
// package comment, among the tasks whose inputs are no farther than limit:
// NodeLocal, RackLocal or Remote. It reports false if there is none.
func (x *Index[J]) Find(j *ledger.Job[J], phase int, s sojourn.Slot, limit sojourn.Locality) (Pick, bool) {
	account := j.Phase(phase)
	p := x.phase(j, phase)
	if p == nil {
		i, ok := account.FirstPending()
		return Pick{Index: i}, ok
	}
	if i, ok := p.nodes.first(s.Node); ok {
		return Pick{i, sojourn.NodeLocal, s.Node}, true
	}
	if i := p.free.Min(); i >= 0 {
		return Pick{Index: uint32(i)}, true
	}
	if limit >= sojourn.RackLocal {
		rack := s.Rack
		if rack == 0 {
			rack = x.ledger.Rack(s.Node)
		}
		if i, ok := p.neighbour(rack, s.Node); ok {
			from, _ := p.nodes.span(i)
			task := p.nodes.items[p.nodes.open.Next(from)]
			return Pick{task, sojourn.RackLocal, p.nodes.places[i]}, true
		}
	}
	if limit >= sojourn.Remote {
		i, ok := account.FirstPending()
		return Pick{i, sojourn.Remote, p.source(i)}, ok
	}
	i := p.lost.Min()
	return Pick{Index: uint32(max(i, 0)), Locality: sojourn.Remote}, i >= 0
}

// Take assigns a task that Find has found to a free slot.
func (x *Index[J]) Take(j *ledger.Job[J], phase int, pick Pick, id sojourn.SlotID) (a sojourn.Assignment) {
	a = x.ledger.TakeTask(j, phase, pick.Index, id)
	a.Locality, a.Source = pick.Locality, pick.Source
	if p := x.phase(j, phase); p != nil {
		p.update(pick.Index)
	}
	return a
}

// FreeSlot returns the free slot with the least ID for which Find finds a task of
// a ready phase within limit. It reports false if there is none.
func (x *Index[J]) FreeSlot(j *ledger.Job[J], phase int, limit sojourn.Locality) (sojourn.SlotID, bool) {
	account := j.Phase(phase)
	if account.Pending() == 0 {
		return 0, false
	}
	class := j.Side(account.Side()).Class()
	id, ok := x.ledger.FreeSlot(class)
	if limit >= sojourn.Remote || x.phase(j, phase) == nil {
		return id, ok
	}
	for ; ok; id, ok = x.ledger.NextFree(class, id+1) {
		if _, found := x.Find(j, phase, x.ledger.Free(id), limit); found {
			return id, true
		}
	}
	return 0, false
}

// Local returns how many pending tasks of a phase have an input on a node, rs in
// TD's notation; 0 while the node is down.
func (x *Index[J]) Local(j *ledger.Job[J], phase int, node sojourn.NodeID) int {
	p := x.phase(j, phase)
	if p == nil {
		return 0
	}
	i, ok := p.nodes.place(node)
	if !ok {
		return 0
	}
	return int(p.sites[i].open)
}

// Near reports whether a slot is on the node or on the rack of an input of a task.
func (x *Index[J]) Near(j *ledger.Job[J], t sojourn.TaskID, s sojourn.Slot) bool {
	inputs := j.Spec().Phases[t.Phase].Inputs
	if inputs.Len() == 0 {
		return false
	}
	rack := cmp.Or(s.Rack, x.ledger.Rack(s.Node))
	return slices.ContainsFunc(inputs.Of(int(t.Index)), func(n sojourn.NodeID) bool {
		return n == s.Node || rack != 0 && x.ledger.Rack(n) == rack
	})
}

// HasInputs reports whether any task of a phase prefers one place to another.
func (x *Index[J]) HasInputs(j *ledger.Job[J], phase int) bool { return x.phase(j, phase) != nil }

// phase returns the index of a phase; nil if the phase has no inputs.
func (x *Index[J]) phase(j *ledger.Job[J], phase int) *phase {
	if int64(j.Handle()) >= int64(x.jobs.Len()) || *x.jobs.At(j.Handle()) == nil {
		return nil
	}
	return (*x.jobs.At(j.Handle()))[phase]
}

// describe indexes the phases of a job that has arrived or was revised.
func (x *Index[J]) describe(j *ledger.Job[J]) {
	for i := range j.Spec().Phases {
		spec := &j.Spec().Phases[i]
		old := x.phase(j, i)
		if old != nil && old.tasks == spec.Tasks && same(old.inputs, spec.Inputs) {
			old.inputs = spec.Inputs
			x.unwatch(old)
			continue
		}
		if old != nil {
			x.remove(old)
			(*x.jobs.At(j.Handle()))[i] = nil
		}
		if spec.Inputs.Len() == 0 {
			continue
		}
		x.jobs.Grow(int(j.Handle()) + 1)
		phases := x.jobs.At(j.Handle())
		if *phases == nil {
			*phases = make([]*phase, j.NumPhases())
		}
		(*phases)[i] = x.add(spec, j.Phase(i))
	}
}

// same reports whether two lists say the same of each task.
func same(a, b sojourn.Inputs) bool {
	if a.Len() != b.Len() {
		return false
	}
	for k := range a.Len() {
		if !slices.Equal(a.Of(k), b.Of(k)) {
			return false
		}
	}
	return true
}

// forget drops a job that has no pending tasks any more.
func (x *Index[J]) forget(j *ledger.Job[J]) {
	if int64(j.Handle()) >= int64(x.jobs.Len()) {
		return
	}
	phases := x.jobs.At(j.Handle())
	for _, p := range *phases {
		if p != nil {
			x.remove(p)
		}
	}
	*phases = nil
}

// add indexes a phase.
func (x *Index[J]) add(spec *sojourn.Phase, account *ledger.Phase) *phase {
	x.count++
	p := &phase{account: account, inputs: spec.Inputs, tasks: spec.Tasks}
	var entries []uint64
	for i := range spec.Tasks {
		nodes := spec.Inputs.Of(i)
		for _, n := range nodes {
			entries = append(entries, entry(n, uint32(i)))
		}
		if len(nodes) == 0 {
			p.free.Add(i)
		}
	}
	p.nodes = newTable[sojourn.NodeID](entries)
	p.sites = make([]holding, len(p.nodes.places))
	for i, n := range p.nodes.places {
		s := x.sites[n]
		if s == nil {
			s = &site{rack: x.ledger.Rack(n), down: x.ledger.Down(n)}
			x.sites[n] = s
		}
		from, to := p.nodes.span(i)
		p.sites[i] = holding{site: s, spot: uint32(len(s.phases)), open: uint32(to - from)}
		s.phases = append(s.phases, p)
	}
	p.indexRacks()
	for i := range p.sites {
		if p.sites[i].down {
			p.updateNode(i)
		}
	}
	if account.Pending() < p.tasks {
		for i := range uint32(p.tasks) {
			if !account.IsPending(i) {
				p.update(i)
			}
		}
	}
	return p
}

// remove removes a phase from its sites, and drops the sites that have no phase
// left.
func (x *Index[J]) remove(p *phase) {
	x.count--
	x.unwatch(p)
	for i, n := range p.nodes.places {
		h := p.sites[i]
		end := len(h.phases) - 1
		if end == 0 {
			delete(x.sites, n)
			continue
		}
		last := h.phases[end]
		h.phases[h.spot], h.phases[end] = last, nil
		h.site.phases = h.phases[:end]
		k, _ := last.nodes.place(n)
		last.sites[k].spot = h.spot
	}
}

// updateSite updates a node to its state in the ledger.
func (x *Index[J]) updateSite(n sojourn.NodeID) {
	s := x.sites[n]
	if s == nil {
		return
	}
	rack, down := x.ledger.Rack(n), x.ledger.Down(n)
	moved, changed := rack != s.rack, down != s.down
	s.rack, s.down = rack, down
	for _, p := range s.phases {
		if changed {
			i, _ := p.nodes.place(n)
			p.updateNode(i)
		}
		if moved {
			p.indexRacks()
		}
	}
}

// indexRacks makes the table of racks.
func (p *phase) indexRacks() {
	var entries []uint64
	for i := range p.sites {
		p.sites[i].rank = -1
		if rack := p.sites[i].rack; rack != 0 {
			entries = append(entries, entry(rack, uint32(i)))
		}
	}
	p.racks = newTable[sojourn.RackID](entries)
	for rank, i := range p.racks.items {
		p.sites[i].rank = int32(rank)
		if p.sites[i].open == 0 {
			p.racks.open.Remove(rank)
		}
	}
}

// neighbour returns the next node of a rack that has an open task, in cyclic order
// from a given one on, as a place of p.nodes.
func (p *phase) neighbour(rack sojourn.RackID, after sojourn.NodeID) (int, bool) {
	k, ok := p.racks.place(rack)
	if !ok {
		return 0, false
	}
	from, to := p.racks.span(k)
	start, _ := slices.BinarySearchFunc(p.racks.items[from:to], after, func(i uint32, n sojourn.NodeID) int {
		return cmp.Compare(p.nodes.places[i], n)
	})
	for _, first := range [...]int{from + start, from} {
		if rank := p.racks.open.Next(first); rank >= 0 && rank < to {
			return int(p.racks.items[rank]), true
		}
	}
	return 0, false
}

// updateNode updates the tasks that have an input on the node of place i.
func (p *phase) updateNode(i int) {
	from, to := p.nodes.span(i)
	for _, task := range p.nodes.items[from:to] {
		p.update(task)
	}
}

// update puts one task into the right sets, whichever sets it was in. It allocates
// nothing, except when the last replica of an input is lost.
func (p *phase) update(task uint32) {
	pending := p.account.IsPending(task)
	nodes := p.inputs.Of(int(task))
	if len(nodes) == 0 {
		put(&p.free, task, pending)
		return
	}
	lost := true
	for _, n := range nodes {
		i, _ := p.nodes.place(n)
		h := &p.sites[i]
		lost = lost && h.down
		open := pending && !h.down
		if !p.nodes.set(i, task, open) {
			continue
		}
		if open {
			h.open++
		} else {
			h.open--
		}
		if p.watch != nil {
			p.watched(i, open)
		}
		if h.rank >= 0 && h.open <= 1 {
			put(&p.racks.open, uint32(h.rank), h.open == 1)
		}
	}
	put(&p.lost, task, pending && lost)
}

func put(s *bitset.Set, i uint32, member bool) {
	if member {
		s.Add(int(i))
	} else {
		s.Remove(int(i))
	}
}

// source returns the first node that holds the input of a task and is up; 0 if
// there is none.
func (p *phase) source(task uint32) sojourn.NodeID {
	for _, n := range p.inputs.Of(int(task)) {
		if i, _ := p.nodes.place(n); !p.sites[i].down {
			return n
		}
	}
	return 0
}
