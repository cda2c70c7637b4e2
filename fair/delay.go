package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// places knows the inputs of tasks, and how long jobs wait for slots close to them.
//
// A job whose turn it is, but that has no task close enough to the slot, is passed
// over and asked again at the next slot. Time counts as waiting while there is a
// free slot that the job could use within its limits. Once another job got a slot in
// its place, all time counts until it starts a task. Without this second rule, a job
// could wait for ever in a busy cluster, where no slot is free for longer than an
// instant. A slot that all decline starts no wait.
type places struct {
	*tree
	index *locality.Index[member] // nil if locality is ignored, or if policies of pools pick all tasks
	delay locality.Delay

	waiters []*job // scratch
}

// pick returns the task of a side of j that suits a slot best, and its phase. It
// reports false if the job waits instead.
func (k *places) pick(j *job, side *ledger.Side, s sojourn.Slot) (pick locality.Pick, phase int, ok bool) {
	phase = j.NextPhase(side)
	pick, ok = k.index.Find(j, phase, s, k.reach(j, side))
	return pick, phase, ok
}

// reach returns how far from their inputs tasks of a side of j may start now.
func (k *places) reach(j *job, side *ledger.Side) sojourn.Locality {
	if w := waitOf(j, side); w != nil {
		return w.Limit(k.delay, k.ledger.Now())
	}
	return sojourn.Remote
}

// waitOf returns how long j waits on a side; nil if it never does.
func waitOf(j *job, side *ledger.Side) *locality.Wait {
	for i := range j.Data.waits {
		if j.Side(i) == side {
			return &j.Data.waits[i]
		}
	}
	return nil
}

// joinCluster makes the free slots of the cluster of which p has a part what a job leaves unused that waits for locality.
func (p *Policy) joinCluster(c inside.Cluster) bool {
	p.outer = c.Free
	return false
}

// free returns the number of free slots of a class, in the whole cluster.
func (t *tree) free(c sojourn.Class) int {
	if t.outer != nil {
		return t.outer(c)
	}
	return t.ledger.FreeSlots(c)
}

// unused returns how many free slots a job lets go by that waits on a side.
func (k *places) unused(side *ledger.Side) int { return min(k.free(side.Class()), side.Startable()) }

// pressed returns the first of the jobs that were passed over that may not leave a slot unused any
// longer; nil if there is none.
func (p *Policy) pressed(c sojourn.Class) *job {
	for _, j := range p.passed {
		side := j.SideOf(c)
		if w := waitOf(j, side); w != nil && !w.Allows(p.unused(side)) {
			return j
		}
	}
	return nil
}

// waiting calls f for each job that waits for a slot close to its inputs, with the number of free
// slots that it lets go by.
func (k *places) waiting(f func(w *locality.Wait, unused int)) {
	if k.delay.Node == 0 {
		return
	}
	k.waiters = k.ledger.AppendJobs(k.waiters[:0])
	defer clear(k.waiters)
	for _, j := range k.waiters {
		for i := range j.Data.waits {
			if side := j.Side(i); k.hasInputs(j, side) && k.counts(j, side) {
				f(&j.Data.waits[i], k.unused(side))
			}
		}
	}
}

// hasInputs reports whether j has tasks to start on a side whose inputs are known, and fair itself picks them.
func (k *places) hasInputs(j *job, side *ledger.Side) bool {
	return j.Data.pool.policy == nil && side.Startable() > 0 && k.index.HasInputs(j, j.NextPhase(side))
}

// counts reports whether time counts for a job of which hasInputs holds even if no other gets slots in its place.
func (k *places) counts(j *job, side *ledger.Side) bool {
	_, free := k.ledger.FreeSlot(side.Class())
	return free && j.Data.pool.lets(j) && j.Data.pool.hasRoom(side.Class())
}

// explain tells what j waits for on a side, if it takes only slots close to its inputs.
func (k *places) explain(j *job, side *ledger.Side) (text string, waits bool) {
	w := waitOf(j, side)
	if w == nil || !k.hasInputs(j, side) {
		return "", false
	}
	return w.Explain(k.delay, k.unused(side), k.counts(j, side), k.ledger.Now())
}

// hasRoom reports whether no limit on tasks, of n or of a pool around it, is reached.
func (n *pool) hasRoom(c sojourn.Class) bool {
	for ; n != nil; n = n.parent {
		if n.full(c) {
			return false
		}
	}
	return true
}

// countWaits counts the time until at for the jobs that wait.
func (k *places) countWaits(at sojourn.Time) {
	now := k.ledger.Now()
	k.waiting(func(w *locality.Wait, unused int) { w.Unused(unused, now, at) })
}

// nextWait returns when the first wait ends, or a job may not leave slots unused any longer.
func (k *places) nextWait() (next sojourn.Time, any bool) {
	now := k.ledger.Now()
	k.waiting(func(w *locality.Wait, unused int) {
		if t, ok := w.Next(k.delay, unused, now); ok && (!any || t < next) {
			next, any = t, true
		}
	})
	return next, any
}

// count records the slot time of a task that has finished, if it was near its input.
func (k *places) count(ev *sojourn.Event, c *ledger.Change[member]) {
	if w := waitOf(c.Job, c.Job.SideOf(c.Slot.Class)); w != nil && k.index.Near(c.Job, ev.Task, c.Slot) {
		w.Used(ev.At.Sub(c.Start))
	}
}

// delays returns how long jobs wait.
func (o *Options) delays() locality.Delay {
	d := locality.Delay{Node: o.Delay, Rack: o.Delay}
	if o.RackDelay != nil {
		d.Rack = *o.RackDelay
	}
	return d
}

// picks reports whether there can be jobs whose tasks fair itself picks, below the root of a tree
// of pools.
func (o *Options) picks(root *conf) bool {
	found := root.any == nil && !o.Strict
	root.each("", "", func(_ string, c *conf) {
		found = found || c != root && c.Policy == nil
	})
	return found
}
