package rtmr

import (
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// AppendRanking implements [sojourn.Explainer]. It lists the admitted jobs in the order in
// which they are served, and then those without a promise.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	p.settle()
	for _, j := range p.order.jobs {
		dst = append(dst, j.Spec().ID)
	}
	return dst
}

// AppendVoid implements [sojourn.Promiser]. It lists the live jobs whose deadlines were
// promised and may be missed, in the order of AppendRanking.
func (p *Policy) AppendVoid(dst []sojourn.JobID) []sojourn.JobID {
	p.settle()
	if p.voids == 0 && !p.soft {
		return dst
	}
	for _, j := range p.order.jobs {
		if j.Data.mark.promise == void {
			dst = append(dst, j.Spec().ID)
		}
	}
	return dst
}

// Void implements [sojourn.Promiser]. It names the hypotheses that did not hold.
func (p *Policy) Void(id sojourn.JobID) (why string, ok bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return "", false
	}
	if p.settle(); j.Data.mark.promise != void {
		return "", false
	}
	return j.Data.mark.why.String(), true
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Ledger.Attrs] and
//
//	key       unit      meaning
//	rank      jobs      live jobs that go before it
//	promise   text      none (no deadline), holds or void
//	void      text      why the promise is void, if it is
//	deadline  time      DL, if it has one
//	eM        time      latest end of its maps, if known
//	e         time      latest end of the job, if known
//	epsM      duration  the longest time of a map task, frozen at admission
//	epsR      duration  the longest time of a reduce task, frozen at admission
//	reserved  slots     reduce slots that are kept for it
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	p.settle()
	d := &j.Data
	attrs := append(p.ledger.Attrs(j), slog.Int("rank", d.rank), slog.String("promise", promiseNames[d.mark.promise]))
	if why, ok := p.Void(id); ok {
		attrs = append(attrs, slog.String("void", why))
	}
	if d.deadline < never {
		attrs = append(attrs, slog.Duration("deadline", time.Duration(d.deadline)))
	}
	if em, e := p.estimates(j); e < never {
		attrs = append(attrs, slog.Duration("eM", time.Duration(em)), slog.Duration("e", time.Duration(e)))
	}
	for s, name := range [...]string{maps: "epsM", reduces: "epsR"} {
		if d.phase[s] >= 0 {
			attrs = append(attrs, slog.Duration(name, time.Duration(d.eps[s])))
		}
	}
	return append(attrs, slog.Int64("reserved", d.reserved)), true
}

// estimates returns e^m and e of a job.
func (p *promises) estimates(j *job) (em, e int64) {
	if p.linked(j) {
		return j.Data.mark.em, j.Data.mark.e
	}
	now := p.now()
	p.reality(&p.base, now)
	p.walk.begin(&p.base, now)
	for _, k := range p.order.jobs[:j.Data.rank+1] {
		en := p.entry(k, now)
		if em, e = p.walk.try(&en); e < never {
			p.walk.keep()
		}
	}
	return em, e
}
