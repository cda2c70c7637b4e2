package gang

import "github.com/sojourn-sched/sojourn"

// Fill is fill, for tests from outside.
func Fill(free int, widths []int) []int { return fill(free, widths) }

// Reserved returns the gang that has a reservation, or the first one of the class that has it, and when its places will be free by the
// limits of what runs: the last instant if that is not known.
func (c *Cluster) Reserved(now sojourn.Time) (Gang, sojourn.Time, bool) {
	r := c.reserve(now)
	if !r.stands {
		return Gang{}, 0, false
	}
	return r.class.gangs[0].Gang, r.shadow, true
}
