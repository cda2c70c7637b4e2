package hfsp

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A training is the queue of phases that have training tasks to start on one class, and the limit T.
type training struct {
	queue *heap.Heap[trainingKey] // phases that have training tasks to start, by handle
	most  *int                    // Options.TrainingSlots
	slots int                     // of the class
	used  int                     // slots of attempts that were started by the priority of training, T_curr in the paper
}

// limit returns T.
func (t *training) limit() int {
	if t.most != nil {
		return *t.most
	}
	return min(max(10, t.slots/4), t.slots/2)
}

// left returns how many more attempts may start by the priority of training.
func (t *training) left() int { return t.limit() - t.used }

// all iterates over the phases that have training tasks to start, the first one first. The first k
// take O(k log k).
func (t *training) all(yield func(*phase) bool) {
	order := t.queue.Cursor()
	for _, k, ok := order.Next(); ok && yield(k.phase); _, k, ok = order.Next() {
	}
}

// A trainingKey orders phases in training: the least initial size first [HFSP,
// algorithm 1].
type trainingKey struct {
	initial uint64
	seq     uint64 // of the job
	index   int
	phase   *phase
}

func (ph *phase) trainingKey() trainingKey {
	return trainingKey{ph.initial, ph.job.Seq(), ph.index, ph}
}

func (a trainingKey) compare(b trainingKey) int {
	return cmp.Or(cmp.Compare(a.initial, b.initial), cmp.Compare(a.seq, b.seq), cmp.Compare(a.index, b.index))
}

func (a trainingKey) less(b trainingKey) bool { return a.compare(b) < 0 }

func (a trainingKey) prefix() (hi, lo uint64) { return a.initial, a.seq }

// A sample is a training task: one of the first t tasks of a phase that were
// started, for as long as the phase is being trained.
type sample struct {
	task  uint32
	slot  sojourn.SlotID // noSlot if it has finished
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

// noSlot is the slot of a sample that has finished.
const noSlot = sojourn.SlotID(math.MaxUint32)

// later returns t + d; false if that is out of range.
func later(t sojourn.Time, d time.Duration) (sojourn.Time, bool) {
	if t > 0 && d > math.MaxInt64-time.Duration(t) {
		return 0, false
	}
	return t.Add(d), true
}

// elapsed returns now - since, at most math.MaxInt64. since is negative if an adopted task started
// before the epoch.
func elapsed(since, now sojourn.Time) time.Duration {
	if since < 0 && now > math.MaxInt64+since {
		return math.MaxInt64
	}
	return now.Sub(since)
}

// samples are the training tasks of a phase.
type samples []sample

// find returns the index of the sample of a task that runs; -1 if it is none.
func (list samples) find(task uint32) int {
	for i := range list {
		if s := &list[i]; s.task == task && s.slot != noSlot {
			return i
		}
	}
	return -1
}

// work lets the time count of samples that have waited for the phase before.
func (list samples) work(now sojourn.Time) {
	for i := range list {
		if s := &list[i]; !s.working && s.state != sampled {
			s.working, s.since = true, now
		}
	}
}

// progressed takes over a report on a running task.
func (list samples) progressed(ev *sojourn.Event) {
	i := list.find(ev.Task.Index)
	if i < 0 || list[i].state == sampled {
		return
	}
	s := &list[i]
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
}

// finished says that a task has finished after a time.
func (list samples) finished(task uint32, service time.Duration) {
	if i := list.find(task); i >= 0 {
		s := &list[i]
		s.last, s.state, s.slot = Sample{service, sojourn.MaxProgress}, sampled, noSlot
	}
}

// ripen lets those count that have run for delta by now.
func (list samples) ripen(now sojourn.Time, delta time.Duration) {
	for i := range list {
		s := &list[i]
		if s.state == fresh && s.working {
			if at, ok := later(s.since, delta); ok && at <= now {
				s.state = mature
			}
		}
		if s.state == mature && s.last.Progress > 0 && s.last.Service > 0 {
			s.state = sampled
		}
	}
}

// next returns when the first of them will have run for delta; false if none will.
func (list samples) next(delta time.Duration) (first sojourn.Time, any bool) {
	for i := range list {
		if s := &list[i]; s.state == fresh && s.working {
			if at, ok := later(s.since, delta); ok && (!any || at < first) {
				first, any = at, true
			}
		}
	}
	return first, any
}

// sampled reports whether the time of each is known.
func (list samples) sampled() bool {
	for i := range list {
		if list[i].state != sampled {
			return false
		}
	}
	return true
}

// trains reports whether a task that runs is in training.
func (ph *phase) trains(task uint32) bool {
	return ph.stage == stageTraining && ph.samples.find(task) >= 0
}

// began says that an attempt at a task runs, from now on or for some time already. It is
// a training task if the phase has fewer than t.
func (p *Policy) began(ph *phase, task uint32, slot sojourn.SlotID, prior bool, service time.Duration) {
	if ph.stage != stageTraining || len(ph.samples) >= p.tasks {
		p.targets.expose(ph, slot)
		return
	}
	s := sample{task: task, slot: slot, prior: prior}
	if ph.hasInput() {
		s.working, s.since = true, p.ledger.Now()-sojourn.Time(service)
	}
	if n := len(p.buffers); ph.samples == nil && n > 0 {
		ph.samples = p.buffers[n-1]
		p.buffers = p.buffers[:n-1]
	}
	ph.samples = append(ph.samples, s)
}

// failed says that an attempt ended without success: the training task is lost, and
// another one takes its place.
func (ph *phase) failed(task uint32, ownFault bool) {
	i := ph.samples.find(task)
	if i < 0 {
		return
	}
	if ownFault && ph.samples[i].prior {
		ph.failures++
	}
	ph.samples = slices.Delete(ph.samples, i, i+1)
}

// conclude ends the training of a phase of which every training task is sampled:
// t of them, or as many as there are. It sets the final size.
func (p *Policy) conclude(ph *phase) {
	if ph.stage != stageTraining || len(ph.samples) == 0 ||
		len(ph.samples) < p.tasks && ph.tasks.Pending() > 0 || !ph.samples.sampled() {
		return
	}
	p.scratch = p.scratch[:0]
	left := wide.Mul64(uint64(max(ph.n-len(ph.samples), 0)), sojourn.MaxProgress) // in 1/10000 tasks
	for i := range ph.samples {
		s := &ph.samples[i]
		p.scratch = append(p.scratch, s.last)
		left = left.Add(wide.From64(uint64(sojourn.MaxProgress - s.last.Progress)))
	}
	mean := wide.From64(uint64(max(p.estimator.Final(ph.job.Spec(), ph.index, p.scratch), 0)))
	size := uint64(clamp(mean.MulU64(uint64(ph.n))))
	// S_f = s [(n-t) + sum of (1-p_k)]
	final, _ := left.MulU64(mean.Lo).QuoRem(wide.From64(sojourn.MaxProgress))
	ph.final = uint64(clamp(final))

	ph.stage = stageTrained
	p.endTraining(ph)
	ph.reset(size) // v changes by as much as the size of the whole phase: what it has aged is kept
}

// endTraining makes ordinary tasks of the training tasks of a phase.
func (p *Policy) endTraining(ph *phase) {
	for i := range ph.samples {
		if s := ph.samples[i].slot; s != noSlot {
			p.targets.expose(ph, s)
		}
	}
	if ph.samples != nil {
		p.buffers = append(p.buffers, ph.samples[:0])
		ph.samples = nil
	}
}

// release says that an attempt has ended that was started by the priority of training:
// it held one of the T slots until now.
func (p *Policy) release(s sojourn.Slot) {
	p.prior.Remove(int(s.ID))
	p.classes[s.Class].training.used--
}
