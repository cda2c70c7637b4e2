package rtmr

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// pick returns the job that gets a free slot of class c, or nil.
func (p *promises) pick(c sojourn.Class) *job {
	p.settle()
	return p.choose(c)
}

// choose is pick with the present marks.
func (p *promises) choose(c sojourn.Class) *job {
	h, _, ok := p.ready.First(c)
	if !ok {
		return nil
	}
	j := p.ledger.ByHandle(h)
	if c == sojourn.ReduceClass && (p.waitsForMapSlot(j) || p.isReserved(j)) {
		return nil
	}
	return j
}

// isReserved reports whether all free reduce slots are kept for jobs before j whose
// maps run. Each of these jobs reserves as many slots as it has reduce tasks.
//
// All jobs before j that are ready have nothing left to start, or one of them would
// have been picked. So either a slot is left over for j, or none is left for j and all
// jobs behind it.
func (p *promises) isReserved(j *job) bool {
	reserved := p.order.before(j)
	if p.opts.PaperReservation {
		return reserved > p.free[reduces]
	}
	return reserved >= p.free[reduces]
}

// setKey computes the key of a job.
func (p *promises) setKey(j *job) {
	d := &j.Data
	d.key = key{tierBooked, d.mark.place, j.Seq()}
	switch {
	case j.Cancelled():
		d.key = key{tierEnding, 0, j.Seq()}
	case d.mark.promise != kept:
		d.key = key{tierBehind, d.deadline, j.Seq()}
	case d.mark.started > 0:
		d.key = key{tierStarted, int64(d.mark.started), j.Seq()}
	}
}

// refile updates the places of a job in the queues, and its reservation.
func (p *promises) refile(j *job) {
	for i := range j.NumSides() {
		side := j.Side(i)
		if side.Startable() > 0 {
			p.ready.Set(side.Class(), j.Handle(), j.Data.key)
		} else {
			p.ready.Remove(side.Class(), j.Handle())
		}
	}
	p.order.reserve(j, p.reservation(j))
}

// reservation returns how many reduce slots are kept for a job: as many as it has
// reduce tasks, or as many as it may run, while its maps are not done. Jobs without a promise run behind all that
// have one, and get none.
func (p *promises) reservation(j *job) int64 {
	d := &j.Data
	i := d.phase[reduces]
	if i < 0 || d.mark.promise != kept || j.Cancelled() || j.Phase(i).Ready() {
		return 0
	}
	n := p.left(j, reduces)
	if j.Bounded() {
		n = min(n, max(0, int64(j.Spec().Parallelism)-int64(j.Phase(i).Running())))
	}
	return n
}

// attemptStarted counts an attempt that started at an instant.
func (p *promises) attemptStarted(j *job, stage int, at sojourn.Time) {
	p.free[stage]--
	j.Data.running[stage].add(at)
	if t, ok := p.timers.Key(timerID(j, stage)); !ok || t.at > slotvec.Add(int64(at), j.Data.eps[stage]) {
		p.setTimer(j, stage, p.now()) // an adopted attempt may end before those that run
	}
	if p.opts.Booking == Chain {
		p.startJob(j)
	}
}
