package sim

import (
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// offer offers the free slots until the policy wants none: again if any was taken, since
// a slot that was declined may be wanted then. Assignments that are refused are reported
// when every slot has been offered.
func (e *engine) offer() error {
	for {
		before := e.seq
		for class := range e.free {
			if err := e.offerClass(sojourn.Class(class)); err != nil {
				return err
			}
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

// offerClass offers the free slots of a class: those that a Seeker names, or each of
// them once, in the order of ID.
func (e *engine) offerClass(class sojourn.Class) error {
	switch {
	case len(e.free[class]) == 0:
		return nil
	case e.seeker == nil:
		return e.offerEach(class)
	}
	for {
		id, ok := e.seeker.Seek(class)
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

// assign offers one slot, and reports whether it was taken.
func (e *engine) assign(id sojourn.SlotID) (bool, error) {
	a, ok := e.policy.Assign(id)
	if e.cfg.Hooks.Assigned != nil {
		e.cfg.Hooks.Assigned(id, a, ok)
	}
	if !ok {
		return false, nil
	}
	return true, e.start(id, a)
}

// start starts an attempt, or records that it is to be refused.
func (e *engine) start(id sojourn.SlotID, a sojourn.Assignment) error {
	s := &e.slots[id]
	j := e.last
	if j == nil || j.ID != a.Task.Job {
		j = e.jobs[a.Task.Job]
		e.last = j
	}
	p := int(a.Task.Phase)
	switch {
	case a.Slot != id:
		return e.breach("was offered slot %d and assigned slot %d", id, a.Slot)
	case j == nil:
		return e.breach("assigned task %v of a job that is not live", a.Task)
	case p >= len(j.phases) || int64(a.Task.Index) >= int64(j.Phases[p].Tasks):
		return e.breach("assigned task %v, which does not exist", a.Task)
	case j.told.Phases[p].Class != s.Class:
		return e.breach("assigned task %v of class %d to slot %d of class %d", a.Task, j.told.Phases[p].Class, id, s.Class)
	case p > 0 && j.phases[p-1].finished < j.Threshold(p):
		return e.breach("assigned task %v after %d of %d tasks of the phase before", a.Task, j.phases[p-1].finished, j.Threshold(p))
	}
	t := j.task(a.Task)
	switch {
	case t.state() != pending:
		return e.breach("assigned task %v, which is not pending", a.Task)
	case a.Attempt != t.attempts()+1:
		return e.breach("called an attempt at task %v number %d instead of %d", a.Task, a.Attempt, t.attempts()+1)
	case int(a.Locality) >= len(e.res.Locality):
		return e.breach("assigned task %v with locality %d", a.Task, a.Locality)
	}
	*t = task(a.Attempt)<<2 | running
	j.phases[p].pending--
	e.tally.pending(j, p)

	e.seq++
	e.free[s.Class].remove(id)
	s.job, s.task, s.attempt = j, a.Task, a.Attempt
	s.seq, s.start, s.ready, s.work = e.seq, e.now, e.now, never
	if err := e.locate(s, a.Source); err != nil {
		return err
	}
	if e.chance(e.cfg.Faults.Refuse, refusals, a) {
		e.refused = append(e.refused, id)
		return nil
	}
	e.res.Attempts++
	e.tally.classes[s.Class].busy++
	if !j.started {
		j.started = true
		j.record.FirstStart = e.now
	}
	if err := e.drawTimes(s, a); err != nil {
		return err
	}
	if e.cfg.Progress > 0 {
		e.reportNext(id)
	}
	if p > 0 && j.Phases[p].After != sojourn.NoBarrier {
		before := &j.phases[p-1]
		s.ready = max(e.now, before.arrived)
		if before.finished < j.Phases[p-1].Tasks {
			j.phases[p].waiting = append(j.phases[p].waiting, id)
			s.ready = never
		}
	}
	if err := e.fetch(s); err != nil {
		return err
	}
	return e.begin(id)
}

// begin lets an attempt work, and plans its end, as far as what it needs is there or
// is known to come.
func (e *engine) begin(id sojourn.SlotID) error {
	s := &e.slots[id]
	fetching := e.net.active(id)
	if s.ready == never || fetching && !e.net.Overlap {
		return nil
	}
	if s.work == never {
		s.work = max(e.now, s.ready)
	}
	if s.runs > never.Sub(s.work) {
		return e.outOfRange(s)
	}
	end := s.work.Add(s.runs)
	if fetching && !s.fails {
		return nil // it does not end before its input is there
	}
	end = max(end, e.now)
	e.running.Set(uint32(id), moment{end, s.seq})
	if e.audit != nil {
		e.audit.occupied(s, end.Sub(s.start))
	}
	return nil
}

// refuse reports that an assignment was never started.
func (e *engine) refuse(id sojourn.SlotID) error {
	s := &e.slots[id]
	err := e.tell(sojourn.Event{Kind: sojourn.TaskRefused, Task: s.task, Attempt: s.attempt, Slot: s.Slot})
	e.giveBack(s)
	e.release(s, Refused)
	return err
}

// end ends an attempt whose time is over.
func (e *engine) end(id sojourn.SlotID) error {
	if e.slots[id].fails {
		return e.fail(id, sojourn.CauseTask)
	}
	return e.finish(id)
}

// finish ends an attempt in success.
func (e *engine) finish(id sojourn.SlotID) error {
	s := &e.slots[id]
	j := s.job
	err := e.tell(sojourn.Event{
		Kind: sojourn.TaskFinished, Task: s.task, Attempt: s.attempt, Slot: s.Slot, Service: s.need,
	})
	if err != nil {
		return err
	}
	e.res.Locality[s.locality]++
	e.tally.classes[s.Class].busy--
	j.task(s.task).set(finished)
	p := int(s.task.Phase)
	if j.homes != nil {
		j.homes[j.phases[p].first+int(s.task.Index)] = s.Node
	}
	takes := delay(&j.Phases[p], int(s.task.Index))
	if takes > never.Sub(e.now) {
		return e.outOfRange(s)
	}
	arrived := e.now.Add(takes)
	e.release(s, Finished)

	ph := &j.phases[p]
	ph.finished++
	if p+1 < len(j.phases) {
		e.tally.pending(j, p+1)
	}
	ph.arrived = max(ph.arrived, arrived)
	j.left--
	if p+1 < len(j.phases) && ph.finished == j.Threshold(p+1) {
		e.phaseReady(j, p+1)
	}
	if ph.finished == j.Phases[p].Tasks {
		if err := e.phaseEnded(j, p); err != nil {
			return err
		}
	}
	if j.left == 0 {
		e.jobFinished(j)
	}
	return nil
}

// phaseReady records that the tasks of a phase may start. What happens after
// outputs were lost does not count again.
func (e *engine) phaseReady(j *job, p int) {
	if !j.phases[p].ready {
		j.phases[p].ready = true
		if e.audit != nil {
			e.audit.phaseReady(j, p)
		}
	}
}

// phaseEnded lets the attempts work that waited for the end of phase p.
func (e *engine) phaseEnded(j *job, p int) error {
	if !j.phases[p].ended {
		j.phases[p].ended = true
		if e.audit != nil {
			e.audit.phaseEnded(j, p)
		}
	}
	if p+1 == len(j.phases) {
		return nil
	}
	next := &j.phases[p+1]
	for _, id := range next.waiting {
		e.slots[id].ready = max(e.now, j.phases[p].arrived)
		if err := e.begin(id); err != nil {
			return err
		}
	}
	next.waiting = next.waiting[:0]
	return nil
}

// fail ends an attempt without success.
func (e *engine) fail(id sojourn.SlotID, cause sojourn.Cause) error {
	s := &e.slots[id]
	err := e.tell(sojourn.Event{
		Kind: sojourn.TaskFailed, Task: s.task, Attempt: s.attempt, Slot: s.Slot, Cause: cause, Service: e.worked(s),
	})
	if err != nil {
		return err
	}
	e.res.Wasted++
	e.tally.classes[s.Class].busy--
	ph := &s.job.phases[s.task.Phase]
	if i := slices.Index(ph.waiting, id); i >= 0 {
		ph.waiting = slices.Delete(ph.waiting, i, i+1)
	}
	e.giveBack(s)
	e.release(s, [...]Outcome{
		sojourn.CauseTask: Failed, sojourn.CausePreempted: Preempted, sojourn.CauseSlotLost: SlotLost,
	}[cause])
	return nil
}

// giveBack makes the task on a slot pending again.
func (e *engine) giveBack(s *slot) {
	p := int(s.task.Phase)
	s.job.task(s.task).set(pending)
	s.job.phases[p].pending++
	e.tally.pending(s.job, p)
}

// release makes a slot free.
func (e *engine) release(s *slot, outcome Outcome) {
	s.job.held += e.now.Sub(s.start)
	e.running.Remove(uint32(s.ID))
	if e.net.active(s.ID) {
		e.net.sum.Cut++
		e.net.stop(s.ID)
	}
	e.reports.Remove(uint32(s.ID))
	e.free[s.Class].add(s.ID)
	if e.cfg.Hooks.Attempt != nil {
		e.cfg.Hooks.Attempt(&TaskRecord{
			Task: s.task, Attempt: s.attempt, Node: s.Node, Slot: s.ID, Start: s.start, End: e.now,
			Outcome: outcome, Locality: s.locality, Source: s.source,
		})
	}
	s.job = nil
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

// worked returns how long the attempt on s has been working.
func (e *engine) worked(s *slot) time.Duration {
	return min(max(0, e.now.Sub(min(s.work, e.now))), s.need)
}

// reportProgress reports how far the attempt on a slot is.
func (e *engine) reportProgress(id sojourn.SlotID) error {
	s := &e.slots[id]
	worked := e.worked(s)
	hi, lo := bits.Mul64(uint64(worked), sojourn.MaxProgress)
	share, _ := bits.Div64(hi, lo, max(1, uint64(s.need)))
	e.reportNext(id)
	return e.tell(sojourn.Event{
		Kind: sojourn.TaskProgress, Task: s.task, Attempt: s.attempt, Slot: s.Slot,
		Progress: uint16(share), Service: worked,
	})
}

// reportNext plans the next report of the progress of the attempt on a slot.
func (e *engine) reportNext(id sojourn.SlotID) {
	e.reports.Remove(uint32(id))
	if at := e.now.Add(e.cfg.Progress); at > e.now && at < never {
		e.reports.Set(uint32(id), moment{at, e.slots[id].seq})
	}
}

// A slotSet is a set of slots, as a bitmap.
type slotSet []uint64

func (s slotSet) has(id sojourn.SlotID) bool {
	return int64(id>>6) < int64(len(s)) && s[id>>6]&(1<<(id&63)) != 0
}
func (s slotSet) add(id sojourn.SlotID)    { s[id>>6] |= 1 << (id & 63) }
func (s slotSet) remove(id sojourn.SlotID) { s[id>>6] &^= 1 << (id & 63) }
