package mars

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"github.com/sojourn-sched/sojourn/mars/internal/lp"
)

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "mars", Version: 3, Options: []snapshot.Option{
		snapshot.Opt("batch", p.opts.Batch), snapshot.Opt("commit", p.opts.Commit), snapshot.Opt("default-task-time", p.opts.DefaultTaskTime),
	}}
}

// AppendBinary implements [sojourn.Snapshotter].
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.queue.Save(w, func(j *ledger.Job[waitingJob]) {
			d := &j.Data
			w.Bool(d.known)
			if d.known {
				w.Time(d.c)
				w.Uint(d.batch)
			}
		})
		w.Bool(p.seen)
		if p.seen {
			w.Time(p.anchor)
		}
		w.Bool(p.open)
		if p.open {
			w.Time(p.due)
		}
		w.Uint(p.plans)
		if p.plans > 0 {
			w.Time(p.at)
		}
		w.Len(len(p.prices))
		for i := range p.prices {
			pr := &p.prices[i]
			w.Uint(uint64(pr.Class))
			w.Len(len(pr.T))
			for k := range pr.T {
				w.Float(pr.T[k])
				w.Float(pr.V[k])
			}
		}
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.queue.Restore(r, func(j *ledger.Job[waitingJob]) {
			d := &j.Data
			if d.known = r.Bool(); d.known {
				d.c, d.batch = r.Time(), r.Uint()
			}
			p.describe(j)
		})
		if p.seen = r.Bool(); p.seen {
			p.anchor = r.Time()
		}
		if p.open = r.Bool(); p.open {
			p.due = r.Time()
		}
		if p.plans = r.Below(1 << 63); p.plans > 0 { // far from overflow
			p.at = r.Time()
		}
		r.Check(p.seen || !p.open && p.plans == 0, "a plan was made or asked for without a job")
		for i := range r.Len() {
			pr := lp.Price{Class: sojourn.Class(r.Below(1 << 8))}
			r.Check(i == 0 || pr.Class > p.prices[i-1].Class, "prices are not in order")
			for k := range r.Len() {
				t, v := r.Float(), r.Float()
				if r.Err() != nil || !r.Check(t >= 0 && t < 1e30 && v >= 0 && v < 1e60 && (k == 0 || t >= pr.T[k-1] && v <= pr.V[k-1]), "a price is out of order or range") {
					return
				}
				pr.T, pr.V = append(pr.T, t), append(pr.V, v)
			}
			p.prices = append(p.prices, pr)
		}
		for j := range p.queue.Ledger.All() {
			d := &j.Data
			r.Check(d.batch <= p.plans && (p.opts.Commit || d.batch == 0), "a batch does not exist")
			r.Check(d.known || p.open, "a job waits for no plan")
		}
		now := p.queue.Ledger.Now()
		r.Check(p.anchor <= now && p.at <= now && !(p.open && p.due < now), "a plan is made at another time")
	})
}
