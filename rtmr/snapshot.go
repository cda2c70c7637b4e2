package rtmr

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// saved returns the options that promises rest on: all but RequireDeadline.
func (o *Options) saved() []snapshot.Option {
	return []snapshot.Option{
		snapshot.Opt("booking", o.Booking), snapshot.Opt("order", o.Order), snapshot.Opt("one-position", o.OnePosition),
		snapshot.Opt("feedback", o.Feedback), snapshot.Opt("delta", o.Delta),
		snapshot.Opt("latency", o.Latency), snapshot.Opt("map-rate", o.MapRate), snapshot.Opt("reduce-rate", o.ReduceRate),
		snapshot.Opt("start-up", o.StartUp), snapshot.Opt("ratio", o.Ratio), snapshot.Opt("skew", o.Skew),
		snapshot.Opt("learn", o.Learn), snapshot.Opt("paper-reservation", o.PaperReservation),
	}
}

// AppendBinary implements [sojourn.Snapshotter]. Only the hard marks are state: the
// others follow from them.
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header, func(w *snapshot.Writer) {
		p.ledger.Save(w)
		for s := range p.est.rate {
			w.Int(p.est.rate[s])
		}
		w.Int(p.est.startUp)
		w.Int(p.est.ratio)
		w.Uint(p.starts)
		w.Bool(p.stale)
		w.Bool(p.dirty)
		w.Bool(p.idled)
		if w.Bool(p.waits); p.waits {
			w.Time(p.since)
		}
		w.Uint(uint64(p.cause))
		for s := range p.hardSlots {
			w.Int(p.hardSlots[s])
		}
		w.Len(len(p.retiring))
		for _, id := range p.retiring {
			w.Uint(uint64(id))
		}
		for slot := range p.ledger.Attempts() {
			start, ok := p.adopted[slot.ID]
			if w.Bool(ok); ok {
				w.Int(int64(start))
			}
		}
		for s := range p.hardRoot {
			saveVector(w, p.hardRoot[s])
		}
		for j := range p.ledger.All() {
			p.saveJob(w, j)
		}
	})
}

func (p *Policy) saveJob(w *snapshot.Writer, j *job) {
	d := &j.Data
	for s := range d.eps {
		w.Int(d.eps[s])
	}
	m := &d.hard
	w.Uint(uint64(m.promise))
	w.Int(m.place)
	w.Uint(uint64(m.why))
	if p.opts.Booking != Chain {
		return
	}
	w.Uint(m.started)
	w.Int(m.em)
	w.Int(m.e)
	w.Bool(m.rebased)
	for s := range m.t {
		saveVector(w, m.t[s])
		saveVector(w, d.ended[s])
	}
}

func saveVector(w *snapshot.Writer, v slotvec.Vector) {
	w.Len(len(v))
	for _, r := range v {
		w.Int(r.T)
		w.Int(r.N)
	}
}

func restoreVector(r *snapshot.Reader) slotvec.Vector {
	var v slotvec.Vector
	for range r.Len() {
		v = append(v, slotvec.Run{T: r.Int(), N: r.Int()})
		r.Check(v[len(v)-1].N <= sojourn.MaxSlots, "a slot vector has too many slots")
	}
	r.Check(v.Canonical(), "a slot vector is not in order")
	return v
}

// restoreCluster reads a vector of the slots of a cluster.
func restoreCluster(r *snapshot.Reader) slotvec.Vector {
	v := restoreVector(r)
	r.Check(v.Slots() <= sojourn.MaxSlots, "a slot vector has too many slots")
	return v
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header, p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		p.inputs.Rebuild()
		for s := range p.est.rate {
			p.est.rate[s] = r.Int()
		}
		p.est.startUp, p.est.ratio = r.Int(), r.Int()
		p.starts, p.stale = r.Below(1<<63), r.Bool() // far from overflow
		p.dirty, p.idled = r.Bool(), r.Bool()
		if p.waits = r.Bool(); p.waits {
			p.since = r.Time()
		}
		p.cause = reason(r.Below(1 << len(reasonTexts)))
		for s := range p.hardSlots {
			p.hardSlots[s] = r.Int()
		}
		p.retiring = make([]sojourn.SlotID, 0, r.Len())
		for range cap(p.retiring) {
			p.retiring = append(p.retiring, sojourn.SlotID(r.Below(sojourn.MaxSlots)))
		}
		r.Check(p.est.rate[maps] >= 0 && p.est.rate[reduces] >= 0 && p.est.startUp >= 0 && p.est.ratio >= 0, "a rate is negative")
		p.restoreSlots(r)
		for s := range p.hardRoot {
			p.hardRoot[s] = restoreCluster(r)
		}
		p.root = p.hardRoot
		for j := range p.ledger.All() {
			if r.Err() == nil {
				p.restoreJob(r, j)
			}
		}
		if r.Err() == nil {
			p.refill()
		}
	})
}

// restoreSlots counts the slots, and files the attempts that run.
func (p *Policy) restoreSlots(r *snapshot.Reader) {
	for s := range p.slots {
		p.slots[s] = int64(p.ledger.Capacity(sojourn.Class(s)))
		p.free[s] = p.slots[s]
	}
	type attempt struct {
		of *starts
		at sojourn.Time
	}
	var running []attempt
	for slot, a := range p.ledger.Attempts() {
		start := a.Start
		if r.Bool() {
			start = sojourn.Time(r.Int())
			if p.adopted == nil {
				p.adopted = map[sojourn.SlotID]sojourn.Time{}
			}
			p.adopted[slot.ID] = start
		}
		if !r.Check(int(slot.Class) < len(p.slots) && start <= p.ledger.Now(), "an attempt runs where none can") {
			return
		}
		p.free[slot.Class]--
		running = append(running, attempt{&a.Job.Data.running[slot.Class], start})
	}
	slices.SortFunc(running, func(a, b attempt) int { return cmp.Compare(a.at, b.at) }) // so that none is put between others
	for _, a := range running {
		a.of.add(a.at)
	}
	for i, id := range p.retiring {
		a, ok := p.ledger.Attempt(id)
		if !r.Check(ok && (i == 0 || p.retiring[i-1] < id), "a slot that is not busy retires") {
			return
		}
		p.slots[stageOf(&a.Job.Spec().Phases[a.Task.Phase])]--
	}
}

func (p *Policy) restoreJob(r *snapshot.Reader, j *job) {
	d := &j.Data
	running := d.running
	phase, _, err := p.shape(j.Spec())
	if !r.Check(err == nil, "a job is of a shape that is not supported") {
		return
	}
	*d = data{phase: phase, running: running, deadline: never}
	if j.Spec().Deadline > 0 {
		d.deadline = int64(j.Spec().Deadline)
	}
	for s := range d.eps {
		d.eps[s] = r.Int()
		r.Check(d.eps[s] > 0 == (phase[s] >= 0) && d.eps[s] >= 0, "a bound on the time of a task is missing")
	}
	m := &d.hard
	m.promise = promise(r.Below(uint64(len(promiseNames))))
	m.place = r.Int()
	m.why = reason(r.Below(1 << len(reasonTexts)))
	if p.opts.Booking == Chain {
		m.started = r.Below(p.starts + 1)
		m.em, m.e = r.Int(), r.Int()
		m.rebased = r.Bool()
		for s := range m.t {
			m.t[s] = restoreCluster(r)
			d.ended[s] = restoreVector(r)
			if n := len(d.ended[s]); n > 0 {
				r.Check(d.ended[s][n-1].T <= p.now(), "a task has finished in the future")
			}
		}
	}
	d.mark = d.hard
	if m.promise == void {
		p.voids++
	}
}

// refill computes everything that follows from the state.
func (p *Policy) refill() {
	for j := range p.ledger.All() {
		p.setKey(j)
		p.order.jobs = append(p.order.jobs, j)
		p.order.sums = append(p.order.sums, 0)
		for s := range j.Data.running {
			p.setTimer(j, s, p.now())
		}
	}
	p.reorder()
}
