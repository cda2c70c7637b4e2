package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// The faults of a run are nodes that fail and recover, and the effects on attempts,
// outputs and transfers.
type faults struct {
	attempts
	changes *heap.Heap[moment] // by node: when it fails or recovers by chance
	script  []NodeFault        // what is left of Faults.Script
	due     []NodeFault        // changes of nodes at this instant
}

// newFaults plans the first failure of each node.
func newFaults(r attempts) faults {
	f := faults{attempts: r, changes: heap.New(moment.before, moment.prefix), script: r.cfg.Faults.Script}
	if r.cfg.Faults.MTBF > 0 {
		for i := range r.cfg.Cluster.Nodes {
			id := sojourn.NodeID(i + 1)
			f.nodes[id].chance = f.stream(nodeFailures, uint64(id))
			f.planChange(id)
		}
	}
	return f
}

// addSlot reports a free slot.
func (f *faults) addSlot(id sojourn.SlotID) error {
	s := &f.slots[id]
	f.free[s.Class].add(id)
	f.tally.classes[s.Class].present++
	return f.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s.Slot})
}

// removeSlot reports that a free slot leaves.
func (f *faults) removeSlot(id sojourn.SlotID) error {
	s := &f.slots[id]
	f.free[s.Class].remove(id)
	f.tally.classes[s.Class].present--
	return f.tell(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s.Slot})
}

// planChange draws when a node next fails or recovers by chance.
func (f *faults) planChange(id sojourn.NodeID) {
	n := &f.nodes[id]
	mean := f.cfg.Faults.MTTR
	if n.wouldBeUp {
		mean = f.cfg.Faults.MTBF
	}
	wait := float64(detmath.Exponential(n.chance) * float64(mean))
	if at := float64(f.now) + wait; at < math.MaxInt64/2 {
		f.changes.Set(uint32(id), moment{f.now.Add(max(1, time.Duration(wait))), uint64(id)})
	} else {
		f.changes.Remove(uint32(id))
	}
}

// changeNodes makes the nodes that are due fail and recover. The failures of attempts
// and the losses of output come first, for all nodes.
func (f *faults) changeNodes() error {
	f.due = f.due[:0]
	for len(f.script) > 0 && f.script[0].At == f.now {
		f.due = append(f.due, f.script[0])
		f.script = f.script[1:]
	}
	for m, ok := f.changes.MinKey(); ok && m.at == f.now; m, ok = f.changes.MinKey() {
		id := sojourn.NodeID(m.seq)
		n := &f.nodes[id]
		n.wouldBeUp = !n.wouldBeUp
		f.due = append(f.due, NodeFault{f.now, id, n.wouldBeUp})
		f.planChange(id)
	}
	for _, c := range f.due {
		if n := &f.nodes[c.Node]; !c.Up && n.up {
			if err := f.loseAttempts(n); err != nil {
				return err
			}
			if err := f.loseOutputs(c.Node); err != nil {
				return err
			}
		}
	}
	for _, c := range f.due {
		if err := f.changeNode(c); err != nil {
			return err
		}
	}
	return f.moveTransfers()
}

// changeNode reports the slots of a node that fails or recovers. Nothing runs on
// it.
func (f *faults) changeNode(c NodeFault) error {
	n := &f.nodes[c.Node]
	if n.up == c.Up {
		return nil
	}
	n.up = c.Up
	if f.gangs != nil {
		return f.changeGangNode(n)
	}
	if c.Up {
		if err := f.tell(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: c.Node, Rack: n.rack}}); err != nil {
			return err
		}
	}
	for id := n.from; id < n.to; id++ {
		change := f.removeSlot
		if c.Up {
			change = f.addSlot
		}
		if err := change(id); err != nil {
			return err
		}
	}
	if f.audit != nil {
		f.audit.capacityChanged()
	}
	if c.Up {
		return nil
	}
	return f.tell(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: c.Node, Rack: n.rack}})
}

// loseAttempts ends the attempts on a node.
func (f *faults) loseAttempts(n *node) error {
	for id := n.from; id < n.to; id++ {
		if f.gangs != nil {
			if gang := f.gangs.members[id]; gang != nobody {
				if err := f.fail(gang, sojourn.CauseSlotLost); err != nil {
					return err
				}
			}
			continue
		}
		if f.slots[id].job != nil {
			if err := f.fail(id, sojourn.CauseSlotLost); err != nil {
				return err
			}
		}
	}
	return nil
}

// loseOutputs reports the outputs on a node as lost, as far as a later phase
// needs them. Outputs that no phase needs now are lost as well: they are
// reported if a later failure makes them needed again.
func (f *faults) loseOutputs(id sojourn.NodeID) error {
	if !f.cfg.Faults.LoseOutput {
		return nil
	}
	for _, j := range f.liveJobs() {
		for p := len(j.phases) - 1; p >= 0; p-- {
			if err := f.losePhaseOutputs(j, p, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *faults) losePhaseOutputs(j *job, p int, id sojourn.NodeID) error {
	ph := &j.phases[p]
	homes := j.homes[ph.first:][:ph.tasks]
	for i, home := range homes {
		if home == id {
			homes[i] = 0
		}
	}
	needed := false
	for k := range j.readersOf(p) {
		if needed = j.phases[k].finished < j.phases[k].tasks; needed {
			break
		}
	}
	if !needed {
		return nil
	}
	before := ph.finished
	for i, home := range homes {
		t := &j.tasks[ph.first+i]
		if home != 0 || t.state() != finished {
			continue
		}
		t.set(pending)
		ph.finished--
		ph.pending++
		j.left++
		err := f.tell(sojourn.Event{
			Kind: sojourn.OutputLost, Task: sojourn.TaskID{Job: j.ID, Phase: uint16(p), Index: uint32(i)}, Attempt: t.attempts(),
		})
		if err != nil {
			return err
		}
	}
	f.pending(j, p)
	for k := range j.turnedBy(p, before) {
		f.pending(j, k)
	}
	if before == ph.tasks && ph.finished < before {
		for k := range j.readersOf(p) {
			j.phases[k].missing++
			f.waitAgain(j, k)
		}
	}
	return nil
}

// waitAgain makes attempts at a phase wait again if they have a slot but not yet
// their input.
func (f *faults) waitAgain(j *job, p int) {
	ph := &j.phases[p]
	for id := range f.slots {
		s := &f.slots[id]
		if s.job == j && int(s.task.Phase) == p && s.ready > f.now && !slices.Contains(ph.waiting, s.ID) {
			s.ready, s.work = never, never
			f.running.Remove(uint32(id))
			ph.waiting = append(ph.waiting, s.ID)
		}
	}
	slices.SortFunc(ph.waiting, func(a, b sojourn.SlotID) int { return cmp.Compare(f.slots[a].seq, f.slots[b].seq) })
}

// moveTransfers continues transfers from nodes that are now down from other nodes.
func (f *faults) moveTransfers() error {
	if f.net == nil {
		return nil
	}
	var moved []sojourn.SlotID
	for _, c := range f.due {
		if !f.up(c.Node) {
			moved = append(moved, f.net.out[c.Node].flows...)
		}
	}
	slices.Sort(moved)
	for _, id := range slices.Compact(moved) {
		s := &f.slots[id]
		if err := f.locate(s, 0); err != nil {
			return err
		}
		f.net.sum.Moved++
		if s.locality == sojourn.NodeLocal { // the policy wanted it from elsewhere
			if err := f.endTransfer(id); err != nil {
				return err
			}
			continue
		}
		flow := &f.net.flows[id]
		f.net.leave(flow.out, flow.atOut)
		f.net.readFrom(s, f.res.Attempts)
	}
	return nil
}
