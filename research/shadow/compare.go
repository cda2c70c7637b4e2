package shadow

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn"
)

// event tells the candidate an event in its own terms: it numbers attempts by itself, knows no job that it
// refused, and no slot that runs one.
func (w *watcher) event(ev sojourn.Event) error {
	if err := w.truth.Observe(ev); err != nil {
		return fmt.Errorf("shadow: the active policy accepts what does not fit: %w", err)
	}
	defer w.enter(&ev)
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.SlotRemoved:
		return w.slot(ev)
	case sojourn.JobArrived, sojourn.JobAdopted:
		return w.arrival(ev)
	case sojourn.JobRevised:
		return w.revision(ev)
	case sojourn.JobCancelled:
		if w.foreign[ev.Job.ID] {
			return nil
		}
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone:
		if w.foreign[ev.Task.Job] {
			return nil
		}
		ev.Attempt = 0
	case sojourn.OutputLost:
		if w.foreign[ev.Task.Job] {
			return nil
		}
		_, ev.Attempt = w.candidate.Task(ev.Task)
	case sojourn.PoolChanged:
		if ev.CheckSupport(w.supports) == nil && w.candidate.Observe(ev) == nil {
			return nil
		}
		return w.observe(sojourn.Event{Kind: sojourn.Tick, At: ev.At}) // it has no pools, or treats them otherwise
	case sojourn.TaskAdopted:
		return w.adopted(ev)
	case sojourn.TaskProgress, sojourn.TaskPinned, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		return w.attempt(ev)
	}
	return w.observe(ev)
}

// observe tells the candidate an event that it must not refuse.
func (w *watcher) observe(ev sojourn.Event) error {
	if err := w.candidate.Observe(ev); err != nil {
		return fmt.Errorf("shadow: the candidate refuses an event: %w", err)
	}
	return nil
}

// slot tells that a slot comes or leaves, unless it is away.
func (w *watcher) slot(ev sojourn.Event) error {
	p := w.places[ev.Slot.ID]
	if p == nil {
		p = new(place)
		w.places[ev.Slot.ID] = p
	}
	switch {
	case ev.Kind == sojourn.SlotAdded:
		p.slot, p.leaving = ev.Slot, false
	case p.busy:
		p.leaving = true
	default:
		delete(w.places, ev.Slot.ID)
	}
	if p.away {
		return nil
	}
	return w.observe(ev)
}

// arrival tells of a job, which the candidate may refuse.
func (w *watcher) arrival(ev sojourn.Event) error {
	err := ev.CheckSupport(w.supports)
	if err == nil {
		err = w.candidate.Observe(ev)
	}
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, sojourn.ErrRejected) && !errors.Is(err, sojourn.ErrUnsupported):
		return fmt.Errorf("shadow: the candidate refuses an event: %w", err)
	}
	w.refused(ev.Job.ID)
	return nil
}

// revision tells what a job is now. The candidate may have chosen a task that is no longer there, so it may
// refuse the revision. The job is then cancelled, for the candidate, and refused from then on.
func (w *watcher) revision(ev sojourn.Event) error {
	if w.foreign[ev.Job.ID] || ev.CheckSupport(w.supports) == nil && w.candidate.Observe(ev) == nil {
		return nil
	}
	w.refused(ev.Job.ID)
	if j, ok := w.candidate.Job(ev.Job.ID); !ok || j.Cancelled {
		return nil
	}
	return w.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: ev.At, Job: &sojourn.Job{ID: ev.Job.ID}})
}

// refused remembers that a job is none to the candidate.
func (w *watcher) refused(id sojourn.JobID) {
	w.foreign[id] = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Refused++
}

// attempt tells what becomes of an attempt. A slot that was away is back if the attempt has ended.
func (w *watcher) attempt(ev sojourn.Event) error {
	p := w.places[ev.Slot.ID]
	if ev.Kind == sojourn.TaskProgress || ev.Kind == sojourn.TaskPinned {
		if p.away {
			return nil
		}
		ev.Attempt = p.number
		return w.observe(ev)
	}
	away := p.away
	p.busy, p.away = false, false
	if p.leaving {
		delete(w.places, ev.Slot.ID)
	}
	switch {
	case !away:
		ev.Attempt = p.number
		return w.observe(ev)
	case p.leaving:
		return nil
	}
	return w.observe(sojourn.Event{Kind: sojourn.SlotAdded, At: ev.At, Slot: p.slot})
}

// start asks the candidate about a start of the active policy, and tells it the truth.
func (w *watcher) start(as sojourn.Assignment) error {
	if err := w.truth.Take(as); err != nil {
		return fmt.Errorf("shadow: the active policy decides what cannot be: %w", err)
	}
	ev := sojourn.Event{Kind: sojourn.TaskAdopted, At: w.truth.Now(), Task: as.Task, Slot: sojourn.Slot{ID: as.Slot}}
	if w.foreign[as.Task.Job] {
		return w.adopted(ev)
	}
	if w.waker != nil {
		if at, ok := w.waker.NextWake(); ok && at <= ev.At {
			if err := w.observe(sojourn.Event{Kind: sojourn.Tick, At: ev.At}); err != nil {
				return err
			}
		}
	}
	other, ok := w.candidate.Assign(as.Slot)
	w.compare(ev.At, as, other, ok)
	if ok && other.Task == as.Task {
		p := w.places[as.Slot]
		p.number, p.busy = other.Attempt, true
		return nil
	}
	if ok {
		err := w.observe(sojourn.Event{Kind: sojourn.TaskRefused, At: ev.At, Task: other.Task, Attempt: other.Attempt, Slot: ev.Slot})
		if err != nil {
			return err
		}
	}
	return w.adopted(ev)
}

// adopted tells the candidate of an attempt that it did not start, under the number that is next for it. A slot that
// runs a job which it refused goes away.
func (w *watcher) adopted(ev sojourn.Event) error {
	p := w.places[ev.Slot.ID]
	p.busy = true
	if w.foreign[ev.Task.Job] {
		p.away = true
		return w.observe(sojourn.Event{Kind: sojourn.SlotRemoved, At: ev.At, Slot: sojourn.Slot{ID: ev.Slot.ID}})
	}
	_, last := w.candidate.Task(ev.Task)
	p.number, ev.Attempt = last+1, last+1
	return w.observe(ev)
}

// compare counts a decision.
func (w *watcher) compare(at sojourn.Time, active, candidate sojourn.Assignment, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.report
	r.Decisions++
	switch {
	case !ok:
		r.Declined++
	case candidate.Task == active.Task:
		r.SameTask++
		fallthrough
	case candidate.Task.Job == active.Task.Job:
		r.SameJob++
		return
	}
	if r.First == nil {
		r.First = &Divergence{Decision: r.Decisions, At: at, Active: active, Candidate: candidate, Declined: !ok}
	}
}
