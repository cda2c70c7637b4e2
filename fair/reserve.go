package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// reserved returns the reserve that the options ask for. It counts slots that are held out of turn, so
// that pools keep their shares of all other slots.
func (o *Options) reserved() reserve.Options {
	return reserve.Options{Share: reserve.ShareOf(o.Reserve), Counted: true}
}

// restricted reports whether the reserve keeps a slot of a class from some jobs now.
func (t *tree) restricted(c sojourn.Class) bool {
	return t.reserved.On() && t.reserve.Highest(c) < reserve.Levels-1
}

// firstAllowed returns what first returns, after it has passed over what the reserve keeps from
// starting. Policies of pools that keep to the reserve by themselves may still decline.
func (o *offer) firstAllowed(c sojourn.Class) (*pool, *job) {
	restricted := o.restricted(c)
	for {
		n, j := o.first(c)
		switch {
		case n == nil || !restricted:
			return n, j
		case j == nil && (n.policy.reserves || n.running(c) == 0):
			return n, j
		case j != nil && j.SideOf(c).Running() == 0:
			return n, j
		}
		o.skipped = true
		if j == nil || !o.ranked && !n.conf.FIFO && len(n.below) == 0 {
			o.decline(n, c) // jobs of the pool that run nothing would come before j
		} else {
			o.passOver(j, j.SideOf(c))
		}
	}
}
