package fair

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
)

// A lender serves the pools that have policies of their own.
//
// The policy of a pool knows the jobs of the pool, and of slots only those that
// the pool has: a slot is added for each task that starts, and removed when the
// task ends. To find out whether the policy wants a slot, it is lent the slot for
// an instant, which by the laws of a policy changes nothing if it declines. Before
// time passes, each pool that could be served is lent a free slot until the next
// event, since the policy may wait for time in which it had one.
type lender struct {
	inner    []*pool        // live pools with policies
	kept     []*conf        // pools that keep their policies, live or not
	asked    sojourn.Policy // was told of the job that arrives
	refused  []*pool        // pools that declined what is being offered
	offering bool           // refused is in use
	buffer   []sojourn.Slot
}

// ask tells the policy of a job's pool of an event that it may refuse, before
// anything else is changed.
func (p *Policy) ask(ev *sojourn.Event) error {
	switch ev.Kind {
	case sojourn.JobRevised:
		if n := p.ledger.Job(ev.Job.ID).Data.pool; n.policy != nil {
			return n.policy.Observe(*ev)
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		c, err := p.confOf(ev.Job)
		if err != nil {
			return &sojourn.EventError{Event: *ev, Err: err}
		}
		if c.Policy == nil {
			return nil
		}
		policy, isNew := p.policyOf(ev.Job, c)
		if err := policy.Observe(*ev); err != nil {
			return err
		}
		p.asked = policy
		if isNew && c.named {
			c.policy = policy
			p.kept = append(p.kept, c)
		}
	}
	return nil
}

// policyOf returns the policy that a job is for, of a pool described by c, and
// whether it was made for that.
func (p *Policy) policyOf(spec *sojourn.Job, c *conf) (policy sojourn.Policy, isNew bool) {
	switch n := p.poolOf(spec); {
	case n != nil:
		return n.policy, false
	case c.policy != nil:
		return c.policy, false
	}
	policy = c.Policy()
	for _, s := range p.ledger.AppendDown(nil) {
		must(policy, sojourn.Event{Kind: sojourn.NodeDown, At: p.ledger.Now(), Slot: s})
	}
	return policy, true
}

// adopt gives a new pool the policy that was asked.
func (p *Policy) adopt(n *pool) {
	n.policy, p.asked = p.asked, nil
	p.inner = append(p.inner, n)
	n.conf.live = true
}

// dismiss takes its policy from a pool without jobs.
func (p *Policy) dismiss(n *pool) {
	p.inner = slices.DeleteFunc(p.inner, func(m *pool) bool { return m == n })
	n.conf.live = false
}

// admitInner returns why the pool of a valid job would not have it, or nil.
func (p *Policy) admitInner(spec *sojourn.Job) error {
	c, err := p.confOf(spec)
	if err != nil || c.Policy == nil {
		return err
	}
	policy, _ := p.policyOf(spec, c)
	admitter, ok := sojourn.As[sojourn.Admitter](policy)
	if !ok {
		return nil
	}
	must(policy, sojourn.Event{Kind: sojourn.Tick, At: p.ledger.Now()})
	return admitter.Admit(spec)
}

// catchUp brings the policy of a pool to the present. It is told of the time only
// when something happens to the pool, which changes no decision but what it
// explains.
func (p *Policy) catchUp(n *pool) {
	if n.policy != nil {
		must(n.policy, sojourn.Event{Kind: sojourn.Tick, At: p.ledger.Now()})
	}
}

// must tells a policy of an event that fits.
func must(policy sojourn.Policy, ev sojourn.Event) {
	if err := policy.Observe(ev); err != nil {
		panic(fmt.Sprintf("fair: a %T refuses what fits: %v", policy, err))
	}
}

// tell passes on an event that was applied.
func (p *Policy) tell(ev *sojourn.Event, j *job, s sojourn.Slot) {
	switch ev.Kind {
	case sojourn.NodeDown, sojourn.NodeUp:
		for _, n := range p.inner {
			must(n.policy, *ev)
		}
		for _, c := range p.kept {
			if !c.live {
				must(c.policy, *ev)
			}
		}
		return
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		return // it was asked
	}
	if j == nil || j.Data.pool.policy == nil {
		return
	}
	policy := j.Data.pool.policy
	if ev.Kind == sojourn.TaskAdopted {
		must(policy, sojourn.Event{Kind: sojourn.SlotAdded, At: ev.At, Slot: s})
	}
	must(policy, *ev)
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		must(policy, sojourn.Event{Kind: sojourn.SlotRemoved, At: ev.At, Slot: s})
	}
}

// lend lends a pool a free slot of each class in which it could be served.
func (p *Policy) lend(n *pool) {
	for i := range n.classes {
		c := sojourn.Class(i)
		id, ok := p.ledger.FreeSlot(c)
		if !ok || !n.readyJobs.Any(c) {
			continue
		}
		if n.hasRoom(c) {
			p.lendSlot(n, p.ledger.Free(id))
		}
	}
}

func (p *Policy) lendSlot(n *pool, s sojourn.Slot) {
	must(n.policy, sojourn.Event{Kind: sojourn.SlotAdded, At: p.ledger.Now(), Slot: s})
	n.lent = append(n.lent, s)
}

// takeBack removes what a pool was lent.
func (p *Policy) takeBack(n *pool, at sojourn.Time) {
	for _, s := range n.lent {
		must(n.policy, sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: s})
	}
	n.lent = n.lent[:0]
}

func (p *Policy) lendAll() {
	for _, n := range p.inner {
		p.lend(n)
	}
}

func (p *Policy) takeBackAll(at sojourn.Time) {
	for _, n := range p.inner {
		p.takeBack(n, at)
	}
}

// wakeInner lets the policies know that it is at, if they wait for that.
func (p *Policy) wakeInner(at sojourn.Time) {
	for _, n := range p.inner {
		if w, ok := sojourn.As[sojourn.Waker](n.policy); ok {
			if t, ok := w.NextWake(); ok && t <= at {
				must(n.policy, sojourn.Event{Kind: sojourn.Tick, At: at})
			}
		}
	}
}

// nextInner returns the earliest instant for which a policy waits.
func (p *Policy) nextInner() (next sojourn.Time, any bool) {
	for _, n := range p.inner {
		w, ok := sojourn.As[sojourn.Waker](n.policy)
		if !ok {
			continue
		}
		p.catchUp(n)
		p.lend(n)
		if t, ok := w.NextWake(); ok && (!any || t < next) {
			next, any = t, true
		}
		p.takeBack(n, p.ledger.Now())
	}
	return next, any
}

// decline takes a pool out of what is offered a slot of class c.
func (p *Policy) decline(n *pool, c sojourn.Class) {
	p.offering = true
	p.refused = append(p.refused, n)
	n.declined = true
	p.refile(n, c)
}

// settle puts back the pools that declined and the jobs that were passed over. If
// the slot was given to somebody, the wait of those jobs counts from now on.
func (p *Policy) settle(c sojourn.Class, given bool) {
	for _, n := range p.refused {
		n.declined = false
		p.refile(n, c)
	}
	p.refused = p.refused[:0]
	for _, j := range p.passed {
		j.Data.passed = false
		if w := waitOf(j, j.SideOf(c)); w != nil && given {
			w.Start(p.ledger.Now())
		}
		p.update(j, j.SideOf(c))
	}
	p.passed = p.passed[:0]
	p.offering = false
}

func (p *Policy) refile(n *pool, c sojourn.Class) {
	for ; n.parent != nil; n = n.parent {
		p.file(n, c)
	}
}

// assignSlowly is Assign where some pools have policies or jobs wait for locality:
// each that comes first is offered the slot until one takes it.
func (p *Policy) assignSlowly(s sojourn.Slot) (sojourn.Assignment, bool) {
	for {
		n, j := p.first(s.Class)
		if n == nil {
			p.settle(s.Class, false)
			return sojourn.Assignment{}, false
		}
		if j != nil {
			side := j.SideOf(s.Class)
			if p.index == nil {
				p.settle(s.Class, true)
				a := p.ledger.Take(j, side, s.ID)
				p.assigned(j, side)
				return a, true
			}
			pick, phase, ok := p.pick(j, side, s)
			if !ok {
				p.passOver(j, side)
				continue
			}
			p.settle(s.Class, true)
			return p.start(j, side, phase, pick, s.ID), true
		}
		p.lendSlot(n, s)
		a, ok := n.policy.Assign(s.ID)
		if !ok {
			p.takeBack(n, p.ledger.Now())
			p.decline(n, s.Class)
			continue
		}
		n.lent = n.lent[:0]
		p.settle(s.Class, true)
		j = p.ledger.Job(a.Task.Job)
		if j == nil || j.Data.pool != n || !j.Phases[a.Task.Phase].IsPending(a.Task.Index) {
			panic(fmt.Sprintf("fair: a %T assigns task %v, which it may not start", n.policy, a.Task))
		}
		var b sojourn.Assignment
		if p.index != nil {
			b = p.index.Take(j, int(a.Task.Phase), locality.Pick{Index: a.Task.Index}, s.ID)
		} else {
			b = p.ledger.TakeTask(j, int(a.Task.Phase), a.Task.Index, s.ID)
		}
		if b.Attempt != a.Attempt {
			panic(fmt.Sprintf("fair: a %T assigns attempt %d at task %v, want %d", n.policy, a.Attempt, a.Task, b.Attempt))
		}
		p.assigned(j, j.SideOf(s.Class))
		return a, true
	}
}

// seekSlowly is Seek where some pools have policies or jobs wait for locality.
func (p *Policy) seekSlowly(c sojourn.Class) (sojourn.SlotID, bool) {
	id, ok := p.ledger.FreeSlot(c)
	if !ok {
		return 0, false
	}
	defer p.settle(c, false)
	for {
		n, j := p.first(c)
		switch {
		case n == nil:
			return 0, false
		case j != nil && p.delay.Node == 0:
			return id, true
		case j != nil:
			side := j.SideOf(c)
			if found, ok := p.index.FreeSlot(j, j.NextPhase(side), p.reach(j, side)); ok {
				return found, true
			}
			p.passOver(j, side)
			continue
		}
		// One slot is enough to see that a policy takes any.
		p.lendSlot(n, p.ledger.Free(id))
		seeker, _ := sojourn.As[sojourn.Seeker](n.policy)
		found, ok := seeker.Seek(c)
		if !ok {
			p.buffer = p.ledger.AppendFree(p.buffer[:0], c)
			for _, s := range p.buffer {
				if s.ID != id {
					p.lendSlot(n, s)
				}
			}
			found, ok = seeker.Seek(c)
		}
		p.takeBack(n, p.ledger.Now())
		if ok {
			return found, true
		}
		p.decline(n, c)
	}
}
