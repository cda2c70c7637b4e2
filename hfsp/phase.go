package hfsp

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

type job = ledger.Job[data]

// data is what the policy keeps of a job.
type data struct {
	phases []*phase  // by phase, from when it is ready until it has finished; nil otherwise
	ran    []history // by phase: what was run of it

	killed []bitset.Set // by phase: the tasks that were killed; nil if none was

	bounds []*bound // by class, of a bounded job; nil where it has no phase

	adopted bool         // and not seen from its arrival on
	since   sojourn.Time // when that was, or when it arrived
}

// A phase is a phase of a job that is ready and not finished. Phases are scheduled
// independently of each other, as jobs are in the literature.
type phase struct {
	job    *job
	index  int
	class  *class
	tasks  *ledger.Phase // the account of its tasks
	handle uint32        // unique among phases: heaps go by it
	stage  stage
	item   *vqueue.Item[*phase] // in the virtual cluster of its class

	// size is the work of n tasks, in slot-nanoseconds, by the latest estimate: first
	// S_i, then n s, of which S_f is what is left when training ends. n counts the
	// tasks that were not done when the phase became ready.
	size, initial, final uint64
	n                    int

	// brought is the work that the phase has brought into the virtual cluster: its size,
	// unless it is late. Then it is what the phase was given there.
	brought uint64

	// served is how long its attempts have run that have ended since it became ready,
	// without those that were killed or lost with their slot.
	served wide.Uint128

	samples  samples // while it is in training
	failures int     // of training tasks, by their own fault

	entered    sojourn.Time // when it became ready
	early      bool         // its tasks have to wait for the phase before
	earlyTasks int          // running tasks, if it is early; else 0
	overdue    bool         // it has been held back for long enough to be given idle slots
	dirty      bool         // it is in Policy.dirty
	lined      bool         // it is in lines of its job, there at its place
	place      uint32

	attempts attempts // those that may be killed
	wait     locality.Wait
	choosy   int // its place in class.choosy, from 1; 0 if it is not there
}

// A stage is how far the estimation of a phase is.
type stage uint8

const (
	stageTiny     stage = iota // fewer than t tasks: of size 0
	stageKnown                 // the estimator knew the size beforehand
	stageTraining              // size is S_i
	stageTrained               // size comes from training
)

var stageNames = [...]string{stageTiny: "tiny", stageKnown: "known", stageTraining: "training", stageTrained: "trained"}

// spec returns the description of the phase.
func (ph *phase) spec() *sojourn.Phase { return &ph.job.Spec().Phases[ph.index] }

// startable reports whether the phase has a task that it may start.
func (ph *phase) startable() bool { return ph.may() && ph.job.Room() > 0 }

// may reports whether the phase has a task that it may start if its job has room.
func (ph *phase) may() bool {
	return ph.tasks.Ready() && ph.tasks.Pending() > 0 && !(ph.early && ph.class.gate.shut())
}

// before reports whether a phase is served before another one of its class.
func (ph *phase) before(other *phase) bool { return ph.class.aging.Before(ph.item, other.item) }

// trainsBefore reports whether it is trained before another one.
func (ph *phase) trainsBefore(other *phase) bool { return ph.trainingKey().less(other.trainingKey()) }

// waiting returns how many tasks of the phase could start if there were slots.
func (ph *phase) waiting() int { return ph.job.Startable(ph.index) }

// remaining returns v, the virtual size.
func (ph *phase) remaining() uint64 { return ph.class.aging.Remaining(ph.item) }

// given returns what the phase was given in the virtual cluster: v is what is left of its
// size, or 0 if the size has become less than that.
func (ph *phase) given() uint64 { return ph.brought - min(ph.remaining(), ph.brought) } // v is rounded up

// mean returns the expected time of a task.
func (ph *phase) mean() uint64 { return ph.size / uint64(max(ph.n, 1)) }

// update lets phase i of a job enter when it is ready and leave when it has finished. What
// an event does to a phase in between, sync puts right.
func (p *Policy) update(j *job, i int) {
	ph, account := j.Data.phases[i], j.Phase(i)
	over := j.Cancelled() || account.Done() == j.Spec().Phases[i].Tasks
	switch {
	case ph != nil && over:
		p.leave(ph)
	case ph != nil:
		p.touch(ph)
	case !over && account.Ready():
		p.touch(p.enter(j, i))
	}
}

// touch says that anything has changed of what decides how a phase is served: its tasks,
// its samples, its size, or what the gate of its class makes of it.
func (p *Policy) touch(ph *phase) {
	if !ph.dirty {
		ph.dirty = true
		p.dirty = append(p.dirty, ph)
	}
}

// touchWaiting touches the early phases of a class, when its gate has turned.
func (p *Policy) touchWaiting(c *class) {
	for _, ph := range c.gate.waiting {
		p.touch(ph)
	}
}

// sync puts right what follows from the state of the dirty phases: at the end
// of each event, of each timer and of each assignment.
func (p *Policy) sync(at sojourn.Time) {
	for i := 0; i < len(p.dirty); i++ { // it may grow
		ph := p.dirty[i]
		p.dirty[i], ph.dirty = nil, false
		if *p.phases.At(ph.handle) == ph {
			p.derive(ph, at)
		}
	}
	p.dirty = p.dirty[:0]
	if p.kill {
		p.targets.expire()
	}
}

// derive brings a phase up to date, one thing after the other: from the time, which samples
// count; from these, the size; from the tasks, whether the phase is held back; from all of
// it, when to look again, and where the phase stands in the queues of its class.
func (p *Policy) derive(ph *phase, at sojourn.Time) {
	c, running, hasInput := ph.class, ph.tasks.Running(), ph.hasInput()
	if ph.lined {
		ph.withdraw()
	}
	if ph.stage == stageTraining {
		if hasInput {
			ph.samples.work(p.ledger.Now())
		}
		ph.samples.ripen(at, p.delta)
		p.conclude(ph)
	}
	if (ph.early || !hasInput) && c.gate.count(ph, !hasInput, running) {
		p.touchWaiting(c)
	}
	if ph.early || len(ph.samples) > 0 || p.timers.Contains(ph.handle) {
		p.setTimer(ph, at)
	}
	c.aging.SetRunning(ph.item, running)
	if p.kill {
		p.targets.mark(ph)
	}
	c.file(ph, p.ledger.Now())
}

// A timer is the instant at which the next training task of a phase has run for
// Delta, or the phase is not held back any more.
type timer struct {
	at    sojourn.Time
	seq   uint64 // of the job
	index int
	phase *phase
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

func (a timer) prefix() (hi, lo uint64) { return uint64(a.at), a.seq }

// setTimer sets the timer of a phase, or takes it to be overdue if it is by now.
func (p *Policy) setTimer(ph *phase, now sojourn.Time) {
	first, any := ph.samples.next(p.delta)
	if ph.early && !ph.overdue {
		switch at, ok := later(ph.entered, p.earlyDelay); {
		case ok && at <= now:
			ph.overdue = true
		case ok && (!any || at < first):
			first, any = at, true
		}
	}
	if any {
		p.timers.Set(ph.handle, timer{first, ph.job.Seq(), ph.index, ph})
	} else {
		p.timers.Remove(ph.handle)
	}
}

// enter lets a phase that has become ready into the virtual cluster.
func (p *Policy) enter(j *job, i int) *phase {
	ph := &phase{job: j, index: i, class: p.class(j.Spec().Phases[i].Class), tasks: j.Phase(i), n: j.Spec().Phases[i].Tasks - j.Phase(i).Done(), entered: p.ledger.Now()}
	p.adopt(ph)
	ph.stage, ph.initial = p.estimate(ph)
	ph.size, ph.brought = ph.initial, ph.initial
	ph.item = ph.class.aging.Arrive(ph, ph.size, j.Weight())
	if p.kill && ph.tasks.Running() > 0 { // adopted before
		for s, a := range p.ledger.Attempts() {
			if a.Job == j && int(a.Task.Phase) == i {
				p.targets.expose(ph, s.ID)
			}
		}
	}
	return ph
}

// adopt gives a phase a handle, and its job the phase.
func (p *Policy) adopt(ph *phase) {
	ph.job.Data.phases[ph.index] = ph
	ph.handle = heap.Allot(&p.phases, &p.spare, ph)
}

// estimate returns the size of a phase that was not trained, and what that makes of it.
func (p *Policy) estimate(ph *phase) (stage, uint64) {
	size, sure := p.estimator.Initial(ph.job.Spec(), ph.index)
	switch part := portion(uint64(max(size, 0)), ph.n, ph.spec().Tasks); {
	case sure:
		return stageKnown, part
	case ph.n < p.tasks:
		return stageTiny, 0
	default:
		return stageTraining, part
	}
}

// portion returns the part of a size that n of total tasks have, at most 2^63-1.
func portion(size uint64, n, total int) uint64 {
	if n == total {
		return size
	}
	q, _ := wide.Mul64(size, uint64(n)).QuoRem(wide.From64(uint64(max(total, 1))))
	return uint64(clamp(q))
}

// leave takes a phase that has finished, or whose job was cancelled, out of
// everything but the virtual cluster.
func (p *Policy) leave(ph *phase) {
	c := ph.class
	ph.withdraw()
	ph.charge(&p.ledger)
	p.endTraining(ph)
	p.targets.coverAll(ph)
	if c.gate.count(ph, false, 0) {
		p.touchWaiting(c)
	}
	p.timers.Remove(ph.handle)
	c.training.queue.Remove(ph.handle)
	c.choose(ph, false)
	c.aging.Finish(ph.item)
	ph.item.Value = nil // the tag may stay for long, the phase must not
	ph.job.Data.phases[ph.index] = nil
	heap.Release(&p.phases, &p.spare, ph.handle)
}

// charge makes the size of a phase that leaves what it has cost: the service that it has
// taken. From now on the virtual cluster gives it the rest of that, so that the others age no
// faster because it was served first. This includes late phases. A tiny phase is late from the
// start. Without the charge the virtual cluster would run ahead of the real one by all work
// that was not foreseen. A size that was too large, perhaps by years, no longer counts.
func (ph *phase) charge(l *ledger.Ledger[data]) {
	cost := ph.served
	if ph.tasks.Running() > 0 { // of a job that was cancelled
		for _, a := range l.Attempts() {
			if a.Job == ph.job && int(a.Task.Phase) == ph.index {
				cost = cost.Add(wide.From64(uint64(elapsed(a.Start, l.Now()))))
			}
		}
	}
	switch size, late := uint64(clamp(cost)), ph.item.Late(); {
	case late && size > ph.given():
		ph.reset(size)
	case !late && size != ph.size:
		ph.revise(size)
	}
}

// revise changes the size of a phase. v changes by as much, but not below 0, and a phase
// that is late stays late.
func (ph *phase) revise(size uint64) {
	given := ph.given()
	ph.size, ph.brought = size, size
	ph.class.aging.Revise(ph.item, size, ph.job.Weight())
	if ph.item.Late() {
		ph.brought = given
	}
}

// reset changes the size of a phase, which is not late any more if it was given less.
func (ph *phase) reset(size uint64) {
	given := ph.given()
	ph.size, ph.brought = size, max(size, given)
	ph.class.aging.Reset(ph.item, ph.brought-given, size)
}

// resize says that a phase has n tasks to do instead of ph.n, or that its description
// has changed.
func (p *Policy) resize(ph *phase, n int, described bool) {
	ph.withdraw()
	was, before, size := ph.stage, ph.n, ph.size
	ph.n = n
	if described && was != stageTrained {
		ph.stage, ph.initial = p.estimate(ph)
		size = ph.initial
		if ph.stage != stageTraining {
			p.endTraining(ph)
		}
	} else {
		size = portion(size, n, before)
	}
	if was == stageTiny && ph.stage == stageTraining { // it is not tiny any more
		ph.reset(size)
	}
	ph.revise(size)
}

// add says that a task of a job has finished after a time.
func (d *data) add(phase int, service time.Duration) {
	d.ran[phase].service = d.ran[phase].service.Add(wide.From64(uint64(service)))
	d.ran[phase].tasks++
}

// kill says that a task was killed.
func (d *data) kill(phase int, task uint32) {
	if d.killed == nil {
		d.killed = make([]bitset.Set, len(d.ran))
	}
	d.killed[phase].Add(int(task))
}

// wasKilled reports whether a task was killed.
func (d *data) wasKilled(phase int, task uint32) bool {
	return d.killed != nil && d.killed[phase].Has(int(task))
}

// total returns h as an Estimator is told.
func (h *history) total() (tasks int, service time.Duration) {
	return int(min(h.tasks, math.MaxInt)), clamp(h.service)
}
