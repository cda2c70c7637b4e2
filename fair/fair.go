package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Policy is a fair [sojourn.Policy]. It is also a [sojourn.Supporter], a [sojourn.Seeker], a
// [sojourn.Admitter], a [sojourn.Preemptor], a [sojourn.Waker], a [sojourn.Explainer], a
// [sojourn.Promiser], a [sojourn.Sharer] and a [sojourn.Snapshotter].
type Policy struct {
	options []snapshot.Option // for snapshots

	*tree
	lender
	places
	offer
	membership
	preempt preemption
	choosy  bool // a slot may be declined although a task could start on it, also if no pool has a policy
}

type membership = inside.Member

// member is the policy's data about a job.
type member struct {
	pool   *pool
	turn   uint64          // when it arrived
	sides  []side          // by side of the job
	one    [1]side         // sides, of a job that has one
	id     uint32          // the job's number within the pool
	passed bool            // it waits instead of taking the slot being offered
	active bool            // it counts among the active jobs of its pool; only if jobs are limited
	waits  []locality.Wait // by side; nil if it never waits
}

// side is the policy's data about a job on one class of slots.
type side struct {
	turn   uint64 // when it was last served; or when the job arrived
	before uint64 // turn when it last began to run something: what turn is again when an attempt is not charged
	tie    wide.Uint128
	owed   charge.Debt
}

// makeSides makes zero sides.
func (m *member) makeSides(n int) {
	if n == 1 {
		m.sides = m.one[:]
		return
	}
	m.sides = make([]side, n)
}

type job = ledger.Job[member]

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	described, err := opts.tree()
	if err != nil {
		return nil, err
	}
	p := &Policy{
		options: opts.saved(described),
		tree:    newTree(opts.Order, opts.Ties, opts.Strict, newCosts(opts.Cost), opts.widths(), described, newConf(Pool{}, false), opts.reserved()),
		preempt: newPreemption(opts.Preemption),
	}
	p.membership = inside.MemberOf(p.joinCluster)
	p.halfLife, p.credit, p.window = opts.HalfLife, uint64(opts.Credit), uint64(opts.Window)
	p.connect(!opts.IgnoreLocality && opts.picks(described), opts.delays())
	return p, nil
}

// connect connects the parts of p with its tree.
func (p *Policy) connect(indexed bool, delay locality.Delay) {
	p.lender.tree, p.places.tree, p.offer.tree = p.tree, p.tree, p.tree
	p.choosy = p.ranked || indexed && delay.Node > 0 || p.reserved.On()
	if indexed {
		p.index, p.delay = locality.New(&p.ledger), delay
	}
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	old := *p
	*p = Policy{
		options: old.options,
		tree:    newTree(old.order, old.ties, old.strict, old.costs, old.widths, old.made, old.plain, old.reserved),
		preempt: newPreemption(old.preempt.Preemption),
	}
	p.membership = old.membership
	p.outer, p.halfLife, p.credit, p.window = old.outer, old.halfLife, old.credit, old.window
	p.connect(old.index != nil, old.delay)
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	if ev.Kind == sojourn.PoolChanged {
		if err := p.checkChange(ev.Pool); err != nil {
			return &sojourn.EventError{Event: ev, Err: err}
		}
	}
	to, err := p.prepare(&ev)
	if err != nil {
		return err
	}
	p.version++
	aboutNode := ev.Kind == sojourn.SlotAdded || ev.Kind == sojourn.NodeDown || ev.Kind == sojourn.NodeUp
	var rack sojourn.RackID
	if aboutNode {
		rack = p.ledger.Rack(ev.Slot.Node)
	}
	c := p.ledger.Apply(&ev)
	if p.index != nil {
		p.index.Update(&ev, &c)
	}
	if aboutNode {
		p.tellNode(&ev, rack)
	} else {
		p.tell(&ev, to, c.Slot)
	}
	switch {
	case c.Job != nil:
		p.account(&ev, &c, to)
	case ev.Kind == sojourn.PoolChanged:
		p.change(ev.Pool)
	}
	return nil
}

// prepare prepares for an event that is about to be applied. It advances time to the
// event, and asks the policy of the pool whether it accepts the event. It returns the
// policy that the event is about; nil if there is none. After an error nothing has
// changed.
func (p *Policy) prepare(ev *sojourn.Event) (to *guest, err error) {
	was := p.ledger.Now()
	passes := ev.At > was
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		p.lendAll()
		if to, err = p.ask(ev); err != nil {
			p.takeBackAll(was)
			return nil, err
		}
	default:
		if !p.hosts() {
			break
		}
		if passes || ev.Kind == sojourn.Tick {
			p.lendAll()
		}
		to = p.addressee(ev)
	}
	if p.hosts() {
		if passes || ev.Kind == sojourn.Tick {
			p.letPass(ev, to)
		}
		p.takeBackAll(ev.At)
	}
	if passes {
		if p.delay.Node > 0 {
			p.countWaits(ev.At)
		}
		p.pass(ev.At)
	}
	return to, nil
}

// account updates the data about a job after an event was applied, and the places of the
// job and its pools.
func (p *Policy) account(ev *sojourn.Event, c *ledger.Change[member], to *guest) {
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		n := p.join(c.Job)
		if to != nil && n.policy == nil {
			p.adopt(n, to)
		}
		if p.delay.Node > 0 {
			c.Job.Data.waits = make([]locality.Wait, c.Job.NumSides())
		}
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if ev.Kind == sojourn.TaskFinished {
			p.places.count(ev, c)
		}
		p.reserve.Ended(c.Slot)
		p.ended(ev, c)
		if len(p.preempt.victims) > 0 {
			p.preempt.drop(c.Slot.ID)
		}
	case sojourn.TaskAdopted:
		if p.order == Service {
			for n := c.Job.Data.pool; n.parent != nil; n = n.parent {
				p.overrun(n, p.counted(c.Slot.Class))
			}
		}
		p.started(c.Job, c.Slot.Class, ev.Task, c.Slot.ID)
	case sojourn.TaskPinned:
		p.preempt.drop(c.Slot.ID)
	}
	if p.ties == LeastWork {
		p.countWork(ev, c.Job)
	}
	if c.Ended {
		p.settleOwed(c.Job)
	}
	if c.Job.Data.pool.joint {
		p.updateAll(c.Job, c.Ended)
	} else {
		for i := range c.Job.NumSides() {
			p.update(c.Job, c.Job.Side(i))
		}
	}
	if c.Ended {
		p.leave(c.Job, p.dismiss)
	}
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	s := p.ledger.Free(id)
	if len(p.inner) > 0 || p.choosy {
		return p.assignByOffer(s)
	}
	n, j := p.firstAt(s)
	if n == nil {
		return a, false
	}
	side := j.SideOf(s.Class)
	if p.index != nil && !p.index.Empty() {
		pick, phase, _ := p.pick(j, side, s) // no job waits, so there is one
		return p.start(j, side, phase, pick, id, true), true
	}
	a = p.ledger.Take(j, side, id)
	p.assigned(j, side, a)
	return a, true
}

// assigned accounts for a task of j that was assigned.
func (p *Policy) assigned(j *job, side *ledger.Side, a sojourn.Assignment) {
	p.version++
	p.served(j, side)
	p.started(j, side.Class(), a.Task, a.Slot)
	if j.Data.pool.joint {
		p.updateAll(j, false)
		return
	}
	if j.Room() == 0 {
		for i := range j.NumSides() {
			p.update(j, j.Side(i))
		}
		return
	}
	p.update(j, side)
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while
// anything is startable and within limits; or else the slot that the policy of a
// pool names, if that is what comes first. With a Cost or Places, it names a slot of the class whose turn
// it is, among the classes that have a free slot.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !p.root.offers(c) {
		return 0, false
	}
	if len(p.inner) > 0 || p.choosy {
		return p.seekByOffer(c)
	}
	return p.ledger.FreeSlot(c)
}

// Admit implements [sojourn.Admitter]: every valid job is accepted, unless it is of
// an unknown pool and Options.Strict is set, or the policy of its pool refuses it.
func (p *Policy) Admit(job *sojourn.Job) error {
	if err := p.ledger.CheckArrival(job); err != nil {
		return err
	}
	return p.admitInner(job)
}
