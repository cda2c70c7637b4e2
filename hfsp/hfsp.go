package hfsp

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A Policy is HFSP as a [sojourn.Policy]. It is also a [sojourn.Seeker], a
// [sojourn.Admitter], a [sojourn.Preemptor], a [sojourn.Waker], a
// [sojourn.Explainer] and a [sojourn.Snapshotter].
type Policy struct {
	options

	ledger    ledger.Ledger[data]
	index     *locality.Index[data]
	estimator Estimator

	classes []class
	phases  []*phase // by handle; nil where the handle is free
	spare   []uint32 // free handles, the next one last
	timers  *heap.Heap[timer]
	prior   bitset.Set // slots of attempts that were started by the priority of training

	exposed []uint32          // by slot: 1 + the ID of the attempt in the attempts of its phase; 0 if it is not in
	guards  *heap.Heap[timer] // when KillFraction spares all that a phase runs

	buffers [][]sample // to be used again
	scratch []Sample
	sources []source
	passed  []*phase // over, in what is being offered
}

// options are those of a policy, resolved.
type options struct {
	tasks        int // t
	slots        *int
	delta        time.Duration
	late         Late
	train        Train
	sizes        SizeUpdate
	maxMin       bool
	modify       bool // weights modify speeds
	kill         bool
	once         bool
	spared       uint64 // KillFraction in 2^-16; 0 if no task is spared
	delay        locality.Delay
	earlySlots   *int
	earlyDelay   time.Duration
	newEstimator func() Estimator
	text         string
}

// A class is what belongs to one class of slots.
type class struct {
	virtual  cluster
	training *heap.Heap[trainingKey] // phases that have training tasks to start, by handle
	used     int                     // slots of p.prior, T_curr in the paper
	early    int                     // slots that early tasks hold
	waiting  []*phase                // those that are early, in no useful but a determined order
	shared   int                     // how many of these descend
}

// New returns an empty policy, or an error that says what is wrong with the
// options.
func New(opts Options) (*Policy, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	p := &Policy{options: options{
		tasks:      cmp.Or(opts.TrainingTasks, 5),
		slots:      copied(opts.TrainingSlots),
		delta:      cmp.Or(opts.Delta, time.Minute),
		late:       opts.Late,
		train:      opts.Train,
		sizes:      opts.SizeUpdate,
		maxMin:     opts.VirtualCluster == MaxMin,
		modify:     opts.Priority == SpeedModifier,
		kill:       opts.Preemption == Kill,
		once:       opts.KillOnce,
		spared:     uint64(math.Floor(opts.KillFraction * (1 << 16))),
		delay:      locality.Delay{Node: opts.NodeDelay, Rack: opts.RackDelay},
		earlySlots: copied(opts.EarlySlots),
		earlyDelay: cmp.Or(opts.EarlyDelay, 10*time.Minute),
	}}
	p.newEstimator = opts.Estimator
	if opts.Estimator == nil {
		p.newEstimator = func() Estimator { return NewTrainer(opts.Xi, opts.DefaultTaskTime) }
	}
	if p.reset(); p.estimator == nil {
		return nil, errors.New("hfsp: the estimator is nil")
	}
	p.text = opts.text(p)
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

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	*p = Policy{options: p.options, timers: heap.New(timer.less), guards: heap.New(timer.less), estimator: p.newEstimator()}
	p.index = locality.New(&p.ledger)
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	p.pass(ev.At)
	var tasks []sojourn.Phase
	if ev.Kind == sojourn.JobRevised {
		tasks = p.ledger.Job(ev.Job.ID).Spec.Phases
	}
	c := p.ledger.Apply(&ev)
	p.index.Update(&ev, c)
	if c.SlotGone || ev.Kind == sojourn.SlotAdded {
		p.class(c.Slot.Class).virtual.SetCapacity(p.ledger.Capacity(c.Slot.Class))
		p.refile(c.Slot.Class)
	}
	switch ev.Kind {
	case sojourn.SlotRemoved, sojourn.SlotAdded: // a busy one ends with its attempt, or stays after all
		if a, ok := p.ledger.Attempt(ev.Slot.ID); ok {
			if ph := a.Job.Data.phases[a.Task.Phase]; ph != nil {
				p.cover(ph, ev.Slot.ID)
				if ev.Kind == sojourn.SlotAdded && !ph.trains(a.Task.Index) {
					p.expose(ph, ev.Slot.ID)
				}
				p.guard(ph)
			}
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		n := len(c.Job.Phases)
		c.Job.Data = data{phases: make([]*phase, n), ran: make([]history, n), adopted: ev.Kind == sojourn.JobAdopted, since: ev.At}
		for i := range c.Job.Phases {
			p.update(c.Job, i)
		}
	case sojourn.JobRevised:
		for i, ph := range c.Job.Data.phases {
			if ph != nil {
				p.resize(ph, ph.n+c.Job.Spec.Phases[i].Tasks-tasks[i].Tasks, true)
			}
			p.update(c.Job, i)
		}
	case sojourn.JobCancelled:
		for i := range c.Job.Phases {
			p.update(c.Job, i)
		}
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.TaskAdopted, sojourn.TaskProgress,
		sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.OutputLost:
		p.observeTask(&ev, c)
	}
	p.expire()
	if c.Ended && !c.Job.Cancelled {
		for i := range c.Job.Data.ran {
			if tasks, service := c.Job.Data.ran[i].total(); tasks > 0 {
				p.estimator.Completed(c.Job.Spec, i, tasks, service)
			}
		}
	}
	return nil
}

// observeTask takes over an event about a task.
func (p *Policy) observeTask(ev *sojourn.Event, c ledger.Change[data]) {
	j, i := c.Job, int(ev.Task.Phase)
	ph := j.Data.phases[i]
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.release(c.Slot)
		if ph != nil {
			p.cover(ph, c.Slot.ID)
		}
	}
	switch ev.Kind {
	case sojourn.TaskFinished:
		service := p.service(ev, c)
		j.Data.add(i, service)
		if ph != nil {
			ph.served = ph.served.Add(wide.From64(uint64(service)))
			p.finished(ph, ev.Task.Index, service)
		}
	case sojourn.TaskFailed, sojourn.TaskRefused:
		if ph != nil {
			if ev.Kind == sojourn.TaskFailed {
				ph.served = ph.served.Add(wide.From64(uint64(p.service(ev, c))))
			}
			p.failed(ph, ev.Task.Index, ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CauseTask)
			if p.once && ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CausePreempted {
				ph.killed.Add(int(ev.Task.Index))
			}
		}
	case sojourn.TaskAdopted:
		if ph != nil {
			p.began(ph, ev.Task.Index, ev.Slot.ID, false, ev.Service)
			p.mature(ph, ev.At)
		}
	case sojourn.TaskProgress:
		if ph != nil {
			p.progressed(ph, ev)
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
	p.update(j, i+1)
}

// service returns how long an attempt ran that has ended: what was measured, or else
// since it was started.
func (p *Policy) service(ev *sojourn.Event, c ledger.Change[data]) time.Duration {
	if ev.Service > 0 {
		return ev.Service
	}
	start := c.Start
	if ph := c.Job.Data.phases[ev.Task.Phase]; ph != nil {
		if i := ph.find(ev.Task.Index); i >= 0 && ph.samples[i].working {
			start = ph.samples[i].since
		}
	}
	return elapsed(start, ev.At)
}

// class returns what belongs to a class of slots.
func (p *Policy) class(c sojourn.Class) *class {
	for int(c) >= len(p.classes) {
		var v cluster = newPure(p.late)
		if p.maxMin {
			v = newMaxMin(p.late)
		}
		v.Advance(p.ledger.Now())
		p.classes = append(p.classes, class{virtual: v, training: heap.New(trainingKey.less)})
	}
	return &p.classes[c]
}

// pass lets time go on until at, before an event of that instant is applied.
func (p *Policy) pass(at sojourn.Time) {
	p.countWaits(at)
	for {
		next, ok := p.timers.MinKey()
		if !ok || next.at > at {
			break
		}
		p.age(max(next.at, p.ledger.Now()))
		p.mature(p.phases[next.handle], next.at)
	}
	p.age(at)
}

// age lets the phases in the virtual clusters age until an instant.
func (p *Policy) age(at sojourn.Time) {
	for i := range p.classes {
		p.classes[i].virtual.Advance(at)
	}
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	if int(s.Class) >= len(p.classes) {
		return sojourn.Assignment{}, false
	}
	if p.delays() {
		return p.assignNear(s)
	}
	ph, prior, ok := p.first(s.Class)
	if !ok {
		ph, ok = p.overdue(s.Class, false)
	}
	if !ok {
		return sojourn.Assignment{}, false
	}
	pick, _ := p.index.Find(ph.job, ph.index, s, sojourn.Remote)
	return p.start(ph, pick, id, prior), true
}

// first returns the phase that is served first, and whether that is for training
// [HFSP, algorithm 1]. There the text has T_curr <= T.
func (p *Policy) first(id sojourn.Class) (ph *phase, prior, ok bool) {
	c := &p.classes[id]
	if h, ok := c.training.Min(); ok && c.used < p.limit(id) {
		return p.phases[h], true, true
	}
	ph, ok = c.virtual.First()
	return ph, false, ok
}

// start assigns a task of a phase.
func (p *Policy) start(ph *phase, pick locality.Pick, id sojourn.SlotID, prior bool) sojourn.Assignment {
	a := p.index.Take(ph.job, ph.index, pick, id)
	if p.delays() {
		ph.wait.Launched(a, p.ledger.Now())
		ph.wait.Stop(p.ledger.Now())
	}
	if prior {
		p.prior.Add(int(id))
		p.class(ph.spec().Class).used++
	}
	p.began(ph, a.Task.Index, id, prior, 0)
	p.enlist(ph)
	return a
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while anything
// is startable; or the least one that is close enough to the inputs of the first phase
// that has any such slot.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if int(c) >= len(p.classes) {
		return 0, false
	}
	if p.delays() {
		return p.seekNear(c)
	}
	if _, _, ok := p.first(c); ok {
		return p.ledger.FreeSlot(c)
	}
	if _, ok := p.overdue(c, false); ok {
		return p.ledger.FreeSlot(c)
	}
	return 0, false
}

// NextWake implements [sojourn.Waker]: when the next training task has run for
// Delta, or the first wait for locality ends.
func (p *Policy) NextWake() (sojourn.Time, bool) {
	next, ok := p.timers.MinKey()
	if at, waits := p.nextWait(); waits && (!ok || at < next.at) {
		return at, true
	}
	return next.at, ok
}

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.ledger.CheckArrival(job) }
