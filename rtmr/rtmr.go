package rtmr

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Policy is RTMR as a [sojourn.Policy]. It is also a [sojourn.Supporter], a [sojourn.Admitter], a
// [sojourn.Seeker], a [sojourn.Waker], a [sojourn.Explainer], a [sojourn.Promiser] and a
// [sojourn.Snapshotter].
type Policy struct {
	header snapshot.Header
	skew   int64 // Options.Skew in 2^-16
	est    estimator
	promises
}

type job = ledger.Job[data]

// data is the policy's data about a job.
type data struct {
	phase    [2]int   // of each stage; -1 if the job has none
	eps      [2]int64 // the longest time of a task of each stage, frozen at admission
	deadline int64    // never if there is none
	running  [2]starts
	ended    [2]slotvec.Vector // Chain with feedback: when its tasks finished

	mark mark // the present mark
	hard mark // the hard mark; see promises

	key      key
	rank     int   // its index in the order
	reserved int64 // slots kept for it
}

// A mark is the state of the promise to a job.
type mark struct {
	promise promise
	place   int64  // in the order of admitted jobs: the deadline, or another place where the job fitted
	why     reason // the promise is void
	started uint64 // Chain: order of the first dispatch; 0 if it waits or has left the chain
	booking        // Chain
}

type promise uint8

const (
	unasked promise = iota // no deadline
	kept                   // the deadline will be met
	void                   // it was promised, but something happened that the promise did not allow for
)

var promiseNames = [...]string{unasked: "none", kept: "holds", void: "void"}

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{header: snapshot.Header{Policy: "rtmr", Version: 4, Options: opts.saved()}}
	p.opts = opts
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	c := &cluster{timers: heap.New(overrun.before, overrun.prefix)}
	c.ledger.Supports = sojourn.FeatureAttempts
	if p.opts.Booking == Rebook {
		c.ledger.Supports |= sojourn.FeatureParallelism
	}
	c.inputs = locality.New(&c.ledger)
	*p = Policy{
		header: p.header,
		skew:   units(p.opts.Skew),
		est:    newEstimator(&p.opts),
		promises: promises{
			opts:    p.opts,
			cluster: c,
			ready:   ready.New(key.before, key.prefix),
		},
	}
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	told := ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted || ev.Kind == sojourn.JobRevised
	tx := p.begin(ev.At, told)
	var d data
	if told {
		var err error
		if d, err = p.decide(&ev); err != nil {
			p.abandon(tx)
			return &sojourn.EventError{Event: ev, Err: err}
		}
	}
	p.end(tx)
	p.apply(&ev, &d)
	p.fresh = false
	return nil
}

// apply applies an event that is not refused. If the event describes a job, d is the data
// about it.
func (p *Policy) apply(ev *sojourn.Event, d *data) {
	_, restored := p.ledger.Attempt(ev.Slot.ID)
	c := p.ledger.Apply(ev)
	p.inputs.Update(ev, &c)
	j := c.Job
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.addSlot(ev.Slot, restored)
	case sojourn.SlotRemoved:
		p.removeSlot(c.Slot, c.SlotGone)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.attemptEnded(ev, &c)
	case sojourn.TaskAdopted:
		start := ev.At - sojourn.Time(ev.Service)
		if ev.Service > 0 {
			if p.adopted == nil {
				p.adopted = map[sojourn.SlotID]sojourn.Time{}
			}
			p.adopted[ev.Slot.ID] = start
		}
		p.attemptStarted(j, int(c.Slot.Class), start)
		p.broken(byAdoption)
	case sojourn.JobArrived, sojourn.JobAdopted:
		j.Data = *d
		p.setKey(j)
		p.order.add(j)
		p.arrived(j)
		if d.mark.promise == void {
			p.voids++
		}
	case sojourn.JobRevised:
		p.revised(j, d)
	case sojourn.JobCancelled:
		p.stale = p.stale || p.opts.Booking == Chain
		if !c.Ended {
			p.setKey(j)
			p.order.sort()
		}
		p.relieved()
	case sojourn.TaskHeld:
		p.broken(byHold)
	case sojourn.TaskReady:
		p.broken(byHold)
	case sojourn.TaskDone:
		p.relieved()
	case sojourn.OutputLost:
		p.broken(byFailure)
	}
	switch {
	case c.Ended:
		p.jobEnded(j)
	case j != nil:
		p.refile(j)
	}
}

// attemptEnded removes the attempt that ev names from its slot.
func (p *Policy) attemptEnded(ev *sojourn.Event, c *ledger.Change[data]) {
	j, stage, start := c.Job, int(c.Slot.Class), c.Start
	if at, ok := p.adopted[c.Slot.ID]; ok {
		start = at
		delete(p.adopted, c.Slot.ID)
	}
	d := &j.Data
	d.running[stage].remove(start)
	end := slotvec.Add(int64(start), d.eps[stage])
	if t, ok := p.timers.Key(timerID(j, stage)); ok && t.at == end {
		p.setTimer(j, stage, p.now())
	}
	if c.SlotGone {
		p.unretire(c.Slot.ID)
	} else {
		p.free[stage]++
	}
	if end < p.now() {
		p.broken(0) // its slot is free, which no booking counted on
	}
	if j.Bounded() {
		p.relieved() // it may have been stuck
	}
	if ev.Kind != sojourn.TaskFinished {
		if p.refile(j); ev.Kind == sojourn.TaskFailed || ev.At > c.Start || c.SlotGone || p.choose(c.Slot.Class) != j {
			p.broken(byFailure) // else the slot is offered to j again, as if nothing had happened
		}
		return
	}
	if p.opts.Learn {
		p.est.learn(j.Spec(), ev.Task, ev.Service)
	}
	if p.opts.Feedback {
		ended := &d.ended[stage]
		if n := len(*ended); n == 0 || (*ended)[n-1].T < p.now() {
			*ended = append(*ended, slotvec.Run{T: p.now()})
		}
		if last := &(*ended)[len(*ended)-1]; last.N < sojourn.MaxSlots {
			last.N++ // entries beyond the number of slots have no effect
		}
	}
}

// jobEnded removes a job that has ended.
func (p *Policy) jobEnded(j *job) {
	if p.opts.Feedback && j.Left() == 0 {
		p.feedback(j)
	}
	p.ready.Remove(sojourn.MapClass, j.Handle())
	p.ready.Remove(sojourn.ReduceClass, j.Handle())
	p.order.remove(j)
	if j.Data.hard.promise == void {
		p.voids--
	}
	p.relieved()
}

// Assign implements [sojourn.Policy] (Algorithm IV).
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	j := p.pick(s.Class)
	if j == nil {
		return sojourn.Assignment{}, false
	}
	p.commit()
	stage := int(s.Class)
	if p.opts.Booking == Chain && (stage == maps || p.linked(j)) {
		p.startBefore(j)
	}
	phase := j.Data.phase[stage]
	pick, _ := p.inputs.Find(j, phase, s, sojourn.Remote) // the bound is that of all tasks of the phase
	a := p.inputs.Take(j, phase, pick, id)
	p.attemptStarted(j, stage, p.ledger.Now())
	if j.Bounded() {
		p.refile(j)
	} else if j.Phase(phase).Pending() == 0 {
		p.ready.Remove(s.Class, j.Handle())
	}
	p.fresh = false
	return a, true
}

// Supports implements [sojourn.Supporter]: attempts of held tasks and, with Rebook, Parallelism, but neither Needs nor
// Held, nor speeds of slots.
func (p *Policy) Supports() sojourn.Features { return p.ledger.Supports }

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if a job
// may start a task of the class.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if p.pick(c) == nil {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// NextWake implements [sojourn.Waker]: it returns the first instant at which a running
// attempt has outlasted its estimate, so that nobody can count on its slot any more.
func (p *Policy) NextWake() (sojourn.Time, bool) {
	t, ok := p.timers.MinKey()
	if !ok || t.at >= never-1 {
		return 0, false
	}
	return sojourn.Time(t.at + 1), true
}
