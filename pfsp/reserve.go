package pfsp

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/slack"
)

// join makes p keep to the reserve of the cluster of which it has a part, instead of its own, unless it is Counted.
func (p *Policy) join(c inside.Cluster) bool {
	if p.kept.Counted {
		return false
	}
	p.kept.In = c.Reserve
	p.reset()
	return true
}

// virtualSlots returns the number of slots of the virtual cluster of a class.
func (p *Policy) virtualSlots(c *class) int {
	if p.kept.Counted && p.reserve != nil {
		return c.slots - p.reserve.Slots(c.id)
	}
	return c.slots
}

// measure takes over what a phase's description says of its sizes.
func (p *Policy) measure(ph *phase) {
	ph.estimate.read(ph.spec(), ph.account())
	if p.reserve != nil {
		ph.bucket = reserve.Bucket(reserve.Longest(ph.spec(), ph.unknown))
	}
}

// count counts a phase that has arrived.
func (p *Policy) count(ph *phase) {
	if p.reserve != nil {
		p.reserve.Lengths(ph.spec().Class).Add(ph.bucket)
	}
}

// grade gives a phase the level that it has after an event of its own.
func (p *Policy) grade(c *class, ph *phase) {
	if p.reserve != nil {
		rank := p.reserve.Lengths(c.id).Rank(ph.bucket)
		ph.level = uint8(reserve.Level(rank, ph.account().Running()))
	}
}

// allowed returns the phase whose turn it is, if the reserve lets it start; or else the first
// in V that may, or nil. Who may not start holds nobody back.
func (p *Policy) allowed(c *class, turn *phase) (ph *phase, inTurn bool) {
	highest := p.reserve.Highest(c.id)
	if int(turn.level) <= highest {
		return turn, true
	}
	if highest >= 0 {
		if _, first, _, ok := c.levels.MinUpTo(highest); ok {
			return first.item.Value, false
		}
	}
	return nil, false
}

// levels calls filed with each class in which j has something to start, and its level there.
func levels(j *ledger.Job[data], filed func(c sojourn.Class, level int, plain bool)) {
	for i := range j.Data.phases {
		if ph := &j.Data.phases[i]; ph.item != nil && ph.item.State() == slack.Ready {
			filed(ph.spec().Class, int(ph.level), false)
		}
	}
}
