package driver

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// Never is the [Round.Sleep] of a policy that waits for events only. A timer that is armed
// with it does not go off.
const Never = time.Duration(math.MaxInt64)

const (
	// maxTicks bounds the Ticks of one Settle. A Tick and a round without assignment move
	// NextWake into the future, so few are needed. A policy that breaks this rule is due again
	// when Settle returns.
	maxTicks = 1000

	// patience is the time between two questions for preemptions, in times that the question took:
	// the questions take at most one percent of the time.
	patience = 100
)

// Options are the options of a [Driver].
type Options struct {
	// Now returns the time that has passed since the owner's epoch. It must not be nil.
	// If it jumps back, time goes on from where it was.
	Now func() sojourn.Time

	// Preempt is the least time between two questions to the policy which attempts to kill.
	// Some policies look at all their jobs to answer. The driver therefore waits also for
	// 100 times as long as the last answer took, by Now. It asks only if something has changed.
	// Zero means that the policy is not asked, for owners that cannot kill. A negative value
	// means that it is asked in each Settle.
	Preempt time.Duration

	// Drop names features that jobs lose where the policy does not know them: it is told of the job without them, and decides as if
	// nobody had asked, instead of refusing the job. See [sojourn.Job.Without] for those that a job can lose (TestDrop).
	Drop sojourn.Features

	// Started, unless nil, is called after each assignment, before the next slot is offered. It may
	// call Observe. Owners whose free slots depend on what runs, as those of package shape do, report
	// here which slots have come and gone.
	Started func(sojourn.Assignment)
}

// Validate returns the first thing that is wrong with the options, or nil.
func (o Options) Validate() error {
	return option.First("driver", option.Want(o.Now != nil, "Now", "nil", "a clock"))
}

// A Driver drives one policy: it reports events, offers free slots, and asks for preemptions and
// for the next wake, in the order that package sojourn demands.
type Driver struct {
	policy    sojourn.Policy
	seeker    sojourn.Seeker    // nil if the policy is none
	preemptor sojourn.Preemptor // nil if the policy is none or is not asked
	waker     sojourn.Waker     // nil if the policy is none
	supports  sojourn.Features
	opt       Options

	slots   slots
	now     sojourn.Time  // never decreases
	ahead   time.Duration // that now is ahead of the clock, because the clock jumped back
	settled bool          // nothing was observed since the last Settle
	changed bool          // something was observed or assigned since the last question for preemptions
	askAt   sojourn.Time  // of the next question for preemptions, at the earliest
	starts  []sojourn.Assignment
	kills   []sojourn.Preemption
	victims []sojourn.Preemption // scratch
}

// New returns a driver of a policy that has no slots yet. From then on the policy may be asked
// questions, but only the driver may call its Observe and Assign.
func New(p sojourn.Policy, o Options) (*Driver, error) {
	if err := option.First("driver", option.Want(p != nil, "policy", "nil", "a policy"), o.Validate()); err != nil {
		return nil, err
	}
	d := &Driver{policy: p, supports: sojourn.Supports(p), opt: o, settled: true}
	d.seeker, _ = sojourn.As[sojourn.Seeker](p)
	d.slots.listed = d.seeker == nil
	d.waker, _ = sojourn.As[sojourn.Waker](p)
	if o.Preempt != 0 {
		d.preemptor, _ = sojourn.As[sojourn.Preemptor](p)
	}
	return d, nil
}

// Policy returns the policy, for questions.
func (d *Driver) Policy() sojourn.Policy { return d.policy }

// Now reads the clock. No later event is before what it returns.
func (d *Driver) Now() sojourn.Time {
	d.readClock()
	return d.now
}

// Time returns the instant of the latest Observe or Settle. Assignments start then.
func (d *Driver) Time() sojourn.Time { return d.now }

// Observe reports an event that happens now; Observe sets its At. If an attempt succeeded or failed
// and Service is 0, Observe sets it to the time since the attempt was assigned, which is right if the
// attempt started then and did not wait for input. It returns the error of the policy's Observe, and
// then nothing has changed. It refuses an event that uses features that the
// policy does not know: see [sojourn.Features]. Call Settle afterwards.
func (d *Driver) Observe(ev sojourn.Event) error {
	d.readClock()
	ev.At = d.now
	if drop := d.opt.Drop &^ d.supports; drop != 0 && (ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted || ev.Kind == sojourn.JobRevised) && ev.Job != nil {
		ev.Job = ev.Job.Without(drop)
	}
	if err := ev.CheckSupport(d.supports); err != nil {
		return err
	}
	if ev.Service == 0 && (ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed) {
		ev.Service = d.slots.service(&ev)
	}
	if err := d.policy.Observe(ev); err != nil {
		return err
	}
	d.settled, d.changed = false, true
	d.slots.observe(&ev)
	return nil
}

// readClock lets time go on. What the clock has jumped back is added from then on.
func (d *Driver) readClock() {
	at := d.opt.Now().Add(d.ahead)
	if at < d.now {
		d.ahead += d.now.Sub(at)
		return
	}
	d.now = at
}

// Finished returns the report that an attempt has succeeded.
func Finished(a sojourn.Assignment) sojourn.Event { return end(sojourn.TaskFinished, a) }

// Failed returns the report that an attempt has ended without success.
func Failed(a sojourn.Assignment, cause sojourn.Cause) sojourn.Event {
	ev := end(sojourn.TaskFailed, a)
	ev.Cause = cause
	return ev
}

// Refused returns the report that an attempt was not started.
func Refused(a sojourn.Assignment) sojourn.Event { return end(sojourn.TaskRefused, a) }

// Pinned returns the report that a victim will not be killed: the answer to one of [Round.Kills] that the owner
// cannot carry out. The policy names another victim, or none. A policy that does not know [sojourn.TaskPinned] answers
// with an error that wraps [sojourn.ErrUnknownKind]; the victim then stays listed, and Kills does not name it again.
func Pinned(v sojourn.Preemption) sojourn.Event {
	return end(sojourn.TaskPinned, sojourn.Assignment{Task: v.Task, Attempt: v.Attempt, Slot: v.Slot})
}

func end(kind sojourn.EventKind, a sojourn.Assignment) sojourn.Event {
	return sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}
}

// A Round says what the owner has to do. Its slices are valid until the next Settle.
type Round struct {
	// Starts are the attempts to start, in the order in which they were assigned. The policy
	// counts them as running.
	Starts []sojourn.Assignment

	// Kills are attempts to kill, most urgent first. Each is named once. When it has ended, the
	// owner reports [Failed] with CausePreempted, or whatever happened instead. If it may not be killed, the
	// owner reports [Pinned] and calls Settle again.
	Kills []sojourn.Preemption

	// Err is why the policy refused a Tick. A durable policy does when its store has failed, and any event then fails.
	// A policy that refuses a Tick otherwise is defective.
	Err error

	// Sleep is how long the owner may wait before it calls Settle again, if nothing happens
	// before. It is [Never] if only an event can change something.
	Sleep time.Duration
}

// Settle offers the free slots until the policy wants none of them, and asks which attempts to
// kill. It is to be called after each Observe, or after several of one instant, and when the time
// of the last [Round.Sleep] has passed.
func (d *Driver) Settle() Round {
	d.starts, d.kills = d.starts[:0], d.kills[:0]
	wake, due := sojourn.Time(math.MaxInt64), false
	if d.settled { // otherwise the events say what time it is, and have set off what was due
		d.readClock()
		wake, due = d.nextWake()
	}
	d.settled = true
	for range maxTicks {
		if due {
			if err := d.tick(); err != nil {
				return Round{Starts: d.starts, Kills: d.kills, Err: err, Sleep: Never}
			}
		}
		d.offer()
		d.preempt()
		if wake, due = d.nextWake(); !due || len(d.kills) > 0 {
			break
		}
	}
	if d.preemptor != nil && d.changed {
		wake = min(wake, max(d.askAt, d.now))
	}
	r := Round{Starts: d.starts, Kills: d.kills, Sleep: Never}
	if wake != math.MaxInt64 {
		r.Sleep = max(wake.Sub(d.now), 0)
	}
	d.settled = true // whatever Started has observed
	return r
}

// nextWake returns when the policy wants a Tick, MaxInt64 for never, and whether that is now.
func (d *Driver) nextWake() (at sojourn.Time, due bool) {
	if d.waker == nil {
		return math.MaxInt64, false
	}
	at, ok := d.waker.NextWake()
	if !ok {
		return math.MaxInt64, false
	}
	return at, at <= d.now
}

func (d *Driver) tick() error {
	if err := d.policy.Observe(sojourn.Event{Kind: sojourn.Tick, At: d.now}); err != nil {
		return fmt.Errorf("driver: the policy refuses a Tick: %w", err)
	}
	d.changed = true
	return nil
}

// offer offers the free slots of all classes, again and again until a pass over the classes
// starts nothing: a slot that was declined may be wanted after an assignment.
func (d *Driver) offer() {
	for {
		before := len(d.starts)
		for c := range d.slots.classes {
			if d.slots.classes[c].free > 0 {
				d.offerClass(sojourn.Class(c))
			}
		}
		if len(d.starts) == before || d.slots.noneFree() {
			return
		}
	}
}

// offerClass offers the free slots of a class: those that a Seeker names, or each once in the order
// of ID. If one is free, it need not be sought.
func (d *Driver) offerClass(c sojourn.Class) {
	if d.seeker == nil {
		for id := d.slots.classes[c].list.Min(); id >= 0; id = d.slots.classes[c].list.Next(id + 1) {
			d.assign(sojourn.SlotID(id))
		}
		return
	}
	for d.slots.classes[c].free > 0 {
		id, ok := d.slots.only(c)
		if !ok {
			id, ok = d.seeker.Seek(c)
		}
		if !ok || !d.assign(id) {
			return
		}
	}
}

// assign offers a slot.
func (d *Driver) assign(id sojourn.SlotID) bool {
	a, ok := d.policy.Assign(id)
	if ok {
		d.changed = true
		d.slots.start(id, a.Task, a.Attempt, d.now)
		d.starts = append(d.starts, a)
		if d.opt.Started != nil {
			d.opt.Started(a)
		}
	}
	return ok
}

// preempt asks which attempts to kill, unless it is too early to ask again.
func (d *Driver) preempt() {
	if d.preemptor == nil || !d.changed || d.now < d.askAt {
		return
	}
	if d.opt.Preempt < 0 {
		d.victims = d.preemptor.AppendPreemptions(d.victims[:0])
	} else {
		before := d.opt.Now()
		d.victims = d.preemptor.AppendPreemptions(d.victims[:0])
		took := max(d.opt.Now().Sub(before), 0)
		d.askAt = d.now.Add(max(d.opt.Preempt, min(took, math.MaxInt64/patience)*patience))
	}
	d.changed = false
	for _, v := range d.victims {
		if d.slots.kill(&v) {
			d.kills = append(d.kills, v)
		}
	}
}
