package baseline

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

func (p *srpt) header() snapshot.Header {
	return snapshot.Header{Policy: "srpt", Version: 3, Options: p.reserve.Header()}
}

// AppendBinary implements [sojourn.Snapshotter]. The remaining work of a job follows
// from the account.
func (p *srpt) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.Save(w, nil) })
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *srpt) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.Restore(r, p.measure)
	})
}

func (p *las) header() snapshot.Header {
	return snapshot.Header{Policy: "las", Version: 4, Options: p.reserve.Header()}
}

// AppendBinary implements [sojourn.Snapshotter]. The starts of live attempts are in
// the account.
func (p *las) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.Save(w, func(j *ledger.Job[attained]) {
			j.Data.ended.Save(w)
			j.Data.owed.Save(w)
		})
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *las) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		summed := false
		p.Restore(r, func(j *ledger.Job[attained]) {
			if !summed {
				summed = true // before any job is filed
				for _, a := range p.Ledger.Attempts() {
					d := &a.Job.Data
					d.starts = d.starts.Add(wide.From64(uint64(a.Start)))
				}
			}
			j.Data.ended, j.Data.owed = wide.Restore128(r), charge.Restore(r)
			if !r.Check(j.Data.ended.Hi < 1<<62, "a service is out of range") {
				j.Data.ended = wide.Uint128{}
			}
		})
	})
}

func (p *local) header() snapshot.Header { return snapshot.Header{Policy: "local", Version: 1} }

// AppendBinary implements [sojourn.Snapshotter].
func (p *local) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.Save(w, nil) })
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *local) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) { p.Restore(r, nil) })
}

func (p *fsp) header() snapshot.Header {
	return snapshot.Header{Policy: "fsp", Version: 4, Options: append([]snapshot.Option{
		snapshot.Opt("late", p.late), snapshot.Opt("default-task-time", p.taskTime),
	}, p.opts.Header()...)}
}

// join makes p keep to the reserve of the cluster of which it has a part, instead of its own, unless it is Counted.
func (p *fsp) join(c inside.Cluster) bool {
	if p.opts.Counted {
		return false
	}
	p.opts.In = c.Reserve
	p.reset()
	return true
}

// reset gives p the state of a new policy.
func (p *fsp) reset() {
	*p = fsp{member: p.member, late: p.late, taskTime: p.taskTime, opts: p.opts}
	p.ledger.Supports = option.Features | sojourn.FeatureParallelism
	p.inputs = locality.New(&p.ledger)
	if p.opts.On() {
		p.reserve = reserve.New(&p.ledger, p.opts)
	}
}

// AppendBinary implements [sojourn.Snapshotter].
func (p *fsp) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.ledger.Save(w)
		if p.reserve != nil {
			p.reserve.Save(w)
		}
		w.Len(len(p.queues))
		for _, q := range p.queues {
			q.Save(w, func(it *vqueue.Item[fspPhase]) {
				if !it.Finished() {
					w.Uint(uint64(it.Value.job.Handle()))
					w.Uint(uint64(it.Value.phase))
					it.Value.work.Save(w)
					if p.reserve != nil && it.Ready() {
						w.Uint(uint64(it.Level()))
					}
				}
			})
		}
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *fsp) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		p.inputs.Rebuild()
		if p.reserve != nil {
			p.reserve.Restore(r)
		}
		for j := range p.ledger.All() {
			j.Data.phases = make([]*vqueue.Item[fspPhase], j.NumPhases())
		}
		p.queues = make([]*vqueue.Queue[fspPhase], r.Below(sojourn.MaxClasses+1))
		for c := range p.queues {
			p.queues[c] = vqueue.New[fspPhase](p.late)
			class := sojourn.Class(c)
			p.queues[c].Restore(r, p.ledger.Now(), p.capacity(class), func(it *vqueue.Item[fspPhase]) {
				p.restoreItem(r, class, it)
			})
		}
		for j := range p.ledger.All() {
			for i := range j.NumPhases() {
				r.Check(j.Data.phases[i] != nil || over(j, i) || !j.Phase(i).Ready(), "a phase that is ready is in no queue")
			}
			p.restoreLine(r, j)
		}
	})
}

// restoreItem connects an item of the queue of a class with its phase.
func (p *fsp) restoreItem(r *snapshot.Reader, class sojourn.Class, it *vqueue.Item[fspPhase]) {
	if it.Finished() {
		return
	}
	j := p.ledger.RestoreJob(r)
	if j == nil {
		return
	}
	i := r.Index(j.NumPhases())
	it.Value = fspPhase{j, i, wide.Restore128(r), p.bucket(j, i)}
	if p.reserve != nil && it.Ready() {
		p.queues[class].SetLevel(it, r.Index(reserve.Levels))
	}
	ph := j.Phase(i)
	r.Check(j.Data.phases[i] == nil && j.Spec().Phases[i].Class == class && !over(j, i), "a phase is in a queue twice, or in another's, or over")
	r.Check((it.Ready() == (ph.Ready() && ph.Pending() > 0) || j.Bounded()) && it.Running() == ph.Running() && it.Weight() == j.Weight() &&
		it.Work() == it.Value.work.Clamp63() && it.Value.work.Hi < 1<<62, "a phase is not what its job says")
	j.Data.phases[i] = it
}

// restoreLine makes the line of a bounded job, and checks that the queues show its first phases.
func (p *fsp) restoreLine(r *snapshot.Reader, j *ledger.Job[fspData]) {
	if !j.Bounded() {
		return
	}
	for i, it := range j.Data.phases {
		if ph := j.Phase(i); it != nil && ph.Ready() && ph.Pending() > 0 {
			j.Data.line.Set(j.Spec().Phases[i].Class, i, true)
		}
	}
	j.Data.line.Settle(j.Room() > 0, func(int, bool) {})
	for i, it := range j.Data.phases {
		r.Check(it == nil || it.Ready() == j.Data.line.First(j.Spec().Phases[i].Class, i), "a phase of a bounded job may start, and is not the first of its class")
	}
}

func (p *deadlineConstraint) header() snapshot.Header {
	return snapshot.Header{Policy: "dc", Version: 3, Options: []snapshot.Option{snapshot.Opt("hold-slots", p.opts.HoldSlots)}}
}

// AppendBinary implements [sojourn.Snapshotter]. The constraint of a job follows
// from the instant at which the policy heard of it.
func (p *deadlineConstraint) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.ledger.Save(w)
		for j := range p.ledger.All() {
			w.Time(j.Data.told)
		}
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *deadlineConstraint) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		p.inputs.Rebuild()
		for c := range p.slots {
			p.slots[c] = p.ledger.Capacity(sojourn.Class(c))
		}
		for s := range p.ledger.Attempts() {
			if p.ledger.Retiring(s.ID) {
				p.count(s.Class, -1)
			}
		}
		for j := range p.ledger.All() {
			told := r.Time()
			c, err := p.constrain(j.Spec(), told)
			if !r.Check(err == nil && told <= p.ledger.Now(), "a job is not supported, or told of in the future") {
				return
			}
			j.Data = c
			p.update(j)
			if p.opts.HoldSlots {
				p.jobs = append(p.jobs, j)
			}
		}
		slices.SortFunc(p.jobs, holdsBefore)
	})
}

func (p *list) header() snapshot.Header {
	return snapshot.Header{Policy: p.name, Version: 1}
}

// AppendBinary implements [sojourn.Snapshotter]. The work of a job follows from its
// description.
func (p *list) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.Save(w, nil) })
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *list) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.Restore(r, func(j *ledger.Job[float64]) { j.Data = p.work(j.Spec()) })
	})
}

func (p *backfill) header() snapshot.Header {
	return snapshot.Header{Policy: p.name, Version: 2, Options: []snapshot.Option{snapshot.Opt("places", p.places)}}
}

// AppendBinary implements [sojourn.Snapshotter]. Which jobs wait follows from the account.
func (p *backfill) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.ledger.Save(w)
		if p.rule == ruleConservative {
			for _, j := range p.waiting {
				w.Time(j.Data.start)
				w.Time(j.Data.kept)
			}
		}
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *backfill) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		for j := range p.ledger.All() {
			if !r.Check(p.check(j.Spec()) == nil, "a job is not supported") {
				return
			}
			if j.Side(0).Startable() > 0 {
				p.waiting = append(p.waiting, j)
			}
		}
		slices.SortFunc(p.waiting, func(a, b *rigidJob) int { return cmp.Compare(a.Seq(), b.Seq()) })
		p.planned = true
		for _, j := range p.waiting {
			if j.Data = (rigid{forever, forever}); p.rule == ruleConservative {
				j.Data = rigid{r.Time(), r.Time()}
			}
		}
	})
}
