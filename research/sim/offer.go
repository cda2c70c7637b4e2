package sim

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn"
)

// offer offers the free slots until the policy wants none. If a slot was taken, it
// offers all others again, since a slot that was declined may be wanted then. It reports
// refused assignments after every slot has been offered.
func (e *engine) offer() error {
	for {
		before := e.seq
		if err := e.offerAll(); err != nil {
			return err
		}
		if e.seq == before {
			return nil
		}
		if len(e.refused) == 0 {
			continue
		}
		if err := e.stopped(); err != nil {
			return err
		}
		for _, id := range e.refused {
			if err := e.refuse(id); err != nil {
				return err
			}
		}
		e.refused = e.refused[:0]
	}
}

// offerAll offers the free slots of all classes once.
func (e *engine) offerAll() error {
	if e.gangs != nil {
		return e.offerGangs()
	}
	for class := range e.free {
		if err := e.offerClass(sojourn.Class(class)); err != nil {
			return err
		}
	}
	return nil
}

// offerClass offers the free slots of a class: those that a Seeker names, or each slot
// once, in the order of ID.
func (e *engine) offerClass(class sojourn.Class) error {
	switch {
	case len(e.free[class]) == 0:
		return nil
	case e.seeker == nil:
		return e.offerEach(class)
	}
	for {
		id, ok := e.seek(class)
		if !ok {
			return nil
		}
		if !e.free[class].has(id) {
			return e.breach("sought slot %d of class %d, which is not free", id, class)
		}
		taken, err := e.assign(id)
		if err != nil {
			return err
		}
		if !taken {
			return e.breach("declined slot %d after seeking it", id)
		}
	}
}

// offerEach offers each free slot of a class once, in the order of ID.
func (e *engine) offerEach(class sojourn.Class) error {
	free := e.free[class]
	for w := range free {
		for left := free[w]; left != 0; left &= left - 1 {
			if _, err := e.assign(sojourn.SlotID(w<<6 | bits.TrailingZeros64(left))); err != nil {
				return err
			}
		}
	}
	return nil
}

// preempt kills the attempts that the policy wants killed, and returns how many.
func (e *engine) preempt() (int, error) {
	if e.preemptor == nil {
		return 0, nil
	}
	e.victims = e.preemptor.AppendPreemptions(e.victims[:0])
	for _, v := range e.victims {
		if int64(v.Slot) >= int64(len(e.slots)) {
			return 0, e.breach("wants an attempt on slot %d killed, which does not exist", v.Slot)
		}
		s := &e.slots[v.Slot]
		if s.job == nil || s.task != v.Task || s.attempt != v.Attempt {
			return 0, e.breach("wants attempt %d at task %v on slot %d killed, which does not run", v.Attempt, v.Task, v.Slot)
		}
		if err := e.fail(v.Slot, sojourn.CausePreempted); err != nil {
			return 0, err
		}
	}
	return len(e.victims), nil
}
