package leastwork

import "github.com/sojourn-sched/sojourn"

// mayPass is how many times as many places as a gang needs others may take while it is the first and nobody knows when it
// will fit.
const mayPass = 8

// Turn implements the Turns of package gang: it returns the class of the job that comes first among those that have something
// to start in the classes that fit. It reports false without Gangs, or if nothing fits.
func (p *Policy) Turn(fits func(sojourn.Class) bool) (c sojourn.Class, passes int, ok bool) {
	if !p.gangs {
		return 0, 0, false
	}
	var first key
	for i := range p.stats {
		k := sojourn.Class(i)
		if !fits(k) {
			continue
		}
		if head, found := p.queue.First(k); found && (!ok || head.less(first)) {
			c, first, ok = k, head, true
		}
	}
	return c, mayPass, ok
}
