package sojourntest

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A trial is one random history. It extends a witness: it chooses the calls and does the
// duties of a driver.
type trial struct{ witness }

func newTrial(newPolicy func() sojourn.Policy, o *Options, src source) *trial {
	tr := &trial{witness{
		draws: newDraws(o, src), newPolicy: newPolicy,
		used: map[sojourn.JobID]bool{}, declined: map[sojourn.SlotID]bool{}, met: map[meeting]bool{},
	}}
	tr.phase = tr.src.below(fullEvery)
	tr.curious = tr.oneIn(4)
	if tr.extreme = tr.oneIn(4); tr.extreme {
		tr.extremeNames()
		if tr.oneIn(4) {
			tr.end = endOfTime
		}
	}
	tr.begin(len(o.Changed) > 0 && tr.oneIn(4))
	return tr
}

// Orders of offering.
const (
	ascending = iota
	descending
	seeking
	numOrders = iota
)

// round offers every free slot of every class, and reports whether any was taken.
func (tr *trial) round(order int) (taken bool) {
	if order == seeking && tr.s.seeker != nil {
		taken = tr.seekRound()
	} else {
		ids := tr.m.free()
		if order == descending {
			slices.Reverse(ids)
		}
		for _, id := range ids {
			taken = tr.assign(id) || taken
		}
	}
	if taken || tr.o.idles() {
		return taken // a slot that was declined in this round may be taken in the next one
	}
	if s, t := tr.m.unserved(); s != nil {
		tr.fail(lawConservation, tr.h, "slot %d stays free after a round without an assignment, although task %v could start on it", s.ID, t.id)
	}
	return false
}

func (tr *trial) seekRound() (taken bool) {
	for _, class := range tr.names.classes {
		for {
			id, ok := tr.s.seeker.Seek(class)
			if !ok {
				break
			}
			if !tr.assign(id) {
				tr.fail(lawSeek, tr.h, "Seek(%d) = %d, but Assign declines that slot", class, id)
			}
			taken = true
		}
		for _, id := range tr.m.free() {
			if tr.m.slot(id).Class == class && tr.assign(id) {
				tr.fail(lawSeek, tr.h, "Seek(%d) = false, but Assign takes slot %d", class, id)
			}
		}
	}
	return taken
}

// settle does a driver's duties at this instant, by one of two loops that drivers use. The
// first offers until nothing is taken, and reports Tick as long as the policy asks for it.
// The second first asks whether a Tick is due.
func (tr *trial) settle(order int) (taken bool) {
	if tr.src.below(2) == 0 && tr.due() {
		tr.tick()
	}
	for ticked := false; ; ticked = true {
		progress := false
		for tr.round(order) {
			progress = true
		}
		taken = taken || progress
		if !tr.due() {
			return taken
		}
		if ticked && !progress {
			tr.fail(lawWake, tr.h, "NextWake() = %v, true, at %v after a Tick and a round without an assignment", tr.last.wake, tr.m.now)
		}
		tr.tick()
	}
}

// due reports whether a Tick is due. It also asks the twin, as the loop of a driver does.
func (w *witness) due() bool {
	if w.twin.waker != nil {
		at, ok := w.twin.waker.NextWake()
		if v := (&view{wake: at, waits: ok}); v.waits != w.last.waits || ok && at != w.last.wake {
			w.fail(lawPurity, w.h, "NextWake() = %v, %v, but %v, %v where nothing was asked before", w.last.wake, w.last.waits, at, ok)
		}
	}
	return w.last.due(w.m.now)
}

func (tr *trial) tick() { tr.observe(sojourn.Event{Kind: sojourn.Tick, At: tr.m.now}) }

// wake lets time pass until NextWake, and settles.
func (tr *trial) wake(order int) (taken bool) {
	tr.observe(sojourn.Event{Kind: sojourn.Tick, At: max(tr.m.now, tr.last.wake)})
	return tr.settle(order)
}

// drain lets everything end, and then uses all job IDs again.
func (tr *trial) drain() {
	order := tr.src.below(numOrders)
	tr.finishAll(order)
	again := sorted(tr.used)
	if len(tr.m.jobs) > 0 {
		again = nil // what jobs wait for is after the last instant
	}
	for _, id := range again {
		job := tr.plainJob(id)
		if job == nil {
			break
		}
		if err := tr.observe(sojourn.Event{Kind: sojourn.JobArrived, At: tr.m.now, Job: job}); err != nil && !tr.o.Rejects {
			tr.fail(lawForgetting, tr.h, "job %d has ended; when it arrives again: %v", id, err)
		}
	}
	tr.finishAll(order)
	if len(tr.h) > 0 {
		tr.compareTwin()
	}
	tr.checkJobs()
}

// finishAll runs all live jobs to their end. It cancels those that starve, if they may. It
// adds the slots that it needs.
func (tr *trial) finishAll(order int) {
	tr.m.each(func(j *modelJob, t *modelTask) {
		if t.state == held && !j.cancelled {
			tr.observe(sojourn.Event{Kind: sojourn.TaskReady, At: tr.m.now, Task: t.id})
		}
	})
	for _, node := range sorted(tr.m.down) {
		if tr.m.down[node] {
			tr.observe(sojourn.Event{Kind: sojourn.NodeUp, At: tr.m.now, Slot: sojourn.Slot{Node: node}})
		}
	}
	for _, name := range poolNames {
		if p := tr.m.pools[name]; p != nil && !p.IsZero() {
			tr.observe(sojourn.Event{Kind: sojourn.PoolChanged, At: tr.m.now, Pool: &sojourn.Pool{Name: name}})
		}
	}
	const (
		patience = 1000 // Ticks without an assignment while something could start
		enough   = 20   // the same, if the policy may starve jobs
	)
	for ticks := 0; ticks < patience; {
		if tr.settle(order) {
			ticks = 0
		}
		if busy := tr.m.busy(); len(busy) > 0 {
			ev := report(sojourn.TaskFinished, busy[0])
			ev.At, ev.Service = tr.m.now.Add(time.Second), time.Second
			tr.observe(ev)
			continue
		}
		if s, t := tr.m.unserved(); s != nil {
			if tr.o.idles() && tr.m.now > lastTime {
				return // what it waits for may be after the last instant
			}
			if tr.o.MayStarve && (!tr.last.waits || ticks == enough) {
				tr.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: tr.m.now, Job: &sojourn.Job{ID: t.id.Job}})
				ticks = 0
				continue
			}
			if !tr.last.waits {
				tr.fail(lawService, tr.h, "slot %d is free and task %v could start on it, but nothing is running and there is no NextWake", s.ID, t.id)
			}
			tr.wake(order)
			ticks++
			continue
		}
		if len(tr.m.jobs) == 0 {
			return
		}
		if j := tr.m.doneButOpen(); j != nil {
			closed := clone(j.spec)
			closed.Open = false
			tr.observe(sojourn.Event{Kind: sojourn.JobRevised, At: tr.m.now, Job: closed})
			continue
		}
		if at, ok := tr.m.nextRelease(); ok {
			if !tr.last.waits || tr.last.wake > at {
				tr.fail(lawRelease, tr.h, "NextWake() = %v, %v, but a job waits for its release time %v", tr.last.wake, tr.last.waits, at)
			}
			tr.wake(order)
			continue
		}
		tr.addMissing()
	}
	_, t := tr.m.unserved()
	tr.fail(lawService, tr.h, "task %v could start but was not served within %d Ticks at NextWake", t.id, patience)
}

// addMissing adds a slot of a class that a startable task waits for.
func (tr *trial) addMissing() {
	for _, class := range tr.names.classes {
		if tr.m.startable(class) != nil {
			id := lastSlot + sojourn.SlotID(class)
			tr.observe(sojourn.Event{Kind: sojourn.SlotAdded, At: tr.m.now, Slot: sojourn.Slot{ID: id, Class: class}})
			return
		}
	}
	tr.fail(lawCompletion, tr.h, "%d jobs are live, but no task is running and none could start", len(tr.m.jobs))
}
