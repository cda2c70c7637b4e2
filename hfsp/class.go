package hfsp

import (
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A class is what belongs to one class of slots. Phases of one class wait for each
// other only.
type class struct {
	*options
	id sojourn.Class

	// aging is the aging module: a virtual cluster that shares all slots by weight. It
	// keeps the virtual size v of each phase, in slot-nanoseconds, and the order of service.
	aging     *vqueue.Queue[*phase]
	training  training
	gate      gate
	reserve   *reserve.Reserve // nil if nothing is reserved
	patience  *patience
	completed func(*vqueue.Item[*phase], sojourn.Time) // what Policy.completed does
	choosy    []*phase                                 // if phases wait for slots close to inputs: those with something to start and with inputs, in no order
}

// class returns what belongs to a class of slots.
func (p *Policy) class(id sojourn.Class) *class {
	for int(id) >= len(p.classes) {
		c := &class{
			options:   &p.options,
			id:        sojourn.Class(len(p.classes)),
			aging:     vqueue.New[*phase](p.late),
			training:  training{queue: heap.New(trainingKey.less, trainingKey.prefix), most: p.slots},
			gate:      gate{most: p.earlySlots},
			reserve:   p.reserve,
			patience:  &p.patience,
			completed: p.completed,
		}
		c.aging.Advance(p.ledger.Now(), nil)
		c.resize(p.ledger.Capacity(c.id))
		p.classes = append(p.classes, c)
	}
	return p.classes[id]
}

// resize says how many slots there are, and reports whether that opened or shut the gate.
func (c *class) resize(slots int) (turned bool) {
	shut := c.gate.shut()
	c.aging.SetCapacity(slots)
	c.training.slots, c.gate.slots = slots, slots
	return shut != c.gate.shut()
}

// file files a phase, which was withdrawn, among those that have something to start, if it has.
func (c *class) file(ph *phase, now sojourn.Time) {
	if c.reserve != nil {
		c.aging.SetLevel(ph.item, reserve.LevelUnknown(ph.tasks.Running()))
	}
	may, b := ph.may(), ph.bound()
	if b == nil {
		c.serve(ph, may)
		c.train(ph, may && c.trains(ph))
	} else {
		if may {
			b.enter(ph, ph.line())
		} else {
			c.serve(ph, false)
		}
		if may && c.trains(ph) {
			b.enter(ph, 0)
		} else {
			c.train(ph, false)
		}
		b.settle(ph.job.Room())
	}
	if !may || ph.job.Room() == 0 {
		ph.wait.Stop(now)
	}
}

// serve says whether a phase is among those that are given slots in the order of service.
func (c *class) serve(ph *phase, on bool) {
	c.aging.SetReady(ph.item, on)
	if c.patience.any {
		c.choose(ph, on && c.patience.index.HasInputs(ph.job, ph.index))
	}
	if c.kill {
		c.aging.SetMark(ph.item, claims, on && !ph.early)
	}
}

// train says whether a phase is among those whose tasks are started by the priority of training.
func (c *class) train(ph *phase, on bool) {
	if on {
		c.training.queue.Set(ph.handle, ph.trainingKey())
	} else {
		c.training.queue.Remove(ph.handle)
	}
}

// trains reports whether a phase is in training and has tasks to be started by priority. One that
// is early has none: its tasks would hold training slots for as long as the phase before
// takes, and nothing is learnt from them meanwhile.
func (c *class) trains(ph *phase) bool {
	return ph.stage == stageTraining && !ph.early && len(ph.samples) < c.tasks && !ph.hopeless(c.tasks)
}

// hopeless reports whether a phase has lost the priority of training: t of its training tasks have
// failed, and more than one.
func (ph *phase) hopeless(t int) bool { return ph.failures >= max(t, 2) }

// next returns the phase that is given a slot, and whether that is for training: the first
// whose level lets it start. What trains has to keep to the reserve, too. Otherwise training, of
// which five tasks a phase are the default, would hold what is reserved.
func (c *class) next() (ph *phase, prior, ok bool) {
	if c.reserve == nil {
		return c.first()
	}
	if ph, prior, ok := c.first(); !ok || c.lets(ph) {
		return ph, prior, ok
	}
	it, ok := c.aging.FirstUpTo(c.reserve.Highest(c.id))
	if !ok {
		return nil, false, false
	}
	return it.Value, false, true
}

// lets reports whether the reserve lets a phase start a task.
func (c *class) lets(ph *phase) bool {
	return c.reserve == nil || ph.item.Level() <= c.reserve.Highest(c.id)
}

// overdue returns the phase that is given a slot for which there is no other use: see gate. If the
// reserve keeps others from it, they wait.
func (c *class) overdue(othersWait bool) (*phase, bool) {
	if c.reserve != nil && !othersWait {
		_, othersWait = c.aging.First()
	}
	ph, ok := c.gate.overdue(othersWait)
	return ph, ok && c.lets(ph)
}

// first returns the phase that is served first, and whether the slot is a training slot
// [HFSP, algorithm 1]. There the text has T_curr <= T.
func (c *class) first() (ph *phase, prior, ok bool) {
	if c.training.queue.Len() > 0 && c.training.left() > 0 {
		k, _ := c.training.queue.MinKey()
		return k.phase, true, true
	}
	it, ok := c.aging.First()
	if !ok {
		return nil, false, false
	}
	return it.Value, false, true
}

// inOrder iterates over the phases that have something that they may start, in the order in which
// they are served. Phases in training come twice. The first k take O(k log n).
func (c *class) inOrder() iter.Seq[*phase] {
	return func(yield func(*phase) bool) {
		if c.training.left() > 0 {
			for ph := range c.training.all {
				if !c.lets(ph) {
					break
				}
				if !yield(ph) {
					return
				}
			}
		}
		highest := reserve.Levels - 1
		if c.reserve != nil {
			highest = c.reserve.Highest(c.id)
		}
		for it, ok := c.aging.FirstUpTo(highest); ok && yield(it.Value); {
			it, ok = c.aging.NextUpTo(highest, it)
		}
	}
}

// ahead returns the phases that come before another for slots of its class, in the order
// in which they are served, and how many of them only because they are in training.
func (c *class) ahead(ph *phase) (list []*phase, trained int) {
	seen := make(map[*phase]bool)
	if c.training.left() > 0 {
		for it := range c.aging.All() {
			if other := it.Value; other.startable() && c.trains(other) {
				list, seen[other] = append(list, other), true
			}
		}
		slices.SortFunc(list, func(a, b *phase) int { return a.trainingKey().compare(b.trainingKey()) })
		if i := slices.Index(list, ph); i >= 0 {
			return list[:i], 0
		}
	}
	trained = len(list)
	for it := range c.aging.All() {
		switch other := it.Value; {
		case other == ph:
			return list, trained
		case seen[other]:
			trained--
		case other.startable():
			list = append(list, other)
		}
	}
	return list, trained
}
