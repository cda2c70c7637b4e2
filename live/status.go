package live

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Status is what a pool does at one instant.
type Status struct {
	Now   sojourn.Time // since the epoch of Options.Now
	Jobs  []JobStatus  // live jobs, by ID; if they are at most 4,096 and the policy ranks them, the one to be served first at the front
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

const (
	mostRanked = 4096 // jobs up to which Status says which one is served first
	lookAtOnce = 512  // jobs that Status looks at while the pool waits
)

// Status returns what the pool does now. It looks at all jobs and slots. The pool does not wait meanwhile: it is locked for 512 jobs at a
// time, so what is said of more than these is not of one instant (TestStatusHoldsNobodyUp).
func (p *Pool) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.status()
	var order []sojourn.JobID
	if p.jobs.live <= mostRanked && !p.over && p.standby == nil {
		order = slices.Collect(sojourn.Ranking(p.policy))
	}
	st.Jobs = make([]JobStatus, 0, p.jobs.live)
	promiser, promises := policyAs[sojourn.Promiser](p)
	p.look(func(h *Handle) { st.Jobs = append(st.Jobs, p.jobStatus(h, st.Now, promiser, promises)) })
	st.rank(order)
	return st
}

// look calls f with the live jobs in the order of their submission. f may end the job. The lock is held, and let go between lookAtOnce jobs.
func (p *Pool) look(f func(*Handle)) {
	p.lookPages(func(pg *page) {
		for _, h := range pg.jobs {
			if h != nil {
				f(h)
			}
		}
	})
}

// lookPages is look by the page.
func (p *Pool) lookPages(f func(*page)) {
	looked := 0
	for pg, next := p.jobs.from(0); pg != nil; pg, next = p.jobs.from(next) {
		looked += pg.live
		f(pg)
		if looked >= lookAtOnce {
			looked = 0
			p.mu.Unlock()
			p.mu.Lock() // who waits has it first, after a millisecond
		}
	}
}

// rank puts the jobs of an order in front. They are by ID.
func (st *Status) rank(order []sojourn.JobID) {
	if len(order) == 0 {
		return
	}
	ranked, is := make([]JobStatus, 0, len(st.Jobs)), make([]bool, len(st.Jobs))
	for _, id := range order {
		k, ok := slices.BinarySearchFunc(st.Jobs, id, func(j JobStatus, id sojourn.JobID) int { return cmp.Compare(j.ID, id) })
		if ok { // it may have ended meanwhile
			ranked, is[k] = append(ranked, st.Jobs[k]), true
		}
	}
	for k, j := range st.Jobs { // those that a ranking leaves out
		if !is[k] {
			ranked = append(ranked, j)
		}
	}
	st.Jobs = ranked
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
	js := JobStatus{h.spec.ID, h.spec.Name, h.spec.Pool, max(now.Sub(h.at), 0), h.spec.Deadline, "", h.progress()}
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
