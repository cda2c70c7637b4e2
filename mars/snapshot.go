package mars

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/lp"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "mars", Version: 4, Options: []snapshot.Option{
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
		w.Bool(p.planning != nil)
		if p.planning != nil {
			p.planning.save(w, p)
		}
	})
}

// save writes a plan that is being made. The work of the search is not written: it is done again.
// Of the jobs that have arrived, only live ones are counted, since no others are restored.
func (g *planning) save(w *snapshot.Writer, p *Policy) {
	live := func(jobs []arrival) (n int) {
		for _, a := range jobs {
			if p.live(a) != nil {
				n++
			}
		}
		return n
	}
	w.Time(g.at)
	w.Time(g.next)
	w.Uint(uint64(g.stage))
	seen := live(p.arrived[:g.kept])
	if g.stage == gathering {
		seen = live(p.arrived[:g.walked])
	}
	w.Len(seen)
	w.Len(seen + live(p.arrived[g.walked:g.end]))
	w.Uint(g.looks)
	form := g.form.form
	w.Len(len(form.M))
	for _, m := range form.M {
		w.Float(m)
	}
	w.Len(len(g.jobs))
	for i, a := range g.jobs {
		isLive := p.live(a) != nil
		w.Bool(isLive)
		if isLive {
			w.Uint(uint64(a.handle))
		}
		w.Float(form.W[i])
		w.Float(form.C[i])
		items := form.Of(i)
		w.Len(len(items))
		for _, it := range items {
			w.Uint(uint64(it.Class))
			w.Float(it.H)
			w.Float(it.P)
		}
	}
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
			pr := lp.Price{Class: sojourn.Class(r.Below(sojourn.MaxClasses))}
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
		byHandle := map[uint32]*ledger.Job[waitingJob]{}
		for j := range p.queue.Ledger.All() {
			p.arrived = append(p.arrived, arrival{j.Seq(), j.Handle()})
			byHandle[j.Handle()] = j
			d := &j.Data
			r.Check(d.batch <= p.plans && (p.opts.Commit || d.batch == 0), "a batch does not exist")
		}
		slices.SortFunc(p.arrived, func(a, b arrival) int { return cmp.Compare(a.seq, b.seq) })
		if r.Bool() {
			p.planning = p.restorePlanning(r, byHandle)
		}
		for j := range p.queue.Ledger.All() {
			r.Check(j.Data.known || p.open || p.planning != nil, "a job waits for no plan")
		}
		now := p.queue.Ledger.Now()
		r.Check(p.anchor <= now && p.at <= now && !(p.open && p.due < now && p.planning == nil), "a plan is made at another time")
	})
}

// restorePlanning reads what save has written.
func (p *Policy) restorePlanning(r *snapshot.Reader, byHandle map[uint32]*ledger.Job[waitingJob]) *planning {
	form := lp.NewJobForm(nil)
	g := &planning{at: r.Time(), next: r.Time(), stage: stage(r.Below(uint64(filing) + 1)), form: formBuilder{Policy: p, form: form}}
	now := p.queue.Ledger.Now()
	r.Check(g.at <= now && g.next >= now, "a plan goes on at another time")
	r.Check(g.stage < filing || p.plans > 0 && p.at == g.at, "a plan that was made is not the latest")
	seen := r.Index(len(p.arrived) + 1)
	g.end = r.Index(len(p.arrived) + 1)
	r.Check(p.seen && seen <= g.end && (g.stage != solving || seen == 0), "a plan has seen other jobs than those that take part")
	if g.walked = seen; g.stage == filing {
		g.kept = seen
	}
	g.looks = r.Uint()
	for range r.Len() {
		m := r.Float()
		r.Check(m >= 1 && m <= sojourn.MaxSlots, "a number of machines is out of range")
		form.M = append(form.M, m)
	}
	r.Check(len(form.M) <= sojourn.MaxClasses, "there are more classes than a plan can have")
	last := uint64(0)
	for range r.Len() {
		a := arrival{}
		if r.Bool() {
			j := byHandle[uint32(r.Below(1<<32))]
			if !r.Check(j != nil && j.Seq() > last, "the jobs of a plan are out of order") {
				return nil
			}
			a = arrival{j.Seq(), j.Handle()}
			last = a.seq
		}
		weight, c := r.Float(), r.Float()
		r.Check(weight > 0 && weight <= 1<<32 && c >= 0 && c < 1e30, "a job of a plan is out of range")
		var items []lp.Item
		for range r.Len() {
			it := lp.Item{Class: int32(r.Below(uint64(max(len(form.M), 1)))), H: r.Float(), P: r.Float()}
			if !r.Check(len(form.M) > 0 && it.H >= 0 && it.H < 1e30 && it.P > 0 && it.P < 1e30, "an item of a plan is out of range") {
				return nil
			}
			items = append(items, it)
		}
		if !r.Check(slices.IsSortedFunc(items, lp.ByMiddle), "the items of a plan are out of order") {
			return nil
		}
		form.Add(weight, c, 0, items)
		g.jobs = append(g.jobs, a)
	}
	if r.Err() == nil && g.stage != gathering {
		g.search = p.newSearch(g)
		g.search.Replay(g.looks)
		for ended := g.stage == solving; !ended; {
			_, ended = g.search.Step(p.opts.Step)
		}
	}
	return g
}
