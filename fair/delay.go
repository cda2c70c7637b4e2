package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/locality"
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

// waiting calls f for each job that waits for a slot close to its inputs. Such a job
// could use a free slot if there were one at the right place.
func (k *places) waiting(f func(*locality.Wait)) {
	if k.delay.Node == 0 {
		return
	}
	k.waiters = k.ledger.AppendJobs(k.waiters[:0])
	defer clear(k.waiters)
	for _, j := range k.waiters {
		n := j.Data.pool
		if n.policy != nil {
			continue
		}
		for i := range j.Data.waits {
			side := j.Side(i)
			if side.Startable() == 0 {
				continue
			}
			if _, free := k.ledger.FreeSlot(side.Class()); free && k.index.HasInputs(j, j.NextPhase(side)) && n.lets(j) && n.hasRoom(side.Class()) {
				f(&j.Data.waits[i])
			}
		}
	}
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
	k.waiting(func(w *locality.Wait) {
		if !w.Runs() {
			w.Start(now)
			w.Stop(at)
		}
	})
}

// nextWait returns when the first wait ends.
func (k *places) nextWait() (next sojourn.Time, any bool) {
	now := k.ledger.Now()
	k.waiting(func(w *locality.Wait) {
		v := *w
		v.Start(now)
		if t, ok := v.Next(k.delay, now); ok && (!any || t < next) {
			next, any = t, true
		}
	})
	return next, any
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
