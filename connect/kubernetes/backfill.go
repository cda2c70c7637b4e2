package kubernetes

import (
	"cmp"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/shape"
)

// size returns how long the pods of a job take, by its word; 0 if it says nothing.
func (j *job) size() time.Duration {
	if j == nil {
		return 0
	}
	return j.spec.Phases[0].Estimate
}

// awaits puts a pod that waits among those that may be backfilled, if its Job says how long it takes. Their list loses those that no longer
// wait when it has grown to twice its length.
func (c *workload) awaits(p *pod) {
	if j := c.byID[p.task.id.Job]; j.size() == 0 || j.gang || p.sized || c.gangs.patience < 0 {
		return
	}
	if len(c.sized) == cap(c.sized) {
		c.sized = slices.DeleteFunc(c.sized, func(p *pod) bool { return !p.stillAwaits() })
		c.sized = slices.Grow(c.sized, len(c.sized)+1)
	}
	p.sized = true
	c.sized = append(c.sized, p)
}

func (p *pod) stillAwaits() bool {
	p.sized = p.state == waiting
	return p.sized
}

// backfill gives places that are kept for a gang to pods that end before the gang can have its other places, if each pod takes as
// long as its Job says. It does so ten times a second at most, since it looks at all attempts. It looks at up to 1,000 pods that wait, and at
// others the next time; it returns how long to wait until then.
func (c *core) backfill(j *job) time.Duration {
	g, now := &c.gangs, c.driver.Now()
	if len(g.picks[j]) == 0 || len(c.sized) == 0 {
		return driver.Never
	}
	if left := c.looked.Add(pace / 10).Sub(now); left > 0 && c.looked > 0 {
		return left
	}
	c.looked = now
	at, late, ok := c.whole(j)
	left := at.Sub(now)
	if !ok || left <= 0 {
		return driver.Never
	}
	all := len(c.sized)
	for n := min(all, sweep); n > 0 && len(g.picks[j]) > 0; n-- {
		p := c.sized[0]
		c.sized = c.sized[1:]
		if !p.stillAwaits() {
			continue
		}
		if !c.replaces(p, j, left, late) {
			c.sized = append(c.sized, p)
		}
	}
	if all > sweep {
		return pace / 10
	}
	return driver.Never
}

// replaces gives a pod the place of a pod of a gang, if it takes at most so long.
func (c *core) replaces(p *pod, j *job, left time.Duration, late map[string]bool) bool {
	b, t := c.byID[p.task.id.Job], p.task
	size := b.size()
	if size == 0 || size > left || b.gang || late[b.spec.Pool] || t.run != nil || t.waiting[0] != p {
		return false
	}
	if now, _ := c.truth.Task(t.id); now != account.Pending && !t.blocked {
		return false
	}
	picks := c.gangs.picks[j]
	for i := len(picks) - 1; i >= 0; i-- {
		q := picks[i]
		if q.class != p.class || q.node.lacks(p.demand) != "" {
			continue
		}
		slot := q.slot
		c.putBack(q)
		c.rest(q.task)
		c.gangs.picks[j] = slices.Delete(picks, i, i+1)
		t.blocked = false
		p.sized = false
		c.occupy(p, slot)
		c.send(p)
		return true
	}
	return false
}

// whole returns when a gang can have the places that it lacks if each attempt takes as long as its Job says, and the pools with
// attempts that have taken longer; false if too few Jobs say so. An attempt that has taken longer ends nobody knows when.
func (c *core) whole(j *job) (at sojourn.Time, late map[string]bool, ok bool) {
	type end struct {
		at    sojourn.Time
		node  *node
		class sojourn.Class
	}
	list, _ := c.missing(j)
	p, now := list[0].waiting[0], c.truth.Now()
	var ends []end
	rooms := map[*node]shape.Resources{}
	late = map[string]bool{}
	for a := range c.truth.Attempts() {
		b, q := c.byID[a.Task.Job], c.on[a.Slot.ID]
		if b == nil || q == nil || q.node.lacks(p.demand) != "" {
			continue
		}
		if c.shapes != nil {
			if rooms[q.node] == nil {
				rooms[q.node] = c.roomOf(q.node)
			}
			for i, n := range c.shapes.forms[q.class] {
				rooms[q.node][i] -= n
			}
		}
		switch size := b.size(); {
		case b == j || size == 0:
		case size <= a.Service:
			late[b.spec.Pool] = true
		case c.shapes != nil || q.class == p.class && !c.truth.Retiring(a.Slot.ID):
			ends = append(ends, end{now.Add(size - a.Service), q.node, q.class})
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	need := len(list)
	for _, e := range ends {
		if need -= c.gains(rooms[e.node], e.class, p.class); need <= 0 {
			return e.at, late, true
		}
	}
	return 0, late, false
}

// gains returns for how many pods of a class there is room more once one of another class has ended, and adds it to the room.
func (c *places) gains(room shape.Resources, ended, class sojourn.Class) int {
	if c.shapes == nil {
		return 1
	}
	before := fitting(room, c.shapes.forms[class])
	for i, n := range c.shapes.forms[ended] {
		room[i] += n
	}
	return int(fitting(room, c.shapes.forms[class]) - before)
}

// fitting returns how many pods that take so much fit into a room.
func fitting(room, form shape.Resources) int64 {
	count := int64(plenty)
	for i, need := range form {
		if need > 0 {
			count = min(count, max(0, room[i])/need)
		}
	}
	return count
}
