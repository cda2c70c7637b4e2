package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// Gangs makes each phase of a job one gang: its tasks start together, as soon as as many slots of
// the cluster are free, and leave together when the longest has ended. Package gang says how: the
// policy sees a phase of one task, whose class stands for the number of tasks and whose estimate
// is the longest of theirs. The estimate is also the limit of the gang.
//
// The members of a gang are at the free slots of the least numbers. If a node fails, each gang that has a member
// there fails as a whole, with CauseSlotLost: its other members end at once, and the gang waits to start anew. A gang that
// is wider than what is left waits until nodes are back. The policy is told of gang slots only, and not of nodes.
//
// The cluster must be uniform, of nodes of speed 1 that keep their output, without a network. Inputs are
// ignored. There is no fairness audit. Utilisation and Idle count the slots of the cluster. A job
// that has more tasks in a phase than the cluster has slots ends the run with an error.
type Gangs struct {
	// Patience is how long the gang that waits longest waits until slots are reserved for it: see
	// [gang.Options]. Use [gang.Never] for policies that reserve themselves, or that are [gang.Turns]:
	// slots are then reserved for the gang whose turn it is.
	Patience time.Duration
}

// check returns the first thing that is wrong with gangs in the configuration, or nil.
func (g *Gangs) check(c *Config) error {
	if g == nil {
		return nil
	}
	for i, n := range c.Cluster.Nodes {
		if n.Speed != 0 && n.Speed != 1 {
			return fmt.Errorf("node %d: speed %v, want 1 with Gangs", i+1, n.Speed)
		}
	}
	return option.First("",
		option.AtLeast("Gangs.Patience", g.Patience, 0),
		option.Want(c.Cluster.Uniform, "Cluster.Uniform", c.Cluster.Uniform, "true with Gangs"),
		option.Want(c.Network.Bandwidth == 0, "Network.Bandwidth", c.Network.Bandwidth, "0 with Gangs"),
		option.Want(!c.Faults.LoseOutput, "Faults.LoseOutput", c.Faults.LoseOutput, "false with Gangs"))
}

// gangs are the gang slots of a run.
type gangs struct {
	*gang.Cluster
	places int
	widths gang.Widths
	events []sojourn.Event // scratch

	// members has the gang slot of which a member is at each slot of the cluster, nobody if none is. It is nil if no
	// node fails.
	members []sojourn.SlotID
	up      int // slots of the nodes that are up
}

// nobody is where no gang has a member.
const nobody = sojourn.SlotID(math.MaxUint32)

// place puts the members of the gang that starts on a slot where nobody is, on nodes that are up.
func (g *gangs) place(id sojourn.SlotID, width int, nodes []node) {
	if g.members == nil {
		return
	}
	for _, n := range nodes {
		for at := n.from; at < n.to && n.up && width > 0; at++ {
			if g.members[at] == nobody {
				g.members[at] = id
				width--
			}
		}
	}
}

// leave ends the members of the gang on a slot.
func (g *gangs) leave(id sojourn.SlotID) {
	for at := range g.members {
		if g.members[at] == id {
			g.members[at] = nobody
		}
	}
}

// changeGangNode changes how many slots there are for gangs when a node fails or recovers. Nobody is on it.
func (f *faults) changeGangNode(n *node) error {
	slots := int(n.to - n.from)
	if !n.up {
		slots = -slots
	}
	f.gangs.up += slots
	f.tally.classes[0].present += slots
	return f.gangs.Resize(f.gangs.up)
}

// newGangs returns the gang slots of a uniform cluster, nil if there are no gangs.
func newGangs(cfg *Config) *gangs {
	if cfg.Gangs == nil {
		return nil
	}
	places := cfg.Cluster.Capacity()[0]
	o := gang.Options{Places: places, Patience: cfg.Gangs.Patience}
	if o.Patience == gang.Never {
		o.Turns, _ = sojourn.As[gang.Turns](cfg.Policy)
	}
	c, err := gang.New(o)
	if err != nil {
		panic(err) // Validate found a cluster and a patience in range
	}
	return &gangs{Cluster: c, places: places, widths: c.Widths()}
}

// nothing is a cluster without jobs: a policy that keeps to the reserve of it reserves no slots. A gang slot exists while
// its places are free, and each class has one at most that is free, so that a slot kept free is one that waits in vain.
type nothing struct{}

func (nothing) Capacity(sojourn.Class) int                    { return 1 }
func (nothing) FreeSlots(sojourn.Class) int                   { return 0 }
func (nothing) Alone(sojourn.Class) (tasks int, alone bool)   { return 0, true }
func (nothing) Busy(sojourn.SlotID) (s sojourn.Slot, ok bool) { return s, false }

// unreserved makes a policy reserve no gang slots, if it can.
func unreserved(p sojourn.Policy) {
	inside.Join(p, inside.Cluster{Reserve: reserve.New(nothing{}, reserve.Options{})})
}

// newGangMachines returns slots without a class: one for each place, which may each run a gang,
// and one for each class, which may each be free.
func newGangMachines(d driver, g *gangs) machines {
	m := machines{driver: d, gangs: g, nodes: make([]node, 1, len(d.cfg.Cluster.Nodes)+1)}
	if f := &d.cfg.Faults; f.MTBF > 0 || len(f.Script) > 0 {
		g.members, g.up = slices.Repeat([]sojourn.SlotID{nobody}, g.places), g.places
		from := sojourn.SlotID(0)
		for _, n := range d.cfg.Cluster.Nodes {
			to := from + sojourn.SlotID(n.Slots[0])
			m.nodes = append(m.nodes, node{up: true, wouldBeUp: true, from: from, to: to})
			from = to
		}
	}
	m.slots = make([]slot, g.places+g.widths.Len())
	for id := range m.slots {
		m.slots[id] = slot{Slot: sojourn.Slot{ID: sojourn.SlotID(id)}, speed: 1}
	}
	m.free, m.speeds = make([]slotSet, g.widths.Len()), make([][]float64, g.widths.Len())
	for c := range m.free {
		m.free[c] = make(slotSet, (len(m.slots)+63)/64)
		for range g.places / g.widths.Width(sojourn.Class(c)) {
			m.speeds[c] = append(m.speeds[c], 1)
		}
	}
	return m
}

// rigid returns a job with a gang for each phase. What is wrong with the job is found when it
// arrives.
func (g *gangs) rigid(in *Job) (*Job, error) {
	if in.Check() != nil || len(in.Times) != len(in.Phases) {
		return in, nil
	}
	if err := in.Features().Check(sojourn.FeatureNeeds | sojourn.FeaturePriority); err != nil {
		return nil, fmt.Errorf("its phases are to be gangs: %w", err)
	}
	out := *in
	out.AnyClass, out.Phases, out.Times = nil, make([]sojourn.Phase, len(in.Phases)), make([]Times, len(in.Phases))
	for p := range in.Phases {
		ph := &in.Phases[p]
		if in.Times[p].check(ph.Tasks) != nil {
			return in, nil
		}
		class, err := g.Class(ph.Tasks)
		if err != nil {
			return nil, fmt.Errorf("phase %d: %w", p, err)
		}
		one := sojourn.Phase{Tasks: 1, Class: class, After: min(ph.After, 1), Needs: ph.Needs, Held: ph.Held, Estimate: longestEstimate(ph)}
		for i := range ph.Delays {
			one.Delays = []time.Duration{max(delay(&one, 0), ph.Delays[i])}
		}
		out.Phases[p], out.Times[p] = one, Times{Each: in.Times[p].Longest(), Costs: totalCost(in.Times[p].Costs)}
	}
	return &out, nil
}

// totalCost returns what a gang costs whose members cost so much; nil if there are no costs.
func totalCost(costs []uint64) []uint64 {
	if costs == nil {
		return nil
	}
	sum := uint64(0)
	for _, n := range costs {
		sum += min(n, math.MaxInt64-sum) // what is above counts as that
	}
	return []uint64{sum}
}

// longestEstimate returns the longest estimate of a phase, 0 if there is a task without one.
func longestEstimate(ph *sojourn.Phase) time.Duration {
	if ph.Estimates == nil {
		return ph.Estimate
	}
	longest := time.Duration(0)
	for i := range ph.Tasks {
		d := ph.EstimateOf(i)
		if d == 0 {
			return 0
		}
		longest = max(longest, d)
	}
	return longest
}

// occupy counts a slot as held by an attempt, or as no longer held.
func (b *books) occupy(s *slot, n int) {
	if b.gangs == nil {
		b.tally.classes[s.Class].busy += n
		return
	}
	b.tally.classes[0].busy += n * b.gangs.widths.Width(s.Class)
}

// pending recounts the tasks of a phase that are pending and may be started, after a change.
func (b *books) pending(j *job, p int) {
	if b.gangs == nil {
		b.tally.pending(j, p)
		return
	}
	ph := &j.phases[p]
	now := 0
	if j.open(p) {
		now = ph.pending
	}
	task := sojourn.TaskID{Job: j.ID, Phase: uint16(p)}
	width := b.gangs.widths.Width(ph.class)
	switch {
	case now > ph.counted:
		g := gang.Gang{Task: task, Width: width, Limit: j.told.Phases[p].EstimateOf(0)}
		if err := b.gangs.Wait(g, b.now); err != nil {
			panic(err) // rigid made it
		}
	case now < ph.counted:
		b.gangs.Leave(task)
	}
	b.tally.classes[0].startable += (now - ph.counted) * width
	ph.counted = now
}

// changeGangSlots adds and removes gang slots.
func (e *engine) changeGangSlots() error {
	e.gangs.events = e.gangs.AppendChanges(e.gangs.events[:0], e.now)
	for _, ev := range e.gangs.events {
		s := &e.slots[ev.Slot.ID]
		if ev.Kind == sojourn.SlotAdded {
			s.Slot = ev.Slot
			e.free[s.Class].add(s.ID)
		} else {
			ev.Slot = s.Slot
			e.free[s.Class].remove(s.ID)
		}
		if err := e.tell(ev); err != nil {
			return err
		}
	}
	return nil
}

// offerGangs offers gang slots once: first those of the gangs at the front of the policy's ranking
// that fill the free places, then all others, the widest first.
func (e *engine) offerGangs() error {
	if err := e.changeGangSlots(); err != nil {
		return err
	}
	order := e.gangs.Order(sojourn.Ranking(e.policy))
	for c := e.gangs.widths.Len() - 1; c >= 0; c-- {
		order = append(order, sojourn.Class(c))
	}
	for _, class := range order {
		id, ok := e.gangs.FreeSlot(class)
		if ok && e.seeker != nil {
			if id, ok = e.seek(class); ok && !e.free[class].has(id) {
				return e.breach("sought slot %d of class %d, which is not free", id, class)
			}
		}
		if !ok {
			continue
		}
		taken, err := e.assign(id)
		if err != nil {
			return err
		}
		if !taken {
			if e.seeker != nil {
				return e.breach("declined slot %d after seeking it", id)
			}
			continue
		}
		if err := e.changeGangSlots(); err != nil {
			return err
		}
	}
	return nil
}
