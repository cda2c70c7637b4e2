package hfsp

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

type job = ledger.Job[data]

// data is what the policy keeps of a job.
type data struct {
	phases []*phase  // by phase, from when it is ready until it has finished; nil otherwise
	ran    []history // by phase: what was run of it

	adopted bool         // and not seen from its arrival on
	since   sojourn.Time // when that was, or when it arrived
}

// A phase is a phase of a job that is ready and not finished. Phases are scheduled
// independently of each other, as jobs are in the literature.
type phase struct {
	job    *job
	index  int
	handle uint32 // unique among phases: heaps go by it
	stage  stage
	place  place // in the virtual cluster of its class

	// size is the work of n tasks, in slot-nanoseconds, by the latest estimate: first
	// S_i, then n s, of which S_f is what is left when training ends. n counts the
	// tasks that were not done when the phase became ready.
	size, initial, final uint64
	n                    int

	// served is how long all attempts have run that have ended since the phase became
	// ready, in vain or not.
	served wide.Uint128

	samples  []sample
	failures int // of training tasks, by their own fault

	entered    sojourn.Time // when it became ready
	early      bool         // its tasks have to wait for the phase before
	earlyTasks int          // running tasks, if it is early; else 0
	overdue    bool         // it has been held back for long enough to be given idle slots

	attempts attempts   // those that may be killed
	killed   bitset.Set // tasks that were killed, if each is to be killed once only
	wait     locality.Wait
}

// A stage is how far the estimation of a phase is.
type stage uint8

const (
	tiny     stage = iota // fewer than t tasks: of size 0
	known                 // the estimator knew the size beforehand
	training              // size is S_i
	trained               // size comes from training
)

var stageNames = [...]string{tiny: "tiny", known: "known", training: "training", trained: "trained"}

// spec returns the description of the phase.
func (ph *phase) spec() *sojourn.Phase { return &ph.job.Spec.Phases[ph.index] }

// account returns the account of the tasks.
func (ph *phase) account() *ledger.Phase { return &ph.job.Phases[ph.index] }

// startable reports whether a phase has a task that it may start.
func (p *Policy) startable(ph *phase) bool {
	return ph.account().Ready && ph.account().Pending() > 0 && !p.heldBack(ph)
}

// mean returns the expected time of a task.
func (ph *phase) mean() uint64 { return ph.size / uint64(max(ph.n, 1)) }

// update brings the place of a phase up to date, which begins when it is ready and
// ends when it has finished.
func (p *Policy) update(j *job, i int) {
	if i >= len(j.Phases) {
		return
	}
	ph, account := j.Data.phases[i], &j.Phases[i]
	if j.Cancelled || account.Done == j.Spec.Phases[i].Tasks {
		if ph != nil {
			p.leave(ph)
		}
		return
	}
	if ph == nil {
		if !account.Ready {
			return
		}
		ph = p.enter(j, i)
	}
	p.startClocks(ph)
	p.conclude(ph)
	p.enlist(ph)
}

// enlist takes note of what a phase has to start and what it runs.
func (p *Policy) enlist(ph *phase) {
	p.countEarly(ph, false)
	p.class(ph.spec().Class).virtual.SetRunning(ph, ph.account().Running)
	p.guard(ph)
	p.file(ph)
}

// file files a phase among those that have something to start, if it has.
func (p *Policy) file(ph *phase) {
	c := p.class(ph.spec().Class)
	startable := p.startable(ph)
	c.virtual.SetReady(ph, startable)
	c.virtual.SetMark(ph, claims, p.kill && startable && !ph.early)
	if startable && p.wantsTraining(ph) {
		c.training.Set(ph.handle, p.trainingKey(ph))
	} else {
		c.training.Remove(ph.handle)
	}
	if !startable {
		ph.wait.Stop(p.ledger.Now())
	}
}

// enter lets a phase that has become ready into the virtual cluster.
func (p *Policy) enter(j *job, i int) *phase {
	ph := &phase{job: j, index: i, n: j.Spec.Phases[i].Tasks - j.Phases[i].Done, entered: p.ledger.Now()}
	p.adopt(ph)
	p.estimate(ph)
	p.class(ph.spec().Class).virtual.Arrive(ph, p.scaled(ph, ph.size), p.weight(ph), ph.n)
	if p.kill && ph.account().Running > 0 { // adopted before
		for s, a := range p.ledger.Attempts() {
			if a.Job == j && int(a.Task.Phase) == i {
				p.expose(ph, s.ID)
			}
		}
	}
	return ph
}

// adopt gives a phase a handle, and its job the phase.
func (p *Policy) adopt(ph *phase) {
	ph.job.Data.phases[ph.index] = ph
	if n := len(p.spare); n > 0 {
		ph.handle = p.spare[n-1]
		p.spare = p.spare[:n-1]
		p.phases[ph.handle] = ph
		return
	}
	ph.handle = uint32(len(p.phases))
	p.phases = append(p.phases, ph)
}

// estimate sets the size of a phase that was not trained.
func (p *Policy) estimate(ph *phase) {
	size, sure := p.estimator.Initial(ph.job.Spec, ph.index)
	ph.size = portion(uint64(max(size, 0)), ph.n, ph.spec().Tasks)
	switch {
	case sure:
		ph.stage = known
	case ph.n < p.tasks:
		ph.stage, ph.size = tiny, 0
	default:
		ph.stage = training
	}
	ph.initial = ph.size
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
	c := p.class(ph.spec().Class)
	p.correct(ph)
	p.endTraining(ph)
	p.coverAll(ph)
	p.guards.Remove(ph.handle)
	p.countEarly(ph, true)
	p.timers.Remove(ph.handle)
	c.training.Remove(ph.handle)
	c.virtual.Finish(ph)
	ph.job.Data.phases[ph.index] = nil
	p.phases[ph.handle] = nil
	p.spare = append(p.spare, ph.handle)
}

// correct makes the size of a phase that leaves what it really was, if that is less:
// the service that it has taken. It goes on taking its share of the virtual cluster
// until it is virtually complete, so that the others age no faster for its having been
// served first; but not for the sake of an estimate that was too large, which might
// be by years. A size that was too small stays: v never grows but by training.
func (p *Policy) correct(ph *phase) {
	c := p.class(ph.spec().Class)
	if c.virtual.Late(ph) {
		return
	}
	served := ph.served
	if ph.account().Running > 0 { // of a job that was cancelled
		for _, a := range p.ledger.Attempts() {
			if a.Job == ph.job && int(a.Task.Phase) == ph.index {
				served = served.Add(wide.From64(uint64(p.ledger.Now().Sub(a.Start))))
			}
		}
	}
	if size := uint64(clamp(served)); size < ph.size {
		ph.size = size
		c.virtual.Resize(ph, p.scaled(ph, size), p.weight(ph), ph.n)
	}
}

// resize takes note that a phase has n tasks to do instead of ph.n, or that its
// description has changed.
func (p *Policy) resize(ph *phase, n int, described bool) {
	before := ph.n
	ph.n = n
	switch {
	case described && ph.stage != trained:
		was := ph.stage
		p.estimate(ph)
		if ph.stage != training {
			p.endTraining(ph)
		} else if was == tiny { // it is not tiny any more
			c := p.class(ph.spec().Class)
			c.virtual.Reset(ph, p.scaled(ph, ph.size), p.scaled(ph, ph.size))
		}
	default:
		ph.size = portion(ph.size, n, before)
	}
	p.class(ph.spec().Class).virtual.Resize(ph, p.scaled(ph, ph.size), p.weight(ph), n)
}

// scaled returns a size as the virtual cluster is told of it: where the weight of a
// job modifies the speed at which it ages, a job of weight w ages like one that is w
// times smaller.
func (p *Policy) scaled(ph *phase, size uint64) uint64 {
	if !p.modify {
		return size
	}
	q, _ := wide.Mul64(size, 1<<16).QuoRem(wide.From64(ph.job.Weight))
	return uint64(clamp(q))
}

// weight returns the weight of a phase in the virtual cluster.
func (p *Policy) weight(ph *phase) uint64 {
	if p.modify {
		return 1 << 16
	}
	return ph.job.Weight
}

// v returns the virtual size of a phase.
func (p *Policy) v(ph *phase) uint64 {
	v := p.class(ph.spec().Class).virtual.Remaining(ph)
	if !p.modify {
		return v
	}
	q, _ := wide.Mul64(v, ph.job.Weight).QuoRem(wide.From64(1 << 16))
	return uint64(clamp(q))
}

// add takes note that a task of a job has finished after a time.
func (d *data) add(phase int, service time.Duration) {
	d.ran[phase].service = d.ran[phase].service.Add(wide.From64(uint64(service)))
	d.ran[phase].tasks++
}

// total returns h as an Estimator is told.
func (h *history) total() (tasks int, service time.Duration) {
	return int(min(h.tasks, math.MaxInt)), clamp(h.service)
}
