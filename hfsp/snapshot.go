package hfsp

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshot"
	"github.com/sojourn-sched/sojourn/internal/vqueue"
)

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp", Version: 4, Options: p.text}
}

// text returns the options under which a policy decides, but for those of its
// estimator, which tells them in its own part.
func (o *Options) text(p *Policy) string {
	limit := func(n *int) string {
		if n == nil {
			return "default"
		}
		return fmt.Sprint(*n)
	}
	return fmt.Sprintf("t=%d T=%s delta=%v late=%v train=%v update=%v cluster=%v priority=%v preemption=%v fraction=%d once=%v early=%s/%v delay=%v estimator=%T",
		p.tasks, limit(o.TrainingSlots), p.delta, o.Late, o.Train, o.SizeUpdate, o.VirtualCluster, o.Priority, o.Preemption,
		p.spared, o.KillOnce, limit(o.EarlySlots), p.earlyDelay, p.delay, p.estimator)
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
				w.Wide(j.Data.ran[i].service)
				w.Uint(j.Data.ran[i].tasks)
			}
		}
		w.Len(len(p.classes))
		for i := range p.classes {
			p.classes[i].virtual.save(w, func(ph *phase) {
				if w.Bool(ph != nil); ph != nil {
					ph.save(w)
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
			n := len(j.Phases)
			j.Data.phases, j.Data.ran = make([]*phase, n), make([]history, n)
			j.Data.adopted, j.Data.since = r.Bool(), r.Time()
			for i := range j.Data.ran {
				j.Data.ran[i] = restoreHistory(r)
			}
		}
		classes := r.Below(1<<8 + 1)
		for c := range classes {
			p.class(sojourn.Class(c)).virtual.restore(r, p.ledger.Now(), p.ledger.Capacity(sojourn.Class(c)), func() *phase {
				if !r.Bool() {
					return nil
				}
				return p.restorePhase(r, sojourn.Class(c))
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
				due := !j.Cancelled && j.Phases[i].Ready && j.Phases[i].Done < j.Spec.Phases[i].Tasks
				if !r.Check(ph != nil || !due, "a phase is missing") || ph == nil {
					continue
				}
				if !r.Check(j.Phases[i].Done < j.Spec.Phases[i].Tasks, "a phase has finished") {
					return
				}
				p.countEarly(ph, false)
				p.setTimer(ph)
			}
		}
		for s, a := range p.ledger.Attempts() {
			if ph := a.Job.Data.phases[a.Task.Phase]; ph != nil && !ph.trains(a.Task.Index) {
				p.expose(ph, s.ID)
			}
		}
		for _, ph := range p.phases {
			// What follows from the account stands in the queue as well.
			r.Check(p.class(ph.spec().Class).virtual.holds(ph, p.scaled(ph, ph.size), p.weight(ph), p.startable(ph)), "a phase does not fit into its queue")
			p.guard(ph)
			p.file(ph)
		}
		p.expire()
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
			p.class(s.Class).used++
		}
	}
	r.Check(held == p.prior.Len(), "a training slot is free")
}

func (ph *phase) save(w *snapshot.Writer) {
	w.Uint(uint64(ph.job.Handle))
	w.Uint(uint64(ph.index))
	w.Uint(uint64(ph.stage))
	w.Uint(ph.size)
	w.Uint(ph.initial)
	w.Uint(ph.final)
	w.Len(ph.n)
	w.Wide(ph.served)
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
	w.Len(ph.killed.Len())
	for i := ph.killed.Min(); i >= 0; i = ph.killed.Next(i + 1) {
		w.Len(i)
	}
	ph.wait.Save(w)
}

// restorePhase reads a phase of a class; nil after an error.
func (p *Policy) restorePhase(r *snapshot.Reader, class sojourn.Class) *phase {
	j := p.ledger.RestoreJob(r)
	if j == nil {
		return nil
	}
	i := r.Index(len(j.Phases))
	if !r.Check(!j.Cancelled && j.Data.phases[i] == nil && j.Spec.Phases[i].Class == class, "a phase is in a queue twice, or in another's") {
		return nil
	}
	tasks := j.Spec.Phases[i].Tasks
	ph := &phase{job: j, index: i,
		stage:    stage(r.Below(uint64(len(stageNames)))),
		size:     r.Below(1 << 63),
		initial:  r.Below(1 << 63),
		final:    r.Below(1 << 63),
		n:        r.Index(math.MaxInt),
		served:   r.Wide(),
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
		if !r.Check(ph.stage == training && len(ph.samples) < p.tasks && (s.slot != noSlot || s.state == sampled) &&
			(s.state != sampled || s.last.Progress > 0) && s.last.Service >= 0 && s.since <= p.ledger.Now() &&
			ph.find(s.task) < 0, "a training task does not fit") {
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
	last := -1
	for range r.Len() {
		i := r.Index(tasks)
		if !r.Check(i > last, "tasks are out of order") {
			return nil
		}
		ph.killed.Add(i)
		last = i
	}
	r.Check(ph.entered <= p.ledger.Now(), "a phase is ready in the future")
	ph.wait.Restore(r, p.ledger.Now())
	if r.Err() != nil {
		return nil
	}
	p.adopt(ph)
	return ph
}

func (q pure) holds(ph *phase, size, weight uint64, ready bool) bool {
	it := ph.place.item
	return it.Work() == size && it.Weight() == weight && it.Running() == ph.account().Running && it.Ready() == ready
}

func (q *maxMin) holds(ph *phase, size, weight uint64, ready bool) bool {
	i := ph.place.capped
	return i.size == size && i.weight == weight && i.limit == useful(ph.n) && i.running == ph.account().Running && i.ready == ready
}

func (q pure) save(w *snapshot.Writer, value func(*phase)) {
	q.Queue.Save(w, func(it *vqueue.Item[*phase]) { value(it.Value) })
}

func (q pure) restore(r *snapshot.Reader, now sojourn.Time, slots int, value func() *phase) {
	q.Queue.Restore(r, now, slots, func(it *vqueue.Item[*phase]) {
		if it.Value = value(); it.Value != nil {
			it.Value.place.item = it
		}
		r.Check((it.Value == nil) == it.Finished(), "a phase is missing, or has finished")
	})
}

func (q *maxMin) save(w *snapshot.Writer, value func(*phase)) {
	w.Uint(q.ends)
	w.Uint(q.seq)
	if w.Bool(q.levelled); q.levelled {
		w.Wide(q.carry)
	}
	list := slices.Clone(q.active)
	for _, i := range q.all {
		if i.end > 0 {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *capped) int { return cmp.Compare(a.seq, b.seq) })
	w.Len(len(list))
	for _, i := range list {
		w.Wide(i.v)
		w.Uint(i.size)
		w.Uint(i.weight)
		w.Uint(i.limit)
		w.Uint(i.seq)
		w.Uint(i.end)
		w.Len(i.running)
		w.Bool(i.ready)
		value(i.phase)
	}
}

func (q *maxMin) restore(r *snapshot.Reader, now sojourn.Time, slots int, value func() *phase) {
	q.slots, q.now = slots, now
	q.ends, q.seq = r.Uint(), r.Uint()
	levelled := r.Bool()
	carry := q.carry
	if levelled {
		carry = r.Wide()
	}
	last := uint64(0)
	for range r.Len() {
		i := &capped{v: r.Wide(), size: r.Below(1<<63 + 1), weight: r.Below(1<<48 + 1), limit: r.Below(sojourn.MaxSlots + 1),
			seq: r.Uint(), end: r.Uint(), running: r.Index(math.MaxInt32), ready: r.Bool()}
		if !r.Check(i.weight > 0 && i.limit > 0 && i.seq > last && i.seq <= q.seq && i.end <= q.ends &&
			(i.end > 0) == i.v.IsZero() && i.v.Hi < 1<<32, "a phase does not fit") {
			return
		}
		last = i.seq
		if i.phase = value(); i.phase != nil {
			i.phase.place.capped = i
			q.all = append(q.all, i)
		}
		if i.end == 0 {
			q.active = append(q.active, i)
		} else {
			r.Check(i.phase != nil, "a finished phase is late")
		}
	}
	if levelled {
		q.level()
		q.carry = carry
		r.Check(carry.IsZero() || carry.Less(q.weight), "the carry is out of range")
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
	h := history{r.Wide(), r.Below(1 << 62)}
	r.Check(h.service.Hi < 1<<32, "a sum is out of range")
	return h
}

func (e *Trainer) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp.Trainer", Version: 1, Options: fmt.Sprintf("xi=%d task-time=%v", e.xi, e.taskTime)}
}

// AppendBinary implements [sojourn.Snapshotter] together with UnmarshalBinary.
func (e *Trainer) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, e.header(), func(w *snapshot.Writer) {
		w.Len(len(e.classes))
		for _, h := range e.classes {
			w.Wide(h.service)
			w.Uint(h.tasks)
		}
	})
}

// UnmarshalBinary restores what AppendBinary has saved.
func (e *Trainer) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(e, data, e.header(), func() { e.classes = nil }, func(r *snapshot.Reader) {
		e.classes = make([]history, r.Below(1<<8+1))
		for i := range e.classes {
			e.classes[i] = restoreHistory(r)
		}
	})
}

func (e *Oracle) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp.Oracle", Version: 1, Options: fmt.Sprintf("%T", e.Estimator)}
}

// AppendBinary implements [sojourn.Snapshotter] together with UnmarshalBinary.
func (e *Oracle) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, e.header(), func(w *snapshot.Writer) { saveEstimator(w, e.Estimator) })
}

// UnmarshalBinary restores what AppendBinary has saved.
func (e *Oracle) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(e, data, e.header(), func() {}, func(r *snapshot.Reader) { restoreEstimator(r, e.Estimator) })
}

func (e *Noisy) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp.Noisy", Version: 1, Options: fmt.Sprintf("sigma=%v seed=%d %T", e.sigma, e.seed, e.Estimator)}
}

// AppendBinary implements [sojourn.Snapshotter] together with UnmarshalBinary.
func (e *Noisy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, e.header(), func(w *snapshot.Writer) { saveEstimator(w, e.Estimator) })
}

// UnmarshalBinary restores what AppendBinary has saved.
func (e *Noisy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(e, data, e.header(), func() {}, func(r *snapshot.Reader) { restoreEstimator(r, e.Estimator) })
}

func (e *History) header() snapshot.Header {
	return snapshot.Header{Policy: "hfsp.History", Version: 1,
		Options: fmt.Sprintf("by=%d runs=%d keys=%d %T", e.by, e.runs, e.keys, e.Estimator)}
}

// AppendBinary implements [sojourn.Snapshotter] together with UnmarshalBinary.
func (e *History) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, e.header(), func(w *snapshot.Writer) {
		w.Len(e.order.Len())
		for at := e.order.Back(); at != nil; at = at.Prev() {
			known := at.Value.(*recurring)
			w.String(known.key)
			w.Len(len(known.phases))
			for _, ph := range known.phases {
				w.Len(ph.count)
				w.Duration(ph.mean)
			}
		}
		saveEstimator(w, e.Estimator)
	})
}

// UnmarshalBinary restores what AppendBinary has saved.
func (e *History) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(e, data, e.header(), e.reset, func(r *snapshot.Reader) {
		for range r.Below(uint64(e.keys) + 1) {
			known := &recurring{key: r.String(), phases: make([]runs, r.Len())}
			for i := range known.phases {
				known.phases[i] = runs{r.Index(memory + 1), r.Duration()}
				r.Check(known.phases[i].mean >= 0, "a time is negative")
			}
			if !r.Check(e.known[known.key] == nil, "a recurring job is listed twice") {
				return
			}
			e.known[known.key] = e.order.PushFront(known)
		}
		restoreEstimator(r, e.Estimator)
	})
}
