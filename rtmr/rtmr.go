package rtmr

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/internal/slotvec"
	"github.com/sojourn-sched/sojourn/internal/snapshot"
)

// A Policy is RTMR as a [sojourn.Policy]. It is also a [sojourn.Admitter], a
// [sojourn.Seeker], a [sojourn.Waker], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type Policy struct {
	opts   Options
	header snapshot.Header
	skew   int64 // Options.Skew in 2^-16

	est      estimator
	ledger   ledger.Ledger[data]
	starts   uint64                          // Chain: jobs that were started so far
	stale    bool                            // Chain: something holds slots that the vectors do not know of
	root     vectors                         // Chain: before the first job
	hardRoot vectors                         // Chain: the same, for the hard marks
	adopted  map[sojourn.SlotID]sojourn.Time // when attempts started that were adopted
	retiring []sojourn.SlotID                // busy slots that leave with their attempts, by ID
	slots    [2]int64                        // by stage: slots that stay
	free     [2]int64                        // those of them that are free

	// Marks are brought up to date when something asks for them: see settle.
	clock              // what is known of free slots that are not offered
	dirty     bool     // something happened that may break or restore promises
	cause     reason   // what it was
	hardSlots [2]int64 // slots for which the hard marks hold
	voids     int      // jobs whose hard mark is void
	soft      bool     // some mark is not the hard one
	fresh     bool     // marks are those of the present state

	// What follows from the rest.
	order  order
	ready  ready.Queue[key]    // by class: what has a task to start
	timers *heap.Heap[overrun] // by job and stage: when a running attempt has outlasted its estimate
	scratch
}

// A clock knows how long slots have been free although a task could start there.
type clock struct {
	waits bool // such slots were there when time passed last
	since sojourn.Time
	idled bool // that took longer than promises allow for
}

type job = ledger.Job[data]

// data is what the policy keeps of a job.
type data struct {
	phase    [2]int   // of each stage; -1 if the job has none
	eps      [2]int64 // the longest time of a task of each stage, frozen at admission
	deadline int64    // never if there is none
	running  [2]starts
	ended    [2]slotvec.Vector // Chain with feedback: when its tasks finished

	mark mark // what holds now
	hard mark // what held when the present instant began

	key      key
	rank     int   // its index in the order
	reserved int64 // slots that are kept for it
}

// A mark is what a job was promised.
type mark struct {
	promise promise
	place   int64  // in the order of admitted jobs: the deadline, or another place that fitted
	why     reason // the promise is void
	started uint64 // Chain: order of the first dispatch; 0 if it waits or has left the chain
	booking        // Chain
}

type promise uint8

const (
	unasked promise = iota // no deadline
	kept                   // the deadline will be met
	void                   // it was promised, but something happened that nobody had reckoned with
)

var promiseNames = [...]string{unasked: "none", kept: "holds", void: "void"}

// An overrun is an instant after which an attempt takes longer than was promised.
type overrun struct {
	at int64
	id uint32 // of job and stage, so that the order is total
}

func (a overrun) before(b overrun) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

// scratch is memory that is used again.
type scratch struct {
	base  vectors // of reality
	head  vectors // behind what is not overtaken
	list  []entry
	walk  walker
	admit admission
}

// New returns an empty policy, or an error if the options are out of range.
func New(opts Options) (*Policy, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("rtmr: %w", err)
	}
	p := &Policy{opts: opts, header: snapshot.Header{Policy: "rtmr", Version: 2, Options: fmt.Sprintf("%+v", opts)}}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	*p = Policy{
		opts: p.opts, header: p.header,
		skew:   units(p.opts.Skew),
		est:    newEstimator(&p.opts),
		ready:  ready.New(key.before),
		timers: heap.New(overrun.before),
	}
}

func (p *Policy) now() int64 { return int64(p.ledger.Now()) }

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	// Promises are settled before time passes, and before anybody is promised
	// anything. If the event is refused after all, nothing of it has happened.
	passes := ev.At > p.ledger.Now()
	told := ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted || ev.Kind == sojourn.JobRevised
	now, idle, settled := p.clock, p.idled, told
	if passes {
		if settled = settled || p.unsettled(); p.unsettled() {
			p.settle()
			idle = false
		} else {
			p.restore()
		}
		if p.since, p.waits = p.idling(); p.waits && ev.At-p.since > sojourn.Time(p.opts.Latency) {
			idle = true
		}
		if due := p.due(int64(ev.At)); due || told && idle {
			p.idled, settled = idle, true
			p.evaluate(int64(ev.At), 0) // what happened before was settled
			idle = false
		}
	} else if told {
		p.settle()
	}
	if told {
		p.renew(int64(ev.At))
	}
	var d data
	if told {
		var err error
		if d, err = p.decide(&ev); err != nil {
			p.clock, p.fresh = now, false
			return &sojourn.EventError{Event: ev, Err: err}
		}
	}
	if settled {
		p.harden()
	} else {
		p.restore() // what was found out for somebody who asked leaves no trace
	}
	if passes {
		p.idled = idle
		p.passTimers(int64(ev.At))
	}
	p.apply(&ev, &d)
	p.fresh = false
	return nil
}

// apply applies an event that is not refused. If it describes a job, d is what is
// kept of that.
func (p *Policy) apply(ev *sojourn.Event, d *data) {
	_, restored := p.ledger.Attempt(ev.Slot.ID)
	c := p.ledger.Apply(ev)
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

// broken takes note of something that promises did not reckon with.
func (p *Policy) broken(why reason) { p.dirty, p.cause = true, p.cause|why }

// relieved takes note of something after which a void promise may hold again.
func (p *Policy) relieved() { p.dirty = p.dirty || p.voids > 0 }

func (p *Policy) addSlot(s sojourn.Slot, restored bool) {
	if int(s.Class) >= len(p.slots) {
		return
	}
	p.slots[s.Class]++
	if restored {
		p.unretire(s.ID)
	} else {
		p.free[s.Class]++
	}
}

func (p *Policy) removeSlot(s sojourn.Slot, gone bool) {
	if int(s.Class) >= len(p.slots) {
		return
	}
	p.slots[s.Class]--
	if gone {
		p.free[s.Class]--
	} else {
		p.retire(s.ID)
	}
}

// attemptStarted counts an attempt that started at an instant.
func (p *Policy) attemptStarted(j *job, stage int, at sojourn.Time) {
	p.free[stage]--
	j.Data.running[stage].add(at)
	if t, ok := p.timers.Key(timerID(j, stage)); !ok || t.at > slotvec.Add(int64(at), j.Data.eps[stage]) {
		p.setTimer(j, stage, p.now()) // an adopted attempt may end before those that run
	}
	if p.opts.Booking == Chain {
		p.startJob(j)
	}
}

// attemptEnded takes the attempt that ev names off its slot.
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
		p.broken(0) // its slot is back, which nobody could count on
	}
	if ev.Kind != sojourn.TaskFinished {
		if ev.Kind == sojourn.TaskFailed || ev.At > c.Start || c.SlotGone {
			p.broken(byFailure)
		}
		return
	}
	if p.opts.Learn {
		p.est.learn(j.Spec, ev.Task, ev.Service)
	}
	if p.opts.Feedback {
		ended := &d.ended[stage]
		if n := len(*ended); n == 0 || (*ended)[n-1].T < p.now() {
			*ended = append(*ended, slotvec.Run{T: p.now()})
		}
		if last := &(*ended)[len(*ended)-1]; last.N < sojourn.MaxSlots {
			last.N++ // more than there are slots replace no more of them
		}
	}
}

// jobEnded forgets a job.
func (p *Policy) jobEnded(j *job) {
	if p.opts.Feedback && j.Left == 0 {
		p.feedback(j)
	}
	p.ready.Remove(sojourn.Map, j.Handle)
	p.ready.Remove(sojourn.Reduce, j.Handle)
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
	p.harden()
	stage := int(s.Class)
	if p.opts.Booking == Chain && (stage == maps || p.linked(j)) {
		p.startBefore(j)
	}
	phase := j.Data.phase[stage]
	a := p.ledger.TakePhase(j, phase, id)
	p.attemptStarted(j, stage, p.ledger.Now())
	if j.Phases[phase].Pending() == 0 {
		p.ready.Remove(s.Class, j.Handle)
	}
	p.fresh = false
	return a, true
}

// pick returns the job that a free slot of class c goes to, or nil.
func (p *Policy) pick(c sojourn.Class) *job {
	p.settle()
	return p.choose(c)
}

// choose does, by the marks as they are.
func (p *Policy) choose(c sojourn.Class) *job {
	h, _, ok := p.ready.First(c)
	if !ok {
		return nil
	}
	j := p.ledger.ByHandle(h)
	if c == sojourn.Reduce && (p.waitsForMapSlot(j) || p.isReserved(j)) {
		return nil
	}
	return j
}

// isReserved reports whether the free reduce slots are all kept for jobs before j
// whose maps run: as many as those jobs have reduce tasks.
//
// All jobs before j that are ready have nothing left to start, or they would have been
// picked. So either a slot is left over for j, or nothing is, for it and for all jobs
// behind it.
func (p *Policy) isReserved(j *job) bool {
	reserved := p.order.before(j)
	if p.opts.PaperReservation {
		return reserved > p.free[reduces]
	}
	return reserved >= p.free[reduces]
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while a job may
// start a task of the class.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if p.pick(c) == nil {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// NextWake implements [sojourn.Waker]: the first instant at which some running attempt
// has taken longer than was promised, so that its slot cannot be counted on any more.
func (p *Policy) NextWake() (sojourn.Time, bool) {
	t, ok := p.timers.MinKey()
	if !ok || t.at >= never-1 {
		return 0, false
	}
	return sojourn.Time(t.at + 1), true
}

func timerID(j *job, stage int) uint32 { return 2*j.Handle + uint32(stage) }

// setTimer sets the timer of a stage to the first of its running attempts that has not
// outlasted its estimate at an instant.
func (p *Policy) setTimer(j *job, stage int, now int64) {
	d := &j.Data
	if start, ok := d.running[stage].from(sojourn.Time(now - d.eps[stage])); ok {
		p.timers.Set(timerID(j, stage), overrun{slotvec.Add(int64(start), d.eps[stage]), timerID(j, stage)})
	} else {
		p.timers.Remove(timerID(j, stage))
	}
}

// due reports whether an attempt that runs has outlasted its estimate at an instant.
func (p *Policy) due(at int64) bool {
	t, ok := p.timers.MinKey()
	return ok && t.at < at
}

// passTimers sets the timers that have gone off to the next attempts.
func (p *Policy) passTimers(at int64) {
	for p.due(at) {
		id, _ := p.timers.Min()
		p.setTimer(p.ledger.ByHandle(id/2), int(id%2), at)
	}
}

// setKey computes the key of a job.
func (p *Policy) setKey(j *job) {
	d := &j.Data
	d.key = key{tierBooked, d.mark.place, j.Seq}
	switch {
	case j.Cancelled:
		d.key = key{tierEnding, 0, j.Seq}
	case d.mark.promise != kept:
		d.key = key{tierBehind, d.deadline, j.Seq}
	case d.mark.started > 0:
		d.key = key{tierStarted, int64(d.mark.started), j.Seq}
	}
}

// refile brings the places of a job in the queues up to date, and what is reserved for
// it.
func (p *Policy) refile(j *job) {
	for i := range j.Sides {
		side := &j.Sides[i]
		if side.Startable > 0 {
			p.ready.Set(side.Class, j.Handle, j.Data.key)
		} else {
			p.ready.Remove(side.Class, j.Handle)
		}
	}
	p.order.reserve(j, p.reservation(j))
}

// reservation returns how many reduce slots are kept for a job: as many as it has
// reduce tasks, while its maps are not done. Jobs without a promise run behind all that
// have one, and get none.
func (p *Policy) reservation(j *job) int64 {
	d := &j.Data
	i := d.phase[reduces]
	if i < 0 || d.mark.promise != kept || j.Cancelled || j.Phases[i].Ready {
		return 0
	}
	return p.left(j, reduces)
}

// left returns how many tasks of a stage are not dispatched, held ones included.
func (p *Policy) left(j *job, stage int) int64 {
	i := j.Data.phase[stage]
	if i < 0 || j.Cancelled {
		return 0
	}
	return int64(j.Spec.Phases[i].Tasks - j.Phases[i].Done - j.Phases[i].Running)
}
