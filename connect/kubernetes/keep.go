package kubernetes

import (
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
)

// keep lets the gang that has waited for longest take each free place that it can use, before all others,
// once it has waited for the patience. It is bound when it has all its places. It returns how long to wait
// until the next gang has waited for so long.
func (c *core) keep() time.Duration {
	g := &c.gangs
	if g.patience < 0 {
		return driver.Never
	}
	if g.kept != nil && !c.keeps(g.kept) {
		c.letGo()
	}
	now := c.driver.Now()
	var oldest *job
	for _, j := range g.jobs {
		if waits := c.byID[j.id] == j && c.complete(j); waits != j.waits {
			j.waits, j.since = waits, now
		}
		if j.waits && (oldest == nil || j.since < oldest.since) && (j == g.kept || c.canHold(j)) {
			oldest = j
		}
	}
	if g.kept == nil && oldest != nil {
		if left := g.patience - now.Sub(oldest.since); left > 0 {
			return left
		}
		g.kept = oldest
	}
	if g.kept != nil {
		c.fill(g.kept)
	}
	return driver.Never
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
		if p.state != picked || p.node.lacks(p.wish) != "" || c.overdrawn(p) {
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
		c.occupy(j, p, slot)
	}
	c.gangs.kept = nil
	c.commit(j)
}

// occupy tells the policy that a pod of a gang has a place.
func (c *core) occupy(j *job, p *pod, slot sojourn.SlotID) {
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
	c.pick(j, p)
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
func (c *places) canHold(j *job) bool {
	need := 0
	var p *pod
	for i := range j.spec.Phases[0].Tasks {
		switch t := j.tasks[uint32(i)]; {
		case t == nil:
		case t.run != nil:
			need++
		case len(t.waiting) > 0:
			p = t.waiting[0]
			need++
		}
	}
	if p == nil {
		return false
	}
	for _, n := range c.nodes { // sums only
		need -= c.holds(n, p)
	}
	return need <= 0
}

// holds returns how many pods like p a node has room for, were nothing else of the policy there.
func (c *places) holds(n *node, p *pod) int {
	if n.lacks(p.wish) != "" {
		return 0
	}
	if c.shapes == nil {
		return len(n.classes[p.class].slots)
	}
	count, room := int64(plenty), c.roomOf(n)
	for i, need := range c.shapes.forms[p.class] {
		if need > 0 {
			count = min(count, room[i]/need)
		}
	}
	return int(min(count, sojourn.MaxSlots))
}
