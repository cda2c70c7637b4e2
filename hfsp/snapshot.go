package hfsp

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp", Version: 8, Options: []snapshot.Option{
		snapshot.Opt("training-tasks", p.tasks), snapshot.Opt("late", p.late),
		snapshot.Opt("early-slots", limit(p.earlySlots)), snapshot.Opt("early-delay", p.earlyDelay),
	}}
}

// limit is an option as text, where nil is not a number.
func limit(n *int) string {
	if n == nil {
		return "default"
	}
	return strconv.Itoa(*n)
}

// AppendBinary implements [sojourn.Snapshotter]. If the estimator cannot be saved,
// the error wraps [errors.ErrUnsupported].
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.ledger.Save(w)
		for j := range p.ledger.All() {
			w.Bool(j.Data.adopted)
			w.Time(j.Data.since)
			for i := range j.Data.ran {
				j.Data.ran[i].service.Save(w)
				w.Uint(j.Data.ran[i].tasks)
				saveKilled(w, &j.Data, i)
			}
		}
		w.Len(len(p.classes))
		for i := range p.classes {
			p.classes[i].aging.Save(w, func(it *vqueue.Item[*phase]) {
				if w.Bool(it.Value != nil); it.Value != nil {
					it.Value.save(w)
				}
			})
		}
		w.Len(p.prior.Len())
		for s := p.prior.Min(); s >= 0; s = p.prior.Next(s + 1) {
			w.Len(s)
		}
		saveEstimator(w, p.estimator)
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		for j := range p.ledger.All() {
			n := j.NumPhases()
			j.Data.phases, j.Data.ran = make([]*phase, n), make([]history, n)
			j.Data.adopted, j.Data.since = r.Bool(), r.Time()
			for i := range j.Data.ran {
				j.Data.ran[i] = restoreHistory(r)
				restoreKilled(r, &j.Data, i, j.Spec().Phases[i].Tasks)
			}
		}
		classes := r.Below(sojourn.MaxClasses + 1)
		for c := range classes {
			id := sojourn.Class(c)
			p.class(id).aging.Restore(r, p.ledger.Now(), p.ledger.Capacity(id), func(it *vqueue.Item[*phase]) {
				if r.Bool() {
					if it.Value = p.restorePhase(r, id); it.Value != nil {
						it.Value.item = it
					}
				}
				r.Check((it.Value == nil) == it.Finished(), "a phase is missing, or has finished")
			})
		}
		p.restorePrior(r)
		restoreEstimator(r, p.estimator)
		if r.Err() != nil {
			return
		}
		p.index.Rebuild()
		for j := range p.ledger.All() {
			for i, ph := range j.Data.phases {
				due := !j.Cancelled() && j.Phase(i).Ready() && j.Phase(i).Done() < j.Spec().Phases[i].Tasks
				if !r.Check(ph != nil || !due, "a phase is missing") || ph == nil {
					continue
				}
				if !r.Check(j.Phase(i).Done() < j.Spec().Phases[i].Tasks, "a phase has finished") {
					return
				}
				ph.class.gate.count(ph, !ph.hasInput(), j.Phase(i).Running())
				p.setTimer(ph, -1) // who is overdue was saved
			}
		}
		for s, a := range p.ledger.Attempts() {
			if ph := a.Job.Data.phases[a.Task.Phase]; ph != nil && !ph.trains(a.Task.Index) {
				p.targets.expose(ph, s.ID)
			}
		}
		for _, ph := range p.phases.All() {
			// What follows from the account stands in the queue as well.
			it := ph.item
			r.Check(it.Work() == ph.size && it.Weight() == ph.job.Weight() && it.Running() == ph.tasks.Running() && (it.Ready() == ph.startable() || ph.job.Bounded()) &&
				(it.Late() || ph.brought == ph.size), "a phase does not fit into its queue")
			if p.kill {
				p.targets.mark(ph)
			}
			ph.class.file(ph, p.ledger.Now())
		}
		p.targets.expire()
	})
}

// restorePrior reads the slots of attempts that were started by the priority of
// training.
func (p *Policy) restorePrior(r *snapshot.Reader) {
	for range r.Len() {
		s := r.Index(sojourn.MaxSlots)
		if !r.Check(s > p.prior.Max(), "training slots are out of order") {
			return
		}
		p.prior.Add(s)
	}
	held := 0
	for s := range p.ledger.Attempts() {
		if p.prior.Has(int(s.ID)) {
			held++
			p.class(s.Class).training.used++
		}
	}
	r.Check(held == p.prior.Len(), "a training slot is free")
}

func (ph *phase) save(w *snapshot.Writer) {
	w.Uint(uint64(ph.job.Handle()))
	w.Uint(uint64(ph.index))
	w.Uint(uint64(ph.stage))
	w.Uint(ph.size)
	w.Uint(ph.initial)
	w.Uint(ph.final)
	w.Len(ph.n)
	w.Uint(ph.brought)
	ph.served.Save(w)
	w.Count(ph.failures)
	w.Time(ph.entered)
	w.Bool(ph.overdue)
	w.Len(len(ph.samples))
	for i := range ph.samples {
		s := &ph.samples[i]
		w.Uint(uint64(s.task))
		w.Uint(uint64(s.state))
		w.Bool(s.slot == noSlot)
		if s.slot != noSlot {
			w.Uint(uint64(s.slot))
		}
		w.Bool(s.prior)
		w.Bool(s.working)
		w.Int(int64(s.since))
		w.Duration(s.last.Service)
		w.Uint(uint64(s.last.Progress))
	}
	ph.wait.Save(w)
}

// restorePhase reads a phase of a class; nil after an error.
func (p *Policy) restorePhase(r *snapshot.Reader, class sojourn.Class) *phase {
	j := p.ledger.RestoreJob(r)
	if j == nil {
		return nil
	}
	i := r.Index(j.NumPhases())
	if !r.Check(!j.Cancelled() && j.Data.phases[i] == nil && j.Spec().Phases[i].Class == class, "a phase is in a queue twice, or in another's") {
		return nil
	}
	tasks := j.Spec().Phases[i].Tasks
	ph := &phase{job: j, index: i, class: p.class(class), tasks: j.Phase(i),
		stage:    stage(r.Below(uint64(len(stageNames)))),
		size:     r.Below(1 << 63),
		initial:  r.Below(1 << 63),
		final:    r.Below(1 << 63),
		n:        r.Index(math.MaxInt),
		brought:  r.Below(1 << 63),
		served:   wide.Restore128(r),
		failures: r.Count(),
		entered:  r.Time(),
		overdue:  r.Bool(),
	}
	for range r.Len() {
		s := sample{task: uint32(r.Index(tasks)), state: sampleState(r.Below(uint64(sampled) + 1)), slot: noSlot}
		if !r.Bool() {
			s.slot = sojourn.SlotID(r.Below(sojourn.MaxSlots))
		}
		s.prior, s.working, s.since = r.Bool(), r.Bool(), sojourn.Time(r.Int())
		s.last = Sample{r.Duration(), uint16(r.Below(sojourn.MaxProgress + 1))}
		if !r.Check(ph.stage == stageTraining && len(ph.samples) < p.tasks && (s.slot != noSlot || s.state == sampled) &&
			(s.state != sampled || s.last.Progress > 0) && s.last.Service >= 0 && s.since <= p.ledger.Now() &&
			ph.samples.find(s.task) < 0, "a training task does not fit") {
			return nil
		}
		if s.slot != noSlot {
			a, ok := p.ledger.Attempt(s.slot)
			if !r.Check(ok && a.Job == j && int(a.Task.Phase) == i && a.Task.Index == s.task, "a training task does not run") {
				return nil
			}
		}
		ph.samples = append(ph.samples, s)
	}
	r.Check(ph.served.Hi < 1<<32, "a sum is out of range")
	r.Check(ph.entered <= p.ledger.Now(), "a phase is ready in the future")
	ph.wait.Restore(r, p.ledger.Now())
	if r.Err() != nil {
		return nil
	}
	p.adopt(ph)
	return ph
}

// saveKilled writes which tasks of a phase were killed.
func saveKilled(w *snapshot.Writer, d *data, phase int) {
	if d.killed == nil {
		w.Len(0)
		return
	}
	killed := &d.killed[phase]
	w.Len(killed.Len())
	for i := killed.Min(); i >= 0; i = killed.Next(i + 1) {
		w.Len(i)
	}
}

// restoreKilled reads which of the tasks of a phase were killed.
func restoreKilled(r *snapshot.Reader, d *data, phase, tasks int) {
	last := -1
	for range r.Len() {
		i := r.Index(tasks)
		if !r.Check(i > last, "tasks are out of order") {
			return
		}
		d.kill(phase, uint32(i))
		last = i
	}
}

// saveEstimator writes the state of an estimator.
func saveEstimator(w *snapshot.Writer, e Estimator) {
	if b, ok := e.(encoding.BinaryAppender); ok {
		w.Binary(b)
		return
	}
	w.Fail(fmt.Errorf("estimator %T: %w", e, errors.ErrUnsupported))
}

// restoreEstimator reads the state of an estimator.
func restoreEstimator(r *snapshot.Reader, e Estimator) {
	if b, ok := e.(encoding.BinaryUnmarshaler); ok {
		r.Binary(b)
		return
	}
	r.Fail("estimator %T cannot be restored", e)
}

// restoreHistory reads what is known of tasks that have run.
func restoreHistory(r *snapshot.Reader) history {
	h := history{wide.Restore128(r), r.Below(1 << 62)}
	r.Check(h.service.Hi < 1<<32, "a sum is out of range")
	return h
}

func (e *trainer) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp.Trainer", Version: 1, Options: []snapshot.Option{
		snapshot.Opt("xi", e.xi), snapshot.Opt("default-task-time", e.taskTime),
	}}
}

// AppendBinary implements [sojourn.Snapshotter] together with UnmarshalBinary.
func (e *trainer) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, e.header(), func(w *snapshot.Writer) {
		w.Len(len(e.classes))
		for _, h := range e.classes {
			h.service.Save(w)
			w.Uint(h.tasks)
		}
	})
}

// UnmarshalBinary restores what AppendBinary has saved.
func (e *trainer) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(e, data, e.header(), func() { e.classes = nil }, func(r *snapshot.Reader) {
		e.classes = make([]history, r.Below(sojourn.MaxClasses+1))
		for i := range e.classes {
			e.classes[i] = restoreHistory(r)
		}
	})
}

func (e *oracle) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp.Oracle", Version: 1}
}

// AppendBinary implements [sojourn.Snapshotter] together with UnmarshalBinary.
func (e *oracle) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, e.header(), func(w *snapshot.Writer) { saveEstimator(w, e.Estimator) })
}

// UnmarshalBinary restores what AppendBinary has saved.
func (e *oracle) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(e, data, e.header(), func() {}, func(r *snapshot.Reader) { restoreEstimator(r, e.Estimator) })
}
