package priority

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// Options of [New]. All may change when a snapshot is restored.
type Options struct {
	// Age lets what waits pass: after each Age that a priority has waited for, it counts as one priority higher, among
	// those that have live jobs. Of two that then count alike, the lower one goes first. A priority waits since it last
	// started a task on slots of the class, whatever has become of that, or since it has had something to start there.
	// Zero means never.
	Age time.Duration

	// Preempt is how many attempts are asked for at a time at most, for the greatest priorities that have something to start.
	// Zero means none. A policy that limits what it runs may then use fewer slots than were asked for: let it be 1.
	Preempt int

	// PreemptAfter is how long a priority waits before it asks for slots, as for Age. One that has just got a slot waits anew.
	PreemptAfter time.Duration
}

// Validate returns the first thing that is wrong with o, or nil.
func (o Options) Validate() error {
	switch {
	case o.Age < 0:
		return fmt.Errorf("priority: negative age %v", o.Age)
	case o.Preempt < 0 || o.Preempt > sojourn.MaxSlots:
		return fmt.Errorf("priority: preempt %d: want 0 to %d attempts at a time", o.Preempt, sojourn.MaxSlots)
	case o.PreemptAfter < 0:
		return fmt.Errorf("priority: negative preempt-after %v", o.PreemptAfter)
	case o.PreemptAfter > 0 && o.Preempt == 0:
		return errors.New("priority: preempt-after without preempt")
	}
	return nil
}

// A policy serves jobs by [sojourn.Job.Priority], with a policy of its own for each priority.
type policy struct {
	opts     Options
	inside   func() sojourn.Policy
	supports sojourn.Features

	ledger ledger.Ledger[job]
	levels []*level // the greatest priority first; that of 0 is always there
	idle   uint64   // how often a level has become idle

	attempts []*page // by slot
	starts   uint64  // number of the latest attempt
	asked    []sojourn.Preemption
	round    uint64 // how often ask was called

	order []*level // scratch
}

// A job is what the ledger does not know.
type job struct {
	level     *level
	arrived   sojourn.Time // before time 0 if it was adopted and is older
	startable []int32      // by side, as counted in the level
}

// age returns how long ago the job arrived, up to the range of a Duration.
func (j *job) age(now sojourn.Time) time.Duration {
	if age := now.Sub(j.arrived); age >= 0 {
		return age
	}
	return math.MaxInt64
}

// New returns a policy that serves jobs by [sojourn.Job.Priority]: it calls inside for a new policy, each built alike, for each priority.
// From then on these are used only through the one that serves all. It is also a [sojourn.Supporter], a [sojourn.Waker], a
// [sojourn.Snapshotter], with Options.Preempt a [sojourn.Preemptor], and each other optional interface of package sojourn that those
// inside are, but for [sojourn.Sharer].
func New(inside func() sojourn.Policy, o Options) (sojourn.Policy, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p := &policy{opts: o, inside: inside}
	p.reset()
	p.levels = []*level{newLevel(0, inside())}
	p.supports = sojourn.Supports(p.usual())&^(sojourn.FeaturePools|sojourn.FeatureSequence) | sojourn.FeaturePriority
	p.ledger.Supports = p.supports
	return p, nil
}

func (p *policy) reset() {
	p.ledger = ledger.Ledger[job]{Supports: p.supports}
	p.levels, p.idle = nil, 0
	p.attempts, p.starts, p.asked, p.order = nil, 0, nil, nil
}

// Supports implements [sojourn.Supporter]: what the policies inside know, and priorities, but for changes of pools and for
// sequences. The limits of a pool, and the order of a sequence, would hold for each priority by itself.
func (p *policy) Supports() sojourn.Features { return p.supports }

// Observe implements [sojourn.Policy].
func (p *policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	if err := p.pass(&ev); err != nil {
		return inside.Refused(&ev, err)
	}
	p.ask()
	return nil
}

// pass reports an event to the policies that it is about, and to the others what they have to know of it. It changes nothing
// if one refuses it.
func (p *policy) pass(ev *sojourn.Event) error {
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		return p.arrive(ev)
	case sojourn.JobRevised:
		return p.revise(ev)
	case sojourn.SlotAdded, sojourn.SlotRemoved:
		if a, busy := p.ledger.Attempt(ev.Slot.ID); busy { // it retires, or stays
			l := a.Job.Data.level
			p.tick(ev.At, l)
			l.must(*ev)
			p.ledger.Apply(ev)
			p.list(l, ev.Slot.ID)
			return nil
		}
		p.all(*ev)
	case sojourn.NodeDown, sojourn.NodeUp, sojourn.Tick:
		p.all(*ev)
	case sojourn.JobCancelled:
		j := p.ledger.Job(ev.Job.ID)
		p.tick(ev.At, j.Data.level)
		j.Data.level.must(*ev)
		p.apply(ev)
		return nil
	default:
		j := p.ledger.Job(ev.Task.Job)
		p.report(ev, j.Data.level)
		return nil
	}
	p.ledger.Apply(ev)
	return nil
}

// report passes an event about a task on to the policy of its job. The others learn whether its slot is free.
func (p *policy) report(ev *sojourn.Event, l *level) {
	kind, slot := sojourn.Tick, sojourn.Slot{}
	switch ev.Kind {
	case sojourn.TaskAdopted:
		kind, slot = sojourn.SlotRemoved, p.ledger.Free(ev.Slot.ID)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if !p.ledger.Retiring(ev.Slot.ID) {
			kind = sojourn.SlotAdded
			slot, _ = p.ledger.Busy(ev.Slot.ID)
		}
	}
	for _, other := range p.levels {
		switch {
		case other == l:
			l.must(*ev)
		case kind != sojourn.Tick:
			other.must(sojourn.Event{Kind: kind, At: ev.At, Slot: slot})
		case ev.At > p.ledger.Now():
			other.must(sojourn.Event{Kind: sojourn.Tick, At: ev.At})
		}
	}
	switch ev.Kind {
	case sojourn.TaskAdopted:
		p.apply(ev)
		p.started(l, slot, ev.At.Add(-ev.Service), false)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.unlist(l, ev.Slot.ID)
		p.apply(ev)
	case sojourn.TaskPinned:
		p.apply(ev)
		p.list(l, ev.Slot.ID)
	default:
		p.apply(ev)
	}
}

// apply applies an event about a job to the account.
func (p *policy) apply(ev *sojourn.Event) ledger.Change[job] {
	c := p.ledger.Apply(ev)
	p.count(c.Job)
	if c.Ended {
		p.leave(c.Job)
	}
	return c
}

// all reports an event to all policies.
func (p *policy) all(ev sojourn.Event) {
	for _, l := range p.levels {
		l.must(ev)
	}
}

// tick tells all policies but one that time has passed, if it has.
func (p *policy) tick(at sojourn.Time, but *level) {
	if at == p.ledger.Now() {
		return
	}
	for _, l := range p.levels {
		if l != but {
			l.must(sojourn.Event{Kind: sojourn.Tick, At: at})
		}
	}
}

// arrive asks the policy of a new job to take it.
func (p *policy) arrive(ev *sojourn.Event) error {
	l, err := p.levelFor(ev.Job.Priority, ev.Kind == sojourn.JobAdopted, 0)
	if err != nil {
		return err
	}
	told := *ev
	told.Job = ev.Job.Without(sojourn.FeaturePriority)
	if err := l.observe(told); err != nil {
		return err
	}
	p.tick(ev.At, l)
	c := p.ledger.Apply(ev)
	c.Job.Data.arrived = ev.At
	if ev.Kind == sojourn.JobAdopted {
		c.Job.Data.arrived = ev.At.Add(-ev.Service)
	}
	p.enter(l, c.Job)
	return nil
}

// revise passes a revision on. One that changes the priority moves the job to another policy, with what runs of it.
func (p *policy) revise(ev *sojourn.Event) error {
	j := p.ledger.Job(ev.Job.ID)
	from := j.Data.level
	told := *ev
	told.Job = ev.Job.Without(sojourn.FeaturePriority)
	if ev.Job.Priority == from.priority {
		if err := from.observe(told); err != nil {
			return err
		}
		p.tick(ev.At, from)
		p.apply(ev)
		return nil
	}
	if p.supports&sojourn.FeatureAttempts == 0 {
		return fmt.Errorf("%w: the priority changes, and a %T does not know %v", sojourn.ErrUnsupported, from.in.Policy, sojourn.FeatureAttempts)
	}
	leaves := 0
	if from.jobs == 1 {
		leaves = 1
	}
	to, err := p.levelFor(ev.Job.Priority, false, leaves)
	if err != nil {
		return err
	}
	if to.in.Admitter != nil {
		if err := to.in.Admitter.Admit(told.Job); err != nil {
			return err
		}
	}
	told.Kind, told.Service = sojourn.JobAdopted, j.Data.age(ev.At)
	if err := to.observe(told); err != nil {
		return err
	}
	p.tick(ev.At, to)
	running := p.runs(j)
	from.must(sojourn.Event{Kind: sojourn.JobCancelled, At: ev.At, Job: j.Spec().Without(sojourn.FeaturePriority)})
	for _, r := range running {
		p.unlist(from, r.slot.ID)
		from.must(sojourn.Event{
			Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, At: ev.At, Task: r.Task, Attempt: r.Number, Slot: sojourn.Slot{ID: r.slot.ID},
		})
		if !p.ledger.Retiring(r.slot.ID) {
			from.must(sojourn.Event{Kind: sojourn.SlotRemoved, At: ev.At, Slot: r.slot})
		}
	}
	p.leave(j)
	c := p.ledger.Apply(ev)
	p.enter(to, j)
	for fact := range j.Facts() {
		fact.At = ev.At
		to.must(fact)
	}
	for _, r := range running {
		p.handOver(to, ev.At, r)
	}
	if c.Ended {
		p.leave(j)
	}
	return nil
}

// handOver tells the policy of a level of an attempt that another one has started.
func (p *policy) handOver(to *level, at sojourn.Time, r run) {
	to.must(sojourn.Event{Kind: sojourn.SlotAdded, At: at, Slot: r.slot})
	if r.Job.Spec().Phases[r.Task.Phase].Held {
		to.must(sojourn.Event{Kind: sojourn.TaskReady, At: at, Task: r.Task})
	}
	report := sojourn.Event{At: at, Task: r.Task, Attempt: r.Number, Slot: sojourn.Slot{ID: r.slot.ID}}
	adopted, pinned := report, report
	adopted.Kind, adopted.Service = sojourn.TaskAdopted, max(0, at.Sub(p.at(r.slot.ID).begun))
	to.must(adopted)
	if p.ledger.Pinned(r.slot.ID) {
		pinned.Kind = sojourn.TaskPinned
		to.must(pinned)
	}
	if p.ledger.Retiring(r.slot.ID) {
		to.must(sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: r.slot})
	}
	p.list(to, r.slot.ID)
}

// A run is a live attempt and its slot.
type run struct {
	ledger.Attempt[job]
	slot sojourn.Slot
}

// runs returns the live attempts of a job, by slot. It visits every slot if there are any.
func (p *policy) runs(j *ledger.Job[job]) (list []run) {
	if j.Running() == 0 {
		return nil
	}
	for s, a := range p.ledger.Attempts() {
		if a.Job == j {
			list = append(list, run{a, s})
		}
	}
	return list
}

// Assign implements [sojourn.Policy].
func (p *policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	offers := p.offers(s.Class)
	for i, l := range offers {
		a, ok := l.in.Assign(id)
		if !ok {
			continue
		}
		aged := slices.ContainsFunc(offers[i+1:], func(o *level) bool { return o.priority > l.priority })
		l.due = l.in.Due(p.ledger.Now())
		for _, other := range p.levels {
			if other != l {
				other.must(sojourn.Event{Kind: sojourn.SlotRemoved, At: p.ledger.Now(), Slot: s})
			}
		}
		j := p.ledger.Job(a.Task.Job)
		p.ledger.TakeTask(j, int(a.Task.Phase), a.Task.Index, id)
		p.count(j)
		p.started(l, s, p.ledger.Now(), aged)
		p.ask()
		return a, true
	}
	return sojourn.Assignment{}, false
}

// offers returns the levels that have something to start on slots of a class, in the order in which they are offered one.
// One that waits for a Tick at this very instant is offered nothing before it, and neither is what comes behind it. The list is
// overwritten by the next call.
func (p *policy) offers(c sojourn.Class) []*level {
	p.order = p.order[:0]
	for _, l := range p.levels {
		if l.wants(c) {
			p.order = append(p.order, l)
		}
	}
	if p.opts.Age > 0 && len(p.order) > 1 {
		p.age(c)
	}
	for i, l := range p.order {
		if l.due {
			return p.order[:i]
		}
	}
	return p.order
}

// age sorts p.order by what each level counts as.
func (p *policy) age(c sojourn.Class) {
	heights := make([]int64, 0, Most) // of those in p.order: their rank from below, and what they have waited for
	rank := int64(p.live())
	for _, l := range p.levels {
		if l.jobs == 0 {
			continue
		}
		if rank--; l.wants(c) {
			h := rank + min(int64(p.ledger.Now().Sub(l.class(c).since)/p.opts.Age), 1<<62)
			at := len(heights)
			heights = append(heights, h)
			for i := at; i > 0 && heights[i-1] <= h; i-- { // of two that count alike the lower one goes first
				heights[i-1], heights[i] = heights[i], heights[i-1]
				p.order[i-1], p.order[i] = p.order[i], p.order[i-1]
			}
		}
	}
}

// NextWake implements [sojourn.Waker].
func (p *policy) NextWake() (at sojourn.Time, ok bool) {
	for _, l := range p.levels {
		if l.due {
			return p.ledger.Now(), true
		}
		if l.in.Waker == nil {
			continue
		}
		if t, waits := l.in.Waker.NextWake(); waits && (!ok || t < at) {
			at, ok = t, true
		}
	}
	if t, waits := p.nextAsk(); waits && (!ok || t < at) {
		at, ok = t, true
	}
	return at, ok
}

// Visit calls f with each policy inside, which f may only ask questions; see [sojourn.As].
func (p *policy) Visit(f func(sojourn.Policy)) {
	for _, l := range p.levels {
		f(l.in.Policy)
	}
}

// As sets *target to one of the optional interfaces that the policies inside implement; see [sojourn.As].
func (p *policy) As(target any) bool {
	switch target := target.(type) {
	case *sojourn.Admitter:
		return inside.Answer[sojourn.Admitter](p.usual(), target, admitter{p})
	case *sojourn.Explainer:
		return inside.Answer[sojourn.Explainer](p.usual(), target, explainer{p})
	case *sojourn.Seeker:
		return inside.Answer[sojourn.Seeker](p.usual(), target, seeker{p})
	case *sojourn.Promiser:
		return inside.Answer[sojourn.Promiser](p.usual(), target, promiser{p})
	case *sojourn.Preemptor:
		if p.opts.Preempt > 0 {
			*target = preemptor{p}
			return true
		}
		return inside.Answer[sojourn.Preemptor](p.usual(), target, preemptor{p})
	}
	return false
}

// usual returns the policy of priority 0.
func (p *policy) usual() sojourn.Policy {
	i, _ := p.find(0)
	return p.levels[i].in.Policy
}

// An admitter answers as Observe would.
type admitter struct{ p *policy }

func (a admitter) Admit(spec *sojourn.Job) error {
	if err := a.p.ledger.CheckArrival(spec); err != nil {
		return err
	}
	l, err := a.p.levelFor(spec.Priority, false, 0)
	if err != nil {
		return err
	}
	return l.in.Admitter.Admit(spec.Without(sojourn.FeaturePriority))
}

// A seeker finds a slot that one of the policies wants.
type seeker struct{ p *policy }

func (s seeker) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	for _, l := range s.p.offers(c) {
		if id, ok := l.in.Seeker.Seek(c); ok {
			return id, true
		}
	}
	return 0, false
}
