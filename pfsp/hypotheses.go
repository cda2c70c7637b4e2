package pfsp

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/slack"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A hypothesis is one that the theorem makes and that can fail at run time.
type hypothesis uint8

const (
	estimates hypothesis = iota
	lostSlots
	slowStart
	setBack
	ungatedProbes
	lateShares
	failures
	heldTasks
	adoptions
	weights
	uncounted
	bounded
	numHypotheses
)

// What Explain says where a hypothesis does not hold.
var violations = [numHypotheses]string{
	estimates:     "sizes are estimates",
	lostSlots:     "slots were lost",
	slowStart:     "slots are held while tasks wait for input",
	setBack:       "phases must wait again",
	ungatedProbes: "ungated probes",
	lateShares:    "late jobs share",
	failures:      "attempts failed",
	heldTasks:     "tasks were held",
	adoptions:     "attempts were adopted",
	weights:       "weights were changed",
	uncounted:     "a reserve that is not counted",
	bounded:       "jobs bound how many of their tasks run",
}

// hypotheses is the account of what does not hold in a class.
//
// The proof looks at the time since nothing waited and the virtual cluster was
// empty: what was wrong before that is forgotten. Time is counted in such moments that
// have a breach between them, and not in breaches: what was broken before, and is again,
// changes nothing.
type hypotheses struct {
	waiting int    // phases that have something to start
	breach  uint64 // the number of the latest breach: clean, or one more
	last    [numHypotheses]uint64
	clean   uint64 // breach when nothing waited and the virtual cluster was empty last

	// Slots that come and go at one instant, as those that a pool is lent to see
	// whether it wants them, are not lost.
	slots int
	had   int          // before instant, or since the latest loss
	at    sojourn.Time // the instant of the latest change of slots

	// live counts the phases in the slack system of which it does not hold.
	live [numHypotheses]int
}

// promise is what a phase keeps of it.
type promise struct {
	since  uint64 // breaches up to this one do not concern the phase
	broken uint16 // by hypothesis: it does not hold of the phase itself
}

// breaks records that a hypothesis does not hold at this instant.
func (h *hypotheses) breaks(what hypothesis) {
	h.breach = max(h.breach, h.clean+1)
	h.last[what] = h.breach
}

// resized records the number of slots.
func (h *hypotheses) resized(now sojourn.Time, slots int) {
	h.had, h.at = h.hadAt(now), now
	if h.slots = slots; slots < h.had {
		h.had = slots
		h.breaks(lostSlots)
	}
}

// hadAt returns the number of slots that may not be undercut.
func (h *hypotheses) hadAt(now sojourn.Time) int {
	if now == h.at {
		return h.had
	}
	return h.slots
}

// entered records that a phase is in the slack system.
func (c *class) entered(ph *phase) {
	if c.waiting == 0 && c.system.Len() <= 1 { // itself
		c.clean = c.breach
	}
	ph.promise = promise{since: c.clean}
	if !ph.exact() {
		c.doubt(ph, estimates)
	}
	if ph.startsSlowly() {
		c.doubt(ph, slowStart)
	}
	if ph.job.Bounded() {
		c.doubt(ph, bounded)
	}
	if a := ph.account(); a.Pending()+a.Running()+a.Done() < ph.spec().Tasks {
		c.doubt(ph, heldTasks)
	}
}

// startsSlowly reports whether tasks of the phase may be started before their input is
// there.
func (ph *phase) startsSlowly() bool {
	phases, needs := ph.job.Spec().Phases, ph.spec().Needs
	switch {
	case needs != nil:
		return slices.ContainsFunc(needs, func(k int) bool { return phases[k].Delays != nil })
	case ph.index == 0:
		return false
	}
	before, after := &phases[ph.index-1], ph.job.Spec().Threshold(ph.index)
	return before.Delays != nil || after > 0 && after < before.Tasks
}

// sizesUsed reports whether decisions may already rest on the told sizes of a phase: it is,
// or was, in the slack system, or tasks of it were adopted before.
func (ph *phase) sizesUsed() bool {
	return ph.item != nil || ph.account().Done() > 0 || ph.account().Running() > 0
}

// sizesDiffer reports whether a revision says something else of the tasks that are not
// finished than was told before. Their sum may be the same.
func sizesDiffer(told, spec *sojourn.Phase, account *ledger.Phase) bool {
	if told.Tasks != spec.Tasks {
		return true
	}
	if told.Estimates == nil && spec.Estimates == nil {
		return told.Estimate != spec.Estimate
	}
	for i := range spec.Tasks {
		if !account.IsDone(uint32(i)) && told.EstimateOf(i) != spec.EstimateOf(i) {
			return true
		}
	}
	return false
}

// adopted records that a job was ready before it was told of.
func (p *Policy) adopted(j *ledger.Job[data]) {
	for i := range j.Data.phases {
		if ph := &j.Data.phases[i]; ph.item != nil {
			p.classOf(ph).breaks(adoptions)
		}
	}
}

// ended records an attempt that held its slot for some time.
func (c *class) ended(ev *sojourn.Event, cancelled bool, held time.Duration, prior wide.Uint128) {
	if ev.Kind != sojourn.TaskFinished && held > 0 && !cancelled {
		c.breaks(failures)
	}
	switch {
	case !prior.Less(wide.From64(uint64(held))):
	case ev.Service > 0 && ev.Service < held:
		c.breaks(slowStart)
	default:
		c.breaks(estimates)
	}
}

// overrun reports whether an attempt has held a slot of the class for longer than its
// task was said to take: that its size is wrong is known before it ends.
func (p *Policy) overrun(c *class) bool {
	now := p.ledger.Now()
	for s, a := range p.ledger.Attempts() {
		if s.Class == c.id {
			ph := &a.Job.Data.phases[a.Task.Phase]
			if ph.prior(ph.spec(), a.Task.Index).Less(wide.From64(uint64(now.Sub(a.Start)))) {
				return true
			}
		}
	}
	return false
}

// left records that a phase is going to leave.
func (c *class) left(ph *phase) {
	for what := range numHypotheses {
		if ph.broken&(1<<what) != 0 {
			c.live[what]--
			c.breaks(what)
		}
	}
}

// doubt records that a hypothesis does not hold of a phase in the system from
// now on.
func (c *class) doubt(ph *phase, what hypothesis) {
	if ph.broken&(1<<what) == 0 {
		ph.broken |= 1 << what
		c.live[what]++
	}
}

// serving records whom a slot is given to.
func (c *class) serving(p *Policy, ph *phase, inTurn bool) {
	if !inTurn {
		return // the slot is one of those that the promise does not count on
	}
	if p.late == vqueue.LateDefault && ph.item.Late() && !ph.exact() {
		c.breaks(lateShares)
	}
	if !p.noGate && !ph.exact() && ph.queue >= 0 && !c.system.Protected(ph.item) {
		c.breaks(ungatedProbes)
	}
}

// setState says what a phase has to start.
func (c *class) setState(ph *phase, state slack.State) {
	if ph.item.State() == state {
		return
	}
	if state == slack.Ready {
		c.waiting++
	} else {
		c.waiting--
	}
	c.system.SetState(ph.item, state)
}

// void returns what does not hold for a phase.
func (p *Policy) void(ph *phase) (list []string) {
	c := p.classOf(ph)
	never := [numHypotheses]bool{
		estimates:     p.overrun(c),
		ungatedProbes: p.noGate && p.fairLimit > 0,
		lateShares:    p.late == vqueue.LateShare,
		uncounted:     p.reserve != nil && !p.kept.Counted,
	}
	for what, text := range violations {
		if never[what] || c.live[what] > 0 || c.last[what] > ph.since {
			list = append(list, text)
		}
	}
	return list
}
