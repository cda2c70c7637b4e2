package fair

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/locality"
)

// A Policy is a fair [sojourn.Policy]. It is also a [sojourn.Seeker], a
// [sojourn.Admitter], a [sojourn.Preemptor], a [sojourn.Waker], a
// [sojourn.Explainer] and a [sojourn.Snapshotter].
type Policy struct {
	order   Order
	strict  bool
	options string // as text, for snapshots

	ledger ledger.Ledger[member]
	root   pool
	plain  *conf  // of pools that nothing describes
	turns  uint64 // arrivals and assignments so far

	lender
	places
	preempt preemption

	version uint64   // counts changes
	looked  []uint64 // by class: the version of the latest look at shares
}

// member is what the policy keeps of a job.
type member struct {
	pool   *pool
	turn   uint64          // when it came
	id     uint32          // the job's number within the pool
	passed bool            // it rather waits than take what is being offered
	active bool            // it counts among the active jobs of its pool; only where jobs are limited
	waits  []locality.Wait // by side; nil if it waits for nothing
}

type job = ledger.Job[member]

// New returns an empty policy, or an error that says what is wrong with the
// options.
func New(opts Options) (*Policy, error) {
	tree, err := opts.tree()
	if err != nil {
		return nil, err
	}
	p := &Policy{
		order:   opts.Order,
		strict:  opts.Strict,
		options: opts.text(tree),
		root:    newPool("", nil, tree),
		plain:   newConf(Pool{}, false),
		preempt: newPreemption(opts.Preemption),
	}
	if opts.PreferLocal || opts.Delay > 0 {
		p.index = locality.New(&p.ledger)
		p.delay = opts.delays()
	}
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	old := *p
	*p = Policy{
		order:   old.order,
		strict:  old.strict,
		options: old.options,
		root:    newPool("", nil, old.root.conf.fresh()),
		plain:   old.plain,
		preempt: newPreemption(old.preempt.Preemption),
	}
	if old.index != nil {
		p.index = locality.New(&p.ledger)
		p.delay = old.delay
	}
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	was := p.ledger.Now()
	passes := ev.At > was
	hosts := len(p.inner)+len(p.kept) > 0
	var to *guest // the policy of the pool that the event is about
	var err error
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		p.lendAll()
		to, err = p.ask(&ev)
	default:
		if passes || ev.Kind == sojourn.Tick {
			p.lendAll()
		}
		if hosts {
			to = p.addressee(&ev)
		}
	}
	if err != nil {
		p.takeBackAll(was)
		return err
	}
	if passes || ev.Kind == sojourn.Tick {
		p.letPass(&ev, to)
	}
	p.takeBackAll(ev.At)
	if passes {
		p.countWaits(ev.At)
		p.pass(ev.At)
	}
	p.version++
	rack := p.ledger.Rack(ev.Slot.Node)
	c := p.ledger.Apply(&ev)
	if p.index != nil {
		p.index.Update(&ev, c)
	}
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.NodeDown, sojourn.NodeUp:
		p.tellNode(&ev, rack)
	default:
		p.tell(&ev, to, c.Slot)
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		p.join(c.Job, to)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.ended(c.Job.Data.pool, c.Slot.Class, ev.Kind == sojourn.TaskRefused)
		if len(p.preempt.victims) > 0 {
			p.preempt.drop(c.Slot.ID)
		}
	case sojourn.TaskAdopted:
		p.started(c.Job.Data.pool, c.Slot.Class)
	}
	if c.Job == nil {
		return nil
	}
	if c.Job.Data.pool.limited {
		p.updateAll(c.Job, c.Ended)
	} else {
		for i := range c.Job.Sides {
			p.update(c.Job, &c.Job.Sides[i])
		}
	}
	if c.Ended {
		p.leave(c.Job)
	}
	return nil
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	if len(p.inner) > 0 || p.index != nil {
		return p.assignSlowly(s)
	}
	n, j := p.first(s.Class)
	if n == nil {
		return sojourn.Assignment{}, false
	}
	side := j.SideOf(s.Class)
	a := p.ledger.Take(j, side, id)
	p.assigned(j, side)
	return a, true
}

// assigned accounts for a task of j that was assigned.
func (p *Policy) assigned(j *job, side *ledger.Side) {
	p.version++
	p.served(j.Data.pool, side.Class)
	p.started(j.Data.pool, side.Class)
	if j.Data.pool.limited {
		p.updateAll(j, false)
		return
	}
	p.update(j, side)
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while
// anything is startable and within limits; or else the slot that the policy of a
// pool names, if that is what comes first.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !p.root.offers(c) {
		return 0, false
	}
	if len(p.inner) > 0 || p.delay.Node > 0 {
		return p.seekSlowly(c)
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

// confOf returns what is said of the pool of a job.
func (p *Policy) confOf(spec *sojourn.Job) (*conf, error) {
	c := p.root.conf
	for _, name := range split(spec.Pool) {
		if c.leaf() {
			break
		}
		d, ok := c.find(name)
		if !ok {
			if p.strict {
				return nil, fmt.Errorf("%w: unknown pool %q", sojourn.ErrUnsupported, spec.Pool)
			}
			return p.plain, nil
		}
		c = d
	}
	return c, nil
}
