package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/agenda"
)

// The machines of a run are its nodes and slots, with what holds each slot.
type machines struct {
	driver
	slots   []slot        // by ID
	nodes   []node        // by NodeID, from 1
	free    []slotSet     // by class of the cluster: slots that are present and not held
	speeds  [][]float64   // by class: of its slots, the fastest first
	running agenda.Agenda // by slot: when its attempt ends, once this is known
	net     *network      // nil without a network
	gangs   *gangs        // nil without gangs
	touched uint64        // without meaning; see touch
}

// touch reads a slot, and the task that its attempt is at, so that they are in a cache when it ends. With a
// million slots, most reads of either go to memory.
func (m *machines) touch(id uint32) {
	s := &m.slots[id]
	sum := uint64(s.ID) + uint64(s.attempt) + uint64(s.runs) // all its lines
	if j := s.job; j != nil {
		sum += uint64(*j.task(s.task)) + uint64(j.left)
	}
	m.touched += sum
}

// A moment is the instant of something that will happen, with its order at this
// instant.
type moment struct {
	at  sojourn.Time
	seq uint64
}

func (m moment) before(o moment) bool {
	return m.at < o.at || m.at == o.at && m.seq < o.seq
}

func (m moment) prefix() (hi, lo uint64) { return uint64(m.at), m.seq }

// A slot is a slot of the cluster with the attempt that holds it.
type slot struct {
	sojourn.Slot
	speed float64

	job      *job // nil if the slot is free
	task     sojourn.TaskID
	attempt  uint32
	fails    bool // the attempt will fail
	locality sojourn.Locality
	source   sojourn.NodeID
	seq      uint64        // order among the attempts
	start    sojourn.Time  // when the attempt was assigned
	ready    sojourn.Time  // when the outputs of the phase before have arrived; never while this is unknown
	work     sojourn.Time  // when it starts to work; never while this is unknown
	need     time.Duration // how long it works if all goes well
	runs     time.Duration // how long it works until it ends: need, or less if it fails
}

// A node is a machine of the cluster.
type node struct {
	up        bool
	rack      sojourn.RackID
	from, to  sojourn.SlotID // its slots
	chance    *rand.Rand     // of its failures; nil if it fails only by script
	wouldBeUp bool           // by chance alone, whatever the script says
}

// newMachines returns the nodes, and the slots before they are added.
func newMachines(d driver) machines {
	if g := newGangs(d.cfg); g != nil {
		return newGangMachines(d, g)
	}
	m := machines{driver: d}
	c := &d.cfg.Cluster
	classes := len(c.Capacity())
	m.free, m.speeds = make([]slotSet, classes), make([][]float64, classes)
	m.nodes = make([]node, len(c.Nodes)+1)
	for i, rack := range c.racks() {
		n := &m.nodes[i+1]
		n.up, n.wouldBeUp, n.rack = true, true, rack
	}
	for _, s := range c.Slots() {
		n := &m.nodes[s.Node]
		if n.from == n.to {
			n.from = s.ID
		}
		n.to = s.ID + 1
		speed := c.Nodes[s.Node-1].Speed
		if speed == 0 {
			speed = 1
		}
		m.slots = append(m.slots, slot{Slot: s, speed: speed})
		m.speeds[s.Class] = append(m.speeds[s.Class], speed)
	}
	m.addSpeeds()
	m.net = newNetwork(d.cfg.Network, len(c.Nodes), len(m.slots), d.cfg.Records)
	return m
}

// addSpeeds sorts the speeds of each class, and makes its set of free slots.
func (m *machines) addSpeeds() {
	for class := range m.speeds {
		slices.SortFunc(m.speeds[class], func(a, b float64) int { return cmp.Compare(b, a) })
		if len(m.speeds[class]) > 0 {
			m.free[class] = make(slotSet, (len(m.slots)+63)/64)
		}
	}
}

// A slotSet is a set of slots, as a bitmap.
type slotSet []uint64

func (s slotSet) has(id sojourn.SlotID) bool {
	return int64(id>>6) < int64(len(s)) && s[id>>6]&(1<<(id&63)) != 0
}

func (s slotSet) add(id sojourn.SlotID) { s[id>>6] |= 1 << (id & 63) }

func (s slotSet) remove(id sojourn.SlotID) { s[id>>6] &^= 1 << (id & 63) }
