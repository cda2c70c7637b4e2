package hfsp

import (
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A sample is a training task: one of the first t tasks of a phase that were
// started, for as long as the phase is being trained.
type sample struct {
	task  uint32
	slot  sojourn.SlotID
	state sampleState

	prior bool // it was started by the priority of training

	// since is when the attempt would have started to work if it had not paused since,
	// valid when it is working: an attempt may wait in its slot for its input.
	since   sojourn.Time
	working bool
	last    Sample // by the latest report
}

type sampleState uint8

const (
	fresh   sampleState = iota // has run for less than Delta
	mature                     // has run for Delta, but its progress is not known
	sampled                    // its time is known, measured or by its progress
)

// A trainingKey orders phases in training.
type trainingKey struct {
	started int // with FinishStarted: samples; more go first
	initial uint64
	seq     uint64 // of the job
	index   int
}

func (a trainingKey) less(b trainingKey) bool {
	switch {
	case a.started != b.started:
		return a.started > b.started
	case a.initial != b.initial:
		return a.initial < b.initial
	case a.seq != b.seq:
		return a.seq < b.seq
	}
	return a.index < b.index
}

func (p *Policy) trainingKey(ph *phase) trainingKey {
	k := trainingKey{0, ph.initial, ph.job.Seq, ph.index}
	if p.train == FinishStarted {
		k.started = len(ph.samples)
	}
	return k
}

// A timer is the instant at which the next training task of a phase has run for
// Delta, or the phase is not held back any more.
type timer struct {
	at     sojourn.Time
	seq    uint64 // of the job
	index  int
	handle uint32
}

func (a timer) less(b timer) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.seq != b.seq:
		return a.seq < b.seq
	}
	return a.index < b.index
}

// wantsTraining reports whether a phase has training tasks to be started by
// priority. One that is early has none: its tasks would hold training slots for as
// long as the phase before takes, and nothing is learnt from them meanwhile. One
// whose training tasks failed t times has lost it.
func (p *Policy) wantsTraining(ph *phase) bool {
	return ph.stage == training && !ph.early && len(ph.samples) < p.tasks && ph.failures < p.tasks
}

// limit returns T, for the slots of a class.
func (p *Policy) limit(c sojourn.Class) int {
	if p.slots != nil {
		return *p.slots
	}
	n := p.ledger.Capacity(c)
	return min(max(10, n/4), n/2)
}

// began takes note of an attempt at a task, which runs from now on or for some time
// already.
func (p *Policy) began(ph *phase, task uint32, slot sojourn.SlotID, prior bool, service time.Duration) {
	if p.sample(ph, task, slot, prior, service); !ph.trains(task) {
		p.expose(ph, slot)
	}
}

// trains reports whether a task that runs is in training.
func (ph *phase) trains(task uint32) bool { return ph.stage == training && ph.find(task) >= 0 }

// sample takes note that a task of a phase in training was started, since when it
// may have run for some time already.
func (p *Policy) sample(ph *phase, task uint32, slot sojourn.SlotID, prior bool, service time.Duration) {
	if ph.stage != training || len(ph.samples) >= p.tasks {
		return
	}
	s := sample{task: task, slot: slot, prior: prior}
	if p.hasInput(ph) {
		s.working, s.since = true, p.ledger.Now()-sojourn.Time(service)
	}
	if ph.samples == nil && len(p.buffers) > 0 {
		ph.samples = p.buffers[len(p.buffers)-1]
		p.buffers = p.buffers[:len(p.buffers)-1]
	}
	ph.samples = append(ph.samples, s)
	p.setTimer(ph)
}

// startClocks lets the time count of samples that have waited for the phase before.
func (p *Policy) startClocks(ph *phase) {
	if len(ph.samples) == 0 || !p.hasInput(ph) {
		return
	}
	for i := range ph.samples {
		if s := &ph.samples[i]; !s.working && s.state != sampled {
			s.working, s.since = true, p.ledger.Now()
			p.setTimer(ph)
		}
	}
}

// find returns the index of the sample of a task that runs; -1 if it is none.
func (ph *phase) find(task uint32) int {
	for i := range ph.samples {
		if s := &ph.samples[i]; s.task == task && s.slot != noSlot {
			return i
		}
	}
	return -1
}

// release takes note that an attempt has ended on a slot: if it was started by the
// priority of training, it held one of the T slots until now.
func (p *Policy) release(s sojourn.Slot) {
	if p.prior.Has(int(s.ID)) {
		p.prior.Remove(int(s.ID))
		p.class(s.Class).used--
	}
}

// progressed takes note of a report on a running task.
func (p *Policy) progressed(ph *phase, ev *sojourn.Event) {
	i := ph.find(ev.Task.Index)
	if i < 0 || ph.samples[i].state == sampled {
		return
	}
	s := &ph.samples[i]
	service := ev.Service
	if service == 0 && s.working { // nobody measured it
		service = elapsed(s.since, ev.At)
	}
	if service < s.last.Service {
		return // the report is older than the latest one
	}
	s.last = Sample{service, ev.Progress}
	if ev.Service > 0 {
		s.working, s.since = true, ev.At-sojourn.Time(service)
	}
	p.setTimer(ph)
	p.mature(ph, ev.At)
}

// finished takes note that a task has finished after a time.
func (p *Policy) finished(ph *phase, task uint32, service time.Duration) {
	if i := ph.find(task); i >= 0 {
		s := &ph.samples[i]
		s.last, s.state, s.slot = Sample{service, sojourn.MaxProgress}, sampled, noSlot
		p.setTimer(ph)
	}
}

// failed takes note that an attempt ended without success: the training task is lost,
// and another one takes its place.
func (p *Policy) failed(ph *phase, task uint32, ownFault bool) {
	i := ph.find(task)
	if i < 0 {
		return
	}
	if ownFault && ph.samples[i].prior {
		ph.failures++
	}
	ph.samples = slices.Delete(ph.samples, i, i+1)
	p.setTimer(ph)
}

// noSlot is the slot of a sample that has finished.
const noSlot = sojourn.SlotID(math.MaxUint32)

// deadline returns when a sample will have run for Delta; false if that needs no
// timer.
func (p *Policy) deadline(s *sample) (sojourn.Time, bool) {
	if s.state != fresh || !s.working {
		return 0, false
	}
	return later(s.since, p.delta)
}

// later returns t + d; false if that is out of range.
func later(t sojourn.Time, d time.Duration) (sojourn.Time, bool) {
	if t > 0 && d > math.MaxInt64-time.Duration(t) {
		return 0, false
	}
	return t.Add(d), true
}

// elapsed returns how long ago an instant is, which lies before the epoch where a task
// has run for longer than the driver's clock; the most that can be told if that is less.
func elapsed(since, now sojourn.Time) time.Duration {
	if since < 0 && now > math.MaxInt64+since {
		return math.MaxInt64
	}
	return now.Sub(since)
}

// setTimer sets the timer of a phase.
func (p *Policy) setTimer(ph *phase) {
	var first sojourn.Time
	any := false
	for i := range ph.samples {
		if at, ok := p.deadline(&ph.samples[i]); ok && (!any || at < first) {
			first, any = at, true
		}
	}
	if ph.early && !ph.overdue {
		if at, ok := later(ph.entered, p.earlyDelay); ok && (!any || at < first) {
			first, any = at, true
		}
	}
	if any {
		p.timers.Set(ph.handle, timer{first, ph.job.Seq, ph.index, ph.handle})
	} else {
		p.timers.Remove(ph.handle)
	}
}

// mature lets the samples of a phase count that have run for Delta by now, and the
// phase start early tasks if it was held back for long enough.
func (p *Policy) mature(ph *phase, now sojourn.Time) {
	if at, ok := later(ph.entered, p.earlyDelay); ph.early && ok && at <= now {
		ph.overdue = true
	}
	for i := range ph.samples {
		s := &ph.samples[i]
		if at, ok := p.deadline(s); ok && at <= now {
			s.state = mature
		}
		if s.state == mature && s.last.Progress > 0 && s.last.Service > 0 {
			s.state = sampled
		}
	}
	p.setTimer(ph)
	p.conclude(ph)
	p.enlist(ph)
}

// conclude ends the training of a phase of which every training task is sampled:
// t of them, or as many as there are. It sets the final size.
func (p *Policy) conclude(ph *phase) {
	if ph.stage != training || len(ph.samples) == 0 ||
		len(ph.samples) < p.tasks && ph.account().Pending() > 0 {
		return
	}
	p.scratch = p.scratch[:0]
	left := wide.Mul64(uint64(max(ph.n-len(ph.samples), 0)), sojourn.MaxProgress) // in 1/10000 tasks
	for i := range ph.samples {
		s := &ph.samples[i]
		if s.state != sampled {
			return
		}
		p.scratch = append(p.scratch, s.last)
		left = left.Add(wide.From64(uint64(sojourn.MaxProgress - s.last.Progress)))
	}
	mean := wide.From64(uint64(max(p.estimator.Final(ph.job.Spec, ph.index, p.scratch), 0)))
	size := uint64(clamp(mean.MulU64(uint64(ph.n))))
	// S_f = s [(n-t) + sum of (1-p_k)]
	final, _ := left.MulU64(mean.Lo).QuoRem(wide.From64(sojourn.MaxProgress))
	ph.final = uint64(clamp(final))

	c := p.class(ph.spec().Class)
	v := ph.final
	if p.sizes == KeepAge {
		v = max(min(p.v(ph), ph.size)+size, ph.size) - ph.size // v is rounded up
	}
	ph.stage, ph.size = trained, size
	p.endTraining(ph)
	c.virtual.Reset(ph, p.scaled(ph, v), p.scaled(ph, size))
}

// endTraining makes ordinary tasks of the training tasks of a phase.
func (p *Policy) endTraining(ph *phase) {
	for i := range ph.samples {
		if s := ph.samples[i].slot; s != noSlot {
			p.expose(ph, s)
		}
	}
	if ph.samples != nil {
		p.buffers = append(p.buffers, ph.samples[:0])
		ph.samples = nil
	}
	p.setTimer(ph)
}
