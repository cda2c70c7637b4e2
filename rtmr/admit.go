package rtmr

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Admit implements [sojourn.Admitter]: what the arrival of the job would be answered
// now. A refusal wraps a [*sojourn.RejectedError] with the job that would be late, by
// how much, and the earliest deadline that would be accepted.
//
// Now is the time of the latest event: send a Tick first, so that the policy's clock
// stands there. What Admit says holds until the next event or Assign.
func (p *Policy) Admit(job *sojourn.Job) error {
	if err := p.ledger.CheckArrival(job); err != nil {
		return err
	}
	p.settle()
	if p.stale {
		p.renew(p.now())
		defer p.rollback()
	}
	_, err := p.decide(&sojourn.Event{Kind: sojourn.JobArrived, At: p.ledger.Now(), Job: job})
	return err
}

// decide returns the data about a job that arrives, is adopted or is revised, or why it
// is refused (Algorithm I). The marks are up to date as of ev.At.
func (p *Policy) decide(ev *sojourn.Event) (d data, err error) {
	job, now := ev.Job, int64(ev.At)
	var was *sojourn.Job
	cand := entry{id: job.ID, seq: math.MaxUint64, promised: job.Deadline > 0}
	if ev.Kind == sojourn.JobRevised {
		cand.job = p.ledger.Job(job.ID)
		d = cand.job.Data
		was = cand.job.Spec()
	}
	if d.phase, d.eps, err = p.shape(job); err != nil {
		return d, err
	}
	d.deadline = never
	if job.Deadline > 0 {
		d.deadline = int64(job.Deadline)
	}
	cand.eps, cand.deadline, cand.place = d.eps, d.deadline, p.opts.place(d.deadline)
	for s, i := range d.phase {
		if i >= 0 {
			cand.tasks[s] = int64(job.Phases[i].Tasks)
		}
	}
	if was != nil {
		if p.opts.RequireDeadline && job.Deadline == 0 && was.Deadline > 0 {
			return d, fmt.Errorf("a deadline is required: %w", rejection(job, &miss{id: job.ID}, offer{at: never}))
		}
		return p.decideRevised(d, cand, job, now)
	}
	p.bind(&cand, job)
	if p.opts.RequireDeadline && job.Deadline == 0 {
		cand.promised = true
	}
	if !cand.promised {
		d.mark.promise, d.mark.place = unasked, never
		return d, nil
	}
	var a *admission
	if p.opts.Booking == Chain {
		a = p.chained(cand, now)
	} else {
		p.list = p.promised(p.list[:0], now, nil)
		if job.Deadline > 0 && p.fitsEasily(cand, now) {
			d.mark.promise, d.mark.place = kept, cand.place
			return d, nil
		}
		p.reality(&p.base, now)
		a, _ = p.admission(cand, now)
	}
	place, broken, off := a.decide()
	switch {
	case p.opts.RequireDeadline && job.Deadline == 0 && ev.Kind == sojourn.JobArrived:
		if broken == nil {
			off = a.search()
		}
		return d, fmt.Errorf("a deadline is required: %w", rejection(job, &miss{id: job.ID}, off))
	case job.Deadline == 0:
		d.mark.promise, d.mark.place = unasked, never
	case broken == nil:
		d.mark.promise, d.mark.place = kept, place
	case ev.Kind == sojourn.JobAdopted:
		d.mark.promise, d.mark.place, d.mark.why = void, never, byAdoption
	default:
		return d, p.refuse(job, d.phase, broken, off, now)
	}
	return d, nil
}

// decideRevised decides about a revision of a live job: whether all promises, its own
// included, can be kept if the rest of it is as the revision says. A void promise
// binds nobody.
func (p *Policy) decideRevised(d data, cand entry, job *sojourn.Job, now int64) (data, error) {
	j := cand.job
	cand.seq = j.Seq()
	for s, i := range d.phase {
		if i < 0 {
			continue
		}
		cand.tasks[s] -= int64(j.Phase(i).Done() + j.Phase(i).Running())
		cand.running[s] = d.running[s].end(d.eps[s], now)
		held := p.left(j, s) - int64(j.Phase(i).Pending())
		cand.stuck = cand.stuck || held > 0
	}
	p.bind(&cand, job)
	before := d.mark.promise
	// The estimates of the running attempts change with the revision.
	old := j.Data.eps
	j.Data.eps = d.eps
	p.reality(&p.base, now)
	j.Data.eps = old

	// If its running attempts may now take longer, other jobs may be late, whether it
	// has a promise of its own or not.
	p.list = p.promised(p.list[:0], now, j)
	p.walk.begin(&p.base, now)
	if hurt := p.walk.book(p.list); hurt != nil {
		return d, rejection(&sojourn.Job{ID: cand.id}, hurt, offer{at: never})
	}
	if !cand.promised {
		d.mark = mark{promise: unasked, place: never}
		return d, nil
	}
	place := d.mark.place
	if before == void {
		place = cand.place
	}
	var broken *miss
	if d.mark.started > 0 { // it stays where it is, or returns there
		broken = p.inTurn(cand, d.mark.started, now)
	}
	if d.mark.started == 0 || before == void && broken != nil {
		p.opts.virtual(&cand)
		a, _ := p.admission(cand, now)
		if place, broken, _ = a.decide(); broken == nil {
			d.mark.started = 0
		}
	}
	switch {
	case broken == nil:
		d.mark.promise, d.mark.place, d.mark.why = kept, place, 0
	case before == void:
		d.mark.why |= byRevision
	default:
		return d, rejection(&sojourn.Job{ID: cand.id}, broken, offer{at: never})
	}
	return d, nil
}

// revised applies the decision about a revised job.
func (p *promises) revised(j *job, d *data) {
	running, ended := j.Data.running, j.Data.ended
	key, rank, reserved := j.Data.key, j.Data.rank, j.Data.reserved
	wasVoid := j.Data.hard.promise == void
	j.Data = *d
	j.Data.running, j.Data.ended = running, ended
	j.Data.key, j.Data.rank, j.Data.reserved = key, rank, reserved
	j.Data.hard = j.Data.mark
	if isVoid := d.mark.promise == void; isVoid != wasVoid {
		if isVoid {
			p.voids++
		} else {
			p.voids--
		}
	}
	for s := range j.Data.running {
		p.setTimer(j, s, p.now())
	}
	p.setKey(j)
	p.order.sort()
	if p.opts.Booking == Chain {
		p.broken(0) // the vectors describe the job before the revision
	}
	p.relieved()
}

// arrived files a job that has just entered the order.
func (p *promises) arrived(j *job) {
	if p.linked(j) {
		p.rechain(j.Data.rank)
	}
	j.Data.hard = j.Data.mark
	p.refile(j)
}

// refuse returns the error for a job that would break a promise.
func (p *Policy) refuse(job *sojourn.Job, phase [2]int, broken *miss, off offer, now int64) error {
	err := rejection(job, broken, off)
	for s, i := range phase {
		if (i >= 0 || s == maps && p.opts.Booking == Chain) && p.slots[s] == 0 {
			return fmt.Errorf("there are no %s slots: %w", [...]string{maps: "map", reduces: "reduce"}[s], err)
		}
	}
	if int64(job.Deadline) <= now {
		return fmt.Errorf("the deadline %v is not after %v: %w", job.Deadline, sojourn.Time(now), err)
	}
	return err
}

func rejection(job *sojourn.Job, broken *miss, off offer) error {
	r := &sojourn.RejectedError{Job: job.ID, Misses: broken.id, By: time.Duration(broken.by)}
	if off.at > 0 && off.at < never {
		r.Offer, r.Exact = sojourn.Time(off.at), off.exact
	}
	return r
}
