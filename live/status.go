package live

import (
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Status is what a pool does at one instant.
type Status struct {
	Now   sojourn.Time // since the epoch of Options.Now
	Jobs  []JobStatus  // live jobs, the one to be served first at the front if the policy ranks them
	Slots []SlotStatus // by ID

	// Ignoring are the attempts that ignore that their contexts have ended. Several may be at one task.
	Ignoring []Task
	Closed   bool

	// Alone is the task that runs alone since it ran when the process before ended: nothing else is started meanwhile. It is nil
	// if there is none.
	Alone *Task

	Err      error // why the pool is broken or stalled, or that it is a standby: see [Pool.Err]
	Observer error // Options.Observer has panicked so, and is told nothing more
}

// JobStatus is what is known of a live job.
type JobStatus struct {
	ID       sojourn.JobID
	Name     string
	Pool     string
	Age      time.Duration // since Submit
	Deadline sojourn.Time  // 0 if there is none
	Void     string        // why what the policy has promised no longer holds; see [sojourn.Promiser]
	Progress Progress
}

// SlotStatus is what is known of a slot.
type SlotStatus struct {
	Slot    sojourn.Slot
	Busy    bool
	Leaving bool
	Task    sojourn.TaskID // that runs there, if Busy
	Attempt uint32
	Stopped error // why the context of the attempt has ended; nil if it has not
}

// Status returns what the pool does now. It looks at all jobs and slots.
func (p *Pool) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.status()
	jobs := p.jobs.all()
	promiser, promises := policyAs[sojourn.Promiser](p)
	listed := map[sojourn.JobID]bool{}
	list := func(h *Handle) {
		if h != nil && !listed[h.spec.ID] {
			listed[h.spec.ID] = true
			st.Jobs = append(st.Jobs, p.jobStatus(h, st.Now, promiser, promises))
		}
	}
	if !p.over && p.standby == nil {
		for id := range sojourn.Ranking(p.policy) {
			list(p.jobs.get(id)) // none, if the store has failed
		}
	}
	for _, h := range jobs { // those that a ranking leaves out
		list(h)
	}
	return st
}

// status returns the status without jobs.
func (p *Pool) status() Status {
	st := Status{Now: p.d.Now(), Closed: p.closed, Err: p.trouble(), Observer: p.announce.blind}
	for _, a := range p.ignored {
		st.Ignoring = append(st.Ignoring, a.task())
	}
	if a := p.trial.a; a != nil {
		t := a.task()
		st.Alone = &t
	}
	for _, s := range p.slots {
		if s == nil {
			continue
		}
		ss := SlotStatus{Slot: s.Slot, Leaving: s.leaving}
		if s.a != nil {
			ss.Busy, ss.Task, ss.Attempt, ss.Stopped = true, s.a.Task, s.a.Attempt, s.a.cause
		}
		st.Slots = append(st.Slots, ss)
	}
	return st
}

// jobStatus returns what is known of a live job. promises says that the policy is a promiser.
func (p *Pool) jobStatus(h *Handle, now sojourn.Time, promiser sojourn.Promiser, promises bool) JobStatus {
	js := JobStatus{h.spec.ID, h.spec.Name, h.spec.Pool, now.Sub(h.at), h.spec.Deadline, "", h.progress()}
	if promises && !p.over {
		js.Void, _ = promiser.Void(h.spec.ID)
	}
	return js
}

// Explain returns the quantities that determine the rank of a live job, as [Handle.Explain] does.
func (p *Pool) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := policyAs[sojourn.Explainer](p)
	if !ok || p.over || p.jobs.get(id) == nil {
		return nil, false
	}
	return e.Explain(id)
}
