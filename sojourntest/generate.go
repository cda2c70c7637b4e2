package sojourntest

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// drive makes random calls, most of which fit.
func (tr *trial) drive() {
	actions := tr.actions()
	// The history begins with some slots and jobs, since an empty cluster shows
	// little.
	for range tr.between(0, 3) {
		tr.fitting(sojourn.SlotAdded)
	}
	for range tr.between(0, 3) {
		tr.fitting(sojourn.JobArrived)
	}
	for range 2 {
		for tr.src.more() {
			for !pick(&tr.draws, actions...)() { // ends, since some kind of event always fits
				if !tr.src.more() {
					break
				}
			}
		}
		tr.misuse()
	}
}

// actions returns the possible actions of a step, each as often as its weight. An
// action reports whether it was possible.
func (tr *trial) actions() (list []func() bool) {
	add := func(weight int, action func() bool) {
		for range weight {
			list = append(list, action)
		}
	}
	for kind := sojourn.SlotAdded; kind.Valid(); kind++ {
		weight := 1
		switch kind {
		case sojourn.SlotAdded, sojourn.JobRevised, sojourn.TaskFailed:
			weight = 2
		case sojourn.JobArrived, sojourn.TaskFinished:
			weight = 4
		}
		add(weight, func() bool { return tr.fitting(kind) })
	}
	add(6, tr.misfit)
	add(1, tr.unsupported)
	add(3, func() bool {
		free := tr.m.free()
		if len(free) > 0 {
			tr.assign(pick(&tr.draws, free...))
		}
		return len(free) > 0
	})
	add(4, func() bool { tr.round(tr.src.below(numOrders)); return true })
	add(2, func() bool { tr.settle(tr.src.below(numOrders)); return true })
	add(2, func() bool {
		if tr.last.waits {
			tr.wake(tr.src.below(numOrders))
		}
		return tr.last.waits
	})
	add(8, tr.preempt) // most lists are empty
	return list
}

// preempt kills the attempt that the policy most wants killed, or says that it may not be killed.
func (tr *trial) preempt() bool {
	if tr.s.preemptor == nil {
		return false
	}
	list := tr.s.preemptor.AppendPreemptions(nil)
	if len(list) == 0 {
		return false
	}
	ev := report(sojourn.TaskFailed, tr.m.slot(list[0].Slot))
	ev.At, ev.Cause = tr.later(), sojourn.CausePreempted
	if tr.oneIn(3) {
		ev = report(sojourn.TaskPinned, tr.m.slot(list[0].Slot))
		ev.At = tr.m.now
	}
	tr.observe(ev)
	return true
}

// fitting reports an event that fits, if there is any of that kind.
func (tr *trial) fitting(kind sojourn.EventKind) bool {
	list := tr.candidates(kind)
	if len(list) == 0 {
		return false
	}
	ev := pick(&tr.draws, list...)
	tr.fill(&ev)
	tr.observe(ev)
	if ev.Kind == sojourn.TaskHeld && ev.Attempt > 1 && tr.oneIn(2) { // which is seldom met otherwise
		tr.observe(sojourn.Event{Kind: sojourn.TaskReady, At: tr.later(), Task: ev.Task, Attempt: ev.Attempt - 1})
	}
	return true
}

// unsupported reports a valid job that the policy may not support.
func (tr *trial) unsupported() bool {
	const features = sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureParallelism | sojourn.FeatureRelease | sojourn.FeatureSequence | sojourn.FeaturePriority | sojourn.FeatureOpen
	if tr.o.MaxPhases == 0 && !tr.o.NeedsEstimates && tr.o.Classes == nil && tr.o.Supports == nil && tr.o.features&features == features {
		return false // the policy supports all jobs
	}
	j := tr.anyJob(pick(&tr.draws, tr.names.jobs...), max(3, tr.o.MaxPhases+1))
	if missing := features &^ tr.o.features; missing != 0 && tr.oneIn(2) {
		p := pick(&tr.draws, phasesOf(j)...)
		if missing&sojourn.FeatureNeeds != 0 && tr.oneIn(2) {
			p.Needs, p.After = []int{}, 0
		}
		p.Held = missing&sojourn.FeatureHeld != 0 && tr.oneIn(2)
		if missing&sojourn.FeatureParallelism != 0 && tr.oneIn(2) {
			j.Parallelism = uint32(tr.between(1, 3))
		}
		if missing&sojourn.FeatureRelease != 0 && tr.oneIn(2) {
			j.Release = 1 // what has come already is a feature, too
		}
		if missing&sojourn.FeatureSequence != 0 && tr.oneIn(2) {
			j.Sequence = "a"
		}
		j.Open = missing&sojourn.FeatureOpen != 0 && tr.oneIn(2)
		if missing&sojourn.FeaturePriority != 0 && tr.oneIn(2) {
			j.Priority = pick[int32](&tr.draws, -1<<31, -1, 1, 1<<31-1)
		}
	}
	if tr.o.Classes != nil {
		last := &j.Phases[len(j.Phases)-1]
		for tr.oneIn(2) && slices.Contains(tr.o.Classes, last.Class) {
			last.Class++
		}
	}
	if tr.o.NeedsEstimates && tr.oneIn(2) {
		j.Phases[0].Estimate, j.Phases[0].Estimates = 0, nil
	}
	kind := pick(&tr.draws, sojourn.JobArrived, sojourn.JobArrived, sojourn.JobAdopted)
	tr.observe(sojourn.Event{Kind: kind, At: tr.later(), Job: j})
	return true
}

// phasesOf lists the phases of a job.
func phasesOf(j *sojourn.Job) (list []*sojourn.Phase) {
	for i := range j.Phases {
		list = append(list, &j.Phases[i])
	}
	return list
}

// lastKind returns the last kind of event that this version has.
func lastKind() (last sojourn.EventKind) {
	for (last + 1).Valid() {
		last++
	}
	return last
}

// misfit reports events of a kind that do not fit: one for each error that is
// possible now.
func (tr *trial) misfit() bool {
	kind := sojourn.EventKind(tr.between(int(sojourn.SlotAdded), int(lastKind())+2))
	if !kind.Valid() {
		kind = sojourn.JobRevised // which can be wrong in the most ways
	}
	list := tr.neighbours(kind)
	at := tr.later()
	for i := range list {
		list[i].Kind, list[i].At = kind, at
	}
	first := list[0]
	for _, k := range []sojourn.EventKind{0, lastKind() + 1, 255} {
		ev := first
		ev.Kind = k
		list = append(list, ev)
	}
	for _, at := range []sojourn.Time{tr.m.now - 1, -1} {
		ev := first
		ev.At = at
		list = append(list, ev)
	}
	var found [len(sentinels)][]sojourn.Event
	for i := range list {
		if n := slices.Index(sentinels[:], tr.m.check(&list[i])); n >= 0 {
			found[n] = append(found[n], list[i])
		}
	}
	for _, events := range found {
		if len(events) > 0 {
			tr.observe(pick(&tr.draws, events...))
		}
	}
	return true
}
