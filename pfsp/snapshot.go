package pfsp

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/slack"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "pfsp", Version: 6, Options: append([]snapshot.Option{
		snapshot.Opt("order", p.order), snapshot.Opt("late", p.late), snapshot.Opt("default-task-time", p.taskTime),
		snapshot.Opt("alpha", p.alpha), // in 2^-16
	}, p.kept.Header()...)}
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	*p = Policy{settings: p.settings}
	p.ledger.Supports = p.Supports()
	p.inputs = locality.New(&p.ledger)
	if p.kept.On() {
		p.reserve = reserve.New(&p.ledger, p.kept)
	}
}

// AppendBinary implements [sojourn.Snapshotter]. What phases have left and for how
// long their attempts have been running follows from the account.
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.ledger.Save(w)
		if p.reserve != nil {
			p.reserve.Save(w)
		}
		for j := range p.ledger.All() {
			for i := range j.Data.phases {
				j.Data.phases[i].save(w)
			}
		}
		w.Len(len(p.classes))
		for _, c := range p.classes {
			c.finished.save(w)
			w.Uint(c.breach)
			w.Uint(c.clean)
			w.Len(c.hadAt(p.ledger.Now()))
			for _, n := range c.last {
				w.Uint(n)
			}
			c.system.Save(w, func(it *slack.Item[*phase]) {
				w.Uint(uint64(it.Value.job.Handle()))
				w.Uint(uint64(it.Value.index))
				if p.reserve != nil {
					w.Uint(uint64(it.Value.level))
				}
			})
		}
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		p.inputs.Rebuild()
		if p.reserve != nil {
			p.reserve.Restore(r)
		}
		for j := range p.ledger.All() {
			j.Data.phases = makePhases(j)
			for i := range j.Data.phases {
				ph := &j.Data.phases[i]
				ph.restore(r)
				ph.seen, ph.tasks = p.ledger.Now(), ph.account().Running()
				p.measure(ph)
			}
		}
		for _, a := range p.ledger.Attempts() {
			ph := &a.Job.Data.phases[a.Task.Phase]
			ph.elapsed = ph.elapsed.Add(wide.From64(uint64(ph.seen.Sub(a.Start))))
		}
		for range r.Below(sojourn.MaxClasses + 1) {
			c := p.class(sojourn.Class(len(p.classes)))
			c.finished.restore(r)
			c.breach, c.clean = r.Below(1<<63), r.Uint() // far from where it begins again
			r.Check(c.clean <= c.breach && c.breach <= c.clean+1, "a breach that was not")
			c.slots, c.at = p.ledger.Capacity(c.id), p.ledger.Now()
			c.had = r.Index(c.slots + 1)
			for i := range c.last {
				c.last[i] = r.Below(c.breach + 1)
			}
			c.system = slack.New[*phase](p.lateMode())
			c.system.Restore(r, p.ledger.Now(), p.virtualSlots(c), func(it *slack.Item[*phase]) { p.restoreItem(r, c, it) })
			if r.Err() != nil {
				return
			}
		}
		for j := range p.ledger.All() {
			for i := range j.Data.phases {
				ph := &j.Data.phases[i]
				r.Check(ph.item != nil || ph.over() || !ph.account().Ready(), "a phase that is ready is in no system")
			}
			if j.Bounded() {
				j.Data.line.Settle(j.Room() > 0, func(int, bool) {})
				for i := range j.Data.phases {
					ph := &j.Data.phases[i]
					r.Check(ph.item == nil || ph.item.State() == ph.state(), "a phase of a bounded job may start, and is not the first of its class")
				}
			}
		}
	})
}

// restoreItem gives an item its phase.
func (p *Policy) restoreItem(r *snapshot.Reader, c *class, it *slack.Item[*phase]) {
	j := p.ledger.RestoreJob(r)
	if j == nil {
		return
	}
	ph := &j.Data.phases[r.Below(uint64(len(j.Data.phases)))]
	if !r.Check(ph.item == nil && ph.spec().Class == c.id && !ph.over(), "a phase is in a system twice, or in another's, or over") {
		return
	}
	if p.reserve != nil {
		ph.level = uint8(r.Index(reserve.Levels))
	}
	r.Check(ph.since <= c.clean, "a phase came after a breach that was not")
	it.Value, ph.item = ph, it
	if !r.Check((it.State() == ph.state() || j.Bounded()) && it.Weight() == j.Weight() && it.Running() == p.share(ph), "a phase is not what its job says") {
		return
	}
	if it.State() == slack.Ready {
		c.waiting++
	}
	for what := range numHypotheses {
		if ph.broken&(1<<what) != 0 {
			c.live[what]++
		}
	}
	p.file(c, ph)
}

func (ph *phase) save(w *snapshot.Writer) {
	w.Duration(ph.unknown)
	w.Bool(ph.wrong)
	ph.running.Save(w) // a revision may have changed the priors of running tasks
	ph.ratio.Save(w)
	ph.finished.save(w)
	ph.used.save(w)
	w.Time(ph.reestimated)
	w.Uint(uint64(ph.progress))
	w.Count(ph.begun)
	w.Bool(ph.owed)
	w.Uint(ph.since)
	w.Uint(uint64(ph.broken))
}

func (ph *phase) restore(r *snapshot.Reader) {
	ph.unknown = r.Duration()
	ph.wrong = r.Bool()
	ph.running = wide.Restore128(r)
	ph.ratio = wide.Restore128(r)
	ph.finished.restore(r)
	ph.used.restore(r)
	ph.reestimated = r.Time()
	ph.progress = uint16(r.Below(1 << 16))
	ph.begun = r.Count()
	ph.owed = r.Bool()
	ph.since = r.Uint()
	ph.broken = uint16(r.Below(1 << numHypotheses))
	r.Check(ph.begun >= ph.account().Running(), "more attempts run than were begun")
	r.Check(ph.inRange(), "an estimate is out of range")
}

func (t *total) save(w *snapshot.Writer) {
	t.service.Save(w)
	t.prior.Save(w)
	w.Uint(t.tasks)
}

func (t *total) restore(r *snapshot.Reader) {
	t.service, t.prior, t.tasks = wide.Restore128(r), wide.Restore128(r), r.Uint()
	r.Check(t.service.Hi < 1<<62, "a sum is out of range")
}
