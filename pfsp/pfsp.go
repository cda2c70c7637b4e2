package pfsp

import (
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/slack"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A Policy is PFSP, or with a fair limit above 0 H-PFSP, as a [sojourn.Policy]. It
// is also a [sojourn.Supporter], a [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type Policy struct {
	settings
	ledger  ledger.Ledger[data]
	inputs  *locality.Index[data]
	classes []*class         // by sojourn.Class, as far as any was seen
	reserve *reserve.Reserve // nil if nothing is reserved
	fed     []int            // scratch
}

// data is what the policy keeps of a job.
type data struct {
	phases []phase
	line   ready.Line // if the job is bounded
}

// A class is the slots of one class and the phases that run on them.
type class struct {
	id     sojourn.Class
	system *slack.System[*phase]

	// probes holds phases that have something to start and may do so out of turn, by the number
	// of tasks that they have started, in the order of V: the late ones, and all from
	// slack.Ranks tasks on. The others have that number as their rank in the system.
	probes []*heap.Heap[place]

	// levels holds the phases that have something to start by their levels, in the order
	// of V. It is nil if nothing is reserved.
	levels *heap.Levels[place]

	late func(*slack.Item[*phase], sojourn.Time) // becomesLate

	choice *phase // whose turn it is, if chosen
	chosen bool

	finished total // tasks of phases that have finished: the default for those without an estimate
	hypotheses
}

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{settings: opts.settle()}
	p.member = inside.MemberOf(p.join)
	p.reset()
	return p, nil
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	for _, c := range p.classes {
		c.system.Advance(ev.At, c.late)
		c.chosen = false
	}
	var told *sojourn.Job // before a revision
	if ev.Kind == sojourn.JobRevised {
		told = p.ledger.Job(ev.Job.ID).Spec()
	}
	c := p.ledger.Apply(&ev)
	p.inputs.Update(&ev, &c)
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.SlotRemoved:
		p.setCapacity(c)
		if ev.Kind == sojourn.SlotRemoved && !c.SlotGone {
			p.class(c.Slot.Class).breaks(lostSlots) // it will be, when its attempt ends
		}
	case sojourn.JobArrived:
		p.arrive(c.Job)
	case sojourn.JobAdopted:
		p.arrive(c.Job)
		p.adopted(c.Job)
	case sojourn.JobRevised:
		p.revise(c.Job, told)
	case sojourn.JobCancelled:
		for i := range c.Job.Data.phases {
			p.update(c.Job, i)
		}
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if p.reserve != nil {
			p.reserve.Ended(c.Slot)
		}
		p.end(&ev, &c)
		if c.SlotGone {
			p.setCapacity(c)
		}
	case sojourn.TaskProgress:
		p.progress(&ev, c.Job)
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskAdopted, sojourn.TaskDone, sojourn.OutputLost:
		p.move(&ev, c.Job)
	}
	p.settle(c.Job)
	return nil
}

// class returns the account of a class.
func (p *Policy) class(id sojourn.Class) *class {
	for int(id) >= len(p.classes) {
		c := &class{id: sojourn.Class(len(p.classes)), system: slack.New[*phase](p.lateMode())}
		c.system.Advance(p.ledger.Now(), nil)
		if p.reserve != nil {
			c.levels = heap.NewLevels(place.before, place.Prefix)
		}
		c.late = c.becomesLate
		p.classes = append(p.classes, c)
	}
	return p.classes[id]
}

// lateMode returns how the slack systems serve late phases; see share.
func (s *settings) lateMode() vqueue.Late {
	if s.late == vqueue.LateFirst {
		return vqueue.LateFirst
	}
	return vqueue.LateShare
}

func (p *Policy) classOf(ph *phase) *class { return p.class(ph.spec().Class) }

// setCapacity takes over the number of slots of the class of a slot that came or
// went.
func (p *Policy) setCapacity(ch ledger.Change[data]) {
	c := p.class(ch.Slot.Class)
	c.resized(p.ledger.Now(), p.ledger.Capacity(ch.Slot.Class))
	c.system.SetCapacity(p.virtualSlots(c))
}

// arrive prepares the account of a job.
func (p *Policy) arrive(j *ledger.Job[data]) {
	j.Data.phases = makePhases(j)
	for i := range j.Data.phases {
		ph := &j.Data.phases[i]
		ph.ratio, ph.seen = wide.From64(one), p.ledger.Now()
		p.read(ph)
		p.count(ph)
	}
	for i := range j.Data.phases {
		p.update(j, i)
	}
}

func makePhases(j *ledger.Job[data]) []phase {
	d := make([]phase, j.NumPhases())
	for i := range d {
		d[i].job, d[i].index, d[i].queue = j, i, -1
	}
	return d
}

// read takes over the priors of a phase that nothing is known of yet.
func (p *Policy) read(ph *phase) {
	ph.unknown = p.taskTime
	if f := &p.classOf(ph).finished; ph.unknown == 0 && f.tasks > 0 {
		mean, _ := f.service.QuoRem(wide.From64(f.tasks))
		ph.unknown = max(1, time.Duration(mean.Lo))
	}
	if ph.unknown == 0 {
		ph.unknown = option.DefaultTaskTime
	}
	p.measure(ph)
}

// revise takes over a new description of a job of which something else was told.
func (p *Policy) revise(j *ledger.Job[data], told *sojourn.Job) {
	for i := range j.Data.phases {
		ph := &j.Data.phases[i]
		p.refresh(ph)
		p.measure(ph)
		if ph.sizesUsed() && sizesDiffer(&told.Phases[i], ph.spec(), ph.account()) {
			p.mistaken(ph)
		}
		p.update(j, i)
		if ph.item != nil {
			c := p.classOf(ph)
			if ph.item.Weight() != j.Weight() {
				c.breaks(weights)
			}
			if ph.startsSlowly() {
				c.doubt(ph, slowStart)
			}
			if j.Bounded() {
				c.doubt(ph, bounded)
			}
			p.resize(ph, ph.item.Work())
		}
	}
}

// end takes an attempt off the account.
func (p *Policy) end(ev *sojourn.Event, ch *ledger.Change[data]) {
	i := int(ev.Task.Phase)
	ph := &ch.Job.Data.phases[i]
	prior := ph.prior(ph.spec(), ev.Task.Index)
	ph.stop(ev.At, ch.Start, prior)
	held := ev.At.Sub(ch.Start)
	switch ev.Kind {
	case sojourn.TaskFinished:
		service := ev.Service
		if service == 0 {
			service = held
		}
		ph.finish(prior, service)
		if ph.wrong {
			p.mistaken(ph)
		}
	}
	ph.charge(ev)
	p.classOf(ph).ended(ev, ch.Job.Cancelled(), held, prior)
	p.updateFrom(ch.Job, i)
	if ph.item == nil {
		return
	}
	if !ph.due(ev.At, p.interval) {
		p.refresh(ph)
		return
	}
	ph.advance(ev.At)
	was := ph.work()
	ph.reestimate(ev.At, ph.sample(p.alpha), p.alpha)
	p.resize(ph, was)
}

// charge counts an attempt that an event ends, or takes it back: see package internal/charge.
func (ph *phase) charge(ev *sojourn.Event) {
	switch {
	case charge.Lost(ev):
		ph.begun--
	case ev.Kind == sojourn.TaskFailed && !ph.owed:
		ph.begun--
		ph.owed = true
	case ph.owed:
		ph.begun++
		ph.owed = false
	}
}

// progress learns from a running attempt as long as no task of the phase has
// finished, and nobody has said how long they take.
func (p *Policy) progress(ev *sojourn.Event, j *ledger.Job[data]) {
	ph := &j.Data.phases[ev.Task.Phase]
	if ph.item == nil || ph.known || ph.finished.tasks > 0 || ev.Service == 0 ||
		ev.Progress < max(p.minProgress, 2*ph.estimate.progress) || ev.At.Sub(ph.reestimated) < p.interval {
		return
	}
	whole, _ := wide.Mul64(uint64(ev.Service), sojourn.MaxProgress).QuoRem(wide.From64(uint64(ev.Progress)))
	ph.advance(ev.At)
	was := ph.work()
	ph.reestimate(ev.At, ph.bounded(whole, ph.prior(ph.spec(), ev.Task.Index)), p.alpha)
	ph.estimate.progress = ev.Progress
	p.resize(ph, was)
}

// move applies the events that change the state of a task without ending an
// attempt.
func (p *Policy) move(ev *sojourn.Event, j *ledger.Job[data]) {
	i := int(ev.Task.Phase)
	ph := &j.Data.phases[i]
	c := p.classOf(ph)
	prior := ph.prior(ph.spec(), ev.Task.Index)
	p.refresh(ph)
	switch ev.Kind {
	case sojourn.TaskAdopted:
		ph.start(ev.At, prior)
		ph.begun++
	case sojourn.TaskDone:
		ph.left = less(ph.left, prior)
		p.mistaken(ph)
	case sojourn.OutputLost:
		ph.left = ph.left.Add(prior)
	}
	p.updateFrom(j, i)
	if ph.item != nil {
		p.resize(ph, ph.item.Work())
	}
	switch ev.Kind { // now, since a phase that enters again at this instant is concerned
	case sojourn.TaskHeld, sojourn.TaskReady:
		c.breaks(heldTasks)
	case sojourn.TaskAdopted:
		c.breaks(adoptions)
	case sojourn.OutputLost:
		c.breaks(failures)
	}
}

// updateFrom updates a phase and those that wait for it.
func (p *Policy) updateFrom(j *ledger.Job[data], i int) {
	p.update(j, i)
	p.fed = j.AppendFed(p.fed[:0], i)
	for _, k := range p.fed {
		p.update(j, k)
	}
}

// update brings the place of a phase in the slack system of its class up to date.
func (p *Policy) update(j *ledger.Job[data], i int) {
	ph := &j.Data.phases[i]
	account := ph.account()
	c := p.classOf(ph)
	if ph.over() || ph.item == nil && !account.Ready() {
		if j.Bounded() { // it may have been open in the line before the job was unbounded for a while
			j.Data.line.Set(ph.spec().Class, i, false)
		}
		if ph.item != nil {
			c.leave(ph)
		}
		return
	}
	if ph.item == nil {
		p.enter(c, ph)
	}
	if !account.Ready() {
		c.doubt(ph, setBack)
	}
	p.place(c, ph)
}

// place brings the place of a phase up to date that is in the slack system.
func (p *Policy) place(c *class, ph *phase) {
	c.setState(ph, ph.state())
	c.system.SetRunning(ph.item, p.share(ph))
	p.grade(c, ph)
	p.file(c, ph)
}

// settle brings up to date which phases of a bounded job may start a task, after anything has changed that decides it.
func (p *Policy) settle(j *ledger.Job[data]) {
	if j == nil || !j.Bounded() {
		return
	}
	j.Data.line.Settle(j.Room() > 0, func(i int, _ bool) {
		if ph := &j.Data.phases[i]; ph.item != nil {
			c := p.classOf(ph)
			p.place(c, ph)
			c.chosen = false
		}
	})
}

// next returns what a free slot of the class gets, or nil, and whether it is its turn.
func (p *Policy) next(c *class) (ph *phase, inTurn bool) {
	ph = p.choose(c)
	if ph == nil || p.reserve == nil {
		return ph, true
	}
	return p.allowed(c, ph)
}

// choose returns whose turn it is to get a free slot of the class, or nil: Algorithm 2.
func (p *Policy) choose(c *class) *phase {
	if c.chosen {
		return c.choice
	}
	c.chosen, c.choice = true, nil
	if p.noGate {
		if c.choice = c.probe(false); c.choice != nil {
			return c.choice
		}
	}
	first := c.system.LeastCompletable
	if p.order == FSP {
		first = c.system.First
	}
	it, ok := first()
	if !ok {
		return nil
	}
	c.choice = it.Value
	if !p.noGate && !(it.Late() && it.Value.exact()) {
		if ph := c.probe(true); ph != nil {
			c.choice = ph
		}
	}
	return c.choice
}

// probe returns the phase with the largest deficit that may start a task out of
// turn, which is the one that has started the fewest tasks, among equals the first
// in V; nil if there is none. Of each deficit only the first in V is looked at: if
// the gate is closed to it, it is to those behind it.
func (c *class) probe(gated bool) *phase {
	for begun := range c.probes {
		if it, ok := c.firstProbe(begun); ok && (!gated || c.open(it)) {
			return it.Value
		}
	}
	return nil
}

// firstProbe returns the first phase in V that has started that many tasks and may start one out
// of turn. It reports false if there is none.
func (c *class) firstProbe(begun int) (*slack.Item[*phase], bool) {
	if first, ok := c.probes[begun].MinKey(); ok || begun >= slack.Ranks {
		return first.item, ok
	}
	return c.system.FirstRanked(begun)
}

// open reports whether the gate is open to a phase: nobody before it that has
// something to start is in danger. Where its own sizes and those of the one that is
// worst off are estimates, there is no promise to keep, and nothing is learned by
// waiting.
func (c *class) open(it *slack.Item[*phase]) bool {
	if c.system.Protected(it) {
		return true
	}
	guard, ok := c.system.Guard(it)
	return ok && !it.Value.exact() && !guard.Value.exact()
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	c := p.class(s.Class)
	now := p.ledger.Now()
	ph, inTurn := p.next(c)
	for ph != nil && ph.exhausted(now) {
		// What has used up its estimate does not go first for that: its work is taken
		// to be twice as much.
		p.mistaken(ph)
		ph.advance(now)
		was := ph.work()
		ph.double(now)
		p.resize(ph, was)
		c.chosen = false
		ph, inTurn = p.next(c)
	}
	if ph == nil {
		return sojourn.Assignment{}, false
	}
	probe := ph.queue >= 0
	c.serving(p, ph, inTurn)
	if p.reserve != nil {
		p.reserve.Started(s, inTurn)
	}
	pick, _ := p.inputs.Find(ph.job, ph.index, s, sojourn.Remote)
	a := p.inputs.Take(ph.job, ph.index, pick, id)
	ph.start(now, ph.prior(ph.spec(), a.Task.Index))
	ph.begun++
	// Between events the choice stays what it is, unless it was started out of turn,
	// has nothing more to start, or late phases take turns.
	c.chosen = inTurn && !probe && !ph.item.Late()
	c.chosen = c.chosen && ph.account().Pending() > 0
	p.place(c, ph)
	p.settle(ph.job)
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if something
// is startable and, with a reserve, may start.
func (p *Policy) Seek(id sojourn.Class) (sojourn.SlotID, bool) {
	if int(id) >= len(p.classes) {
		return 0, false
	}
	if ph, _ := p.next(p.classes[id]); ph == nil {
		return 0, false
	}
	return p.ledger.FreeSlot(id)
}

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.ledger.CheckArrival(job) }
