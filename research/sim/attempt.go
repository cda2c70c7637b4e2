package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// The attempts of a run hold slots, one each:
//
//	                assigned      input and phase before there     time over
//	free --> held --------> waits ----------------------------> works --> finished, or failed by chance
//	          |               |                                   |
//	          | refused       | killed, node lost                 | killed, node lost
//	          v               v                                   v
//	        free            free, the task is pending again     free, the task is pending again
type attempts struct {
	arrivals
	seq     uint64             // attempts and refused assignments so far
	last    *job               // the job of the latest assignment, nil once it has finished
	refused []sojourn.SlotID   // assignments of this round that will be refused
	reports *heap.Heap[moment] // by slot: when its progress is reported next
}

// assign offers one slot, and reports whether it was taken.
func (r *attempts) assign(id sojourn.SlotID) (bool, error) {
	r.version++
	a, ok := r.policy.Assign(id)
	if r.cfg.Hooks.Assigned != nil {
		r.cfg.Hooks.Assigned(id, a, ok)
	}
	if !ok {
		return false, nil
	}
	return true, r.start(id, a)
}

// check returns the job of an assignment, or how the assignment breaks the contract.
func (r *attempts) check(id sojourn.SlotID, a sojourn.Assignment) (*job, error) {
	s := &r.slots[id]
	j := r.last
	if j == nil || j.ID != a.Task.Job {
		j = r.jobs[a.Task.Job]
		r.last = j
	}
	p := int(a.Task.Phase)
	switch {
	case a.Slot != id:
		return nil, r.breach("was offered slot %d and assigned slot %d", id, a.Slot)
	case j == nil:
		return nil, r.breach("assigned task %v of a job that is not live", a.Task)
	case p >= len(j.phases) || int64(a.Task.Index) >= int64(j.phases[p].known):
		return nil, r.breach("assigned task %v, which does not exist", a.Task)
	case !j.present:
		return nil, r.breach("assigned task %v before the release of its job at %v, or before those of its sequence", a.Task, j.told.Release)
	case j.told.Parallelism != 0 && j.running >= j.told.Parallelism:
		return nil, r.breach("assigned task %v while as many tasks of its job run as may: %d", a.Task, j.running)
	case j.phases[p].class != s.Class:
		return nil, r.breach("assigned task %v of class %d to slot %d of class %d", a.Task, j.phases[p].class, id, s.Class)
	case !j.open(p):
		for k, n := range j.WaitsFor(p) {
			if done := j.phases[k].finished; done < n {
				return nil, r.breach("assigned task %v after %d of %d tasks of phase %d", a.Task, done, n, k)
			}
		}
	}
	t := j.task(a.Task)
	switch {
	case t.state() != pending:
		return nil, r.breach("assigned task %v, which is not pending", a.Task)
	case a.Attempt != t.attempts()+1:
		return nil, r.breach("called an attempt at task %v number %d instead of %d", a.Task, a.Attempt, t.attempts()+1)
	case a.Locality > sojourn.Remote:
		return nil, r.breach("assigned task %v with locality %v", a.Task, a.Locality)
	}
	return j, nil
}

// start starts an attempt, or records that it will be refused.
func (r *attempts) start(id sojourn.SlotID, a sojourn.Assignment) error {
	j, err := r.check(id, a)
	if err != nil {
		return err
	}
	s, p := &r.slots[id], int(a.Task.Phase)
	if r.gangs != nil {
		r.gangs.Start(a, r.now)
		r.gangs.place(id, r.gangs.widths.Width(r.slots[id].Class), r.nodes)
	}
	*j.task(a.Task) = task(a.Attempt)<<2 | running
	j.phases[p].pending--
	j.running++
	r.pending(j, p)

	r.seq++
	r.free[s.Class].remove(id)
	s.job, s.task, s.attempt = j, a.Task, a.Attempt
	s.seq, s.start, s.ready, s.work = r.seq, r.now, r.now, never
	if err := r.locate(s, a.Source); err != nil {
		return err
	}
	if r.chance(r.cfg.Faults.Refuse, refusals, a) {
		r.refused = append(r.refused, id)
		return nil
	}
	r.res.Attempts++
	r.occupy(s, 1)
	if !j.started {
		j.started = true
		j.record.FirstStart = r.now
	}
	if err := r.drawTimes(s, a); err != nil {
		return err
	}
	if r.cfg.Progress > 0 {
		r.reportNext(id)
	}
	if s.ready = max(r.now, j.arrival(p)); s.ready == never {
		j.phases[p].waiting = append(j.phases[p].waiting, id)
	}
	if err := r.fetch(s); err != nil {
		return err
	}
	return r.begin(id)
}

// begin makes an attempt work, and plans its end, as far as its input has arrived or
// its arrival is known.
func (r *attempts) begin(id sojourn.SlotID) error {
	s := &r.slots[id]
	fetching := r.net.active(id)
	if s.ready == never || fetching && !r.net.Overlap {
		return nil
	}
	if s.work == never {
		s.work = max(r.now, s.ready)
	}
	if s.runs > never.Sub(s.work) {
		return outOfRange(s)
	}
	end := s.work.Add(s.runs)
	if fetching && !s.fails {
		return nil // it does not end before its input has arrived
	}
	end = max(end, r.now)
	r.running.Set(uint32(id), end, s.seq)
	if r.audit != nil {
		r.audit.occupied(s, end.Sub(s.start))
	}
	return nil
}

// refuse reports that an assignment was never started.
func (r *attempts) refuse(id sojourn.SlotID) error {
	s := &r.slots[id]
	err := r.tell(sojourn.Event{Kind: sojourn.TaskRefused, Task: s.task, Attempt: s.attempt, Slot: s.Slot})
	r.giveBack(s)
	r.release(s, Refused)
	return err
}

// end ends an attempt whose time is over.
func (r *attempts) end(id sojourn.SlotID) error {
	if r.slots[id].fails {
		return r.fail(id, sojourn.CauseTask)
	}
	return r.finish(id)
}

// finish ends an attempt in success.
func (r *attempts) finish(id sojourn.SlotID) error {
	s := &r.slots[id]
	j := s.job
	err := r.tell(sojourn.Event{
		Kind: sojourn.TaskFinished, Task: s.task, Attempt: s.attempt, Slot: s.Slot, Service: s.need, Cost: s.cost(s.need),
	})
	if err != nil {
		return err
	}
	r.res.Locality[s.locality]++
	r.occupy(s, -1)
	*j.task(s.task) = task(s.attempt)<<2 | finished // without a look at what it was, which is in no cache
	p := int(s.task.Phase)
	if j.homes != nil {
		j.homes[j.phases[p].first+int(s.task.Index)] = s.Node
	}
	ph, arrived := &j.phases[p], r.now
	if ph.delays {
		takes := delay(&j.Phases[p], int(s.task.Index))
		if takes > never.Sub(r.now) {
			return outOfRange(s)
		}
		arrived = r.now.Add(takes)
	}
	r.release(s, Finished)

	ph.finished++
	ph.arrived = max(ph.arrived, arrived)
	j.left--
	for k := range j.turnedBy(p, ph.finished-1) {
		r.pending(j, k)
		if j.open(k) {
			r.phaseReady(j, k)
		}
	}
	if ph.finished == ph.tasks {
		if err := r.phaseEnded(j, p); err != nil {
			return err
		}
	}
	if j.left == 0 {
		r.last = nil
		r.jobFinished(j)
	}
	return nil
}

// phaseEnded starts the work of attempts that waited for the end of phase p and of no
// other phase.
func (r *attempts) phaseEnded(j *job, p int) error {
	if !j.phases[p].ended {
		j.phases[p].ended = true
		if r.audit != nil {
			r.audit.phaseEnded(j, p)
		}
	}
	for k := range j.readersOf(p) {
		next := &j.phases[k]
		next.missing--
		next.input = max(next.input, j.phases[p].arrived)
		at := j.arrival(k)
		if at == never {
			continue
		}
		for _, id := range next.waiting {
			r.slots[id].ready = max(r.now, at)
			if err := r.begin(id); err != nil {
				return err
			}
		}
		next.waiting = next.waiting[:0]
	}
	return nil
}

// fail ends an attempt without success.
func (r *attempts) fail(id sojourn.SlotID, cause sojourn.Cause) error {
	s := &r.slots[id]
	err := r.tell(sojourn.Event{
		Kind: sojourn.TaskFailed, Task: s.task, Attempt: s.attempt, Slot: s.Slot, Cause: cause, Service: r.worked(s), Cost: s.cost(r.worked(s)),
	})
	if err != nil {
		return err
	}
	r.res.Wasted++
	r.occupy(s, -1)
	ph := &s.job.phases[s.task.Phase]
	if i := slices.Index(ph.waiting, id); i >= 0 {
		ph.waiting = slices.Delete(ph.waiting, i, i+1)
	}
	r.giveBack(s)
	r.release(s, [...]Outcome{
		sojourn.CauseTask: Failed, sojourn.CausePreempted: Preempted, sojourn.CauseSlotLost: SlotLost,
	}[cause])
	return nil
}

// giveBack makes the task on a slot pending again.
func (r *attempts) giveBack(s *slot) {
	p := int(s.task.Phase)
	s.job.task(s.task).set(pending)
	s.job.phases[p].pending++
	r.pending(s.job, p)
}

// release makes a slot free.
func (r *attempts) release(s *slot, outcome Outcome) {
	s.job.held += r.now.Sub(s.start)
	s.job.running--
	r.running.Remove(uint32(s.ID))
	if r.net.active(s.ID) {
		r.net.sum.Cut++
		r.net.stop(s.ID)
	}
	r.reports.Remove(uint32(s.ID))
	r.free[s.Class].add(s.ID)
	if r.gangs != nil {
		r.gangs.End(s.ID)
		r.gangs.leave(s.ID)
	}
	if r.cfg.Hooks.Attempt != nil {
		r.cfg.Hooks.Attempt(&TaskRecord{
			Task: s.task, Attempt: s.attempt, Node: s.Node, Slot: s.ID, Class: s.Class, Start: s.start, End: r.now,
			Outcome: outcome, Locality: s.locality, Source: s.source,
		})
	}
	s.job = nil
}

// worked returns how long the attempt on s has been working.
func (r *attempts) worked(s *slot) time.Duration {
	return min(max(0, r.now.Sub(min(s.work, r.now))), s.need)
}

// cost returns what the attempt on s costs once it has been working for some time.
func (s *slot) cost(worked time.Duration) uint64 {
	costs := s.job.Times[s.task.Phase].Costs
	if costs == nil {
		return 0
	}
	if worked == s.need {
		return costs[s.task.Index]
	}
	return portion(costs[s.task.Index], worked, s.need)
}

// portion returns n times worked over need, which is not less, rounded down.
func portion(n uint64, worked, need time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(worked), n)
	q, _ := bits.Div64(hi, lo, max(1, uint64(need)))
	return q
}

// reportProgress reports the progress of the attempt on a slot.
func (r *attempts) reportProgress(id sojourn.SlotID) error {
	s := &r.slots[id]
	worked := r.worked(s)
	share := portion(sojourn.MaxProgress, worked, s.need)
	r.reportNext(id)
	return r.tell(sojourn.Event{
		Kind: sojourn.TaskProgress, Task: s.task, Attempt: s.attempt, Slot: s.Slot,
		Progress: uint16(share), Service: worked,
	})
}

// reportNext plans the next report of the progress of the attempt on a slot.
func (r *attempts) reportNext(id sojourn.SlotID) {
	r.reports.Remove(uint32(id))
	if at := r.now.Add(r.cfg.Progress); at > r.now && at < never {
		r.reports.Set(uint32(id), moment{at, r.slots[id].seq})
	}
}

// fetch starts the transfer of the input of the attempt on s, if it has to transfer
// it.
func (r *attempts) fetch(s *slot) error {
	if r.net == nil || s.locality == sojourn.AnyNode || s.locality == sojourn.NodeLocal {
		return nil
	}
	bytes := r.net.Split
	if sizes := s.job.Phases[s.task.Phase].Bytes; sizes != nil {
		bytes = sizes[s.task.Index]
	}
	if bytes > maxTransfer {
		return fmt.Errorf("sim: task %v reads %d bytes over the network, more than %d", s.task, bytes, int64(maxTransfer))
	}
	if bytes > 0 {
		r.net.start(s, bytes, r.now, r.res.Attempts)
	}
	return nil
}

// nextTransfer returns when the next transfer ends.
func (r *attempts) nextTransfer() (moment, bool) {
	if r.net == nil {
		return moment{}, false
	}
	return r.net.ends.MinKey()
}

// endTransfers continues the attempts whose input has arrived now.
func (r *attempts) endTransfers() error {
	for m, ok := r.nextTransfer(); ok && m.at == r.now; m, ok = r.nextTransfer() {
		id, _ := r.net.ends.Min()
		if err := r.endTransfer(sojourn.SlotID(id)); err != nil {
			return err
		}
	}
	return nil
}

// endTransfer ends a transfer that has brought all the input.
func (r *attempts) endTransfer(id sojourn.SlotID) error {
	n := r.net
	n.sum.Finished++
	n.time = n.time.Add(wide.From64(uint64(r.now.Sub(n.flows[id].start))))
	n.stop(id)
	return r.begin(id)
}
