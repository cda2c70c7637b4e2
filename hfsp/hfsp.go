package hfsp

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A Policy is HFSP as a [sojourn.Policy]. It is also a [sojourn.Supporter], a [sojourn.Seeker],
// a [sojourn.Admitter], a [sojourn.Preemptor], a [sojourn.Waker], a
// [sojourn.Explainer] and a [sojourn.Snapshotter].
//
// All slots work alike here: time on a slot is work. It enters in these places only:
//
//	service                  what an attempt took that has ended: phase.served, samples, estimator
//	phase.charge             the same for attempts that run when a job is cancelled
//	samples.progressed       the same for training tasks that run; Delta, in ripen and next, is time and no work
//	targets.spareFrom        KillFraction of the time of a task. attempt.before, targets.mark and supply.next rest on it,
//	                         too: of the attempts of a phase, those that began first are spared first
//	class.resize             the virtual cluster works as fast as there are slots; Policy.restore tells it so, too
//
// Limits on slots (training, gate, patience) count slots, and stay as they are.
type Policy struct {
	options

	ledger    ledger.Ledger[data]
	index     *locality.Index[data]
	estimator Estimator

	classes []*class
	phases  heap.Table[*phase] // by handle; nil where the handle is free
	spare   heap.Table[uint32] // free handles, the next one last
	dirty   []*phase           // those that sync has to look at

	timers   *heap.Heap[timer] // by handle: when to look at a phase if nothing happens
	reserve  *reserve.Reserve  // nil if nothing is reserved
	prior    bitset.Set        // slots of attempts that were started by the priority of training
	targets  targets           // what may be killed
	patience patience          // for slots close to inputs

	// Memory that is used again.
	buffers []samples
	scratch []Sample
	sources []source
	passed  []*phase
	fed     []int
}

type member = inside.Member

// options are those of a policy, resolved.
type options struct {
	tasks        int // t
	slots        *int
	delta        time.Duration
	late         vqueue.Late
	kill         bool
	any          bool   // whatever they have lost: KillAny
	spared       uint64 // KillFraction in 2^-16
	delay        locality.Delay
	earlySlots   *int
	earlyDelay   time.Duration
	kept         reserve.Options
	newEstimator func() Estimator

	member
	outer func(sojourn.Class) int // unless nil, the free slots of the cluster of which the policy has a part
}

// Supports implements [sojourn.Supporter] for the policy: all features, whatever the options.
func (*options) Supports() sojourn.Features { return option.Features | sojourn.FeatureParallelism }

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{options: options{
		tasks:      cmp.Or(opts.TrainingTasks, 5),
		slots:      copied(opts.TrainingSlots),
		delta:      cmp.Or(opts.Delta, time.Minute),
		late:       opts.Late.Or(vqueue.LateShare),
		kill:       opts.Preemption != Wait,
		any:        opts.Preemption == KillAny,
		spared:     uint64(math.Floor(cmp.Or(opts.KillFraction, killFraction) * (1 << 16))),
		delay:      locality.Delay{Node: opts.NodeDelay, Rack: opts.RackDelay},
		earlySlots: copied(opts.EarlySlots),
		earlyDelay: cmp.Or(opts.EarlyDelay, 10*time.Minute),
		kept:       reserve.Options{Share: reserve.ShareOf(opts.Reserve)},
	}}
	p.newEstimator = opts.Estimator
	if opts.Estimator == nil {
		p.newEstimator = func() Estimator { return NewTrainer(opts.Xi, opts.DefaultTaskTime) }
	}
	p.member = inside.MemberOf(p.join)
	if p.reset(); p.estimator == nil {
		return nil, errors.New("hfsp: the estimator is nil")
	}
	return p, nil
}

// copied returns a pointer to a number that nobody else can change.
func copied(n *int) *int {
	if n == nil {
		return nil
	}
	m := *n
	return &m
}

// join makes p keep to the reserve of the cluster of which it has a part, instead of its own. What a phase leaves unused that
// waits for locality are the free slots of the cluster.
func (p *Policy) join(c inside.Cluster) bool {
	p.kept.In, p.outer = c.Reserve, c.Free
	p.reset()
	return true
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	*p = Policy{options: p.options, timers: heap.New(timer.less, timer.prefix), estimator: p.newEstimator()}
	p.ledger.Supports = p.Supports()
	p.index = locality.New(&p.ledger)
	p.targets = targets{options: &p.options, ledger: &p.ledger, guards: heap.New(timer.less, timer.prefix)}
	if p.kept.On() {
		p.reserve = reserve.New(&p.ledger, p.kept)
	}
	p.patience = patience{p.delay, p.delay != locality.Delay{}, &p.ledger, p.index, p.outer}
	if p.outer == nil {
		p.patience.free = p.ledger.FreeSlots
	}
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	p.pass(ev.At)
	var tasks []sojourn.Phase
	if ev.Kind == sojourn.JobRevised {
		tasks = p.ledger.Job(ev.Job.ID).Spec().Phases
	}
	c := p.ledger.Apply(&ev)
	p.index.Update(&ev, &c)
	if c.SlotGone || ev.Kind == sojourn.SlotAdded {
		if of := p.class(c.Slot.Class); of.resize(p.ledger.Capacity(c.Slot.Class)) {
			p.touchWaiting(of)
		}
	}
	switch ev.Kind {
	case sojourn.SlotRemoved, sojourn.SlotAdded: // a busy one ends with its attempt, or stays after all
		if a, ok := p.ledger.Attempt(ev.Slot.ID); ok {
			if ph := a.Job.Data.phases[a.Task.Phase]; ph != nil {
				p.targets.cover(ph, ev.Slot.ID)
				if ev.Kind == sojourn.SlotAdded && !ph.trains(a.Task.Index) {
					p.targets.expose(ph, ev.Slot.ID)
				}
				p.touch(ph)
			}
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		n := c.Job.NumPhases()
		c.Job.Data = data{phases: make([]*phase, n), ran: make([]history, n), adopted: ev.Kind == sojourn.JobAdopted, since: ev.At}
		for i := range c.Job.NumPhases() {
			p.update(c.Job, i)
		}
	case sojourn.JobRevised:
		for i, ph := range c.Job.Data.phases {
			if ph != nil {
				p.resize(ph, ph.n+c.Job.Spec().Phases[i].Tasks-tasks[i].Tasks, true)
			}
			p.update(c.Job, i)
		}
	case sojourn.JobCancelled:
		for i := range c.Job.NumPhases() {
			p.update(c.Job, i)
		}
	case sojourn.TaskPinned:
		if ph := c.Job.Data.phases[ev.Task.Phase]; ph != nil {
			p.targets.cover(ph, ev.Slot.ID)
			p.touch(ph)
		}
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.TaskAdopted, sojourn.TaskProgress,
		sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.OutputLost:
		p.observeTask(&ev, &c)
	}
	p.sync(ev.At)
	if c.Job != nil && c.Job.Bounded() {
		p.settle(c.Job)
	}
	if c.Ended && !c.Job.Cancelled() {
		for i := range c.Job.Data.ran {
			if tasks, service := c.Job.Data.ran[i].total(); tasks > 0 {
				p.estimator.Completed(c.Job.Spec(), i, tasks, service)
			}
		}
	}
	return nil
}

// observeTask takes over an event about a task. The phase may have left, or not entered.
func (p *Policy) observeTask(ev *sojourn.Event, c *ledger.Change[data]) {
	j, i := c.Job, int(ev.Task.Phase)
	ph := j.Data.phases[i]
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if p.prior.Has(int(c.Slot.ID)) {
			p.release(c.Slot)
		}
		if ph != nil && p.kill {
			p.targets.cover(ph, c.Slot.ID)
		}
	}
	switch ev.Kind {
	case sojourn.TaskFinished:
		took := service(ev, c)
		j.Data.add(i, took)
		if ph != nil {
			if p.patience.any && p.index.Near(j, ev.Task, c.Slot) {
				ph.wait.Used(ev.At.Sub(c.Start))
			}
			ph.served = ph.served.Add(wide.From64(uint64(took)))
			if ph.stage == stageTraining {
				ph.samples.finished(ev.Task.Index, took)
			}
		}
	case sojourn.TaskFailed, sojourn.TaskRefused:
		if ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CausePreempted {
			j.Data.kill(i, ev.Task.Index)
		}
		if ph != nil {
			if ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CauseTask {
				ph.served = ph.served.Add(wide.From64(uint64(service(ev, c))))
			}
			ph.failed(ev.Task.Index, ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CauseTask)
		}
	case sojourn.TaskAdopted:
		if ph != nil {
			p.began(ph, ev.Task.Index, ev.Slot.ID, false, ev.Service)
		}
	case sojourn.TaskProgress:
		if ph != nil {
			ph.samples.progressed(ev)
			p.touch(ph)
		}
		return // nothing else has changed
	case sojourn.TaskDone:
		if ph != nil {
			p.resize(ph, ph.n-1, false)
		}
	case sojourn.OutputLost: // work to be done again is more work
		if ph != nil {
			p.resize(ph, ph.n+1, false)
		}
	}
	p.update(j, i)
	p.fed = j.AppendFed(p.fed[:0], i)
	for _, k := range p.fed {
		p.update(j, k)
	}
}

// service returns how long an attempt ran that has ended: what was measured, or else
// since it was started.
func service(ev *sojourn.Event, c *ledger.Change[data]) time.Duration {
	if ev.Service > 0 {
		return ev.Service
	}
	start := c.Start
	if ph := c.Job.Data.phases[ev.Task.Phase]; ph != nil && ph.stage == stageTraining {
		if i := ph.samples.find(ev.Task.Index); i >= 0 && ph.samples[i].working {
			start = ph.samples[i].since
		}
	}
	return elapsed(start, ev.At)
}

// pass lets time go on until at, before an event of that instant is applied.
func (p *Policy) pass(at sojourn.Time) {
	if p.patience.any {
		p.patience.count(p.classes, at)
	}
	reached := p.ledger.Now() // a timer of a restored policy may be for a moment before
	for due := true; due; {
		next, ok := p.timers.MinKey()
		until := at
		if due = ok && next.at <= at; due {
			until = max(next.at, reached)
		}
		reached = until
		for _, c := range p.classes {
			c.aging.Advance(until, c.completed)
		}
		if due {
			p.touch(next.phase)
			p.sync(next.at)
		}
	}
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	s := p.ledger.Free(id)
	if int(s.Class) >= len(p.classes) {
		return a, false
	}
	if p.patience.any {
		return p.assignNear(s)
	}
	c := p.classes[s.Class]
	ph, prior, ok := c.next()
	if !ok {
		ph, ok = c.overdue(false)
	}
	if !ok {
		return a, false
	}
	pick, _ := p.index.Find(ph.job, ph.index, s, sojourn.Remote)
	a = p.start(ph, pick, id, prior, true)
	return a, true
}

// start assigns a task of a phase. chosen says that the phase has chosen the place.
func (p *Policy) start(ph *phase, pick locality.Pick, id sojourn.SlotID, prior, chosen bool) (a sojourn.Assignment) {
	a = p.index.Take(ph.job, ph.index, pick, id)
	if p.patience.any {
		if chosen {
			ph.wait.Launched(a, p.ledger.Now())
		}
		ph.wait.Stop(p.ledger.Now())
	}
	if prior {
		p.prior.Add(int(id))
		ph.class.training.used++
	}
	p.began(ph, a.Task.Index, id, prior, 0)
	p.touch(ph)
	p.sync(p.ledger.Now())
	if ph.job.Bounded() {
		p.settle(ph.job)
	}
	return a
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if something
// is startable and, with a reserve, may start. With delays, it returns the least slot that
// is close enough to the inputs of the first phase that has such a slot.
func (p *Policy) Seek(id sojourn.Class) (sojourn.SlotID, bool) {
	if int(id) >= len(p.classes) {
		return 0, false
	}
	c := p.classes[id]
	if p.patience.any {
		return p.seekNear(c)
	}
	if _, _, ok := c.next(); ok {
		return p.ledger.FreeSlot(id)
	}
	if _, ok := c.overdue(false); ok {
		return p.ledger.FreeSlot(id)
	}
	return 0, false
}

// NextWake implements [sojourn.Waker]: it returns when the next training task has run for
// Delta, or the first wait for locality ends.
func (p *Policy) NextWake() (sojourn.Time, bool) {
	next, ok := p.timers.MinKey()
	if at, waits := p.patience.next(p.classes); waits && (!ok || at < next.at) {
		return at, true
	}
	return next.at, ok
}

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.ledger.CheckArrival(job) }
