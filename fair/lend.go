package fair

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A lender serves the pools that have policies of their own.
//
// The policy of a pool knows the jobs of the pool and the slots that the pool has: a
// slot is added for each task that starts, and removed when the task ends. To find
// out whether the policy wants a slot, the lender lends it the slot for an instant.
// By the laws of a policy this changes nothing if it declines. Before time passes,
// the lender lends each pool that could be served a free slot until the next event,
// since the policy may count the time in which it has one. The policy also has this
// slot when it is asked about a job, whether or not time has passed before.
//
// Time passes only in Observe, and then in all policies at once. Each policy gets the
// first event of an instant: the event itself if it is about the pool, and otherwise
// a Tick. Each policy gets every Tick. So every question is asked at the present,
// without any preparation.
//
// If a policy waits for this very instant, the driver owes it a Tick. Until then it
// gets no slot on loan, since any event would set its timer off, and NextWake says
// that a wake is due.
type lender struct {
	*tree
	inner []*pool // live pools with policies
	kept  []*conf // pools that keep their policies, live or not
}

// A guest is the policy of a pool.
type guest struct {
	inside.Guest
	promiser sojourn.Promiser // nil if it is none
	due      bool             // it waits for this very instant, and has not got a Tick at it
	reserves bool             // it keeps to the reserve of the tree by itself

	account *ledger.Part // the account it was restored with, for comparison
}

// newGuest makes the policy of a pool that is described by c.
func (t *tree) newGuest(c *conf) *guest {
	p := c.Policy()
	reserves := inside.Join(p, inside.Cluster{Reserve: t.reserve, Free: t.free})
	g := &guest{Guest: inside.New("fair", p), reserves: reserves}
	g.promiser, _ = sojourn.As[sojourn.Promiser](p)
	return g
}

// wants reports whether to offer slots to a policy.
func (g *guest) wants() bool { return g != nil && !g.due }

// hosts reports whether any pool has a policy of its own.
func (l *lender) hosts() bool { return len(l.inner)+len(l.kept) > 0 }

// ask reports an event that may be refused to the policy of the job's pool, before
// anything else changes. It returns the policy; nil if the pool has none.
func (l *lender) ask(ev *sojourn.Event) (*guest, error) {
	if ev.Kind == sojourn.JobRevised {
		g := l.ledger.Job(ev.Job.ID).Data.pool.policy
		if g == nil {
			return nil, nil
		}
		return g, g.Observe(*ev)
	}
	c, err := l.confOf(ev.Job)
	if err != nil {
		return nil, &sojourn.EventError{Event: *ev, Err: err}
	}
	if c.Policy == nil {
		return nil, nil
	}
	g, isNew := l.guestOf(ev.Job, c)
	if err := g.Observe(*ev); err != nil {
		return nil, err
	}
	if isNew && c.named {
		c.policy = g
		l.kept = append(l.kept, c)
	}
	return g, nil
}

// guestOf returns the policy for a job in a pool described by c, and whether the policy
// is new.
func (l *lender) guestOf(spec *sojourn.Job, c *conf) (g *guest, isNew bool) {
	switch n := l.poolOf(spec); {
	case n != nil:
		return n.policy, false
	case c.policy != nil:
		return c.policy, false
	}
	g = l.newGuest(c)
	for _, s := range l.ledger.AppendDown(nil) {
		g.Must(sojourn.Event{Kind: sojourn.NodeDown, At: l.ledger.Now(), Slot: s})
	}
	return g, true
}

// adopt gives a new pool its policy.
func (l *lender) adopt(n *pool, g *guest) {
	n.policy = g
	l.inner = append(l.inner, n)
	n.conf.live = true
}

// dismiss removes the policy of a pool without jobs.
func (l *lender) dismiss(n *pool) {
	l.inner = slices.DeleteFunc(l.inner, func(m *pool) bool { return m == n })
	n.conf.live = false
}

// admitInner returns why the policy of its pool would refuse a valid job, or nil.
func (l *lender) admitInner(spec *sojourn.Job) error {
	c, err := l.confOf(spec)
	if err != nil || c.Policy == nil {
		return err
	}
	g, isNew := l.guestOf(spec, c)
	if g.Admitter == nil {
		return nil
	}
	now := l.ledger.Now()
	if isNew {
		g.Must(sojourn.Event{Kind: sojourn.Tick, At: now})
	}
	if n := l.poolOf(spec); n != nil {
		l.lend(n)
		defer l.takeBack(n, now)
	}
	return g.Admitter.Admit(spec)
}

// addressee returns the policy of the pool of a live job, for a valid event about that
// job; nil if there is none.
func (l *lender) addressee(ev *sojourn.Event) *guest {
	id := ev.Task.Job
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.NodeDown, sojourn.NodeUp, sojourn.Tick, sojourn.PoolChanged:
		return nil
	case sojourn.JobCancelled:
		id = ev.Job.ID
	}
	return l.ledger.Job(id).Data.pool.policy
}

// letPass advances time in all policies to an event, except in the one that gets the
// event itself. All policies get events about nodes themselves.
func (l *lender) letPass(ev *sojourn.Event, to *guest) {
	if ev.Kind == sojourn.NodeDown || ev.Kind == sojourn.NodeUp {
		return
	}
	for g := range l.guests {
		if g != to {
			g.Must(sojourn.Event{Kind: sojourn.Tick, At: ev.At})
			g.due = false
		}
	}
}

// guests calls f for all policies: those of live pools, each with its pool, and those
// that are kept for pools without jobs.
func (l *lender) guests(f func(*guest, *pool) bool) {
	for _, n := range l.inner {
		if !f(n.policy, n) {
			return
		}
	}
	for _, c := range l.kept {
		if !c.live && !f(c.policy, nil) {
			return
		}
	}
}

// tellNode passes an event about a node on to all policies. All policies know the rack
// of a node as soon as it is known, even if they have no slot there: otherwise it would
// show whether they had a slot on loan. rack is the rack known before the event.
func (l *lender) tellNode(ev *sojourn.Event, rack sojourn.RackID) {
	node := sojourn.Slot{Node: ev.Slot.Node, Rack: l.ledger.Rack(ev.Slot.Node)}
	var told []sojourn.EventKind
	switch {
	case ev.Kind != sojourn.SlotAdded:
		told = []sojourn.EventKind{ev.Kind}
	case node.Rack == rack:
		return
	case l.ledger.Down(node.Node):
		told = []sojourn.EventKind{sojourn.NodeUp, sojourn.NodeDown}
	default:
		told = []sojourn.EventKind{sojourn.NodeDown, sojourn.NodeUp}
	}
	for g := range l.guests {
		for _, kind := range told {
			g.Must(sojourn.Event{Kind: kind, At: ev.At, Slot: node})
		}
		g.due = g.Due(ev.At)
	}
}

// tell passes an event that was applied on to the policy that it is about.
func (l *lender) tell(ev *sojourn.Event, to *guest, s sojourn.Slot) {
	if to == nil {
		return
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		// ask has reported it already.
	case sojourn.TaskAdopted:
		l.give(to, s)
		to.Must(*ev)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		to.Must(*ev)
		to.Must(sojourn.Event{Kind: sojourn.SlotRemoved, At: ev.At, Slot: s})
	default:
		to.Must(*ev)
	}
	to.due = to.Due(ev.At)
}

// lend lends a pool a free slot of each class in which it could be served.
func (l *lender) lend(n *pool) {
	if !n.policy.wants() {
		return
	}
	for i := range n.classes {
		c := sojourn.Class(i)
		id, ok := l.ledger.FreeSlot(c)
		if !ok || !n.readyJobs.Any(c) {
			continue
		}
		if n.hasRoom(c) {
			l.lendSlot(n, l.ledger.Free(id))
		}
	}
}

// give adds a slot to those of a policy, with the state and rack of its node.
func (l *lender) give(g *guest, s sojourn.Slot) {
	if s.Node != 0 {
		s.Rack = l.ledger.Rack(s.Node)
	}
	g.Must(sojourn.Event{Kind: sojourn.SlotAdded, At: l.ledger.Now(), Slot: s})
}

func (l *lender) lendSlot(n *pool, s sojourn.Slot) {
	l.give(n.policy, s)
	n.lent = append(n.lent, s)
}

// takeBack removes the slots that a pool has on loan.
func (l *lender) takeBack(n *pool, at sojourn.Time) {
	for _, s := range n.lent {
		n.policy.Must(sojourn.Event{Kind: sojourn.SlotRemoved, At: at, Slot: s})
	}
	n.lent = n.lent[:0]
}

func (l *lender) lendAll() {
	for _, n := range l.inner {
		l.lend(n)
	}
}

func (l *lender) takeBackAll(at sojourn.Time) {
	for _, n := range l.inner {
		l.takeBack(n, at)
	}
}

// nextInner returns the earliest instant for which a policy waits.
func (l *lender) nextInner() (next sojourn.Time, any bool) {
	now := l.ledger.Now()
	for g, n := range l.guests {
		if g.due {
			return now, true
		}
		if g.Waker == nil {
			continue
		}
		if n != nil {
			l.lend(n)
		}
		if t, ok := g.Waker.NextWake(); ok && (!any || t < next) {
			next, any = t, true
		}
		if n != nil {
			l.takeBack(n, now)
		}
	}
	return next, any
}

// seekWith returns the slot that the policy of a pool wants while it has s on loan.
func (l *lender) seekWith(n *pool, s sojourn.Slot) (sojourn.SlotID, bool) {
	l.lendSlot(n, s)
	defer l.takeBack(n, l.ledger.Now())
	return n.policy.Seeker.Seek(s.Class)
}
