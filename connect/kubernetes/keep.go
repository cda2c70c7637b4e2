package kubernetes

import (
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
)

// keep lets the gang that has waited for longest take each free place that it can use, before all others,
// once it has waited for the patience. It is bound when it has all its places, and gives them back when it has kept them for
// the limit. It returns how long to wait until either may be the case.
func (c *core) keep() time.Duration {
	g := &c.gangs
	if g.patience < 0 {
		return driver.Never
	}
	now := c.driver.Now()
	if j := g.kept; j != nil && !c.keeps(j) {
		c.letGo()
	} else if j != nil && now.Sub(g.keeping) >= g.limit {
		c.letGo()
		j.since = now
		j.vain++
	}
	var oldest *job
	for _, j := range g.jobs {
		if waits := c.byID[j.id] == j && c.complete(j); waits != j.waits {
			j.waits, j.since = waits, now
		}
		if j.waits && (oldest == nil || c.due(j) < c.due(oldest)) && (j == g.kept || c.canHold(j)) {
			oldest = j
		}
	}
	if g.kept == nil && oldest != nil {
		if left := c.due(oldest).Sub(now); left > 0 {
			return left
		}
		g.kept, g.keeping = oldest, now
	}
	if g.kept != nil {
		if c.fill(g.kept); g.kept != nil {
			return min(g.keeping.Add(g.limit).Sub(now), c.backfill(g.kept))
		}
	}
	return driver.Never
}

// due returns when a gang may keep places.
func (c *core) due(j *job) sojourn.Time {
	if j.vain == 0 {
		return j.since.Add(c.gangs.patience)
	}
	return j.since.Add(max(c.gangs.patience, c.gangs.limit<<min(j.vain-1, 10)))
}

// complete reports whether tasks of a gang have yet to start, and each of them has a pod.
func (c *core) complete(j *job) bool {
	_, ok := c.missing(j)
	return ok
}

// keeps reports whether the places that are kept for a gang are still good, and the others may come.
func (c *core) keeps(j *job) bool {
	if c.byID[j.id] != j || !c.complete(j) || !c.canHold(j) {
		return false
	}
	for _, p := range c.gangs.picks[j] {
		if p.state != picked || p.node.lacks(p.demand) != "" || c.overdrawn(p) {
			return false
		}
	}
	return true
}

// overdrawn reports whether more is taken of the node of a pod that was picked than the node has to give.
func (c *places) overdrawn(p *pod) bool {
	if c.shapes != nil {
		return c.shapes.cluster.Overdrawn(p.slot)
	}
	s := &p.node.classes[p.class]
	return s.taken() > s.want
}

// letGo gives back the places that are kept.
func (c *core) letGo() {
	g := &c.gangs
	j := g.kept
	g.kept = nil
	if c.byID[j.id] == j {
		c.giveBack(j)
		return
	}
	for _, p := range g.picks[j] { // its pods will go too
		if p.state == picked {
			c.refuse(p)
		}
	}
	delete(g.picks, j)
}

// fill puts pods of a gang on the free places that suit, and binds them if none is missing then.
func (c *core) fill(j *job) {
	list, _ := c.missing(j)
	clear(c.fits.full)
	for _, t := range list {
		p := t.waiting[0]
		slot, ok := c.freeFor(p)
		if !ok {
			return
		}
		c.occupy(p, slot)
		c.pick(j, p)
	}
	c.gangs.kept = nil
	c.commit(j)
}

// occupy tells the policy that a pod has a place.
func (c *core) occupy(p *pod, slot sojourn.SlotID) {
	t := p.task
	now, last := c.truth.Task(t.id)
	if now == account.Held {
		c.must(sojourn.Event{Kind: sojourn.TaskReady, Task: t.id})
	}
	a := sojourn.Assignment{Task: t.id, Attempt: max(last, t.last) + 1, Slot: slot}
	c.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot}})
	if c.shapes != nil {
		c.started(a)
	}
	c.assign(p, a)
}

// freeFor returns a free slot on a node that suits a pod.
func (c *places) freeFor(p *pod) (sojourn.SlotID, bool) {
	if c.shapes == nil {
		return c.free(p.place())
	}
	for s := range c.truth.Slots() {
		if s.Class == p.class && c.on[s.ID] == nil {
			return s.ID, true
		}
	}
	return 0, false
}

// canHold reports whether the nodes have room for a whole gang, were nothing else of the policy there.
func (c *workload) canHold(j *job) bool {
	s := &j.state
	list, ok := c.missing(j)
	if ok && s.seen != c.fits.epoch {
		need := len(list) + s.running
		for _, n := range c.nodes { // sums only
			need -= c.holds(n, list[0].waiting[0])
		}
		s.seen, s.holds = c.fits.epoch, need <= 0
	}
	return ok && s.holds
}

// mayFit reports whether there may be free places for the pods of tasks, which are alike. With shapes it does not know.
func (c *places) mayFit(list []*task) bool {
	need, p := len(list), list[0].waiting[0]
	if c.shapes != nil {
		return true
	}
	for _, n := range c.nodes { // sums only
		if s := &n.classes[p.class]; n.lacks(p.demand) == "" {
			need -= len(s.slots) + len(s.retiring) - s.busy
		}
	}
	return need <= 0
}

// holds returns how many pods like p a node has room for, were nothing else of the policy there.
func (c *places) holds(n *node, p *pod) int {
	if n.lacks(p.demand) != "" {
		return 0
	}
	if c.shapes == nil {
		return len(n.classes[p.class].slots)
	}
	return int(min(fitting(c.roomOf(n), c.shapes.forms[p.class]), sojourn.MaxSlots))
}
