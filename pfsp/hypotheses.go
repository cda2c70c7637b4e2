package pfsp

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/slack"
)

// A hypothesis is one that the theorem makes and that can fail at run time.
type hypothesis uint8

const (
	estimates hypothesis = iota
	lostSlots
	slowStart
	ungatedProbes
	lateShares
	failures
	heldTasks
	adoptions
	weights
	numHypotheses
)

// What Explain says where a hypothesis does not hold.
var violations = [numHypotheses]string{
	estimates:     "sizes are estimates",
	lostSlots:     "slots were lost",
	slowStart:     "slots are held while tasks wait for input",
	ungatedProbes: "ungated probes",
	lateShares:    "late jobs share",
	failures:      "attempts failed",
	heldTasks:     "tasks were held",
	adoptions:     "attempts were adopted",
	weights:       "weights were changed",
}

// hypotheses is the account of what does not hold in a class.
//
// The proof looks at the time since nothing waited and the virtual cluster was
// empty: what was wrong before that is forgotten. Time is counted in breaches.
type hypotheses struct {
	waiting int    // phases that have something to start
	breach  uint64 // the number of the latest breach
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

// breaks takes note that a hypothesis does not hold at this instant.
func (h *hypotheses) breaks(what hypothesis) {
	h.breach++
	h.last[what] = h.breach
}

// resized takes note of the number of slots.
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

// entered takes note that a phase is in the slack system.
func (c *class) entered(ph *phase) {
	if c.waiting == 0 && c.system.Len() <= 1 { // itself
		c.clean = c.breach
	}
	ph.promise = promise{since: c.clean}
	if !ph.exact() {
		c.doubt(ph, estimates)
	}
	if ph.index > 0 {
		before, after := &ph.job.Spec.Phases[ph.index-1], ph.spec().After
		if before.Delays != nil || after > 0 && after < before.Tasks {
			c.doubt(ph, slowStart)
		}
	}
}

// left takes note that a phase is going to leave.
func (c *class) left(ph *phase) {
	for what := range numHypotheses {
		if ph.broken&(1<<what) != 0 {
			c.live[what]--
			c.breaks(what)
		}
	}
}

// doubt takes note that a hypothesis does not hold of a phase in the system from
// now on.
func (c *class) doubt(ph *phase, what hypothesis) {
	if ph.broken&(1<<what) == 0 {
		ph.broken |= 1 << what
		c.live[what]++
	}
}

// serving takes note of whom a slot is given to.
func (c *class) serving(p *Policy, ph *phase) {
	if p.late != LateFirst && ph.item.Late() && (p.late == LateShare || !ph.exact()) {
		c.breaks(lateShares)
	}
	if (p.noGate || !ph.exact()) && ph.queue >= 0 && !c.system.Protected(ph.item) {
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
func (c *class) void(ph *phase) (list []string) {
	for what, text := range violations {
		if c.live[what] > 0 || c.last[what] > ph.since {
			list = append(list, text)
		}
	}
	return list
}
