package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// A purpose tells the streams of random numbers of one run apart.
type purpose uint64

const (
	estimateErrors purpose = iota + 1 // one stream a job
	slowness                          // one stream an attempt
	failures                          // one stream an attempt
	refusals                          // one stream an attempt
	nodeFailures                      // one stream a node
	blocks                            // one stream a job
	paths                             // one stream a name of jobs
)

// stream returns the random numbers for a purpose and whom they concern. They
// depend on nothing else, so that what happens to an attempt does not depend on
// when or where the policy starts it: runs of one seed under several policies
// are paired.
func (e *engine) stream(p purpose, ids ...uint64) *rand.Rand { return stream(e.cfg.Seed, p, ids...) }

func stream(seed uint64, p purpose, ids ...uint64) *rand.Rand {
	h := mix(mix(seed) ^ uint64(p))
	for _, id := range ids {
		h = mix(h ^ id)
	}
	return rand.New(rand.NewPCG(h, mix(h)))
}

// mix is the step of SplitMix64 (Steele, Lea and Flood, 2014), a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// attemptStream returns the stream of an attempt.
func (e *engine) attemptStream(p purpose, a sojourn.Assignment) *rand.Rand {
	return e.stream(p, uint64(a.Task.Job), uint64(a.Task.Phase)<<32|uint64(a.Task.Index), uint64(a.Attempt))
}

// chance reports whether what has a probability happens to an attempt.
func (e *engine) chance(probability float64, p purpose, a sojourn.Assignment) bool {
	return probability > 0 && e.attemptStream(p, a).Float64() < probability
}

// drawTimes decides how long an attempt works, and whether it fails.
func (e *engine) drawTimes(s *slot, a sojourn.Assignment) error {
	factor := e.cfg.Remote.factor(s.locality)
	if e.chance(e.cfg.Stragglers.Probability, slowness, a) {
		factor *= e.cfg.Stragglers.Factor
	}
	var ok bool
	if s.need, ok = stretch(s.job.Times[a.Task.Phase].Of(int(a.Task.Index)), factor, s.speed); !ok {
		return e.outOfRange(s)
	}
	s.runs, s.fails = s.need, false
	if e.cfg.Faults.Task > 0 {
		r := e.attemptStream(failures, a)
		if r.Float64() < e.cfg.Faults.Task {
			s.fails = true
			s.runs = time.Duration(r.Float64() * float64(s.need))
		}
	}
	return nil
}

// stretch returns d times factor over speed, rounded once to the nearest
// nanosecond. It reports false if that is out of range.
func stretch(d time.Duration, factor, speed float64) (time.Duration, bool) {
	if factor == speed {
		return d, true
	}
	x := math.Floor(float64(float64(d)*factor)/speed + 0.5)
	if !(x < math.MaxInt64) {
		return 0, false
	}
	return time.Duration(x), true
}

func (e *engine) outOfRange(s *slot) error {
	return fmt.Errorf("sim: task %v, started at %v: its end is out of the range of time", s.task, s.start)
}

// A node is a machine of the cluster.
type node struct {
	up        bool
	rack      sojourn.RackID
	from, to  sojourn.SlotID // its slots
	chance    *rand.Rand     // of its failures; nil if it fails only by script
	wouldBeUp bool           // by chance alone, whatever the script says
}

// addSlot reports a free slot.
func (e *engine) addSlot(id sojourn.SlotID) error {
	s := &e.slots[id]
	e.free[s.Class].add(id)
	e.tally.classes[s.Class].present++
	return e.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s.Slot})
}

// removeSlot reports that a free slot leaves.
func (e *engine) removeSlot(id sojourn.SlotID) error {
	s := &e.slots[id]
	e.free[s.Class].remove(id)
	e.tally.classes[s.Class].present--
	return e.tell(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s.Slot})
}

// planChange draws when a node fails or recovers by chance next.
func (e *engine) planChange(id sojourn.NodeID) {
	n := &e.nodes[id]
	mean := e.cfg.Faults.MTTR
	if n.wouldBeUp {
		mean = e.cfg.Faults.MTBF
	}
	wait := float64(detmath.Exponential(n.chance) * float64(mean))
	if at := float64(e.now) + wait; at < math.MaxInt64/2 {
		e.changes.Set(uint32(id), moment{e.now.Add(max(1, time.Duration(wait))), uint64(id)})
	} else {
		e.changes.Remove(uint32(id))
	}
}

// changeNodes lets nodes fail and recover that are due. The failures of attempts
// and the losses of output come first, for all of them.
func (e *engine) changeNodes() error {
	e.due = e.due[:0]
	for len(e.script) > 0 && e.script[0].At == e.now {
		e.due = append(e.due, e.script[0])
		e.script = e.script[1:]
	}
	for m, ok := e.changes.MinKey(); ok && m.at == e.now; m, ok = e.changes.MinKey() {
		id := sojourn.NodeID(m.seq)
		n := &e.nodes[id]
		n.wouldBeUp = !n.wouldBeUp
		e.due = append(e.due, NodeFault{e.now, id, n.wouldBeUp})
		e.planChange(id)
	}
	for _, c := range e.due {
		if n := &e.nodes[c.Node]; !c.Up && n.up {
			if err := e.loseAttempts(n); err != nil {
				return err
			}
			if err := e.loseOutputs(c.Node); err != nil {
				return err
			}
		}
	}
	for _, c := range e.due {
		if err := e.changeNode(c); err != nil {
			return err
		}
	}
	return e.moveTransfers()
}

// changeNode reports the slots of a node that fails or recovers. Nothing runs on
// it.
func (e *engine) changeNode(c NodeFault) error {
	n := &e.nodes[c.Node]
	if n.up == c.Up {
		return nil
	}
	n.up = c.Up
	if c.Up {
		if err := e.tell(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: c.Node, Rack: n.rack}}); err != nil {
			return err
		}
	}
	for id := n.from; id < n.to; id++ {
		change := e.removeSlot
		if c.Up {
			change = e.addSlot
		}
		if err := change(id); err != nil {
			return err
		}
	}
	if e.audit != nil {
		e.audit.capacityChanged()
	}
	if c.Up {
		return nil
	}
	return e.tell(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: c.Node, Rack: n.rack}})
}

// loseAttempts ends the attempts on a node.
func (e *engine) loseAttempts(n *node) error {
	for id := n.from; id < n.to; id++ {
		if e.slots[id].job != nil {
			if err := e.fail(id, sojourn.CauseSlotLost); err != nil {
				return err
			}
		}
	}
	return nil
}

// loseOutputs loses what tasks left on a node, as far as a later phase needs it.
// What no phase needs now is gone all the same: it is reported if the next
// failure makes it needed again.
func (e *engine) loseOutputs(id sojourn.NodeID) error {
	if !e.cfg.Faults.LoseOutput {
		return nil
	}
	for _, j := range e.liveJobs() {
		for p := len(j.phases) - 1; p >= 0; p-- {
			if err := e.losePhaseOutputs(j, p, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *engine) losePhaseOutputs(j *job, p int, id sojourn.NodeID) error {
	ph := &j.phases[p]
	homes := j.homes[ph.first:][:j.Phases[p].Tasks]
	for i, home := range homes {
		if home == id {
			homes[i] = 0
		}
	}
	needed := p+1 < len(j.phases) && j.Phases[p+1].After != sojourn.NoBarrier &&
		j.phases[p+1].finished < j.Phases[p+1].Tasks
	if !needed {
		return nil
	}
	whole := ph.finished == len(homes)
	for i, home := range homes {
		t := &j.tasks[ph.first+i]
		if home != 0 || t.state() != finished {
			continue
		}
		t.set(pending)
		ph.finished--
		ph.pending++
		j.left++
		err := e.tell(sojourn.Event{
			Kind: sojourn.OutputLost, Task: sojourn.TaskID{Job: j.ID, Phase: uint16(p), Index: uint32(i)}, Attempt: t.attempts(),
		})
		if err != nil {
			return err
		}
	}
	e.tally.pending(j, p)
	e.tally.pending(j, p+1)
	if whole && ph.finished < len(homes) {
		e.waitAgain(j, p+1)
	}
	return nil
}

// waitAgain makes those attempts at a phase wait that have a slot but not yet
// their input.
func (e *engine) waitAgain(j *job, p int) {
	ph := &j.phases[p]
	for id := range e.slots {
		s := &e.slots[id]
		if s.job == j && int(s.task.Phase) == p && s.ready > e.now {
			s.ready, s.work = never, never
			e.running.Remove(uint32(id))
			ph.waiting = append(ph.waiting, s.ID)
		}
	}
	slices.SortFunc(ph.waiting, func(a, b sojourn.SlotID) int { return cmp.Compare(e.slots[a].seq, e.slots[b].seq) })
}

// liveJobs returns the live jobs in the order of arrival.
func (e *engine) liveJobs() []*job {
	return slices.SortedFunc(maps.Values(e.jobs), func(a, b *job) int { return a.order - b.order })
}
