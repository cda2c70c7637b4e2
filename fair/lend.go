package fair

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/locality"
)

// A lender serves the pools that have policies of their own.
//
// The policy of a pool knows the jobs of the pool, and of slots only those that
// the pool has: a slot is added for each task that starts, and removed when the
// task ends. To find out whether the policy wants a slot, it is lent the slot for
// an instant, which by the laws of a policy changes nothing if it declines. Before
// time passes, each pool that could be served is lent a free slot until the next
// event, since the policy may wait for time in which it had one. It has this slot too
// when it is asked about a job, whether or not time has passed before.
//
// Time passes in Observe alone, and then in all policies at once: each is told of the
// first event of an instant, as it is if it is about the pool, else as a Tick, and
// of every Tick. So whoever is asked something is asked it at the present, and
// nothing has to be made up for before.
//
// A policy that waits for this very instant is owed a Tick by the driver. Until then
// it is lent nothing, since any event would set it off, and NextWake says that it is
// time.
type lender struct {
	inner    []*pool // live pools with policies
	kept     []*conf // pools that keep their policies, live or not
	refused  []*pool // pools that declined what is being offered
	offering bool    // refused is in use
	buffer   []sojourn.Slot
}

// A guest is the policy of a pool.
type guest struct {
	sojourn.Policy
	seeker sojourn.Seeker
	waker  sojourn.Waker // nil if it is none
	due    bool          // it waits for this very instant, and was not told of it by a Tick

	account *ledger.Part // what it was restored with, to be compared
}

func newGuest(c *conf) *guest {
	g := &guest{Policy: c.Policy()}
	g.seeker, _ = sojourn.As[sojourn.Seeker](g.Policy)
	g.waker, _ = sojourn.As[sojourn.Waker](g.Policy)
	return g
}

// must tells a policy of an event that fits.
func (g *guest) must(ev sojourn.Event) {
	if err := g.Observe(ev); err != nil {
		panic(fmt.Sprintf("fair: a %T refuses what fits: %v", g.Policy, err))
	}
}

// wakes reports whether a policy waits for an instant that has come.
func (g *guest) wakes(now sojourn.Time) bool {
	if g.waker == nil {
		return false
	}
	at, ok := g.waker.NextWake()
	return ok && at <= now
}

// wants reports whether a policy is to be offered slots.
func (g *guest) wants() bool { return g != nil && !g.due }

// ask tells the policy of a job's pool of an event that it may refuse, before
// anything else is changed, and returns the policy; nil if the pool has none.
func (p *Policy) ask(ev *sojourn.Event) (*guest, error) {
	if ev.Kind == sojourn.JobRevised {
		g := p.ledger.Job(ev.Job.ID).Data.pool.policy
		if g == nil {
			return nil, nil
		}
		return g, g.Observe(*ev)
	}
	c, err := p.confOf(ev.Job)
	if err != nil {
		return nil, &sojourn.EventError{Event: *ev, Err: err}
	}
	if c.Policy == nil {
		return nil, nil
	}
	g, isNew := p.guestOf(ev.Job, c)
	if err := g.Observe(*ev); err != nil {
		return nil, err
	}
	if isNew && c.named {
		c.policy = g
		p.kept = append(p.kept, c)
	}
	return g, nil
}

// guestOf returns the policy that a job is for, of a pool described by c, and
// whether it was made for that.
func (p *Policy) guestOf(spec *sojourn.Job, c *conf) (g *guest, isNew bool) {
	switch n := p.poolOf(spec); {
	case n != nil:
		return n.policy, false
	case c.policy != nil:
		return c.policy, false
	}
	g = newGuest(c)
	for _, s := range p.ledger.AppendDown(nil) {
		g.must(sojourn.Event{Kind: sojourn.NodeDown, At: p.ledger.Now(), Slot: s})
	}
	return g, true
}

// adopt gives a new pool its policy.
func (p *Policy) adopt(n *pool, g *guest) {
	n.policy = g
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
	g, isNew := p.guestOf(spec, c)
	admitter, ok := sojourn.As[sojourn.Admitter](g.Policy)
	if !ok {
		return nil
	}
	now := p.ledger.Now()
	if isNew {
		g.must(sojourn.Event{Kind: sojourn.Tick, At: now})
	}
	if n := p.poolOf(spec); n != nil {
		p.lend(n)
		defer p.takeBack(n, now)
	}
	return admitter.Admit(spec)
}

// addressee returns the policy of the pool that a valid event about a live job is
// about; nil if there is none.
func (p *Policy) addressee(ev *sojourn.Event) *guest {
	id := ev.Task.Job
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.NodeDown, sojourn.NodeUp, sojourn.Tick:
		return nil
	case sojourn.JobCancelled:
		id = ev.Job.ID
	}
	return p.ledger.Job(id).Data.pool.policy
}

// letPass lets time go on in all policies until an event, but for the one that the
// event is about, which is told itself, as all are of nodes.
func (p *Policy) letPass(ev *sojourn.Event, to *guest) {
	if ev.Kind == sojourn.NodeDown || ev.Kind == sojourn.NodeUp {
		return
	}
	for g := range p.guests {
		if g != to {
			g.must(sojourn.Event{Kind: sojourn.Tick, At: ev.At})
			g.due = false
		}
	}
}

// guests calls f for all policies: those of live pools, with these, and those that are
// kept for others.
func (p *Policy) guests(f func(*guest, *pool) bool) {
	for _, n := range p.inner {
		if !f(n.policy, n) {
			return
		}
	}
	for _, c := range p.kept {
		if !c.live && !f(c.policy, nil) {
			return
		}
	}
}

// tellNode passes on what was said of a node to all policies. All know its rack as soon
// as it is known, and not only while they have a slot there: else it would show whether
// they were lent one. rack is what was known of it before the event.
func (p *Policy) tellNode(ev *sojourn.Event, rack sojourn.RackID) {
	node := sojourn.Slot{Node: ev.Slot.Node, Rack: p.ledger.Rack(ev.Slot.Node)}
	var told []sojourn.EventKind
	switch {
	case ev.Kind != sojourn.SlotAdded:
		told = []sojourn.EventKind{ev.Kind}
	case node.Rack == rack:
		return
	case p.ledger.Down(node.Node):
		told = []sojourn.EventKind{sojourn.NodeUp, sojourn.NodeDown}
	default:
		told = []sojourn.EventKind{sojourn.NodeDown, sojourn.NodeUp}
	}
	for g := range p.guests {
		for _, kind := range told {
			g.must(sojourn.Event{Kind: kind, At: ev.At, Slot: node})
		}
		g.due = g.wakes(ev.At)
	}
}

// tell passes on an event that was applied, to the policy that it is about.
func (p *Policy) tell(ev *sojourn.Event, to *guest, s sojourn.Slot) {
	if to == nil {
		return
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		// It was told when it was asked.
	case sojourn.TaskAdopted:
		p.give(to, s)
		to.must(*ev)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		to.must(*ev)
		to.must(sojourn.Event{Kind: sojourn.SlotRemoved, At: ev.At, Slot: s})
	default:
		to.must(*ev)
	}
	to.due = to.wakes(ev.At)
}

// lend lends a pool a free slot of each class in which it could be served.
func (p *Policy) lend(n *pool) {
	if !n.policy.wants() {
		return
	}
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

// give adds a slot to those of a policy, with all that is known of its node.
func (p *Policy) give(g *guest, s sojourn.Slot) {
	if s.Node != 0 {
		s.Rack = p.ledger.Rack(s.Node)
	}
	g.must(sojourn.Event{Kind: sojourn.SlotAdded, At: p.ledger.Now(), Slot: s})
}

func (p *Policy) lendSlot(n *pool, s sojourn.Slot) {
	p.give(n.policy, s)
	n.lent = append(n.lent, s)
}

// takeBack removes what a pool was lent.
func (p *Policy) takeBack(n *pool, at sojourn.Time) {
	for _, s := range n.lent {
		n.policy.must(sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: s})
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

// nextInner returns the earliest instant for which a policy waits.
func (p *Policy) nextInner() (next sojourn.Time, any bool) {
	now := p.ledger.Now()
	for g, n := range p.guests {
		if g.due {
			return now, true
		}
		if g.waker == nil {
			continue
		}
		if n != nil {
			p.lend(n)
		}
		if t, ok := g.waker.NextWake(); ok && (!any || t < next) {
			next, any = t, true
		}
		if n != nil {
			p.takeBack(n, now)
		}
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
		if !n.policy.wants() {
			p.decline(n, s.Class)
			continue
		}
		p.lendSlot(n, s)
		a, ok := n.policy.Assign(s.ID)
		if !ok {
			p.takeBack(n, p.ledger.Now())
			p.decline(n, s.Class)
			continue
		}
		n.lent = n.lent[:0]
		n.policy.due = n.policy.wakes(p.ledger.Now())
		p.settle(s.Class, true)
		j = p.ledger.Job(a.Task.Job)
		if j == nil || j.Data.pool != n || !j.Phases[a.Task.Phase].IsPending(a.Task.Index) {
			panic(fmt.Sprintf("fair: a %T assigns task %v, which it may not start", n.policy.Policy, a.Task))
		}
		var b sojourn.Assignment
		if p.index != nil {
			b = p.index.Take(j, int(a.Task.Phase), locality.Pick{Index: a.Task.Index}, s.ID)
		} else {
			b = p.ledger.TakeTask(j, int(a.Task.Phase), a.Task.Index, s.ID)
		}
		if b.Attempt != a.Attempt {
			panic(fmt.Sprintf("fair: a %T assigns attempt %d at task %v, want %d", n.policy.Policy, a.Attempt, a.Task, b.Attempt))
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
		case !n.policy.wants():
			p.decline(n, c)
			continue
		}
		// One slot is enough to see that a policy takes any; else each is lent by itself, as
		// when it is offered, since what a policy takes may depend on how many it has.
		found, ok := p.seekWith(n, p.ledger.Free(id))
		if !ok {
			p.buffer = p.ledger.AppendFree(p.buffer[:0], c)
			for _, s := range p.buffer {
				if s.ID != id && !ok {
					found, ok = p.seekWith(n, s)
				}
			}
		}
		if ok {
			return found, true
		}
		p.decline(n, c)
	}
}

// seekWith returns the slot that the policy of a pool wants while it is lent one.
func (p *Policy) seekWith(n *pool, s sojourn.Slot) (sojourn.SlotID, bool) {
	p.lendSlot(n, s)
	defer p.takeBack(n, p.ledger.Now())
	return n.policy.seeker.Seek(s.Class)
}
